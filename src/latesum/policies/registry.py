"""Policies by name, for files and the command line. A new policy is one line here.

The names of attributed baselines stand in the same registry (`latesum._plugins`), so
that no name means two things; `build` gives policies that decide from totals only.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal, TypeVar

from latesum._checks import InvalidInput
from latesum._plugins import POLICIES
from latesum.policies.ars_ucb import ARSUCB
from latesum.policies.base import Policy
from latesum.policies.clw import CLW
from latesum.policies.fixed import FixedSplit, Oracle, RoundRobin
from latesum.policies.flow import Flow
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.policies.spec import ALIASES, PolicySpec
from latesum.policies.unmix import Unmix

_Class = TypeVar("_Class", bound=type[Policy])

_OURS: tuple[type[Policy], ...] = (
    ODAAF,
    ODAAFB,
    ODAAFV,
    NaiveODAAF,
    Unmix,
    Flow,
    CLW,
    ARSUCB,
    FixedSplit,
    RoundRobin,
    Oracle,
)
for _class in _OURS:
    POLICIES.add(_class.kind, _class)


def available(sees: Literal["totals", "attributed"] | None = "totals") -> list[str]:
    """The names of the policies that see totals, of the attributed baselines, or of both.

    Baselines are known once `latesum.attributed` or `latesum.experiments` is imported.

    Args:
        sees: "totals", "attributed", or None for both.

    >>> "odaaf-b" in available()
    True
    """
    if sees is None:
        return [*available("totals"), *available("attributed")]
    names = [name for name in POLICIES.names() if ":" not in name] + list(ALIASES)
    return [name for name in names if PolicySpec.parse(name).sees == sees]


def register(policy: _Class) -> _Class:
    """Make your own class of policies known by its `kind`, in this process; also as a decorator.

    For files and the command line, give its place as the name, "package.module:Class", or let
    your package bring it by an entry point of the group `latesum.policies`.

    Args:
        policy: A subclass of `Policy` with a `kind` that no other policy has.

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
    return (inspect.getdoc(POLICIES.find(PolicySpec.parse(name).name)) or "").split("\n")[0]


def accepted_parameters(name: str) -> list[str]:
    """The names of the parameters that a policy takes, without those that the name stands for.

    >>> accepted_parameters("odaaf")[:3]
    ['n_arms', 'horizon', 'mean_delay']
    """
    spec = PolicySpec.parse(name)
    return [key for key in spec.accepted if key not in spec.parameters]


def optional_parameters(name: str) -> list[str]:
    """Those of them that a policy can do without.

    >>> "mean_delay" in optional_parameters("odaaf")
    False
    """
    return PolicySpec.parse(name).optional


def takes_new_options(name: str) -> bool:
    """Whether an option may be added while the policy of this name runs.

    >>> takes_new_options("flow"), takes_new_options("odaaf")
    (True, False)
    """
    return bool(getattr(POLICIES.find(PolicySpec.parse(name).name), "takes_new_options", False))


def checked_name(name: str) -> str:
    """The name, if it is that of a policy that decides from totals; any other is refused.

    >>> checked_name("latesum.policies.flow:Flow")
    'latesum.policies.flow:Flow'
    """
    if PolicySpec.parse(name).sees != "totals":
        raise InvalidInput(
            f"{name} has attributed feedback: it is a reference for simulations, and cannot decide "
            "from totals."
        )
    return name


def build(name: str, **parameters: Any) -> Policy:
    """The policy of this name with these parameters.

    Args:
        name: The name, or the place "package.module:Class".
        parameters: Its parameters.

    >>> build("odaaf", n_arms=2, horizon=1000, mean_delay=5).kind
    'odaaf'
    """
    policy: Policy = PolicySpec.parse(checked_name(name)).adding(parameters).build()
    return policy


def from_state(state: dict[str, Any]) -> Policy:
    """The saved policy, whatever its class.

    Args:
        state: What `Policy.to_state` gave.

    >>> policy = build("odaaf", n_arms=2, horizon=1000, mean_delay=5)
    >>> from_state(policy.to_state()).ask() == policy.ask()
    True
    """
    if not isinstance(state, dict) or "policy" not in state:
        raise InvalidInput("this is not a saved policy: it has no 'policy' entry.")
    owner: type[Policy] = POLICIES.find(state["policy"])
    return owner.from_state(state)
