"""Attributed baselines: QPM-D, Delayed-UCB1, SDB, DUCB, KL-DUCB and Improved UCB.

A policy here is a description: its parameters, its name, and the state that the compiled loop
starts from. The rules themselves are in `kernels`.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum import _render
from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.attributed import layout_kernels as layout
from latesum.delays import Delay
from latesum.delays.parsing import parse_each
from latesum.simulation.problem import Problem

Integers = NDArray[np.int64]

#: F(first lag) above this, at a lag of two rounds or more, is a true smallest delay. Below it, as
#: under a Poisson delay, the probabilities before were only too small to be written.
_NEGLIGIBLE = 1e-9
#: Sums of probabilities stay exact up to this many lags.
MAX_WINDOW = 1 << 21


class PolicyState(NamedTuple):
    """The arrays of a policy in a run, as the compiled loop takes them."""

    policy: Any  # one record `layout.POLICY`
    arms: NDArray[np.void]  # `layout.ARM` per arm
    survival: Integers  # DUCB: P(delay > lag) per arm and lag, in PROBABILITY_UNITS
    changes: NDArray[np.void]  # DUCB: a ring of `layout.CHANGE`


class AttributedPolicy(ABC):
    """A baseline with attributed feedback: every reward arrives with the arm that earned it.

    Its rule is compiled. A method of a subclass would never be called, so classes outside of this
    package are refused.
    """

    #: The policy's name in the registry.
    kind: ClassVar[str]
    #: The feedback that the policy uses; policies for totals have "totals".
    sees: ClassVar[Literal["attributed"]] = "attributed"
    #: What the policy must know about the delay, in words.
    delay_knowledge: ClassVar[str] = "nothing"
    _label: ClassVar[str]

    n_arms: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ != __name__:
            raise InvalidInput(
                f"{cls.__name__} cannot extend an attributed baseline: its rule is compiled, and a "
                "method of yours would never be called. Use a baseline as it is, or play a policy "
                "of your own with latesum.adapters.compare_attributed."
            )

    def __post_init__(self) -> None:
        """Replace the arguments by their checked values."""
        vars(self)["n_arms"] = whole_number(self.n_arms, "n_arms", at_least=2)

    @property
    def name(self) -> str:
        """The label for tables and figures."""
        return self._label

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor that differ from their defaults."""
        own: Any = self  # every baseline is a dataclass
        values = ((each, getattr(self, each.name)) for each in dataclasses.fields(own))
        return {each.name: value for each, value in values if value != each.default}

    def check(self, problem: Problem) -> None:
        """Refuse a problem that this policy cannot play; warn about wrong prior knowledge."""
        if problem.n_arms != self.n_arms:
            raise InvalidInput(
                f"{self.name} was made for {self.n_arms} arms and the problem has "
                f"{problem.n_arms}; make it with n_arms={problem.n_arms}."
            )

    @abstractmethod
    def new_state(self, rng: np.random.Generator) -> PolicyState:
        """The arrays of this policy before its first round; it draws from `rng`."""

    def _state(self, rule: int, **values: Any) -> PolicyState:
        """The state of a rule before the first round; `values` are fields of its record."""
        policy = np.zeros(1, dtype=layout.POLICY)
        usual = {"lead": -math.inf, "rival": math.inf, "last_arm": -1, "committed": -1}
        for name, value in {"rule": rule, **usual, **values}.items():
            policy[name] = value
        arms = np.zeros(self.n_arms, dtype=layout.ARM)
        arms["expires"] = arms["queue_first"] = -1
        arms["active"] = True
        survival = np.zeros((self.n_arms, 1), dtype=np.int64)
        return PolicyState(policy[0], arms, survival, np.zeros(1, dtype=layout.CHANGE))

    def _repr_html_(self) -> str:
        knowledge = f"Attributed feedback; knowledge of the delay: {self.delay_knowledge}."
        return _render.heading(repr(self)) + _render.sentences([f"{self.name}. {knowledge}"])


#: The base policies of QPM-D and SDB: number, label, and the one parameter that each may take.
BASES: dict[str, tuple[int, str, str]] = {
    "ucb1": (layout.UCB1, "UCB1", "exploration"),
    "kl-ucb": (layout.KL_UCB, "KL-UCB", ""),
    "kl-ucb++": (layout.KL_UCB_PLUS_PLUS, "KL-UCB++", "horizon"),
    "thompson": (layout.THOMPSON, "Thompson", ""),
}


