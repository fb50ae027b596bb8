"""Policies by name, for files and the command line. A new policy is one line here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from latesum._checks import InvalidInput, known_name
from latesum._signatures import signature_of
from latesum.policies.ars_ucb import ARSUCB
from latesum.policies.base import Policy
from latesum.policies.clw import CLW
from latesum.policies.fixed import FixedSplit, Oracle, RoundRobin
from latesum.policies.flow import Flow
from latesum.policies.flow_lookahead import FlowLookahead
from latesum.policies.guarded import Guarded
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.policies.odaaf_s import ODAAFS

_BUILDERS: dict[str, Callable[..., Policy]] = {
    "odaaf": ODAAF,
    "odaaf-b": ODAAFB,
    "odaaf-v": ODAAFV,
    "odaaf-v-tightened": functools.partial(ODAAFV, tightened=True),
    "naive": NaiveODAAF,
    "flow": Flow,
    "flow-lookahead": FlowLookahead,
    "odaaf-s": ODAAFS,
    "guarded": Guarded,
    "clw": CLW,
    "ars-ucb": ARSUCB,
    "fixed-split": FixedSplit,
    "round-robin": RoundRobin,
    "oracle": Oracle,
}


def available() -> list[str]:
    """The names that `build` knows.

    >>> "odaaf-b" in available()
    True
    """
    return list(_BUILDERS)


def register(name: str, builder: Callable[..., Policy]) -> None:
    """Make your own policy known by a name, to `build` and so to files and the command line."""
    _BUILDERS[name] = builder


def describe(name: str) -> str:
    """The first sentence about a policy."""
    builder = _BUILDERS[known_name(name, _BUILDERS, "policy")]
    described = builder.func if isinstance(builder, functools.partial) else builder
    return (inspect.getdoc(described) or "").split("\n")[0]


def accepted_parameters(name: str) -> list[str]:
    """The names of the parameters that a policy takes.

    >>> accepted_parameters("odaaf")[:3]
    ['n_arms', 'horizon', 'mean_delay']
    """
    return list(signature_of(_BUILDERS[known_name(name, _BUILDERS, "policy")]).parameters)


def optional_parameters(name: str) -> list[str]:
    """Those of them that a policy can do without.

    >>> "mean_delay" in optional_parameters("odaaf")
    False
    """
    builder = _BUILDERS[known_name(name, _BUILDERS, "policy")]
    parameters = signature_of(builder).parameters.values()
    return [each.name for each in parameters if each.default is not inspect.Parameter.empty]


def build(name: str, **parameters: Any) -> Policy:
    """The policy of this name with these parameters.

    >>> build("odaaf", n_arms=2, horizon=1000, mean_delay=5).kind
    'odaaf'
    """
    accepted = accepted_parameters(name)
    for parameter in parameters:
        known_name(parameter, accepted, f"parameter of {name!r}")
    try:
        signature_of(_BUILDERS[name]).bind(**parameters)
    except TypeError as error:
        raise InvalidInput(f"{name} cannot be built: {error}.") from None
    return _BUILDERS[name](**parameters)


def from_state(state: dict[str, Any]) -> Policy:
    """The saved policy, whatever its class.

    >>> policy = build("odaaf", n_arms=2, horizon=1000, mean_delay=5)
    >>> from_state(policy.to_state()).ask() == policy.ask()
    True
    """
    from latesum.policies.restarting import Restarting

    if not isinstance(state, dict) or "policy" not in state:
        raise InvalidInput("this is not a saved policy: it has no 'policy' entry.")
    kind = state["policy"]
    if kind == Restarting.kind:
        return Restarting.from_state(state)
    builder: Any = _BUILDERS[known_name(kind, _BUILDERS, "policy")]
    owner = getattr(builder, "__self__", builder)
    return owner.from_state(state)  # type: ignore[no-any-return]
