"""The rule of `latesum.markets` on one stream, as a policy for any problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from latesum._checks import finite_number, whole_number
from latesum.delays import Delay
from latesum.delays.parsing import parse, text_of
from latesum.markets.config import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig
from latesum.markets.rows import Panel
from latesum.markets.rule import decide_panel
from latesum.markets.search import posterior
from latesum.markets.summary import Winner, widening, winner_of
from latesum.policies.base import Believed, Block, Play, Policy
from latesum.policies.saving import StatusQuo, check_history, check_status_quo

#: Without buckets of the problem's own, a bucket is this share of the horizon, or half a mean
#: delay.
_BUCKETS = 100


class Switchback(Policy):
    """A sweep over all arms, then tempered Thompson sampling from a state-space model.

    Every tell is a bucket. In files and commands it is
    "latesum.experiments.markets.one_stream:Switchback".

    Args:
        mean_delay: The mean delay in rounds.
        shape: A law of delays, of which only the shape counts; without it, exponential.
        bucket: The rounds between two decisions; 0 for some of its own.
        status_quo: What ran until the start: an arm, "other" (no arm, or not known), or None
            (nothing).
        history: What was played before the start in parts of a bucket: arm, rounds and total.
        pattern: The repeating pattern of the buckets: "weekday", or "none".
        differing_delays: How likely it is that one arm's rewards are later than the others'; None
            for the usual value.
        rng: The generator whose first number the draws come from.

    >>> policy = Switchback(2, 900_000, 10_000, bucket=10_000)
    >>> asked = policy.ask()
    >>> asked.rounds, asked.purpose
    (10000, 'learn')
    """

    kind = "switchback"
    random = True
    learns_from = "segments"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        *,
        shape: Delay | str | None = None,
        bucket: int = 0,
        status_quo: StatusQuo = None,
        history: Iterable[Sequence[Any]] = (),
        pattern: Literal["weekday", "none"] = "weekday",
        differing_delays: float | None = None,
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        self.mean_delay = finite_number(mean_delay, "the mean delay", at_least=0)
        self._law = None if shape is None else parse(shape)
        self.shape = None if self._law is None else text_of(self._law)
        self.bucket = whole_number(bucket, "the rounds of a bucket")
        self.status_quo = check_status_quo(status_quo, n_arms)
        self.history = check_history(history, n_arms)
        self.pattern, self.differing_delays = pattern, differing_delays
        super().__init__(n_arms, names=names, rng=rng)

    def _reset(self) -> None:
        self._rows: list[list[Any]] = [list(part) for part in self.history]
        rng = self._rng
        self._seed = 0 if rng is None else int(rng.integers(2**31))

    def _learn(self, play: Play) -> None:
        self._rows.append([play.arm, play.rounds, play.total])

    @property
    def _size(self) -> int:
        """The rounds of a bucket."""
        least = max(self.horizon / _BUCKETS, self.mean_delay / 2, 1)
        return self.bucket if self.bucket > 1 else math.ceil(least)

    @property
    def _config(self) -> MarketConfig:
        status_quo = f"{self.status_quo}"
        if not isinstance(self.status_quo, int):
            status_quo = NOTHING if self.status_quo is None else NOT_KNOWN
        return MarketConfig(
            tuple(map(str, range(self.n_arms))),
            max(1, math.ceil(self.horizon / self._size)),
            delay=DelayPrior(self.mean_delay / self._size, law=self._law),
            status_quo=status_quo,
            pattern=self.pattern,
            differing_delays=self.differing_delays,
            seed=self._seed,
        )

    def _panel(self) -> Panel:
        arms = np.array([row[0] for row in self._rows], dtype=np.int64)
        rounds = np.array([row[1] for row in self._rows], dtype=np.float64)
        totals = np.array([row[2] for row in self._rows], dtype=np.float64)  # None is NaN
        shares = np.eye(self.n_arms)[arms][:, None]
        return Panel(-len(self.history), rounds[:, None], shares, totals[:, None])

    def _next(self) -> Block:
        panel = self._panel()
        allowed = np.zeros((1, self.n_arms), dtype=bool)
        allowed[0, self._available()] = True
        bucket = len(self._rows) - len(self.history)
        decided = decide_panel(panel, bucket, self._config, allowed, chances=False)[0]
        return Block(int(decided.option), self._size, "learn")

    def winner(self) -> Winner:
        """Whether a winner can be named by now."""
        return winner_of(self._panel(), self._config)

    def _estimates(self, level: float) -> list[Believed]:
        panel, config = self._panel(), self._config
        known = np.isfinite(panel.totals[:, 0])
        rounds = panel.exposure[known, 0] @ panel.shares[known, 0]
        if not rounds.any():
            return [(None, 0.0, 1.0, 0)] * self.n_arms
        found = posterior(panel, config)
        mean, covariance = found.effects()
        likeliest = found.fits[0]
        scale = math.exp(likeliest.own_mean[0, -1] + likeliest.slopes[0, -1] @ likeliest.mean)
        width = NormalDist().inv_cdf((1 + level) / 2) * widening(config)
        spread = width * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        low, middle, high = (
            (scale * np.exp(each)).tolist() for each in (mean - spread, mean, mean + spread)
        )
        return [
            (min(middle[arm], 1.0), low[arm], high[arm], int(count))
            if count
            else (None, 0.0, 1.0, 0)
            for arm, count in enumerate(rounds)
        ]