@dataclass(frozen=True)
class QPMD(AttributedPolicy):
    """QPM-D: a queue per arm around a base policy for undelayed rewards; no delay knowledge.

    The base is fed from the queue of the arm that it asks for; when that queue is empty, the arm is
    played. The base's clock n counts what it was fed. Without delay, QPM-D is its base.

    Args:
        base: The base policy. With n_i rewards of arm i and T the horizon, K the arms:
            "ucb1": mean + sqrt(exploration ln n / n_i);
            "kl-ucb": the largest q with n_i kl(mean, q) <= ln n;
            "kl-ucb++": the same with ln(x (1 + ln^2 x)), x = max(1, T / (K n_i)), for ln n;
            "thompson": the largest draw from Beta(1 + sum, 1 + n_i - sum).
        exploration: The factor of "ucb1", 2 by default.
        horizon: The number of rounds, for "kl-ucb++".

    >>> QPMD("ucb1", n_arms=2).name
    'QPM-D (UCB1)'
    >>> QPMD("kl-ucb", n_arms=2, exploration=0.5)
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: the base 'kl-ucb' has no exploration; only 'ucb1' has.

    References: Joulani, György, Szepesvári (2013), Online Learning under Delayed Feedback.
    """

    base: str
    n_arms: int
    _: dataclasses.KW_ONLY
    exploration: float | None = None
    horizon: int | None = None

    kind = "qpm-d"

    def __post_init__(self) -> None:
        super().__post_init__()
        own = BASES[known_name(self.base, BASES, "base")][2]
        for base, (_, _, parameter) in BASES.items():
            if parameter not in ("", own) and getattr(self, parameter) is not None:
                raise InvalidInput(f"the base {self.base!r} has no {parameter}; only {base!r} has.")
        if self.exploration is not None:
            vars(self)["exploration"] = finite_number(self.exploration, "exploration", above=0)
        if own == "horizon":
            if self.horizon is None:
                raise InvalidInput("the base 'kl-ucb++' needs the horizon: horizon=250000, say.")
            vars(self)["horizon"] = whole_number(self.horizon, "horizon", at_least=1)

    @classmethod
    def prior_knowledge(cls, known: Mapping[str, Any], written: Mapping[str, Any]) -> Any:
        """What it takes of what is known of a problem, beside the parameters that are written."""
        base = BASES.get(written.get("base", "ucb1"))
        takes_horizon = base is not None and base[2] == "horizon"
        kept = {key: each for key, each in known.items() if key != "horizon" or takes_horizon}
        return {"base": "ucb1", **kept}

    @property
    def name(self) -> str:
        return f"QPM-D ({self._base_label})"

    @property
    def _base_label(self) -> str:
        label = BASES[self.base][1]
        if self.exploration not in (None, 2):
            return f"{label}, exploration {self.exploration:g}"
        return label

    def new_state(self, rng: np.random.Generator) -> PolicyState:
        return self._queues(rng, layout.QPMD)

    def _queues(self, rng: np.random.Generator, rule: int, **values: Any) -> PolicyState:
        # Thompson: nothing is known yet, and the largest of equal draws is any arm.
        first = int(rng.integers(self.n_arms)) if self.base == "thompson" else 0
        base, exploration = BASES[self.base][0], self.exploration or 2.0
        values |= {"base": base, "asked": first, "exploration": exploration}
        return self._state(rule, horizon=self.horizon or 0, **values)


