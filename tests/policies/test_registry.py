"""Policies by name take the parameters of their `__init__`, whichever Python reads them.

Of a class with a `__new__`, `inspect.signature` is that of `__new__`; on Python 3.11.2 of an
inherited one too. A `__new__` of the class itself is read so by every Python: `_with_new`.
"""

import functools
import inspect

import pytest
from latesum.lab.roster import ATTRIBUTED, policy_for

from latesum import Problem, simulate
from latesum._checks import InvalidInput
from latesum.policies import registry

PROBLEM = Problem([0.3, 0.6], "uniform(0, 20)")
CLASSES = {name: each for name, each in registry._BUILDERS.items() if isinstance(each, type)}


def _with_new(policy):
    class Variant(policy):
        def __new__(cls, *args, **options):
            return object.__new__(cls)

    assert list(inspect.signature(Variant).parameters) == ["args", "options"]
    return Variant


def _of_init(policy):
    """The names after `self`, from the code of the `__init__` that runs."""
    code = policy.__init__.__code__
    return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])


@pytest.mark.parametrize("name", ATTRIBUTED)
def test_a_baseline_with_a_new_of_its_own_is_told_the_same(name, monkeypatch):
    problem = Problem([0.3, 0.6], "constant(0)") if name == "improved-ucb" else PROBLEM
    usual = policy_for(name, problem, 500)
    monkeypatch.setitem(ATTRIBUTED, name, _with_new(ATTRIBUTED[name]))
    told = policy_for(name, problem, 500)
    assert vars(told) == vars(usual)
    assert list(simulate(problem, told, 500, seed=1).stretches) == list(
        simulate(problem, usual, 500, seed=1).stretches
    )
    with pytest.raises(InvalidInput, match=f"no parameter of '{name}' 'args'.*Known: .*n_arms"):
        policy_for(f"{name}(args=1)", problem, 500)


@pytest.mark.parametrize("name", CLASSES)
def test_a_policy_with_a_new_of_its_own_is_told_the_same(name, monkeypatch):
    accepted, optional = registry.accepted_parameters(name), registry.optional_parameters(name)
    usual = policy_for(name, PROBLEM, 500)
    assert accepted == _of_init(CLASSES[name])
    own = _with_new(CLASSES[name])
    for builder in (own, functools.partial(own)):
        monkeypatch.setitem(registry._BUILDERS, name, builder)
        assert registry.accepted_parameters(name) == accepted
        assert registry.optional_parameters(name) == optional
        assert policy_for(name, PROBLEM, 500).to_state() == usual.to_state()
        with pytest.raises(InvalidInput, match=f"{name} cannot be built: missing .* 'n_arms'"):
            registry.build(name)


def test_a_partial_keeps_what_it_was_given(monkeypatch):
    builder = functools.partial(_with_new(CLASSES["odaaf"]), mean_delay=7)
    monkeypatch.setitem(registry._BUILDERS, "mine", builder)
    assert "mean_delay" in registry.optional_parameters("mine")
    assert registry.build("mine", n_arms=2, horizon=500).parameters["mean_delay"] == 7
