"""DUCB: each play counts by the chance that its reward has arrived."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.memory import Integers, Memory
from latesum.attributed.policy import AttributedPolicy
from latesum.delays import Delay, parse
from latesum.simulation.problem import Problem

#: A first chance to arrive above this, at a lag of two rounds or more, is a true smallest delay.
#: Below it, as under a Poisson delay, the chances before were only too small to be written.
_NEGLIGIBLE = 1e-9
#: Sums of chances stay exact up to this many lags.
_LARGEST_WINDOW = 1 << 21


class DUCB(AttributedPolicy):
    """DUCB, uncensored: must be told the distribution of the delay.

    With N plays of an arm, each counts towards N~ by the chance F(lag) that it has arrived. The
    index in round t is received / N~ + sqrt(N / N~) sqrt((1 + epsilon) ln t / (2 N~)). The first
    plays take each arm once, in random order. An arm with N~ = 0 comes first; of several, the one
    played least.

    A delay that is never below 2 rounds has F = 0 where N~ is first needed and is refused.

    F is rounded to multiples of 2^-40, so that sums do not depend on their order.

    Args:
        delay: The distribution F of the delay, one for all arms or one for each, as a delay or as
            text.
        n_arms: The number of arms.
        epsilon: Widens the index.
        cdf_horizon: The number of rounds from which on F is taken as 1 where the delay is
            unbounded; otherwise that is the delay's bound.

    >>> DUCB("uniform(0, 50)", n_arms=2).name
    'DUCB'

    References: Vernade, Cappé, Perchet (2017), Stochastic Bandit Models for Delayed Conversions.
    """

    kind = "ducb"
    delay_knowledge = "its distribution"
    _label = "DUCB"
    _poisson_kl = 0

    def __init__(
        self,
        delay: Delay | str | Sequence[Delay | str],
        n_arms: int,
        *,
        epsilon: float = 0.0,
        cdf_horizon: int = 200,
    ) -> None:
        super().__init__(n_arms)
        if isinstance(delay, (str, Delay)):
            self.delays: tuple[Delay, ...] = (parse(delay),) * self.n_arms
        else:
            self.delays = tuple(parse(each) for each in delay)
            if len(self.delays) != self.n_arms:
                raise InvalidInput(
                    f"{self._label} takes one delay for all arms or one for each of the "
                    f"{self.n_arms}, not {len(self.delays)}."
                )
        self.epsilon = finite_number(epsilon, "epsilon", at_least=0)
        self.cdf_horizon = whole_number(cdf_horizon, "cdf_horizon", at_least=1)
        for each in dict.fromkeys(self.delays):
            self._refuse_without_early_arrivals(each)

    @property
    def name(self) -> str:
        return f"{self._label}, epsilon {self.epsilon:g}" if self.epsilon else self._label

    def __repr__(self) -> str:
        texts = [delay.text for delay in self.delays]
        told: object = texts[0] if len(set(texts)) == 1 else texts
        return (
            f"{type(self).__name__}({told!r}, n_arms={self.n_arms}, epsilon={self.epsilon:g}, "
            f"cdf_horizon={self.cdf_horizon})"
        )

    def check(self, problem: Problem) -> None:
        super().check(problem)
        for arm, (told, real) in enumerate(zip(self.delays, problem.delays, strict=True)):
            if told != real:
                warnings.warn(
                    f"{self.name} was told the delay {told.short_text} and that of arm {arm} is "
                    f"{real.short_text}: its estimates will be off.",
                    stacklevel=3,
                )
                break

    def new_memory(self, rng: np.random.Generator) -> Memory:
        memory = Memory(layout.WEIGHTED, self.n_arms, rng)
        memory.settings[layout.EPSILON] = self.epsilon
        memory.whole[layout.POISSON_KL] = self._poisson_kl
        memory.tallies[layout.FIRST_PLAYS] = rng.permutation(self.n_arms)
        memory.survival = self._survival_units()
        window = memory.survival.shape[1]
        memory.whole[layout.WINDOW] = window
        memory.edges = np.zeros((3, 1 << window.bit_length()), dtype=np.int64)
        return memory

    def _window(self, delay: Delay) -> int:
        """The first lag at which every play counts in full."""
        return self.cdf_horizon if delay.bound is None else delay.bound

    def _survival_units(self) -> Integers:
        """1 - F per arm and lag, in units of 2^-40, as whole numbers."""
        window = max(self._window(delay) for delay in self.delays)
        units = np.zeros((self.n_arms, max(window, 1)), dtype=np.int64)
        for arm, delay in enumerate(self.delays):
            own = self._window(delay)
            chances = delay.survival(np.arange(own))
            units[arm, :own] = np.rint(chances * layout.CHANCE_UNITS).astype(np.int64)
        return units

    def _refuse_without_early_arrivals(self, delay: Delay) -> None:
        window = self._window(delay)
        if window > _LARGEST_WINDOW:
            raise InvalidInput(
                f"{self._label} adds up chances over at most {_LARGEST_WINDOW} lags, and "
                f"{delay.short_text} reaches {window}; clip it, or use QPMD."
            )
        chances = delay.cdf(np.arange(window + 1))
        first = int(np.argmax(chances > 0)) if (chances > 0).any() else window
        if first >= 2 and (first == window or chances[first] > _NEGLIGIBLE):
            raise InvalidInput(
                f"{self._label} divides by the chance that a reward has arrived, and under "
                f"{delay.short_text} that is 0 for the first {first} rounds; use QPMD or DelayedUCB1, "
                "which need not know the delay."
            )


class KLDUCB(DUCB):
    """DUCB with a Kullback-Leibler index: must be told the distribution of the delay.

    Plays count as in `DUCB`. The index is the largest q in [estimate, 1] with
    N~ d(estimate, q) <= (1 + epsilon) ln t, where d(p, q) = p ln(p / q) + q - p is the divergence
    of Poisson laws: a sum of Bernoulli rewards, each with its own chance to have arrived, is
    dominated by a Poisson variable. It explores less than DUCB where rewards are rare (means
    below about 1/4) and more where they are not.

    >>> KLDUCB("uniform(0, 50)", n_arms=2).name
    'KL-DUCB'

    References: Vernade, Cappé, Perchet (2017), Stochastic Bandit Models for Delayed Conversions.
    """

    kind = "kl-ducb"
    _label = "KL-DUCB"
    _poisson_kl = 1
