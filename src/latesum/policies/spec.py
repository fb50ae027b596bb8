"""A policy as data: its name and its parameters, as files, commands and saved settings have it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, known_name
from latesum._plugins import POLICIES, read_call, signature_of, write_call
from latesum.delays import Delay
from latesum.delays.parsing import text_of

#: Names that stand for a policy with a parameter.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "odaaf-v-tightened": ("odaaf-v", {"tightened": True}),
    "unmix-untold": ("unmix", {"mean_delay": None}),
}


@dataclass(frozen=True)
class PolicySpec:
    """A policy's name in the registry, or its place "package.module:Class", and its parameters.

    Args:
        name: The name or the place.
        parameters: The parameters by name.
        policy: The policy that this is the spec of, where there was one before there was a spec.

    >>> spec = PolicySpec.parse("flow(index='ucb1')")
    >>> spec.name, spec.parameters, str(spec)
    ('flow', {'index': 'ucb1'}, "flow(index='ucb1')")
    >>> spec.told({"n_arms": 2, "horizon": 1000, "mean_delay": 5.0}).build().kind
    'flow'
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    policy: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> PolicySpec:
        """Read "name" or "name(parameter=value, ...)".

        Args:
            text: The text.
        """
        name, parameters = read_call(text, "policy")
        name, fixed = ALIASES.get(name, (name, {}))
        for key in fixed:
            if key in parameters:
                raise InvalidInput(f"{text!r} says {key} twice; write {name}(...) instead.")
        return cls(name, {**fixed, **parameters})

    @classmethod
    def of(cls, policy: Any) -> PolicySpec:
        """The spec of what a caller gives: text, a spec, or a policy, which `build` gives back.

        Args:
            policy: The policy.

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
        name, own = policy.kind, type(policy)
        if POLICIES.loaded(name) is not own:
            name = f"{own.__module__}:{own.__qualname__}"
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
    def sees(self) -> str:
        """What the policy sees: "totals", or "attributed" if it has attributed feedback."""
        return str(self._class.sees)

    @property
    def accepted(self) -> list[str]:
        """The names of the parameters that the policy takes."""
        return list(signature_of(self._class).parameters)

    @property
    def optional(self) -> list[str]:
        """Those of them that it can do without."""
        parameters = signature_of(self._class).parameters.values()
        return [each.name for each in parameters if each.default is not inspect.Parameter.empty]

    def adding(self, parameters: Mapping[str, Any]) -> PolicySpec:
        """The same with more parameters; one that is there already is refused.

        Args:
            parameters: The parameters to add.
        """
        for key in parameters:
            if key in self.parameters:
                raise InvalidInput(f"{key} is given twice.")
        return PolicySpec(self.name, {**self.parameters, **parameters})

    def told(self, knowledge: Mapping[str, Any]) -> PolicySpec:
        """The same, with what is not written filled in from what is known.

        A policy that must be told something that is not known is refused.

        Args:
            knowledge: Values by the names of parameters; what is not known is None or not finite
                there.
        """
        choose = getattr(self._class, "told", None)
        wanted = knowledge if choose is None else choose(knowledge, self.parameters)
        accepted, optional = self.accepted, self.optional
        given = {}
        for key, value in wanted.items():
            if key not in accepted or key in self.parameters:
                continue
            if not _is_unknown(value):
                given[key] = value
            elif key not in optional:
                raise InvalidInput(
                    f"{self.name} must be told the {key.replace('_', ' ')}, and there is none "
                    f"here; write {self.name}({key}=...), or use a delay that has one"
                    + (": to a fit, say the largest delay." if "bound" in key else ".")
                )
        return PolicySpec(self.name, {**given, **self.parameters})

    def build(self) -> Any:
        """The policy: a `Policy`, or an `AttributedPolicy` where the spec `sees` labels."""
        if self.policy is not None:
            return self.policy
        for key in self.parameters:
            known_name(key, self.accepted, f"parameter of {self.name!r}")
        try:
            signature_of(self._class).bind(**self.parameters)
        except TypeError as error:
            raise InvalidInput(f"{self.name} cannot be built: {error}.") from None
        return self._class(**self.parameters)

    @property
    def _class(self) -> Any:
        return type(self.policy) if self.policy is not None else POLICIES.find(self.name)


def _is_unknown(value: object) -> bool:
    """Whether this is what a delay does not have: no bound, no finite variance."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _plain(value: Any) -> Any:
    """A parameter as a file would have it."""
    if isinstance(value, Delay):
        return text_of(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