@dataclass(frozen=True)
class SDB(QPMD):
    """SDB (stochastic delayed bandits): QPM-D with a heuristic; must know the largest delay.

    It is called SBD in the ODAAF paper. While the base waits for an arm, a heuristic that uses
    every received reward at once may play another one, unless that arm has `max_delay` rewards that
    the base has not used, queued or in flight. So the base always gets its turn.

    The limit is from memory of the paper. There the heuristic gives a distribution over arms;
    here it names one.

    Args:
        heuristic: "thompson" draws from Beta(1 + sum, 1 + count - sum) of what was received;
            "greedy" takes the largest received mean, and the base's arm while there is none.
        max_delay: The largest delay. The other arguments are those of `QPMD`.

    >>> SDB("ucb1", n_arms=2, heuristic="greedy", max_delay=100).name
    'SDB (UCB1, greedy)'

    References: Mandel, Liu, Brunskill, Popović (2015), The Queue Method: Handling Delay,
    Heuristics, Prior Data, and Evaluation in Bandits.
    """

    _: dataclasses.KW_ONLY
    heuristic: str = "thompson"
    max_delay: int

    kind = "sdb"
    delay_knowledge = "the largest delay (max_delay)"

    def __post_init__(self) -> None:
        super().__post_init__()
        known_name(self.heuristic, ("thompson", "greedy"), "heuristic")
        vars(self)["max_delay"] = whole_number(self.max_delay, "max_delay")

    @property
    def name(self) -> str:
        heuristic = "Thompson" if self.heuristic == "thompson" else "greedy"
        return f"SDB ({self._base_label}, {heuristic})"

    def check(self, problem: Problem) -> None:
        super().check(problem)
        given = f"{self.name} was given a largest delay of {self.max_delay}, and"
        for delay in dict.fromkeys(problem.delays):
            if delay.bound is None:
                late = "has none: rewards may arrive later than that."
                warnings.warn(f"{given} {delay.short_text} {late}", stacklevel=3)
            elif delay.bound > self.max_delay:
                raise InvalidInput(
                    f"{given} {delay.short_text} reaches {delay.bound}; give it "
                    f"max_delay={delay.bound} or more."
                )

    def new_state(self, rng: np.random.Generator) -> PolicyState:
        greedy = self.heuristic == "greedy"
        return self._queues(rng, layout.SDB, greedy=greedy, max_delay=self.max_delay)


@dataclass(frozen=True)
class DelayedUCB1(AttributedPolicy):
    """Delayed-UCB1: UCB1 on the rewards received so far; no delay knowledge.

    The index of an arm is the mean of its s received rewards plus sqrt(exploration ln t / s) after
    t rounds. An arm without received rewards comes first; of several, the one played least. Without
    delay it is UCB1.

    Args:
        exploration: The factor in the index; 2 is UCB1's.

    >>> DelayedUCB1(n_arms=2).name
    'Delayed-UCB1'

    References: Joulani, György, Szepesvári (2013), Online Learning under Delayed Feedback.
    """

    n_arms: int
    _: dataclasses.KW_ONLY
    exploration: float = 2.0

    kind = "delayed-ucb1"
    index = "ucb1"

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["exploration"] = finite_number(self.exploration, "exploration", above=0)

    @property
    def name(self) -> str:
        usual = self.exploration == 2
        return "Delayed-UCB1" + ("" if usual else f", exploration {self.exploration:g}")

    def new_state(self, rng: np.random.Generator) -> PolicyState:
        return self._state(layout.DELAYED_UCB1, exploration=self.exploration)


@dataclass(frozen=True)
class DUCB(AttributedPolicy):
    """DUCB, uncensored: plays count by their probability to have arrived; must know the delay.

    With N plays of an arm, each counts towards N~ by the probability F(lag) that it has arrived.
    The index in round t is received / N~ + sqrt(N / N~) sqrt((1 + epsilon) ln t / (2 N~)). The
    first plays take each arm once, in random order. An arm with N~ = 0 comes first; of several, the
    one played least.

    A delay that is never below 2 rounds has F = 0 where N~ is first needed and is refused. F is
    rounded to multiples of 2^-40, so that sums do not depend on their order.

    Args:
        delay: The distribution F of the delay, one for all arms or one for each, as a delay or as
            text.
        epsilon: Widens the index.
        cdf_horizon: The lag from which on F is taken as 1 if the delay is unbounded; otherwise that
            is the delay's bound.

    >>> DUCB("uniform(0, 50)", n_arms=2).name
    'DUCB'

    References: Vernade, Cappé, Perchet (2017), Stochastic Bandit Models for Delayed Conversions.
    """

    delay: Delay | str | Sequence[Delay | str]
    n_arms: int
    _: dataclasses.KW_ONLY
    epsilon: float = 0.0
    cdf_horizon: int = 200

    kind = "ducb"
    delay_knowledge = "its distribution"
    _label = "DUCB"

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["epsilon"] = finite_number(self.epsilon, "epsilon", at_least=0)
        vars(self)["cdf_horizon"] = whole_number(self.cdf_horizon, "cdf_horizon", at_least=1)
        for each in dict.fromkeys(self.delays):
            self._refuse_without_early_arrivals(each)

    @property
    def delays(self) -> tuple[Delay, ...]:
        """The delay of each arm."""
        return parse_each(self.delay, self.n_arms)

    @property
    def name(self) -> str:
        return f"{self._label}, epsilon {self.epsilon:g}" if self.epsilon else self._label

    def check(self, problem: Problem) -> None:
        super().check(problem)
        for arm, (given, real) in enumerate(zip(self.delays, problem.delays, strict=True)):
            if given != real:
                warnings.warn(
                    f"{self.name} was given the delay {given.short_text} and that of arm {arm} is "
                    f"{real.short_text}: its estimates will be biased.",
                    stacklevel=3,
                )
                break

    def new_state(self, rng: np.random.Generator) -> PolicyState:
        poisson = isinstance(self, KLDUCB)
        state = self._state(layout.DUCB, epsilon=self.epsilon, poisson=poisson)
        state.arms["order"] = rng.permutation(self.n_arms)
        windows = [self._window(delay) for delay in self.delays]
        survival = np.zeros((self.n_arms, max(*windows, 1)), dtype=np.int64)
        for row, window, delay in zip(survival, windows, self.delays, strict=True):
            row[:window] = np.rint(delay.survival(np.arange(window)) * layout.PROBABILITY_UNITS)
        n_changes = 1 << survival.shape[1].bit_length()
        return state._replace(survival=survival, changes=np.zeros(n_changes, dtype=layout.CHANGE))

    def _window(self, delay: Delay) -> int:
        """The first lag at which every play counts in full."""
        return self.cdf_horizon if delay.bound is None else delay.bound

    def _refuse_without_early_arrivals(self, delay: Delay) -> None:
        window = self._window(delay)
        if window > MAX_WINDOW:
            raise InvalidInput(
                f"{self._label} adds up probabilities over at most {MAX_WINDOW} lags, and "
                f"{delay.short_text} reaches {window}; clip it, or use QPMD."
            )
        arrived = delay.cdf(np.arange(window + 1))
        first = int(np.argmax(arrived > 0)) if (arrived > 0).any() else window
        if first >= 2 and (first == window or arrived[first] > _NEGLIGIBLE):
            raise InvalidInput(
                f"{self._label} divides by the probability that a reward has arrived, and under "
                f"{delay.short_text} that is 0 for the first {first} rounds; use QPMD or "
                "DelayedUCB1, which need not know the delay."
            )


