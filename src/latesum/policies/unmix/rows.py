"""The rows of Unmix: parts of runs with their totals, and what is estimated from them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from latesum.policies.unmix.curve import DelayCurve, Floats
from latesum.policies.unmix.dispersion import dispersion_of

#: The newest rows are always whitened anew; older ones keep the linearisation of the last full
#: pass, which is made when there are this many more rows.
_KEPT_FRESH = 14
_GROWTH, _GROWTH_ROWS = 1.1, 3
#: Once a run is this many length scales long, a further part is added to its last row.
_MERGED_AFTER = 8.0
#: Rewards are taken to flow once this many were seen.
FLOWING = 20


# The compiled parts are imported once they are needed: to load the compiler takes a while.
@functools.cache
def _design() -> Any:
    from latesum.policies.unmix import design_kernels

    return design_kernels


@functools.cache
def _fit() -> Any:
    from latesum.policies.unmix import fit_kernels

    return fit_kernels.fit


class PartRows:
    """What was played and seen, row by row, and the fit of the means and of the delay's curve.

    `n_arms` counts everything with a mean of its own, also what ran before the start if it is none
    of the arms. `stretch_sd` is by how much arms' delays may differ (0: not at all).

    >>> from latesum.policies.unmix.curve import told_mean
    >>> rows = PartRows(2, told_mean(5.0, 0.1, 2), 0.05)
    >>> rows.add(0, 100, 48.0, 5.0)
    >>> rows.add(1, 100, 61.0, 5.0)
    >>> rows.fit()
    >>> rows.mu.round(1).tolist()
    [0.5, 0.6]
    """

    def __init__(self, n_arms: int, curve: DelayCurve, stretch_sd: float) -> None:
        self.curve = curve
        self.n_arms = n_arms
        self.clock = 0
        self.count = 0
        self.n_runs = 0
        #: The variance of each mean, as known now for reports, and for decisions once all that was played
        #: is reported; and by how much the rows fit worse than they should.
        self.variances: Floats = np.ones((2, n_arms))
        self.misfit = 1.0
        self.objective = 0.0
        #: Per arm: rounds whose totals are known, all rounds, runs, and when the last run began.
        self.counts: Floats = np.zeros((4, n_arms))
        self.counts[3] = -1.0
        #: Per arm the rounds after the last known total: they are still to be reported.
        self.pending: Floats = np.zeros(n_arms)
        self._pending_from = 0  # the first row of them
        #: When rewards began to flow; None before that.
        self.flowing_from: int | None = None
        #: For how long nothing came at the start: to the end of the first row with a reward.
        self.silence = 0
        self.reported, self.reported_rounds, self.rewards = 0, 0, 0.0
        self._stretch_sd = stretch_sd
        self._n_eps = n_arms if stretch_sd > 0 else 0
        self._told: Floats = np.array([curve.told_mean, curve.told_sd])
        self._point: Floats = np.concatenate(
            [curve.prior, np.zeros(self._n_eps), np.full(n_arms, 0.5)]
        )
        #: What the last full pass took in: rows, the rows it added up, the point, m0, the sums.
        self._full_at = self._frozen = 0
        self._full_point, self._full_typical = self._point.tolist(), 0.5
        self._sums: Floats = np.zeros((len(self._point) + 1,) * 2)
        self._make_room(32)
        self._run_table: Floats = np.zeros((16, 3))

    @property
    def theta(self) -> Floats:
        """The weights of the curve's bins."""
        return self._point[: self.curve.n_bins]

    @property
    def mu(self) -> Floats:
        """The means, not clipped to [0, 1]."""
        return self._point[self.curve.n_bins + self._n_eps :]

    @property
    def typical(self) -> float:
        """m0: the mean total per round."""
        return min(1.0, max(0.0, (self.rewards + 0.5) / (self.reported_rounds + 1.0)))

    @property
    def last_arm(self) -> int | None:
        """The arm that was played last."""
        return int(self._run_table[self.n_runs - 1, 2]) if self.n_runs else None

    @property
    def run_length(self) -> float:
        """How long it has been played without a break, since the first row."""
        start = float(self._run_table[self.n_runs - 1, 0]) if self.n_runs else 0.0
        return self.clock - max(start, 0.0)

    def ran_before(self, arm: int) -> None:
        """`arm` was played for ever before the first row."""
        self._begin_run(arm, -math.inf)
        self._run_table[0, 1] = 0.0

    def add(self, arm: int, rounds: int, total: float | None, scale: float) -> None:
        """A part that was played; `total` is None where it is not known."""
        start = self.clock
        if self.last_arm != arm:
            self._begin_run(arm, start)
            self.counts[2, arm] += 1
            self.counts[3, arm] = start
        run, row, table = self.n_runs - 1, self.count - 1, self._table
        run_start = self._run_table[run, 0]
        if (
            total is not None
            and start - run_start > _MERGED_AFTER * scale
            and row >= 0
            and table[row, 0] >= run_start
            and not math.isnan(table[row, 3])
        ):
            table[row, 3] += total
        else:
            row += 1
            if row == len(table):
                self._make_room(2 * row)
                table = self._table
            self.count += 1
            table[row] = start, start, arm, math.nan if total is None else total, run
            self.reported += total is not None
        self.clock = table[row, 1] = start + rounds
        self._run_table[run, 1] = self.clock
        self._fill(row)
        self.counts[1, arm] += rounds
        if total is None:
            self.pending[arm] += rounds
        else:
            self._pending_from = self.count
            self.pending[:] = 0.0
            self.counts[0, arm] += rounds
            self.reported_rounds += rounds
            if self.rewards <= 0.0:
                self.silence = self.clock
            self.rewards += total
            if self.flowing_from is None and self.rewards >= FLOWING:
                self.flowing_from = self.clock

    def fit(self) -> None:
        """Estimate means, curve and variances anew: one step from where the last fit was."""
        if self._frozen == 0 or self.count >= _GROWTH * self._full_at + _GROWTH_ROWS:
            self._full_pass()
        else:
            self._step(self._frozen, self.typical)

    def dispersion(self) -> float:
        """rho: how much rewards vary, as a share of the most that their means allow."""
        bins = self.curve.n_bins
        eps = self._point[bins : bins + self._n_eps] if self._n_eps else np.zeros(self.n_arms)
        design = self._design[: self.count]
        plays = np.einsum("g,cgi->ci", self.theta, design[..., 0])
        plays += eps * np.einsum("g,cgi->ci", self.theta, design[..., 1])
        arriving = np.einsum("g,cgk->ck", self.theta, self._shares[: self.count])
        return dispersion_of(self._table[: self.count], np.maximum(plays, 0.0), arriving, self.mu)

    def to_json(self) -> list[Any]:
        """All of it, as JSON values."""
        table = [
            [None if math.isnan(value) else value for value in row]
            for row in self._table[: self.count].tolist()
        ]
        runs = [
            [None if math.isinf(value) else value for value in run]
            for run in self._run_table[: self.n_runs].tolist()
        ]
        return [
            self.clock, table, runs, self._point.tolist(), self.variances.tolist(), self.misfit,
            self.counts.tolist(), [self.reported, self.reported_rounds, self.rewards, self._pending_from, self.flowing_from, self.silence],
            [self._full_at, self._frozen, self._full_point, self._full_typical],
        ]  # fmt: skip

    def load(self, saved: list[Any]) -> None:
        """The opposite of `to_json`."""
        self.clock, table, runs, point, variances, misfit, counts, reported, full = saved
        self.count = 0
        self._make_room(max(32, len(table)))
        self.count, self.n_runs = len(table), len(runs)
        self._run_table = np.zeros((max(16, 2 * len(runs)), 3))
        if runs:
            self._run_table[: len(runs)] = runs
            self._run_table[0, 0] = -math.inf if runs[0][0] is None else runs[0][0]
        self.pending[:] = 0.0
        for row, values in enumerate(table):
            self._table[row] = [math.nan if value is None else value for value in values]
        for start, end, arm, *_ in table[reported[3] :]:
            self.pending[int(arm)] += end - start
        self._fill_all()
        self.counts = np.array(counts)
        self.reported, self.reported_rounds, self.rewards = reported[:3]
        self._pending_from, self.flowing_from, *silence = reported[3:]
        self.silence = silence[0] if silence else 0  # earlier versions did not write it
        self._full_at, self._frozen, self._full_point, self._full_typical = full
        if self._full_at:  # make the last full pass again, for what it added up
            self._point[:] = self._full_point
            kept, self.count = self.count, self._full_at
            self._step(0, self._full_typical)
            self.count = kept
        self._point[:] = point
        self.variances, self.misfit = np.array(variances), misfit

    def under(self, curve: DelayCurve, steps: int, like: PartRows | None = None) -> PartRows:
        """The same rows, explained by another curve: `steps` steps from a neutral point.

        `like` are these rows under a curve with the same bins, which need not be computed again.
        """
        other = PartRows(self.n_arms, curve, self._stretch_sd)
        other._make_room(len(self._table))
        other.clock, other.count, other.n_runs = self.clock, self.count, self.n_runs
        other.counts, other._run_table = self.counts.copy(), self._run_table.copy()
        other.reported, other.reported_rounds = self.reported, self.reported_rounds
        other.rewards = self.rewards
        other._table[:] = self._table
        if like is not None:
            other._design[:], other._shares[:] = like._design, like._shares
        else:
            other._fill_all()
        other.mu[:] = self.typical
        other._pending_from, other.pending = self._pending_from, self.pending.copy()
        other.flowing_from, other.silence = self.flowing_from, self.silence
        for _ in range(steps):
            other._full_pass()
        return other

    def _fill(self, row: int) -> None:
        _design().fill_row(
            row, self._table, self._run_table, self.curve.laws, self.curve.pieces, self._design,
            self._shares,
        )  # fmt: skip

    def _fill_all(self) -> None:
        _design().fill_rows(
            self.count, self._table, self._run_table, self.curve.laws, self.curve.pieces,
            self._design, self._shares,
        )  # fmt: skip

    def _full_pass(self) -> None:
        """A step that linearises all rows here; older ones keep that until the next such pass."""
        self._full_at, self._full_typical = self.count, self.typical
        self._full_point = self._point.tolist()
        self._frozen = max(0, min(self.count - _KEPT_FRESH, self._pending_from))
        self._step(0, self._full_typical)

    def _step(self, first: int, typical: float) -> None:
        curve = self.curve
        self.misfit, self.objective = _fit()(
            first, self._frozen, self._pending_from, self.count, typical, self._table, self._design, self._shares,
            self._n_eps, self._point, self._equations, self._band, self._sums,
            float(self.reported), curve.prior, curve.prior_weight, curve.bin_means, self._told,
            self._stretch_sd, self.variances,
        )  # fmt: skip

    def _begin_run(self, arm: int, start: float) -> None:
        if self.n_runs == len(self._run_table):
            self._run_table = np.concatenate([self._run_table, np.zeros_like(self._run_table)])
        self._run_table[self.n_runs] = start, start, arm
        self.n_runs += 1

    def _make_room(self, rows: int) -> None:
        """Larger arrays, with the rows that are there."""
        bins, arms, band = self.curve.n_bins, self.n_arms, _design().BAND
        self._table = self._grown("_table", (rows, 5))
        self._design = self._grown("_design", (rows, bins, arms, 2))
        self._shares = self._grown("_shares", (rows, bins, band))
        self._equations = self._grown("_equations", (rows, len(self._point) + 1))
        self._band = self._grown("_band", (rows, 2, band))

    def _grown(self, name: str, shape: tuple[int, ...]) -> Floats:
        new = np.zeros(shape)
        if self.count:
            new[: self.count] = getattr(self, name)[: self.count]
        return new
