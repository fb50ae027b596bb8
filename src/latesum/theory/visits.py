"""What a visit is worth where rewards come late and anonymously, and what any policy must play.

The proofs are in `docs/research/anonymity.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays import Delay
from latesum.theory.bounds import bernoulli_divergence

Floats = NDArray[np.float64]

_CHUNK = 1 << 16
#: The sums go on until what remains is below this share of them, or for this number of rounds.
_NEGLIGIBLE = 1e-9
_LONGEST_SUM = 1 << 24
#: How far above the best mean the arm is raised in the other problem, in gaps: the best is taken.
_RAISED = np.geomspace(1.01, 4, 80)


def visit_worth(delay: Delay, rounds: int) -> float:
    """How many attributed plays one visit of `rounds` plays is worth: E(L - |tau - tau'|)+.

    The visit lemma: rounds are observed one by one, what the other arms bring is known, and the
    noise is that of a Poisson law with a constant intensity. It is the sum over t of a_t^2, where
    a_t = P(t - L < tau <= t) is how many of the visit's plays are expected to arrive in round t.

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
        # What remains: at most `rounds` arrivals in all, and in one round not more than this.
        late = float(delay.survival(start - rounds))
        if rounds * late * late <= _NEGLIGIBLE * total:
            break
    return total


def visit_length(delay: Delay, plays: float) -> int:
    """How many rounds a visit must have to be worth this number of attributed plays: w^-1.

    >>> from latesum.delays import exponential
    >>> visit_length(exponential(50), 450), visit_length(exponential(50), 7)
    (500, 30)
    """
    plays = finite_number(plays, "the attributed plays", at_least=0)
    short, long = 0, max(1, math.ceil(plays))  # a visit is worth at most its length
    while visit_worth(delay, long) < plays:
        short, long = long, 2 * long
    while long - short > 1:
        middle = (short + long) // 2
        short, long = (middle, long) if visit_worth(delay, middle) < plays else (short, middle)
    return long


def limit_with_visits(
    attributed_regret: float, means: Sequence[float], delays: Sequence[Delay], visits: int = 1
) -> float:
    """A reference for policies that see totals: attributed regret, and what visits waste.

    A policy with attributed feedback and this regret needs n_j plays of arm j; they are divided as
    in the bound of Lai and Robbins. A policy for totals gets as much information from `visits`
    visits that are worth n_j in all. It is a reference and no bound: nothing says that an arm must
    be visited at once, or how often.

    Args:
        attributed_regret: The regret of a policy with the same index and attributed feedback.
        means: The mean of each arm, of 0/1 rewards.
        delays: The delay of each arm.
        visits: How often each arm is visited; 0 gives the attributed regret.

    >>> from latesum.delays import exponential
    >>> line = [0.1 + 0.8 * i / 9 for i in range(10)]
    >>> round(limit_with_visits(120, line, [exponential(50)] * 10))
    245
    """
    attributed = finite_number(attributed_regret, "the attributed regret", at_least=0)
    visits = whole_number(visits, "the number of visits", at_least=0)
    if len(means) != len(delays):
        raise InvalidInput(f"there are {len(means)} means and {len(delays)} delays.")
    best = max(means)
    divided = [0.0 if mean == best else 1 / bernoulli_divergence(mean, best) for mean in means]
    slope = math.fsum((best - mean) * share for mean, share in zip(means, divided, strict=True))
    if visits == 0 or slope == 0:
        return attributed
    needed = [attributed / slope * share / visits for share in divided]
    return math.fsum(
        (best - mean) * visits * visit_length(delay, plays)
        for mean, delay, plays in zip(means, delays, needed, strict=True)
        if mean < best
    )


class LeastPlays(NamedTuple):
    """How often an arm must be played at least, in expectation: the parts of Theorem 2.

    Args:
        information: What is needed to tell two problems apart.
        anonymity: The anonymity term; it is below the spread W and tends to it.
        start: What the empty pipeline takes off: at most W / 2, for all arms together.
    """

    information: float
    anonymity: float
    start: float

    @property
    def total(self) -> float:
        """The bound."""
        return max(0.0, self.information + self.anonymity - self.start)


def least_plays(
    delay: Delay, gap: float, horizon: int, *, least_mean: float, regret: float
) -> LeastPlays:
    """How often any policy must play an arm that is worse by `gap`: Theorem 2 of the docs.

    The model is the paper's, with an empty pipeline at the start and Poisson rewards whose units
    are delayed independently. The probabilities of the delay must never rise, or be log-concave:
    geometric, exponential, uniform, Pareto, Poisson and others; not two points. Other delays are
    not refused, since that cannot be seen from a survival function at once.

    Args:
        least_mean: The smallest mean of all arms.
        regret: What the policy loses at most, on this problem and on those in which the arm is
            raised above the best.

    >>> from latesum.delays import exponential
    >>> found = least_plays(exponential(50), 0.1, 10**9, least_mean=0.5, regret=500)
    >>> [round(each) for each in found], round(found.total)
    ([652, 43, 25], 670)
    """
    gap = finite_number(gap, "a gap", above=0)
    horizon = whole_number(horizon, "the horizon", at_least=2)
    noise = finite_number(least_mean, "the smallest mean", above=0)
    regret = finite_number(regret, "the regret", above=0)
    worth, apart = _worths(delay, horizon)
    start = delay.spread / 2
    best = LeastPlays(0.0, 0.0, 0.0)
    for raised in _RAISED.tolist():
        per_play = (raised * gap) ** 2 / (2 * noise)  # information of one attributed play, at most
        odds = horizon * gap * min(1.0, raised - 1) / (8 * regret)
        information = max(0.0, math.log(odds) / per_play) if odds > 1 else 0.0
        trust = (raised - 1) * gap * (horizon - len(worth)) / regret
        anonymity = 0.0
        if trust > 1:  # Lambda > 0: otherwise step (iv) says nothing
            missed = (per_play * (worth + start) + math.log(2)) / math.log(trust)
            anonymity = float((apart * np.maximum(0.0, 1 - missed)).sum())
        # E w(N) is at least the first term less `start`, and at least 0.
        found = LeastPlays(information, anonymity, min(start, information))
        best = max(best, found, key=lambda each: each.total)
    return best


def _worths(delay: Delay, horizon: int) -> tuple[Floats, Floats]:
    """For a = 1, 2, ...: what a plays are worth at most, and P(|tau - tau'| >= a)."""
    end = min(horizon // 2, max(1, delay.quantile(1 - 1e-6)), 1 << 14)
    span = min(1 << 18, max(end, delay.quantile(1 - 1e-9)) + 1)
    shares = delay.pmf(np.arange(span))
    size = 1 << int(2 * span - 1).bit_length()
    spectrum = np.fft.rfft(shares, size)
    apart_by = np.fft.irfft(spectrum * spectrum.conj(), size)[: end + 1]
    # P(|D| <= n). Pairs with a delay beyond the span count as close together: it stays a bound.
    within = apart_by[0] + 2 * np.append(0.0, np.cumsum(apart_by[1:]))
    within = np.minimum(1.0, within + 2 * float(delay.survival(span - 1)))
    worth = np.cumsum(within[:-1])  # E(a - |D|)+ = the sum over n < a of P(|D| <= n)
    return worth, 1 - within[:-1]
