"""What a visit is worth where rewards come late and without a label, and what that must cost.

The proofs are in `docs/theory.md`, "The price of anonymity".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays import Delay

Floats = NDArray[np.float64]

_CHUNK = 1 << 16
#: The sums go on until what is left is below this share of them, or for this number of rounds.
_NEGLIGIBLE = 1e-9
_LONGEST_SUM = 1 << 24
#: How far above the best mean the arm is raised in the other problem, in gaps: the best is taken.
_RAISED = np.geomspace(1.01, 4, 80)


def visit_worth(delay: Delay, rounds: int) -> float:
    """How many attributed plays one visit of `rounds` plays is worth: E(L - |tau - tau'|)+.

    The visit lemma: rounds are observed one by one, what the other arms bring is known, and the noise
    is that of a Poisson law with a constant intensity. It is the sum over t of a_t^2, where
    a_t = P(t - L < tau <= t) is how many of the visit's plays are expected to arrive in round t.

    Args:
        delay: How late rewards come.
        rounds: The plays of the visit, L.

    >>> from latesum import delays
    >>> round(visit_worth(delays.exponential(50), 500), 1), visit_worth(delays.constant(50), 500)
    (450.0, 500.0)
    """
    rounds = whole_number(rounds, "the rounds of a visit", at_least=0)
    total, start = 0.0, 0
    while rounds and start < _LONGEST_SUM:
        at = np.arange(start, start + _CHUNK)
        arriving = delay.survival(at - rounds) - delay.survival(at)
        total += float((arriving**2).sum())
        start += _CHUNK
        # What is left: at most `rounds` arrivals in all, and in one round not more than this.
        late = float(delay.survival(start - rounds))
        if rounds * late * late <= _NEGLIGIBLE * total:
            break
    return total


def limit_with_visits(
    attributed_regret: float, gaps: Sequence[float], spreads: Sequence[float], visits: int = 1
) -> float:
    """A reference for an anonymous policy: attributed regret, and W plays of each arm per visit.

    A policy for totals that is otherwise as good as one with attributed feedback must visit every
    arm; each visit wastes W = `Delay.spread` of its plays. It is no bound for every policy and
    problem; `least_plays` is.

    Args:
        attributed_regret: The regret of a policy with the same index and attributed feedback.
        gaps: How far each arm's mean is below the best, 0 for the best.
        spreads: The spread of each arm's delay.
        visits: How often each arm is visited.

    >>> round(limit_with_visits(47, [0.1, 0], [50, 50]))
    52
    >>> round(limit_with_visits(118, [0.8 * i / 9 for i in range(10)], [50] * 10, visits=2))
    518
    """
    attributed = finite_number(attributed_regret, "the attributed regret", at_least=0)
    visits = whole_number(visits, "the number of visits", at_least=0)
    if len(gaps) != len(spreads):
        raise InvalidInput(f"there are {len(gaps)} gaps and {len(spreads)} spreads.")
    checked = [finite_number(gap, "a gap", at_least=0) for gap in gaps]
    if visits == 0:
        return attributed
    wasted = math.fsum(gap * spread for gap, spread in zip(checked, spreads, strict=True) if gap)
    return attributed + visits * wasted


class LeastPlays(NamedTuple):
    """How often an arm must be played at least, in expectation: the two parts of the proposition.

    Args:
        attributed: What would be needed with attributed feedback as well.
        anonymous: What anonymity adds; it tends to the spread W.
    """

    attributed: float
    anonymous: float

    @property
    def total(self) -> float:
        """Both."""
        return self.attributed + self.anonymous


def least_plays(
    delay: Delay, gap: float, horizon: int, *, least_mean: float, regret: float
) -> LeastPlays:
    """How often any policy must play an arm that is worse by `gap`: the proposition of the docs.

    It holds for Poisson rewards whose units are delayed independently, a full pipeline, and delays
    whose probabilities never rise (or are log-concave): geometric, exponential, uniform, Pareto,
    Poisson and others; not for two points. Other delays are not refused, since that cannot be seen from
    a survival function at once.

    Args:
        delay: How late rewards come.
        gap: How far the arm is below the best.
        horizon: The number of rounds, T.
        least_mean: The smallest mean of all arms, and of what ran before.
        regret: What the policy loses at most, on this problem and on those in which the arm is raised
            above the best.

    >>> from latesum import delays
    >>> found = least_plays(delays.exponential(50), 0.1, 10**9, least_mean=0.5, regret=500)
    >>> round(found.attributed), round(found.anonymous)
    (652, 45)
    """
    gap = finite_number(gap, "a gap", above=0)
    horizon = whole_number(horizon, "the horizon", at_least=2)
    noise = finite_number(least_mean, "the smallest mean", above=0)
    regret = finite_number(regret, "the regret", above=0)
    worth, apart = _worths(delay, horizon)
    best = LeastPlays(0.0, 0.0)
    for raised in _RAISED.tolist():
        information = (raised * gap) ** 2 / (2 * noise)  # of one attributed play, at most
        odds = horizon * gap * min(1.0, raised - 1) / (8 * regret)
        attributed = max(0.0, math.log(odds) / information) if odds > 1 else 0.0
        trust = (raised - 1) * gap * (horizon - len(worth)) / regret
        anonymous = 0.0
        if trust > 1:
            missed = (information * worth + math.log(2)) / math.log(trust)
            anonymous = float((apart * np.maximum(0.0, 1 - missed)).sum())
        if attributed + anonymous > best.total:
            best = LeastPlays(attributed, anonymous)
    return best


def _worths(delay: Delay, horizon: int) -> tuple[Floats, Floats]:
    """For a = 1, 2, ...: what a plays are worth at most, and P(|tau - tau'| >= a)."""
    end = min(horizon // 2, max(1, delay.quantile(1 - 1e-6)), 1 << 14)
    span = min(1 << 18, max(end, delay.quantile(1 - 1e-9)) + 1)
    shares = delay.pmf(np.arange(span))
    size = 1 << int(2 * span - 1).bit_length()
    spectrum = np.fft.rfft(shares, size)
    apart_by = np.fft.irfft(spectrum * spectrum.conj(), size)[: end + 1]
    # P(|D| <= n). Pairs with a delay beyond the span count as close together: so the bound stays one.
    within = apart_by[0] + 2 * np.append(0.0, np.cumsum(apart_by[1:]))
    within = np.minimum(1.0, within + 2 * float(delay.survival(span - 1)))
    worth = np.cumsum(within[:-1])  # E(a - |D|)+ = the sum over n < a of P(|D| <= n)
    return worth, 1 - within[:-1]
