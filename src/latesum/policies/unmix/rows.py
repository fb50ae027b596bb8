"""The rows of Unmix: parts of runs with their totals, and what is estimated from them.

All of it is in arrays, which compiled code works on (`rows_kernels`, `step_kernels`). Here they are kept.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from latesum.policies.unmix.curve import DelayCurve, Floats, Integers
from latesum.policies.unmix.dispersion import dispersion_of

#: Rows and runs that there is room for at first.
_FIRST_ROOM = 96, 24
#: Beside the reasons of `visits_kernels`: why an arm is next that is in doubt.
IN_DOUBT = 4


# The compiled parts are imported once they are needed: to load the compiler takes a while.
@functools.cache
def _kernels() -> Any:
    from latesum.policies.unmix import rows_kernels

    return rows_kernels


@functools.cache
def _steps() -> Any:
    from latesum.policies.unmix import step_kernels

    return step_kernels


class VisitPlan(NamedTuple):
    """What Unmix asks for, and what its decisions depend on besides the rows."""

    arm: int
    left: int  # rounds
    why: int
    scale: float
    plausible: float
    search_at: float
    order: Integers  # the arms that can be played, in the order of first visits
    n_arms: int  # what is played, without what ran before
    rounds_played: float
    horizon: float  # 0: not known
    told_nothing: bool


class PartRows:
    """What was played and seen, row by row, and the fit of the means and of the delay's curve.

    `n_arms` counts everything with a mean of its own, also what ran before the start if it is none
    of the arms. `stretch_sd` is by how much arms' delays may differ (0: not at all). With `of` they are made for `under`.

    >>> from latesum.policies.unmix.curve import told_mean
    >>> rows = PartRows(2, told_mean(5.0, 0.1, 2), 0.05)
    >>> rows.add(0, 100, 48.0, 5.0)
    >>> rows.add(1, 100, 61.0, 5.0)
    >>> rows.fit()
    >>> rows.mu.round(1).tolist()
    [0.5, 0.6]
    """

    _design: Floats
    _shares: Floats
    _ages: Floats

    def __init__(
        self, n_arms: int, curve: DelayCurve, stretch_sd: float, of: PartRows | None = None
    ) -> None:
        at = _kernels()
        fit = at.fit_kernels
        self.curve = curve
        self.n_arms = n_arms
        #: By how much arms' delays may differ.
        self.stretch_sd = float(stretch_sd)
        #: The variance of each mean, as known now for reports, and for decisions once all that was played
        #: is reported.
        self.variances: Floats = np.empty((2, n_arms))
        #: The estimate, and what it was before the last full pass.
        self._n_eps = n_arms if stretch_sd > 0 else 0
        width = curve.n_bins + self._n_eps + n_arms
        self._points: Floats = np.empty((2, width))
        #: What is one number, in the places that `rows_kernels` names.
        self._numbers: Floats = np.zeros(at.NUMBERS)
        self._numbers[at.TOLD :] = curve.told_mean, curve.told_sd, curve.prior_weight, stretch_sd
        places = fit.places(width)
        self._matrices: Floats = np.empty((fit.MATRICES, places, places))
        self._vectors: Floats = np.empty((fit.VECTORS, fit.vector_places(width)))
        self._values: Floats = np.empty(n_arms)
        #: Under other curves: rows that were made before, and of how many rows their design is known.
        self._kept: dict[tuple[int, bool, float], PartRows] = {}
        self._filled = 0
        if of is not None:  # what was played is theirs
            self._new_design(len(of._table), len(of._runs))
            self._new_equations(len(of._table))
            return
        self.variances[:] = 1.0
        self._points[:] = 0.0
        self._points[:, : curve.n_bins] = curve.prior
        self._points[:, width - n_arms :] = 0.5
        self._numbers[at.FLOWING_FROM] = math.nan
        self._numbers[at.FULL_TYPICAL], self._numbers[at.MISFIT] = 0.5, 1.0
        #: Per arm: rounds whose totals are known, all rounds, runs, when the last run began, and the rounds
        #: after the last known total, which are still to be reported.
        self.counts: Floats = np.zeros((5, n_arms))
        self.counts[at.BEGAN] = -1.0
        self._table: Floats = np.empty((_FIRST_ROOM[0], 5))
        self._runs: Floats = np.empty((_FIRST_ROOM[1], 3))
        self._new_design(*_FIRST_ROOM)
        self._new_equations(_FIRST_ROOM[0])

    @property
    def theta(self) -> Floats:
        """The weights of the curve's bins."""
        return self._points[0, : self.curve.n_bins]

    @property
    def mu(self) -> Floats:
        """The means, not clipped to [0, 1]."""
        return self._points[0, self.curve.n_bins + self._n_eps :]

    @property
    def clock(self) -> int:
        """The rounds so far."""
        return int(self._numbers[_kernels().CLOCK])

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self._numbers[_kernels().COUNT])

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return int(self._numbers[_kernels().N_RUNS])

    @property
    def reported(self) -> int:
        """The rows with a total."""
        return int(self._numbers[_kernels().REPORTED])

    @property
    def rewards(self) -> float:
        """The sum of all totals."""
        return float(self._numbers[_kernels().REWARDS])

    @property
    def typical(self) -> float:
        """m0: the mean total per round."""
        return float(_kernels().typical_total(self._numbers))

    @property
    def misfit(self) -> float:
        """By how much the rows fit worse than they should."""
        return float(self._numbers[_kernels().MISFIT])

    @property
    def objective(self) -> float:
        """Minus twice the logarithm of the likelihood, with the priors."""
        return float(self._numbers[_kernels().OBJECTIVE])

    @property
    def flowing(self) -> bool:
        """Whether rewards flow: enough were seen."""
        return not math.isnan(self._numbers[_kernels().FLOWING_FROM])

    @property
    def last_arm(self) -> int | None:
        """The arm that was played last."""
        return int(self._runs[self.n_runs - 1, 2]) if self.n_runs else None

    @property
    def visits(self) -> Floats:
        """How often every arm was visited."""
        visits: Floats = self.counts[_kernels().VISITS]
        return visits

    def began(self, arm: int) -> float:
        """When the last run of an arm began."""
        return float(self.counts[_kernels().BEGAN, arm])

    def add_status_quo(self, arm: int) -> None:
        """`arm` was played for ever before the first row."""
        self.make_room()
        _kernels().begin_run(arm, -math.inf, self._numbers, self._runs)
        self._runs[0, 1] = 0.0

    def add(self, arm: int, rounds: int, total: float | None, scale: float) -> None:
        """A part that was played; `total` is None where it is not known."""
        self.make_room()
        curve = self.curve
        _kernels().add_part(
            arm, rounds, math.nan if total is None else total, scale, self._numbers, self.counts,
            self._table, self._runs, curve.laws, *curve.pieces, self._design, self._shares, self._ages,
        )  # fmt: skip

    def learn(
        self, arm: int, rounds: int, total: float | None, plan: VisitPlan
    ) -> tuple[int, int, int, int]:
        """Add a part and, where a block is over, decide: the arm, why, its rounds, the next part.

        The reason is `step_kernels.SEARCH` where the delay must be looked for before.
        """
        self.make_room()
        curve = self.curve
        next_one: tuple[int, int, int, int] = _steps().learn(
            arm, rounds, math.nan if total is None else total, *plan, self._numbers, self.counts,
            self._points, self.variances, self._table, self._runs, curve.laws, *curve.pieces,
            curve.prior, curve.bin_means, self._design, self._shares, self._ages, self._equations,
            self._band, self._matrices, self._vectors, self._values,
        )  # fmt: skip
        return next_one

    def decide(self, plan: VisitPlan) -> tuple[int, int, int]:
        """The next arm, why, and for how many rounds."""
        next_one: tuple[int, int, int] = _steps().visits_kernels.decide(
            plan.order, plan.n_arms, plan.scale, plan.rounds_played, plan.horizon, plan.told_nothing,
            self._numbers, self.counts, self._runs, self._points,
            self.variances, self._values,
        )  # fmt: skip
        return next_one

    def next_part(self, arm: int, left: int, scale: float) -> int:
        """The next part of the `left` rounds that `arm` is played."""
        return int(_steps().visits_kernels.next_part(arm, left, scale, self._numbers, self._runs))

    def fit(self) -> None:
        """Estimate means, curve and variances anew: one step from where the last fit was."""
        _kernels().refit(*self._fitted())

    def dispersion(self) -> float:
        """rho: how much rewards vary, as a share of the most that their means allow."""
        bins, band = self.curve.n_bins, _kernels().design_kernels.BAND
        eps = self._points[0, bins : bins + self._n_eps] if self._n_eps else np.zeros(self.n_arms)
        design = self._design[: self.count]
        plays = np.einsum("g,cgi->ci", self.theta, design[..., 0])
        plays += eps * np.einsum("g,cgi->ci", self.theta, design[..., 1])
        arriving = np.einsum("g,cgk->ck", self.theta, self._shares[: self.count, :, :band])
        return dispersion_of(self._table[: self.count], np.maximum(plays, 0.0), arriving, self.mu)

    def to_json(self) -> list[Any]:
        """All of it, as JSON values."""
        at = _kernels()
        table = [
            [None if math.isnan(value) else value for value in row]
            for row in self._table[: self.count].tolist()
        ]
        runs = [
            [None if math.isinf(value) else value for value in run]
            for run in self._runs[: self.n_runs].tolist()
        ]
        numbers = self._numbers.tolist()
        flowing = numbers[at.FLOWING_FROM]
        return [
            self.clock, table, runs, self._points[0].tolist(), self.variances.tolist(), self.misfit,
            self.counts[: at.PENDING].tolist(),
            [
                self.reported, int(numbers[at.REPORTED_ROUNDS]), self.rewards,
                int(numbers[at.PENDING_FROM]), None if math.isnan(flowing) else int(flowing),
                int(numbers[at.SILENCE]),
            ],
            [
                int(numbers[at.FULL_AT]), int(numbers[at.FROZEN]), self._points[1].tolist(),
                numbers[at.FULL_TYPICAL],
            ],
        ]  # fmt: skip

    def load(self, saved: list[Any]) -> None:
        """The opposite of `to_json`."""
        at = _kernels()
        clock, table, runs, point, variances, misfit, counts, reported, full = saved
        numbers = self._numbers
        numbers[at.COUNT] = numbers[at.N_RUNS] = 0
        self.make_room(len(table), len(runs))
        if runs:
            self._runs[: len(runs)] = runs
            self._runs[0, 0] = -math.inf if runs[0][0] is None else runs[0][0]
        for row, values in enumerate(table):
            self._table[row] = [math.nan if value is None else value for value in values]
        numbers[at.CLOCK], numbers[at.COUNT], numbers[at.N_RUNS] = clock, len(table), len(runs)
        self._fill_all()
        self.counts[: at.PENDING] = counts
        self.counts[at.PENDING] = 0.0
        for start, end, arm, *_ in table[reported[3] :]:
            self.counts[at.PENDING, int(arm)] += end - start
        # Earlier versions did not write for how long nothing came at the start.
        seen = [*reported[:4], math.nan if reported[4] is None else reported[4], *reported[5:], 0]
        numbers[at.REPORTED : at.SILENCE + 1] = seen[: at.SILENCE + 1 - at.REPORTED]
        numbers[at.FULL_AT], numbers[at.FROZEN] = full[:2]
        self._points[1], numbers[at.FULL_TYPICAL] = full[2:]
        if full[0]:  # make the last full pass again, for what it added up
            self._points[0] = self._points[1]
            numbers[at.COUNT] = full[0]
            self._step(0, full[3])
            numbers[at.COUNT] = len(table)
        self._points[0] = point
        self.variances[:] = variances
        numbers[at.MISFIT] = misfit

    def under(
        self, curve: DelayCurve, steps: int, like: PartRows | None = None, *, keep: bool = False,
        stretch_sd: float | None = None,
    ) -> PartRows:  # fmt: skip
        """The same rows, explained by another curve: `steps` steps from a neutral point.

        They share what was played with these: a part can be added to one of both only.

        Args:
            curve: The other curve.
            steps: The number of steps.
            like: These rows under a curve with the same bins, whose design need not be computed again.
            keep: Whether they are kept for the next time, with their design. What was returned the last time must
                then be forgotten, unless it has taken the place of these rows (`taking_over`).
            stretch_sd: By how much arms' delays may differ; as in these rows if it is not given.
        """
        differ = self.stretch_sd if stretch_sd is None else stretch_sd
        key = id(curve), like is not None, differ
        other = self._kept.get(key) if keep else None
        if other is None:
            other = PartRows(self.n_arms, curve, differ, of=self)
            if keep:
                self._kept[key] = other
        other.counts, other._table, other._runs = self.counts, self._table, self._runs
        count = self.count
        if like is None:
            filled, other._filled = other._filled, count
            other._make_room_for_design(filled)
        else:
            filled = count + 1  # all of it, to the end of the last row
            other._design, other._shares, other._ages = like._design, like._shares, like._ages
        if len(other._equations) < len(self._table):
            other._new_equations(len(self._table))
        _kernels().explain(
            steps, self._numbers, filled, other._numbers, other._points, other.variances, other._table,
            other._runs, curve.laws, *curve.pieces, other._design, other._shares, other._ages,
            other._equations, other._band, other._matrices, other._vectors, curve.prior, curve.bin_means,
        )  # fmt: skip
        return other

    def taking_over(self, rows: PartRows) -> PartRows:
        """These, in place of the `rows` that they explain; they keep what those have kept."""
        if self is not rows:
            kept = {key: each for key, each in rows._kept.items() if each is not self}
            self._kept, rows._kept, self._filled = kept, {}, 0
            if rows._design is self._design:  # they can be explained anew in the same way
                kept[id(rows.curve), True, rows.stretch_sd] = rows
        return self

    def _fitted(self) -> tuple[Floats, ...]:
        """What the fit reads and writes."""
        return (
            self._numbers, self._points, self.variances, self._table, self._design, self._shares,
            self._equations, self._band, self._matrices, self._vectors, self.curve.prior,
            self.curve.bin_means,
        )  # fmt: skip

    def _fill_all(self) -> None:
        curve = self.curve
        _kernels().design_kernels.fill_rows(
            0, self.count, self._table, self._runs, curve.laws, *curve.pieces, self._design, self._shares,
            self._ages,
        )  # fmt: skip

    def _make_room_for_design(self, filled: int) -> None:
        """Room for the design of as many rows and runs as there is room for; that of some is kept."""
        rows, runs = len(self._table), len(self._runs)
        if len(self._design) < rows:
            self._design = _longer(self._design, filled, rows)
            self._shares = _longer(self._shares, filled, rows)
        if len(self._ages) < runs:
            self._ages = _longer(self._ages, len(self._ages), runs)

    def _step(self, first: int, typical: float) -> None:
        _kernels().step(first, typical, True, *self._fitted())

    def make_room(self, rows: int = 1, runs: int = 1) -> None:
        """Room for more rows and runs, in larger arrays if these are full."""
        count, n_runs = self.count, self.n_runs
        if count + rows > len(self._table):
            size = max(count + rows, 2 * count)
            for name in ("_table", "_design", "_shares", "_equations", "_band"):
                setattr(self, name, _longer(getattr(self, name), count, size))
        if n_runs + runs > len(self._runs):
            size = max(n_runs + runs, 2 * n_runs)
            for name in ("_runs", "_ages"):
                setattr(self, name, _longer(getattr(self, name), n_runs, size))

    def _new_design(self, rows: int, runs: int) -> None:
        bins = self.curve.n_bins
        self._design = np.empty((rows, bins, self.n_arms, 2))
        self._shares = np.empty((rows, bins, _kernels().design_kernels.SHARES))
        self._ages = np.empty((runs, bins, 4))

    def _new_equations(self, rows: int) -> None:
        fit = _kernels().fit_kernels
        self._equations: Floats = np.empty((rows, fit.places(self._points.shape[1])))
        self._band: Floats = np.empty((rows, 2, fit.covariance_kernels.BAND_PLACES))


def _longer(array: Floats, kept: int, size: int) -> Floats:
    new = np.empty((size, *array.shape[1:]))
    new[:kept] = array[:kept]
    return new
