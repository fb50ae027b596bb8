"""Policies by name and as text, for files and the command line. A new policy is one line here.

The names of attributed baselines stand in the same registry (`latesum._plugins`), so
that no name means two things; `build` gives policies that decide from totals only.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from latesum._checks import InvalidInput, known_name
from latesum._plugins import POLICIES, read_call, write_call
from latesum.delays import Delay
from latesum.delays.parsing import text_of
from latesum.policies.base import Policy
from latesum.policies.baselines import ARSUCB, CLW, FixedSplit, Oracle, RoundRobin
from latesum.policies.flow import Flow
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.policies.unmix import Unmix

_Class = TypeVar("_Class", bound=type[Policy])

_OURS: tuple[type[Policy], ...] = (ODAAF, ODAAFB, ODAAFV, NaiveODAAF, Unmix, Flow, CLW, ARSUCB)
_OURS += (FixedSplit, RoundRobin, Oracle)
for _class in _OURS:
    POLICIES.add(_class.kind, _class)

#: Names that stand for a policy with a parameter.
_ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "odaaf-v-tightened": ("odaaf-v", {"tightened": True}),
    "unmix-unknown-delay": ("unmix", {"mean_delay": None}),
}


@functools.cache
def _parameters_of(owner: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(owner).parameters


@dataclass(frozen=True)
class PolicySpec:
    """A policy as data: its name, or import path "package.module:Class", and its parameters.

    `policy` is the policy that this is the spec of, where there was one before there was a spec.

    >>> spec = PolicySpec.parse("flow(index='ucb1')")
    >>> spec.name, spec.parameters, str(spec)
    ('flow', {'index': 'ucb1'}, "flow(index='ucb1')")
    >>> spec.given({"n_arms": 2, "horizon": 1000, "mean_delay": 5.0}).build().kind
    'flow'
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    policy: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> PolicySpec:
        """Read "name" or "name(parameter=value, ...)"."""
        name, parameters = read_call(text, "policy")
        name, fixed = _ALIASES.get(name, (name, {}))
        for key in fixed.keys() & parameters.keys():
            raise InvalidInput(f"{text!r} says {key} twice; write {name}(...) instead.")
        return cls(name, {**fixed, **parameters})

    @classmethod
    def of(cls, policy: Any) -> PolicySpec:
        """The spec of what a caller gives: text, a spec, or a policy, which `build` gives back.

        >>> PolicySpec.of("flow") == PolicySpec.of(PolicySpec("flow"))
        True
        """
        if isinstance(policy, str):
            return cls.parse(policy)
        if isinstance(policy, PolicySpec):
            return policy
        if isinstance(policy, type) or not hasattr(policy, "kind") or not hasattr(policy, "sees"):
            raise InvalidInput(
                f'a policy is given as text, such as "flow", or built, such as '
                f"Flow(2, 1000, mean_delay=5), not as {policy!r}."
            )
        name, owner = policy.kind, type(policy)
        if POLICIES.loaded(name) is not owner:
            name = f"{owner.__module__}:{owner.__qualname__}"
        try:
            parameters = _plain(policy.parameters)
        except (AttributeError, InvalidInput):  # no file can hold them, and none is asked to yet
            parameters = {"policy": policy}
        return cls(name, parameters, policy)

    def __str__(self) -> str:
        return write_call(self.name, self.parameters)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def owner(self) -> Any:
        """The class of the policy."""
        return type(self.policy) if self.policy is not None else POLICIES.find(self.name)

    @property
    def sees(self) -> str:
        """What the policy sees: "totals", or "attributed" if it has attributed feedback."""
        return str(self.owner.sees)

    @property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        """The parameters that the policy takes, by name."""
        return _parameters_of(self.owner)

    @property
    def optional(self) -> list[str]:
        """The names of those that it can do without."""
        return [name for name, each in self.accepted.items() if each.default is not each.empty]

    def adding(self, parameters: Mapping[str, Any]) -> PolicySpec:
        """The same with more parameters; one that is there already is refused."""
        for key in parameters.keys() & self.parameters.keys():
            raise InvalidInput(f"{key} is given twice.")
        return PolicySpec(self.name, {**self.parameters, **parameters})

    def given(self, knowledge: Mapping[str, Any]) -> PolicySpec:
        """The same, with what is not written filled in from what is known.

        `knowledge` has values by the names of parameters; what is not known (no bound, no finite
        variance) is None or not finite there, and a policy that needs it is refused.
        """
        choose = getattr(self.owner, "prior_knowledge", None)
        wanted = knowledge if choose is None else choose(knowledge, self.parameters)
        accepted, optional, found = self.accepted, self.optional, dict[str, Any]()
        for key, value in wanted.items():
            if key not in accepted or key in self.parameters:
                continue
            if value is not None and not (isinstance(value, float) and not math.isfinite(value)):
                found[key] = value
            elif key not in optional:
                raise InvalidInput(
                    f"{self.name} must be given the {key.replace('_', ' ')}, and there is none "
                    f"here; write {self.name}({key}=...), or use a delay that has one"
                    + (": truncate a fitted one at the largest delay." if "bound" in key else ".")
                )
        return PolicySpec(self.name, {**found, **self.parameters})

    def build(self) -> Any:
        """The policy: a `Policy`, or an `AttributedPolicy` where the spec `sees` attribution."""
        if self.policy is not None:
            return self.policy
        for key in self.parameters:
            known_name(key, self.accepted, f"parameter of {self.name!r}")
        try:
            inspect.signature(self.owner).bind(**self.parameters)
        except TypeError as error:
            raise InvalidInput(f"{self.name} cannot be built: {error}.") from None
        return self.owner(**self.parameters)


