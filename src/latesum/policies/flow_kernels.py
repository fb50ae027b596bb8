"""The compiled parts of the flow balance and of the indices: a small system, and KL bounds."""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import allocation_free, compiled
from latesum._kl_kernels import CLOSE, bernoulli_upper

#: How far outside [0, 1] an estimate may lie while it corrects others: at 0 and 1 exactly, low
#: rates would be biased, and without a limit errors could grow down a chain of short blocks.
_CLIP_LOW, _CLIP_HIGH = -0.5, 1.5
_MOST_SWEEPS = 60
_CLOSE_ENOUGH = 1e-7


@compiled
def solve_balance(balance, stretched):  # type: ignore[no-untyped-def]
    """What `solve_into` finds, in an array of its own."""
    means = np.empty(len(balance.rounds))
    solve_into(balance, stretched, means)
    return means


@allocation_free
def solve_into(balance, stretched, means):  # type: ignore[no-untyped-def]
    """Write the means that explain the totals: weights @ means = totals, by Gauss-Seidel.

    `stretched` times as much as the weights say has leaked: 1 for the mean delay as it was told.
    Arms without a known round take the mean of all known rounds.
    """
    rounds, totals, leaks = balance.rounds, balance.totals, balance.leaks
    n_arms = len(rounds)
    all_rounds = all_totals = 0.0
    for arm in range(n_arms):
        all_rounds += rounds[arm]
        all_totals += totals[arm]
    overall = all_totals / all_rounds if all_rounds > 0 else 0.5
    for arm in range(n_arms):
        means[arm] = totals[arm] / rounds[arm] if rounds[arm] > 0 else overall
    for _ in range(_MOST_SWEEPS):
        change = 0.0
        for arm in range(n_arms):
            if rounds[arm] == 0:
                continue
            leaked_in = 0.0
            for place in range(balance.leak_counts[arm]):
                clipped = min(max(means[leaks[arm, place]], _CLIP_LOW), _CLIP_HIGH)
                leaked_in += balance.leak_weights[arm, place] * clipped
            own = rounds[arm] - stretched * (rounds[arm] - balance.own[arm])
            mean = (totals[arm] - stretched * leaked_in) / own
            change = max(change, abs(mean - means[arm]))
            means[arm] = mean
        if change < _CLOSE_ENOUGH:
            break


@compiled
def kl_upper(p, allowance):  # type: ignore[no-untyped-def]
    """The largest q in [p, 1] with kl(p, q) <= allowance."""
    return bernoulli_upper(p, allowance, CLOSE)


@compiled
def kl_lower(p, allowance):  # type: ignore[no-untyped-def]
    """The smallest q in [0, p] with kl(p, q) <= allowance."""
    return 1.0 - kl_upper(1.0 - p, allowance)


@compiled
def index_values(kind, means, counts, clock, horizon):  # type: ignore[no-untyped-def]
    """What `fill_index` finds, in an array of its own."""
    values = np.empty(len(means))
    fill_index(kind, means, counts, clock, horizon, values)
    return values


@allocation_free
def fill_index(kind, means, counts, clock, horizon, values):  # type: ignore[no-untyped-def]
    """Write the index of every arm with a positive count, minus infinity for the others.

    `kind` is 0 for KL-UCB++, 1 for KL-UCB, 2 for UCB1; a `horizon` of 0 means that none is known,
    and KL-UCB++ is then KL-UCB.
    """
    n_arms = len(means)
    for arm in range(n_arms):
        values[arm] = -np.inf
        count = counts[arm]
        if count <= 0.0:
            continue
        if kind == 2:
            values[arm] = means[arm] + math.sqrt(2.0 * math.log(clock + 1.0) / count)
            continue
        allowance = _kl_allowance(kind, n_arms, count, clock, horizon)
        values[arm] = kl_upper(min(max(means[arm], 0.0), 1.0), allowance / count)


