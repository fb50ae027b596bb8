"""One step of Unmix in compiled code: a part is told, and what comes next is decided.

It is the whole of what happens between two parts, except for the search for the delay's length scale, which
is rare. Everything it needs and changes is in arrays.

`learn` is the rule. Whole runs that are compiled (`latesum.experiments.run_kernels`) know it by `UnmixState`, in which what
is planned is an array too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from latesum._compile import allocation_free
from latesum.policies.purpose_kernels import LEARN
from latesum.policies.unmix import rows_kernels, visits_kernels

#: In place of a reason: it is time to search for the length scale, or for a second opinion, before deciding.
SEARCH = -1
#: The places of `plan`: the arm, the rounds that are left, why, and the next part; why it was played that was
#: played last; and what decisions depend on besides the rows.
ARM, LEFT, WHY, PART, WAS, SCALE, PLAUSIBLE, SEARCH_AT = range(8)


class UnmixState(NamedTuple):
    """All that Unmix knows, as compiled code takes it."""

    plan: Any
    order: Any  # the arms that can be played, in the order of first visits
    n_arms: int
    horizon: float  # 0: not known
    told_nothing: bool
    numbers: Any
    counts: Any
    points: Any
    variances: Any
    table: Any
    runs: Any
    laws: Any
    offsets: Any
    pieces: Any
    reaches: Any
    prior: Any
    bin_means: Any
    design: Any
    shares: Any
    ages: Any
    equations: Any
    band: Any
    matrices: Any
    vectors: Any
    values: Any


@allocation_free
def learn(arm, rounds, total, asked, left, why, scale, plausible, search_at, order, n_arms, clock, horizon, told_nothing, numbers, counts, points, variances, table, runs, laws, offsets, pieces, reaches, prior, bin_means, design, shares, ages, equations, band, matrices, vectors, values):  # type: ignore[no-untyped-def]  # fmt: skip
    """Take in a part of `arm`; the arm, the reason, the rounds and the part that come next.

    `asked` is the arm that was asked for, for `left` rounds and the reason `why`. While some of them are
    left nothing is decided. `scale` is the length scale of the delay, `plausible` the largest that is
    possible; from round `search_at` on it is looked for anew.
    """
    rows_kernels.add_part(
        arm, rounds, total, max(scale, plausible), numbers, counts, table, runs, laws, offsets, pieces,
        reaches, design, shares, ages,
    )  # fmt: skip
    if arm == asked and rounds < left:
        left -= rounds
        return arm, why, left, visits_kernels.next_part(arm, left, scale, numbers, runs)
    rows_kernels.refit(
        numbers, points, variances, table, design, shares, equations, band, matrices, vectors, prior,
        bin_means,
    )  # fmt: skip
    if numbers[rows_kernels.CLOCK] >= search_at:
        return arm, SEARCH, 0, 0
    arm, why, left = visits_kernels.decide(
        order, n_arms, scale, clock, horizon, told_nothing, numbers,
        counts, runs, points, variances, values,
    )  # fmt: skip
    return arm, why, left, visits_kernels.next_part(arm, left, scale, numbers, runs)


@allocation_free
def next_block(state, told):  # type: ignore[no-untyped-def]
    """What is left of the planned block."""
    return int(state.plan[ARM]), int(state.plan[LEFT]), LEARN


@allocation_free
def longest_part(state):  # type: ignore[no-untyped-def]
    """The most rounds of it that are told at once."""
    return int(state.plan[PART])


@allocation_free
def learn_part(state, told, arm, rounds, total, known, purpose):  # type: ignore[no-untyped-def]
    """Take in a part; `told` is the rounds told so far, with its own."""
    plan = state.plan
    plan[WAS] = plan[WHY]
    seen = total if known else math.nan
    plan[ARM], plan[WHY], plan[LEFT], plan[PART] = learn(
        arm, rounds, seen, int(plan[ARM]), int(plan[LEFT]), int(plan[WHY]), plan[SCALE],
        plan[PLAUSIBLE], plan[SEARCH_AT], state.order, state.n_arms, float(told), state.horizon,
        state.told_nothing, state.numbers,
        state.counts, state.points, state.variances, state.table, state.runs, state.laws, state.offsets, state.pieces, state.reaches,
        state.prior, state.bin_means, state.design, state.shares, state.ages, state.equations, state.band,
        state.matrices, state.vectors, state.values,
    )  # fmt: skip


@allocation_free
def can_learn(state):  # type: ignore[no-untyped-def]
    """Whether there is room for one more row and one more run."""
    numbers = state.numbers
    return numbers[rows_kernels.COUNT] < len(state.table) and numbers[rows_kernels.N_RUNS] < len(
        state.runs
    )


@allocation_free
def must_search(state):  # type: ignore[no-untyped-def]
    """Whether the delay must be looked for before anything is played on."""
    return state.plan[WHY] == SEARCH