class KLDUCB(DUCB):
    """KL-DUCB: DUCB with a Kullback-Leibler index; must know the delay's distribution.

    Plays count as in `DUCB`, and the arguments are the same. The index is the largest q in
    [estimate, 1] with N~ d(estimate, q) <= (1 + epsilon) ln t, where d(p, q) = p ln(p / q) + q - p
    is the divergence of Poisson distributions: a sum of Bernoulli rewards, each with its own
    probability to have arrived, is dominated by a Poisson variable. It explores less than DUCB
    where rewards are rare (means below about 1/4) and more where they are not.

    >>> KLDUCB("uniform(0, 50)", n_arms=2).name
    'KL-DUCB'

    References: Vernade, Cappé, Perchet (2017), Stochastic Bandit Models for Delayed Conversions.
    """

    kind = "kl-ducb"
    _label = "KL-DUCB"


@dataclass(frozen=True)
class ImprovedUCB(AttributedPolicy):
    """Improved UCB: phases and eliminations for rewards without delay; knows the horizon T.

    With a tolerance D of 1, 1/2, 1/4, ... every active arm is played until it has
    ceil(2 ln(T D^2) / D^2) plays; then an arm goes when its mean + w is below the best mean - w,
    w = sqrt(ln(T D^2) / (2 n)). The phases end when one arm is left, which is played to the end,
    or when T D^2 would be below e; then the arm with the best mean is played.

    ODAAF extends it to delayed, aggregated feedback.

    >>> ImprovedUCB(n_arms=2, horizon=250_000).name
    'Improved UCB'

    References: Auer, Ortner (2010), UCB Revisited.
    """

    n_arms: int
    _: dataclasses.KW_ONLY
    horizon: int

    kind = "improved-ucb"
    delay_knowledge = "nothing: there must be none"
    _label = "Improved UCB"

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["horizon"] = whole_number(self.horizon, "horizon", at_least=1)

    def check(self, problem: Problem) -> None:
        super().check(problem)
        for delay in problem.delays:
            if delay.bound != 0:
                raise InvalidInput(
                    f"{self.name} is for undelayed rewards, and these come with "
                    f"{delay.short_text}; use delay 'constant(0)', or QPMD, which takes any delay."
                )

    def new_state(self, rng: np.random.Generator) -> PolicyState:
        plays = math.ceil(2.0 * math.log(self.horizon)) if self.horizon >= math.e else 0
        values = {"horizon": self.horizon, "tolerance": 1.0, "phase_plays": plays}
        return self._state(layout.IMPROVED_UCB, **values)