def _plain(value: Any) -> Any:
    """A parameter as a file would have it."""
    if isinstance(value, Delay):
        return text_of(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def available(sees: Literal["totals", "attributed"] | None = "totals") -> list[str]:
    """The names of the policies that see totals, of the attributed baselines, or (None) of both.

    Baselines are known once `latesum.attributed` or `latesum.experiments` is imported.

    >>> "odaaf-b" in available()
    True
    """
    if sees is None:
        return [*available("totals"), *available("attributed")]
    names = [name for name in POLICIES.names() if ":" not in name] + list(_ALIASES)
    return [name for name in names if PolicySpec.parse(name).sees == sees]


def register(policy: _Class) -> _Class:
    """Make your own class of policies known by its `kind`, in this process; also as a decorator.

    For files and the command line, give its import path as the name, "package.module:Class", or let
    your package bring it by an entry point of the group `latesum.policies`.

    >>> @register
    ... class Lazy(RoundRobin):
    ...     kind = "lazy"
    >>> build("lazy", n_arms=2).kind
    'lazy'
    """
    POLICIES.add(getattr(policy, "kind", ""), policy)
    return policy


def describe(name: str) -> str:
    """The first sentence about a policy."""
    return (inspect.getdoc(PolicySpec.parse(name).owner) or "").split("\n")[0]


def accepted_parameters(name: str) -> list[str]:
    """The names of the parameters that a policy takes, without those that the name stands for.

    >>> accepted_parameters("odaaf")[:3]
    ['n_arms', 'horizon', 'mean_delay']
    """
    spec = PolicySpec.parse(name)
    return [key for key in spec.accepted if key not in spec.parameters]


def checked_name(name: str) -> str:
    """The name, if it is that of a policy that decides from totals; any other is refused."""
    if PolicySpec.parse(name).sees != "totals":
        raise InvalidInput(
            f"{name} has attributed feedback: it is a reference for simulations, and cannot decide "
            "from totals."
        )
    return name


def build(name: str, **parameters: Any) -> Policy:
    """The policy of this name, or of the import path "package.module:Class", with these parameters.

    >>> build("odaaf", n_arms=2, horizon=1000, mean_delay=5).kind
    'odaaf'
    """
    policy: Policy = PolicySpec.parse(checked_name(name)).adding(parameters).build()
    return policy


def from_state(state: dict[str, Any]) -> Policy:
    """The saved policy, whatever its class, from what `Policy.to_state` gave.

    >>> policy = build("odaaf", n_arms=2, horizon=1000, mean_delay=5)
    >>> from_state(policy.to_state()).ask() == policy.ask()
    True
    """
    if not isinstance(state, dict) or "policy" not in state:
        raise InvalidInput("this is not a saved policy: it has no 'policy' entry.")
    owner: type[Policy] = POLICIES.find(state["policy"])
    return owner.from_state(state)