@allocation_free
def fill_thinned_index(kind, means, own, plays, totals, clock, horizon, widths, values):  # type: ignore[no-untyped-def]
    """As `fill_index` for the two KL indices, with the noise of leaks as well as of rewards.

    A total is a sum of `plays` terms in [0, 1], of which `own` are expected to be the arm's: so it
    is the expected total that a KL bound holds for, and a mean moves it `own` times as far. `widths`
    keeps what was found for each arm and from what: most arms are as they were a block ago.
    """
    n_arms = len(means)
    moment = max(horizon, clock) if kind == 0 and horizon > 0 else clock
    for arm in range(n_arms):
        values[arm] = -np.inf
        if own[arm] <= 0.0:
            continue
        known = widths[arm]
        if (
            known[0] != own[arm]
            or known[1] != plays[arm]
            or known[2] != totals[arm]
            or known[3] != moment
        ):
            count = own[arm] * own[arm] / plays[arm]
            allowance = _kl_allowance(kind, n_arms, count, clock, horizon)
            share = min(max(totals[arm] / plays[arm], 0.0), 1.0)
            known[4] = plays[arm] * (kl_upper(share, allowance / plays[arm]) - share) / own[arm]
            known[0], known[1], known[2], known[3] = own[arm], plays[arm], totals[arm], moment
        values[arm] = min(max(means[arm], 0.0), 1.0) + known[4]


@compiled
def _kl_allowance(kind, n_arms, count, clock, horizon):  # type: ignore[no-untyped-def]
    """What `count` times the divergence may be, by KL-UCB++ (0) or KL-UCB (1)."""
    if kind == 0 and horizon > 0:
        share = max(1.0, max(horizon, clock) / (n_arms * count))
        logarithm = math.log(share)
        return math.log(share * (1.0 + logarithm * logarithm))
    return math.log(clock + 1.0)


@compiled
def _expected_total_limits(total, plays, allowance):  # type: ignore[no-untyped-def]
    """Between what the expected total of `plays` terms in [0, 1] lies, given what it was."""
    share = min(max(total / plays, 0.0), 1.0)
    return plays * kl_lower(share, allowance / plays), plays * kl_upper(share, allowance / plays)


@compiled
def balance_limits(weights, rounds, plays, totals, allowance, others_allowance):  # type: ignore[no-untyped-def]
    """Lower and upper limits of every mean.

    First all equations at once, at `others_allowance`, narrow [0, 1]^K down to a box; then each
    arm's own equation, at `allowance`, is solved for its mean with the others anywhere in the box.
    `plays` is how many plays may have contributed to each equation.
    """
    n_arms = len(rounds)
    low, high = np.zeros(n_arms), np.ones(n_arms)
    least, most = np.zeros(n_arms), np.zeros(n_arms)
    for arm in range(n_arms):
        if rounds[arm] > 0:
            least[arm], most[arm] = _expected_total_limits(
                totals[arm], plays[arm], others_allowance
            )
    for _ in range(_MOST_SWEEPS):
        change = 0.0
        for arm in range(n_arms):
            if rounds[arm] == 0:
                continue
            new_low, new_high = _solve_for(arm, weights, least[arm], most[arm], low, high)
            new_low, new_high = max(new_low, low[arm]), min(new_high, high[arm])
            if new_low > new_high:  # the totals contradict each other: keep what was
                continue
            change = max(change, new_low - low[arm], high[arm] - new_high)
            low[arm], high[arm] = new_low, new_high
        if change < _CLOSE_ENOUGH:
            break
    own_low, own_high = np.zeros(n_arms), np.ones(n_arms)
    for arm in range(n_arms):
        if rounds[arm] > 0:
            fewest, greatest = _expected_total_limits(totals[arm], plays[arm], allowance)
            own_low[arm], own_high[arm] = _solve_for(arm, weights, fewest, greatest, low, high)
    return own_low, own_high


@compiled
def _solve_for(arm, weights, least, most, low, high):  # type: ignore[no-untyped-def]
    leaked_least, leaked_most = 0.0, 0.0
    for other in range(len(low)):
        if other != arm:
            leaked_least += weights[arm, other] * low[other]
            leaked_most += weights[arm, other] * high[other]
    own = weights[arm, arm]
    return (least - leaked_most) / own, (most - leaked_least) / own
