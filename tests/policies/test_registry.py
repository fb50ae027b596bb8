"""Policies by name take the parameters of their `__init__`."""

import pytest

from latesum import Problem
from latesum._checks import InvalidInput
from latesum._plugins import POLICIES, Registry
from latesum.experiments import RunSpec
from latesum.policies import Policy, PolicySpec, RoundRobin, from_state, registry

PROBLEM = Problem([0.3, 0.6], "uniform(0, 20)")


def policy_for(text, problem, horizon):
    """The policy written as `text`, given what is true of a problem."""
    return RunSpec(problem, PolicySpec.parse(text), horizon).prepared[1]


def _of_init(policy):
    """The names after `self`, from the code of the `__init__` that runs."""
    code = policy.__init__.__code__
    return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])


@pytest.mark.parametrize("name", registry.available("attributed"))
def test_an_unknown_parameter_of_a_baseline_is_refused(name):
    problem = Problem([0.3, 0.6], "constant(0)") if name == "improved-ucb" else PROBLEM
    assert policy_for(name, problem, 500).n_arms == 2
    with pytest.raises(InvalidInput, match=f"no parameter of '{name}' 'args'.*Known: .*n_arms"):
        policy_for(f"{name}(args=1)", problem, 500)


@pytest.mark.parametrize("name", [n for n in registry.available() if n not in registry._ALIASES])
def test_a_policy_takes_what_its_constructor_takes(name):
    assert registry.accepted_parameters(name) == _of_init(POLICIES.find(name))
    with pytest.raises(InvalidInput, match=f"{name} cannot be built: missing .* 'n_arms'"):
        registry.build(name)


class Lazy(RoundRobin):
    """In turns, and that is all."""

    kind = "lazy-one"


@pytest.fixture
def known(monkeypatch):
    """The registry, which forgets afterwards what a test has registered."""
    monkeypatch.setattr(POLICIES, "_known", dict(POLICIES._known))


@pytest.mark.usefixtures("known")
def test_a_policy_of_ones_own_is_known_by_its_kind():
    assert registry.register(Lazy) is Lazy
    registry.register(Lazy)  # the same again is no collision
    assert "lazy-one" in registry.available()
    policy = registry.build("lazy-one", n_arms=3)
    assert isinstance(from_state(policy.to_state()), Lazy)
    assert registry.describe("lazy-one") == "In turns, and that is all."


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("name", ["flow", "qpm-d"])
def test_a_name_that_is_taken_is_refused_whatever_its_owner_sees(name):
    taken = type("Taken", (RoundRobin,), {"kind": name})
    with pytest.raises(InvalidInput, match=f"there is a policy '{name}' already"):
        registry.register(taken)


def test_what_is_no_policy_is_refused():
    with pytest.raises(InvalidInput, match="is no policy"):
        registry.register(print)
    with pytest.raises(InvalidInput, match="has the kind None"):
        registry.register(type("Nameless", (Policy,), {}))
    with pytest.raises(
        InvalidInput, match="'lazy-one'; a policy is registered under its kind, and 'x'"
    ):
        POLICIES.add("x", Lazy)


def test_an_attributed_baseline_is_not_built_for_totals():
    with pytest.raises(InvalidInput, match="qpm-d has attributed feedback"):
        registry.build("qpm-d", n_arms=2)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module:Thing", "cannot be loaded: No module named 'no_such_module'"),
        ("latesum:Thing", "cannot be loaded.*has no attribute 'Thing'"),
        ("latesum:Problem", "is no policy"),
        ("flwo", "did you mean 'flow'"),
        ("odaaf(", "cannot read"),
        ("odaaf(3)", "cannot read"),
        ("odaaf(mean_delay=open)", "cannot read"),
        ("!", "cannot read"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(name, says):
    with pytest.raises(InvalidInput, match=says):
        PolicySpec.parse(name).build()


def test_a_spec_is_text_and_back():
    for text in (
        "flow",
        "flow(index='ucb1')",
        "odaaf-b(mean_delay=2.5, delay_bound=9, names=['a', 'b'])",
    ):
        assert str(PolicySpec.parse(text)) == text
        assert PolicySpec.parse(text) == PolicySpec.parse(text)
    assert str(PolicySpec.parse("odaaf-v-tightened")) == "odaaf-v(tightened=True)"
    spec = PolicySpec.of(registry.build("odaaf", n_arms=2, horizon=100, mean_delay=3))
    again = PolicySpec.parse(str(spec)).build()
    assert again.ask() == spec.build().ask()


def test_the_spec_of_a_class_that_is_not_registered_is_its_place():
    spec = PolicySpec.of(Lazy(2))
    assert spec.name.endswith("test_registry:Lazy")
    assert spec.build().kind == "lazy-one"


class _Entry:
    """An entry point of some package."""

    dist = None

    def __init__(self, name):
        self.name, self.value = name, "some:thing"

    def load(self):
        raise ImportError("no module named some")


def test_entry_points_that_collide_or_cannot_be_loaded_are_refused(monkeypatch):
    names = ["hammer"]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [_Entry(name) for name in names]
    )
    tools = Registry("tool", "some.group")
    with pytest.raises(InvalidInput, match=r"the tool 'hammer'.*cannot be loaded: no module"):
        tools.find("hammer")
    tools = Registry("tool", "some.group")
    tools.add("hammer", print)
    assert tools.find("hammer") is print  # what is known needs no look at packages
    with pytest.raises(InvalidInput, match="brings a tool 'hammer', and there is one"):
        tools.names()
