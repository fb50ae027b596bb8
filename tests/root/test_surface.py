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
ARSUCB Background Bernoulli Beta CLW Calendar CompositeProblem Campaign Client Constant
Discrete FieldProblem FixedSplit Flow InvalidInput MissingExtra NaiveODAAF ODAAF ODAAFB
ODAAFV Oracle Plan Play Policy Problem Reporting Results Reward RoundRobin Run Scaled Block
Uniform Unmix World __version__ adapters attributed compare delays errors experiments
campaigns plan policies simulate theory simulation
"""
SURFACE = _SURFACE.split()

#: Exceptions that are caught inside their room and never reach a user.
INTERNAL = {
    "latesum.service.errors.ClientLeft",
    "latesum.service.errors.Refused",
}


def _sources():
    return sorted(SOURCE.rglob("*.py"))


def test_dir_shows_what_users_use_and_nothing_else():
    assert dir(latesum) == sorted(SURFACE)
    assert set(latesum.__all__) == set(SURFACE) - {"Campaign", "campaigns"}


@pytest.mark.parametrize("name", sorted(SURFACE))
def test_every_name_can_be_loaded(name):
    value = getattr(latesum, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        assert inspect.getdoc(value)


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


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'latesum' has no attribute 'Flwo'"):
        _ = latesum.Flwo


def test_the_module_behind_plan_does_not_hide_it():
    importlib.import_module("latesum.planning.planner")
    assert inspect.isfunction(latesum.plan)


def test_rooms_show_only_names_that_are_there():
    rooms = "adapters attributed delays errors experiments campaigns planning policies"
    for room in [*rooms.split(), "simulation"]:
        module = importlib.import_module(f"latesum.{room}")
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
        assert len(set(module.__all__)) == len(module.__all__)


def test_no_public_class_name_is_there_twice():
    places = defaultdict(list)
    for path in _sources():
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


def test_old_ways_to_catch_still_catch():
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert issubclass(errors.NotConforming, AssertionError)
    assert issubclass(errors.ServiceError, RuntimeError)


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
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert vars(again).keys() == vars(error).keys()
    assert (again.message, again.field, again.remedy) == (error.message, error.field, error.remedy)


def test_an_error_says_what_is_wrong_and_then_what_to_do():
    error = errors.InvalidInput("3 rounds are too few.", field="rounds", remedy="Use 4.")
    assert (str(error), error.field) == ("3 rounds are too few. Use 4.", "rounds")
