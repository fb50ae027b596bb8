"""The rows of Unmix in compiled code: a part is added, and means and curve are estimated anew.

All that is known is in arrays. `numbers` has what is one number, by the places below; `counts` has per arm
the rounds whose totals are known, all rounds, the runs, when the last run began, and the rounds after the
last known total, which are still to be reported; `points` has the estimate and where it was at the last full
pass. The other arrays are those of the design, the covariance and the fit.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum.policies.unmix import design_kernels, fit_kernels

#: The places of `numbers`. What was played and seen:
CLOCK, COUNT, N_RUNS, REPORTED, REPORTED_ROUNDS, REWARDS = 0, 1, 2, 3, 4, 5
#: The first row that is still to be reported; when rewards began to flow (not a number before that); for
#: how long nothing came at the start: to the end of the first row with a reward.
PENDING_FROM, FLOWING_FROM, SILENCE = 6, 7, 8
#: What the last full pass took in: rows, the rows it added up, and m0.
FULL_AT, FROZEN, FULL_TYPICAL = 9, 10, 11
#: By how much the rows fit worse than they should, and the objective.
MISFIT, OBJECTIVE = 12, 13
#: What was told of the delay, and by how much arms' delays may differ.
TOLD, TOLD_SD, PRIOR_WEIGHT, STRETCH_SD = 14, 15, 16, 17
NUMBERS = 18

KNOWN, PLAYED, VISITS, BEGAN, PENDING = 0, 1, 2, 3, 4

#: The newest rows are always whitened anew; older ones keep the linearisation of the last full
#: pass, which is made when there are this many more rows.
_KEPT_FRESH = 14
_GROWTH, _GROWTH_ROWS = 1.1, 3
#: Once a run is this many length scales long, a further part is added to its last row.
_MERGED_AFTER = 8.0
#: Rewards are taken to flow once this many were seen.
FLOWING = 20


@compiled
def typical_total(numbers):  # type: ignore[no-untyped-def]
    """m0: the mean total per round."""
    mean = (numbers[REWARDS] + 0.5) / (numbers[REPORTED_ROUNDS] + 1.0)
    return min(1.0, max(0.0, mean))


@compiled
def begin_run(arm, start, numbers, runs):  # type: ignore[no-untyped-def]
    """A run of an arm begins; there is room for it."""
    run = int(numbers[N_RUNS])
    runs[run, 0] = start
    runs[run, 1] = start
    runs[run, 2] = arm
    numbers[N_RUNS] = run + 1.0


@compiled
def add_part(arm, rounds, total, scale, numbers, counts, table, runs, laws, offsets, pieces, reaches, design, shares, ages):  # type: ignore[no-untyped-def]  # fmt: skip
    """A part that was played; `total` is not a number where it is not known.

    There is room for one more row and one more run. Late in a run, after many of the length `scale`, it
    becomes a part of the last row.
    """
    start, known = numbers[CLOCK], not math.isnan(total)
    if numbers[N_RUNS] == 0.0 or runs[int(numbers[N_RUNS]) - 1, 2] != arm:
        begin_run(arm, start, numbers, runs)
        counts[VISITS, arm] += 1.0
        counts[BEGAN, arm] = start
    run, row = int(numbers[N_RUNS]) - 1, int(numbers[COUNT]) - 1
    run_start = runs[run, 0]
    longer = (
        known
        and start - run_start > _MERGED_AFTER * scale
        and row >= 0
        and table[row, 0] >= run_start
        and not math.isnan(table[row, 3])
    )
    if longer:
        table[row, 3] += total
    else:
        row += 1
        numbers[COUNT] = row + 1.0
        table[row, 0] = start
        table[row, 2] = arm
        table[row, 3] = total
        table[row, 4] = run
        if known:
            numbers[REPORTED] += 1.0
    clock = start + rounds
    numbers[CLOCK] = clock
    table[row, 1] = clock
    runs[run, 1] = clock
    design_kernels.fill_row(
        row, longer, table, runs, laws, offsets, pieces, reaches, design, shares, ages
    )
    counts[PLAYED, arm] += rounds
    if not known:
        counts[PENDING, arm] += rounds
        return
    numbers[PENDING_FROM] = numbers[COUNT]
    for each in range(counts.shape[1]):
        counts[PENDING, each] = 0.0
    counts[KNOWN, arm] += rounds
    numbers[REPORTED_ROUNDS] += rounds
    if numbers[REWARDS] <= 0.0:
        numbers[SILENCE] = clock
    numbers[REWARDS] += total
    if math.isnan(numbers[FLOWING_FROM]) and numbers[REWARDS] >= FLOWING:
        numbers[FLOWING_FROM] = clock


@compiled
def step(first, typical, judged, numbers, points, variances, table, design, shares, equations, band, matrices, vectors, prior, bin_means):  # type: ignore[no-untyped-def]  # fmt: skip
    """One step of the fit, with rows before `first` as they were whitened at the last full pass.

    With `judged` there are variances, a misfit and an objective, too.
    """
    n_eps = points.shape[1] - len(prior) - variances.shape[1]
    numbers[MISFIT], numbers[OBJECTIVE] = fit_kernels.fit(
        first, int(numbers[FROZEN]), int(numbers[PENDING_FROM]), int(numbers[COUNT]), typical, judged,
        table, design, shares, n_eps, points[0], equations, band, matrices, vectors, numbers[REPORTED], prior,
        numbers[PRIOR_WEIGHT], bin_means, numbers[TOLD], numbers[TOLD_SD], numbers[STRETCH_SD], variances,
    )  # fmt: skip


@compiled
def full_pass(judged, numbers, points, variances, table, design, shares, equations, band, matrices, vectors, prior, bin_means):  # type: ignore[no-untyped-def]  # fmt: skip
    """A step that linearises all rows here; older ones keep that until the next such pass."""
    count, typical = numbers[COUNT], typical_total(numbers)
    numbers[FULL_AT], numbers[FULL_TYPICAL] = count, typical
    for place in range(points.shape[1]):
        points[1, place] = points[0, place]
    numbers[FROZEN] = max(0.0, min(count - _KEPT_FRESH, numbers[PENDING_FROM]))
    # Not a literal 0, for which Numba would compile the whole fit a second time.
    step(
        np.int64(0), typical, judged, numbers, points, variances, table, design, shares, equations, band, matrices,
        vectors, prior, bin_means,
    )  # fmt: skip


#: Not the constant True, for which Numba would compile a version of its own.
_JUDGED = np.bool_(True)


@compiled
def refit(numbers, points, variances, table, design, shares, equations, band, matrices, vectors, prior, bin_means):  # type: ignore[no-untyped-def]  # fmt: skip
    """Estimate means, curve and variances anew: one step from where the last fit was."""
    frozen = int(numbers[FROZEN])
    if frozen == 0 or numbers[COUNT] >= _GROWTH * numbers[FULL_AT] + _GROWTH_ROWS:
        full_pass(
            _JUDGED, numbers, points, variances, table, design, shares, equations, band, matrices, vectors,
            prior, bin_means,
        )  # fmt: skip
    else:
        step(
            frozen, typical_total(numbers), _JUDGED, numbers, points, variances, table, design, shares,
            equations, band, matrices, vectors, prior, bin_means,
        )  # fmt: skip


@compiled
def explain(steps, played, filled, numbers, points, variances, table, runs, laws, offsets, pieces, reaches, design, shares, ages, equations, band, matrices, vectors, prior, bin_means):  # type: ignore[no-untyped-def]  # fmt: skip
    """All rows are explained anew, by a number of full passes from a neutral point.

    `played` are the numbers of the rows that say what was played and seen, `filled` is of how many rows the design is known.
    """
    for place in range(FULL_AT):
        numbers[place] = played[place]
    for place in range(FULL_AT, TOLD):
        numbers[place] = 0.0
    numbers[FULL_TYPICAL], numbers[MISFIT] = 0.5, 1.0
    typical, width, n_arms = typical_total(numbers), points.shape[1], variances.shape[1]
    for place in range(width):
        points[0, place] = 0.0 if place < width - n_arms else typical
    for g in range(len(prior)):
        points[0, g] = prior[g]
    design_kernels.fill_rows(
        filled,
        int(numbers[COUNT]),
        table,
        runs,
        laws,
        offsets,
        pieces,
        reaches,
        design,
        shares,
        ages,
    )
    for each in range(steps):
        full_pass(
            each == steps - 1, numbers, points, variances, table, design, shares, equations, band, matrices, vectors,
            prior, bin_means,
        )  # fmt: skip
