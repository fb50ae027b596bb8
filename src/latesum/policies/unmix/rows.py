"""The rows of Unmix: parts of runs with their totals, and what is estimated from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latesum.policies.unmix.curve import DelayCurve, Floats
from latesum.policies.unmix.visits import MERGED_AFTER

#: The newest rows are always whitened anew; older ones keep the linearisation of the last full
#: pass, which is made when there are this many more rows.
_KEPT_FRESH = 14
_GROWTH, _GROWTH_ROWS = 1.1, 3


class Rows:
    """What was played and seen, row by row, and the fit of the means and of the delay's curve.

    `n_arms` counts everything with a mean of its own, also what ran before the start if it is none
    of the arms. `stretch_sd` is by how much arms' delays may differ (0: not at all).

    >>> from latesum.policies.unmix.curve import told_mean
    >>> rows = Rows(2, told_mean(5.0, 0.1, 2), 0.05)
    >>> rows.add(0, 100, 48.0, 5.0)
    >>> rows.add(1, 100, 61.0, 5.0)
    >>> rows.fit()
    >>> rows.mu.round(1).tolist()
    [0.5, 0.6]
    """

    def __init__(self, n_arms: int, curve: DelayCurve, stretch_sd: float) -> None:
        self.curve = curve
        self.stretch_sd = stretch_sd
        self.clock = 0
        self.count = 0  # rows
        self.runs = 0
        self.mu: Floats = np.full(n_arms, 0.5)
        self.theta: Floats = curve.prior.copy()
        self.eps: Floats = np.zeros(n_arms if stretch_sd > 0 else 0)
        #: The variance of each mean, and by how much the rows fit worse than they should.
        self.variances: Floats = np.ones(n_arms)
        self.misfit = 1.0
        #: Per arm: rounds whose totals are known, all rounds, and runs.
        self.plays: Floats = np.zeros(n_arms)
        self.played: Floats = np.zeros(n_arms)
        self.runs_of: Floats = np.zeros(n_arms)
        self.reported, self.reported_rounds, self.rewards = 0, 0.0, 0.0
        self._make_room(32, 16)
        self._frozen, self._full_at = 0, 0
        self._full_point = (self.theta, self.eps, self.mu)

    def ran_before(self, arm: int) -> None:
        """`arm` was played for ever before the first row."""
        self._begin_run(arm, -math.inf)
        self.run_ends[0] = 0.0

    @property
    def last_arm(self) -> int | None:
        """The arm that was played last."""
        return int(self.run_arms[self.runs - 1]) if self.runs else None

    @property
    def run_length(self) -> float:
        """How long it has been played without a break."""
        return self.clock - float(self.run_starts[self.runs - 1]) if self.runs else 0.0

    def add(self, arm: int, rounds: int, total: float | None, scale: float) -> None:
        """A part that was played; `total` is None where it is not known."""
        from latesum.policies.unmix import design_kernels as kernels

        start, end = float(self.clock), float(self.clock + rounds)
        if self.last_arm != arm:
            self._begin_run(arm, start)
            self.runs_of[arm] += 1
        run = self.runs - 1
        last = self.count - 1
        long_run = start - self.run_starts[run] > MERGED_AFTER * scale
        if (
            long_run
            and total is not None
            and last >= 0
            and self.starts[last] >= self.run_starts[run]
            and not math.isnan(self.totals[last])
        ):
            row = last
            self.totals[row] += total
        else:
            row = self.count
            if row == len(self.starts):
                self._make_room(2 * row, len(self.run_starts))
            self.count += 1
            self.starts[row], self.arms[row] = start, arm
            self.totals[row] = math.nan if total is None else total
            self.reported += total is not None
        self.ends[row] = end
        self.run_ends[run] = self.starts[row]  # of its own run, what was played before the row
        kernels.fill_design(
            row, self.starts, self.ends, self.arms, self.runs, self.run_starts, self.run_ends,
            self.run_arms, self.curve.laws, self.curve.pieces, self.curve.reach, self.design,
            self.slopes,
        )  # fmt: skip
        kernels.fill_shares(
            row, self.starts, self.ends, self.arms, self.curve.laws, self.curve.pieces, self.shares
        )
        self.run_ends[run] = end
        self.clock += rounds
        self.played[arm] += rounds
        if total is not None:
            self.plays[arm] += rounds
            self.reported_rounds += rounds
            self.rewards += total

    def fit(self, prior: Floats | None = None) -> None:
        """Estimate means, curve and variances anew: one step from where the last fit was."""
        from latesum.policies.unmix import fit_kernels

        typical = min(1.0, max(0.0, (self.rewards + 0.5) / (self.reported_rounds + 1.0)))
        if self._frozen == 0 or self.count >= _GROWTH * self._full_at + _GROWTH_ROWS:
            self._full_pass(typical)
        else:
            self._whiten(self._frozen, typical)
        matrix, side = self._matrix.copy(), self._side.copy()
        squares = self._squares + fit_kernels.add_equations(
            self._frozen, self.count, self._equations, matrix, side
        )
        curve = self.curve
        self.variances, self.misfit = fit_kernels.solve(
            matrix, side, squares, float(self.reported), typical,
            curve.prior if prior is None else prior, curve.prior_weight, curve.bin_means,
            curve.told_mean, curve.told_sd, self.stretch_sd, self.theta, self.eps, self.mu,
        )  # fmt: skip

    def to_json(self) -> list[Any]:
        """All of it, as JSON values."""
        count, runs = self.count, self.runs
        totals = [None if math.isnan(total) else total for total in self.totals[:count].tolist()]
        before = [-1.0 if start == -math.inf else start for start in self.run_starts[:runs].tolist()]
        return [
            self.clock,
            [self.starts[:count].tolist(), self.ends[:count].tolist(), self.arms[:count].tolist(), totals],
            [before, self.run_ends[:runs].tolist(), self.run_arms[:runs].tolist()],
            [self.theta.tolist(), self.eps.tolist(), self.mu.tolist()],
            [self.variances.tolist(), float(self.misfit)],
            [self.plays.tolist(), self.played.tolist(), self.runs_of.tolist()],
            [self.reported, self.reported_rounds, self.rewards],
            [self._frozen, self._full_at, *([part.tolist() for part in self._full_point])],
            self._full_typical if self._full_at else None,
        ]  # fmt: skip

    def load(self, saved: list[Any]) -> None:
        """The opposite of `to_json`."""
        from latesum.policies.unmix import design_kernels as kernels

        self.clock, rows, runs, point, fitted, played, reported, frozen, typical = saved
        self.count = self.runs = 0
        self._make_room(max(32, len(rows[0])), max(16, len(runs[0])))
        self.count, self.runs = len(rows[0]), len(runs[0])
        for array, values in zip((self.starts, self.ends, self.arms), rows, strict=False):
            array[: self.count] = values
        self.totals[: self.count] = [math.nan if total is None else total for total in rows[3]]
        self.run_starts[: self.runs] = [-math.inf if start < 0 else start for start in runs[0]]
        self.run_ends[: self.runs], self.run_arms[: self.runs] = runs[1:]
        for row in range(self.count):
            own = int(np.searchsorted(self.run_starts[: self.runs], self.starts[row], side="right"))
            kernels.fill_design(
                row, self.starts, self.ends, self.arms, own, self.run_starts, self.run_ends,
                self.run_arms, self.curve.laws, self.curve.pieces, self.curve.reach, self.design,
                self.slopes,
            )  # fmt: skip
            kernels.fill_shares(
                row, self.starts, self.ends, self.arms, self.curve.laws, self.curve.pieces, self.shares
            )  # fmt: skip
        self.plays, self.played, self.runs_of = map(np.array, played)
        self.reported, self.reported_rounds, self.rewards = reported
        self._frozen, self._full_at, *linearised = frozen
        if self._full_at:
            self.theta, self.eps, self.mu = map(np.array, linearised)
            present, self.count = self.count, self._full_at
            self._full_pass(typical)
            self.count = present
        self.theta, self.eps, self.mu = map(np.array, point)
        self.variances, self.misfit = np.array(fitted[0]), fitted[1]

    def _full_pass(self, typical: float) -> None:
        """Linearise all rows here, and add up those that keep it until the next full pass."""
        from latesum.policies.unmix import fit_kernels

        self._full_point = (self.theta.copy(), self.eps.copy(), self.mu.copy())
        self._full_typical = typical
        self._full_at = self.count
        self._whiten(0, typical)
        self._frozen = max(0, self.count - _KEPT_FRESH)
        width = len(self.theta) + len(self.eps) + len(self.mu)
        self._matrix: Floats = np.zeros((width, width))
        self._side: Floats = np.zeros(width)
        self._squares = fit_kernels.add_equations(
            0, self._frozen, self._equations, self._matrix, self._side
        )

    def _whiten(self, first: int, typical: float) -> None:
        from latesum.policies.unmix import covariance_kernels as kernels

        kernels.whiten(
            first, self.count, typical, self.starts, self.ends, self.arms, self.totals, self.design,
            self.slopes, self.shares, self.theta, self.eps, self.mu, self._equations,
            self._factors, self._loads,
        )  # fmt: skip

    def _begin_run(self, arm: int, start: float) -> None:
        if self.runs == len(self.run_starts):
            self._make_room(len(self.starts), 2 * self.runs)
        self.run_starts[self.runs] = self.run_ends[self.runs] = start
        self.run_arms[self.runs] = arm
        self.runs += 1

    def _make_room(self, rows: int, runs: int) -> None:
        from latesum.policies.unmix.design_kernels import BAND

        bins, arms = len(self.theta), len(self.mu)
        width = bins + len(self.eps) + arms
        count = self.count if hasattr(self, "starts") else 0
        fields: dict[str, tuple[Any, ...]] = {
            "starts": (), "ends": (), "arms": (), "totals": (), "design": (bins, arms),
            "slopes": (bins, arms), "shares": (bins, BAND), "_equations": (width + 1,),
            "_factors": (BAND,), "_loads": (BAND,),
        }  # fmt: skip
        for name, shape in fields.items():
            self._grow(name, (rows, *shape), min(count, rows), name == "arms")
        for name in ("run_starts", "run_ends", "run_arms"):
            self._grow(name, (runs,), self.runs if hasattr(self, name) else 0, name == "run_arms")

    def _grow(self, name: str, shape: tuple[int, ...], kept: int, whole: bool) -> None:
        new = np.zeros(shape, dtype=np.int64 if whole else np.float64)
        if kept:
            new[:kept] = getattr(self, name)[:kept]
        setattr(self, name, new)
