"""The public surface: what `dir(latesum)` shows, one tree of exceptions, no class name twice."""

import ast
import importlib
import inspect
import pickle
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

import pytest

import latesum
from latesum import errors

SOURCE = Path(latesum.__file__).parent
#: What users use. A name that is added or taken away is added or taken away here too.
_SURFACE = """
ARSUCB Bernoulli Beta CLW Calendar CompositeProblem Campaign Client
Discrete FieldProblem FixedSplit Flow InvalidInput MissingExtra NaiveODAAF ODAAF ODAAFB
ODAAFV Oracle Plan Play Policy Problem Results Reward RoundRobin Run Block
Unmix World __version__ adapters attributed compare delays errors experiments
campaigns plan policies simulate theory simulation
"""
SURFACE = _SURFACE.split()

#: Exceptions that are caught inside their package and never reach a user.
INTERNAL = {
    "latesum.service.errors.ClientLeft",
    "latesum.service.errors.Refused",
}


def test_dir_shows_what_users_use_and_nothing_else():
    assert dir(latesum) == sorted(SURFACE)
    assert set(latesum.__all__) == set(SURFACE) - {"Campaign", "campaigns"}
    for name in SURFACE:
        value = getattr(latesum, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__name__ == name
    with pytest.raises(AttributeError, match="module 'latesum' has no attribute 'Flwo'"):
        _ = latesum.Flwo


def test_type_checkers_see_the_same_names():
    """What is imported for type checkers only is what `__getattr__` finds."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    modules = {name for name, home in seen.items() if home == "latesum"}
    assert modules == set(latesum._MODULES.split())
    assert {name: home for name, home in seen.items() if name not in modules} == latesum._HOME_OF


def test_a_policy_shows_itself_as_one_would_type_it():
    """The `repr` of every policy of latesum's own is code."""
    known = {"n_arms": 2, "horizon": 9_000, "mean_delay": 5, "delay_bound": 9}
    known |= {"delay_variance": 9, "best_arm": 1}
    for name in latesum.policies.available():
        policy = latesum.policies.PolicySpec.parse(name).given(known).build()
        if not hasattr(latesum.policies, type(policy).__name__):
            continue  # registered by another test of this process
        again = eval(repr(policy), {each: getattr(latesum, each) for each in latesum.__all__})
        assert again.ask() == policy.ask()


def test_no_public_class_name_is_there_twice():
    places = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        # To make trees of all sources takes a second.
        for name in re.findall(
            r"^ *class ([A-Za-z]\w*)[(:]", path.read_text("utf-8"), re.MULTILINE
        ):
            places[name].append(path.relative_to(SOURCE).as_posix())
    assert {"Policy", "Campaign", "Problem"} <= set(places)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice == {}, "give one of them another name"


def _exceptions():
    found = {}
    for module in pkgutil.walk_packages([str(SOURCE)], "latesum."):
        if module.name == "latesum.cli.__main__":
            continue  # runs the command line
        for name, value in vars(importlib.import_module(module.name)).items():
            if not inspect.isclass(value) or not issubclass(value, Exception):
                continue
            if value.__module__.startswith("latesum") and not name.startswith("_"):
                found[f"{value.__module__}.{value.__name__}"] = value
    return found


def test_exceptions_are_one_documented_tree_in_one_place():
    found = _exceptions()
    elsewhere = {name for name in found if not name.startswith("latesum.errors.")}
    assert elsewhere == INTERNAL
    public = {name.rpartition(".")[2] for name in found} - {
        name.rpartition(".")[2] for name in INTERNAL
    }
    assert public == set(errors.__all__)
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.LatesumError)
    builtin = {"InvalidInput": ValueError, "MissingExtra": ImportError}
    builtin |= {"NotConforming": AssertionError, "ServiceError": RuntimeError}
    for name, also in builtin.items():
        assert issubclass(getattr(errors, name), also)


def test_the_tree_in_the_documentation_is_the_tree():
    """Each line of the drawing names a class, and its indentation the class it comes from."""
    drawn = {}
    path = []
    for line in errors.__doc__.splitlines():
        stripped = line.lstrip(" │├└─")
        name = stripped.split(" ")[0]
        if name not in errors.__all__ or not line.startswith("    "):
            continue
        depth = (len(line) - len(stripped) - 4) // 4
        path[depth:] = [name]
        drawn[name] = path[depth - 1] if depth else "Exception"
    assert set(drawn) == set(errors.__all__)
    for name, parent in drawn.items():
        assert getattr(errors, name).__bases__[0].__name__ == parent


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidInput("no.", field="rounds", remedy="Use 3."),
        errors.BadFile([f"row {number}: no." for number in range(30)]),
        errors.BadRows([(0, errors.InvalidInput("no.", field="total"))]),
        errors.ServiceError(409, "no.", ["row 1"]),
    ],
)
def test_an_error_is_the_same_in_another_process(error):
    """Its text is what is wrong and then what to do."""
    assert str(error) == f"{error.message} {error.remedy}".rstrip()
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert vars(again).keys() == vars(error).keys()
    assert (again.message, again.field, again.remedy) == (error.message, error.field, error.remedy)
