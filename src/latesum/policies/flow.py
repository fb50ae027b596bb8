"""FLOW: an optimistic index on estimates from which the leaks between arms are balanced out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latesum._checks import finite_number, known_name
from latesum.policies.base import say_estimate
from latesum.policies.flow_base import FlowPolicy, kernels
from latesum.policies.history import Before
from latesum.policies.indices import (
    INDICES,
    Floats,
    Index,
    index_values,
)


class IndexPolicy(FlowPolicy):
    """A flow policy that plays the arm with the best index; a subclass says what it believes."""

    takes_new_options = True  # an arm that was never played comes first

    def __init__(
        self,
        n_arms: int,
        horizon: int | None,
        mean_delay: float,
        index: str,
        *,
        before: Before = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.index = known_name(index, INDICES, "index")
        super().__init__(
            n_arms, horizon, mean_delay, before=before, history=history, names=names, rng=rng
        )

    @abstractmethod
    def _beliefs(self) -> tuple[Floats, Floats, Floats]:
        """Per arm: the mean, the mean to take for the index, and the plays that it is worth."""

    def _decide(self, finished: bool) -> None:
        arm = self._choose()
        self._plan(arm, self._rounds_for(arm))

    def _choose(self) -> int:
        arm = self._untried()
        if arm is not None:
            return arm
        _, means, counts = self._beliefs()
        return int(kernels().pick(self._state, counts, self._values(means, counts)))

    def _values(self, means: Floats, counts: Floats) -> Floats:
        return index_values(
            self.index, means, counts, clock=self._balance.rounds_played, horizon=self.horizon
        )

    def _findings(self) -> list[str]:
        means, optimistic, counts = self._beliefs()
        values = self._values(optimistic, counts)
        return [
            *super()._findings(),
            *(
                say_estimate(name, means[arm], counts[arm], values[arm])
                for arm, name in enumerate(self.names)
                if counts[arm] > 0
            ),
        ]

    def _reason(self) -> str:
        if not self._balance.last_played[self._arm]:
            return "because it has not been tried yet"
        if self._untried() is not None:
            return "to finish the block that was begun"
        if self._nothing_known():
            return "because nothing is known yet"
        if not self._known_rounds(self._arm):
            return "because nothing is known of it yet"
        unknown = [arm for arm in self._available() if not self._known_rounds(arm)]
        of_which = " of those of which something is known" if unknown else ""
        return f"because it looks most promising{of_which}"


class Flow(IndexPolicy):
    """Plays the arm with the best index, in growing blocks, and balances out what leaked.

    Every arm is first played for three mean delays, in random order. Then the arm with the highest
    index is played: for a tenth of its known rounds more if it is the one being played, else for six
    mean delays or a quarter of its known rounds, whichever is more. Nothing is thrown away: a
    small linear system (`FlowBalance`) takes out what late rewards moved from arm to arm.

    It expects that rewards are in [0, 1], that delays have the same law for all arms, and that the
    horizon is long against 3 `mean_delay` `n_arms`: otherwise there is no time to learn anything.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all, or None if it is not known (the index is then KL-UCB,
            or UCB1). Past its horizon the policy goes on, as if the horizon were the present.
        mean_delay: The delay's mean or an upper estimate of it. Overstating it only costs regret,
            understating it is dangerous (told 0.65 of the mean, 3 of 3000 runs on random problems
            never found the best arm).
        index: "kl-ucb++", "kl-ucb" or "ucb1".
        caution: By what share `mean_delay` may be too small: the index takes the better one of an
            arm's estimates with the mean delay as told and with one larger by that share. With 0 it
            trusts `mean_delay`, which saves a few per cent.
        before: What ran before the start, since its late rewards arrive in the first blocks:
            None (nothing ran: the pipeline is empty, as in the paper), one of the arms, or "other"
            (no arm, or not known: the first block then only tells what ran before, and is no
            evidence for its arm). Told None where something ran, the first arm looks better than it
            is for a long time.
        history: Parts that were played before the start, oldest first, as (arm, rounds, total or
            None); `before` is then what ran before its first part.
        names: The names of the arms, for sentences.
        rng: The generator to draw from.

    >>> policy = Flow(2, 250_000, mean_delay=50, rng=np.random.default_rng(1))
    >>> policy.ask()
    Block(arm=0, rounds=150, purpose='learn', number=1)
    >>> policy.tell(0, 150, total=51)
    >>> policy.ask()
    Block(arm=1, rounds=150, purpose='learn', number=2)
    >>> policy.tell(1, 150, total=83)
    >>> policy.ask()
    Block(arm=1, rounds=15, purpose='learn', number=3)

    References: `docs/theory.md`; Menard and Garivier (2017), A minimax and asymptotically optimal
    algorithm for stochastic bandits, ALT.
    """

    kind = "flow"

    def __init__(
        self,
        n_arms: int,
        horizon: int | None = None,
        *,
        mean_delay: float,
        index: Index = "kl-ucb++",
        caution: float = 0.25,
        before: Before = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.caution = finite_number(caution, "caution", at_least=0, at_most=0.9)
        super().__init__(
            n_arms, horizon, mean_delay, index, before=before, history=history, names=names, rng=rng
        )

    def _rule(self) -> dict[str, Any]:
        return {
            "index_kind": INDICES[self.index],
            "caution": float(self.caution),
            "noise": float(self._noise()),
        }

    def _choose(self) -> int:
        return int(kernels().choose(self._state))

    def _beliefs(self) -> tuple[Floats, Floats, Floats]:
        beliefs: tuple[Floats, Floats, Floats] = kernels().beliefs(self._state)
        return beliefs

    def _values(self, means: Floats, counts: Floats) -> Floats:
        values: Floats = kernels().values(self._state, means, counts)
        return values

    def _noise(self) -> float:
        """How many mean delays' worth of plays disturb a total at each boundary (kappa)."""
        return 1.0
