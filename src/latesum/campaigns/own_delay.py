"""The delay that a campaign's own data show, beside the one that it was given.

There are two sources. Where totals are dated by arrival, each switch shows how long the rewards of
what was shown before go on coming: the totals are explained with one mean delay after the other,
and how much worse each explains them than the best says which fit. Where totals are dated by
decision and restated, the reports are a reporting triangle, and its fit says how totals fill up.
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum._render import counted
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import plays_at
from latesum.campaigns.state import CampaignState
from latesum.policies import Play

Floats = NDArray[np.float64]

#: Fewer switches, known totals or rewards than these show nothing of a delay.
_MIN_SWITCHES = 3
_MIN_TOTALS = 8
_MIN_REWARDS = 100.0
#: The mean delays that are tried, as shares of the given one; a quarter of a power of two apart.
_TRIED = 2.0 ** (np.arange(-16, 17) / 4)
#: Of the last buckets only: what a delay was long ago says little about now.
_MAX_PLAYS = 120
#: Reports of fewer buckets are no triangle.
_MIN_BUCKETS = 5
_LEVEL = 0.95
#: A given delay is off if it is outside the limits by this factor: less makes no difference.
_MATTERS = 1.25


class OwnDelay(NamedTuple):
    """How late rewards come by the campaign's own data, in buckets.

    Args:
        source: "switches": by what came in after them. "restatements": by how totals grew.
        mean: The mean delay; None if the data do not exclude any longer one.
        low: The lower limit of the mean, at 95%.
        high: The upper limit; infinite if the data do not exclude any.
        given: The mean delay that the campaign was given; None if none was.
        off: Whether the given one is clearly outside the limits.
        sentence: All of this in a sentence.
    """

    source: Literal["switches", "restatements"]
    mean: float | None
    low: float
    high: float
    given: float | None
    off: bool
    sentence: str


def find_own_delay(state: CampaignState, now: datetime) -> OwnDelay | None:
    """The delay that a campaign's own data show; None while they show none, and at its end.

    Campaigns of the market model have none: it learns the delay itself.
    """
    if state.config.is_market or state.finished is not None or state.archived is not None:
        return None
    if state.config.time_basis == "arrival":
        return _from_switches(state, now)
    return _from_restatements(state)


def _from_switches(state: CampaignState, now: datetime) -> OwnDelay | None:
    config = state.config
    given = config.parameters.get("mean_delay")
    if not isinstance(given, int | float) or given <= 0:
        return None
    plays = [each for each in plays_at(state, now) if isinstance(each, Play)]
    before: int | None = None
    if len(plays) > _MAX_PLAYS:
        before = plays[-_MAX_PLAYS - 1].arm
    elif config.status_quo in config.options:
        before = config.option(config.status_quo)
    elif config.status_quo != "none":
        before = config.n_options
    found = likely_means(plays[-_MAX_PLAYS:], config.n_options, before, float(given))
    if found is None:
        return None
    mean, low, high = (each / config.expected_rounds for each in found)
    return _own_delay("switches", mean, low, high, given / config.expected_rounds, config)


def likely_means(
    plays: list[Play], n_options: int, before: int | None, given: float
) -> tuple[float, float, float] | None:
    """The likeliest mean delay in rounds, and its limits at 95%; None if the totals do not say.

    For a mean delay, what arrives in a play is linear in the options' means: weighted least squares
    gives these, and the sum of squares how well that delay explains the totals. The limits are the
    delays whose sum of squares is within an F quantile of the smallest. A lower limit of 0 or an
    infinite upper one says that no shorter or longer delay is excluded.

    Args:
        plays: What was played, oldest first.
        n_options: The number of options.
        before: What ran before the first play: an option; `n_options` for something else; None for
            nothing.
        given: A mean delay in rounds: between a sixteenth and sixteen times it is looked at.

    >>> import latesum
    >>> problem = latesum.Problem([0.03, 0.05], "exponential(7500)")
    >>> world, arms = problem.start(rng=np.random.default_rng(2)), [0, 0, 0, 0, 1, 1, 1, 1] * 8
    >>> plays = [Play(arm, 5000, float(world.play(arm, 5000))) for arm in arms[:60]]
    >>> mean, low, high = likely_means(plays, 2, None, 5000.0)
    >>> low < 7500 < high
    True
    """
    known = np.array([play.total is not None for play in plays], dtype=bool)
    totals = np.array([play.total for play in plays if play.total is not None], dtype=np.float64)
    switches = sum(one.arm != other.arm for one, other in itertools.pairwise(plays))
    n_means = max(n_options, 0 if before is None else before + 1)
    freedom = len(totals) - n_means - 1
    if (
        switches < _MIN_SWITCHES
        or len(totals) < _MIN_TOTALS
        or totals.sum() < _MIN_REWARDS
        or freedom < 1
    ):
        return None
    from scipy.special import fdtri

    rounds = np.array([play.rounds for play in plays], dtype=np.float64)
    # The variance of a total is about its mean; which of the options it came from matters little.
    weights = 1 / np.sqrt(rounds[known] * totals.sum() / rounds[known].sum())
    means = given * _TRIED
    squares = np.empty(len(means))
    for at, mean in enumerate(means):
        arriving = _arriving(plays, rounds, n_means, before, mean)[known] * weights[:, None]
        fitted = arriving @ np.linalg.lstsq(arriving, totals * weights, rcond=None)[0]
        squares[at] = ((totals * weights - fitted) ** 2).sum()
    best = int(np.argmin(squares))
    allowed = float(fdtri(1, freedom, _LEVEL)) * max(1.0, squares[best] / freedom)
    likely = np.flatnonzero(squares <= squares[best] + allowed)
    # Between two of the means the fit is not looked at: half a step more on both sides.
    half = math.sqrt(_TRIED[1] / _TRIED[0])
    low = float(means[likely[0]]) / half if likely[0] > 0 else 0.0
    high = float(means[likely[-1]]) * half if likely[-1] < len(means) - 1 else math.inf
    if low == 0.0 and math.isinf(high):
        return None
    return float(means[best]), low, high


def _arriving(
    plays: list[Play], rounds: Floats, n_means: int, before: int | None, mean: float
) -> Floats:
    """How many rounds' rewards of each option arrive in each play, if delays are exponential."""
    times = np.concatenate([[0.0], np.cumsum(rounds)])
    begun = [at for at, play in enumerate(plays) if at == 0 or play.arm != plays[at - 1].arm]
    bounds = np.append(times[begun], times[-1])
    age = np.maximum(times[:, None] - bounds[None, :], 0.0)
    # Of rounds that are played from some time on: those whose reward has arrived at an age.
    arrived = age + mean * np.expm1(-age / mean)
    arriving = np.diff(arrived[:, :-1] - arrived[:, 1:], axis=0)
    found = np.zeros((len(plays), n_means))
    for run, at in enumerate(begun):
        found[:, plays[at].arm] += arriving[:, run]
    if before is not None:
        found[:, before] -= mean * np.diff(np.exp(-times / mean))
    return found


def _from_restatements(state: CampaignState) -> OwnDelay | None:
    from latesum import delays

    config = state.config
    if not config.buckets.timed:
        return None
    known = _triangle(state)
    if len({bucket for bucket, _ in known}) < _MIN_BUCKETS:
        return None
    buckets, as_of = zip(*known, strict=True)
    source = {"bucket": buckets, "as_of": as_of, "total": list(known.values())}
    try:
        mean, low, high = delays.fit(source, kind="triangle", level=_LEVEL).mean
    except InvalidInput:  # too few restatements, or a tail that they do not show
        return None
    return _own_delay("restatements", mean, low, high, _mean_of_curve(config), config)


def _triangle(state: CampaignState) -> dict[tuple[int, int], float]:
    """What was known of each bucket at the end of later ones: (bucket, as of) and the total.

    A total that is heard again unchanged is mostly not kept. So it is carried on over all days on
    which something was reported, up to the age at which totals were last seen to change: a file has
    the last days, not single ones.
    """
    buckets = state.config.buckets
    reported: dict[int, dict[int, float]] = {}
    for bucket, value in state.values.items():
        for at, total in value.reports:
            # What is read in a bucket is what was known at the end of the one before.
            as_of = buckets.number(at) - 1
            if as_of >= bucket:
                reported.setdefault(bucket, {})[as_of] = total
    looks = sorted({as_of for row in reported.values() for as_of in row})
    oldest = max((as_of - bucket for bucket, row in reported.items() for as_of in row), default=0)
    known: dict[tuple[int, int], float] = {}
    for bucket, row in reported.items():
        last: float | None = None
        for as_of in looks:
            last = row.get(as_of, last)
            if last is not None and as_of <= bucket + oldest:
                known[bucket, as_of] = last
    return known


def _mean_of_curve(config: CampaignConfig) -> float | None:
    """The mean delay in buckets of a curve by which totals are said to fill up."""
    curve, length = config.curve, config.buckets.length
    if curve is None or length is None:
        return None
    ages = [0.0, *(age / length for age, _ in curve)]
    left = [1 - curve[0][1], *(1 - share for _, share in curve)]
    return math.fsum(
        (later - earlier) * (before + after) / 2
        for (earlier, later), (before, after) in zip(
            itertools.pairwise(ages), itertools.pairwise(left), strict=True
        )
    )


def _own_delay(
    source: Literal["switches", "restatements"],
    mean: float,
    low: float,
    high: float,
    given: float | None,
    config: CampaignConfig,
) -> OwnDelay:
    def span(buckets: float) -> str:
        return counted(f"{buckets:.2g}", config.buckets.word)

    how = {
        "switches": "what came in after its switches",
        "restatements": "how its totals were restated",
    }
    if math.isinf(high):
        late = f"at least {span(low)} late on average; how late is not known yet"
    elif low == 0.0:
        late = f"at most {span(high)} late on average"
    else:
        late = f"{span(mean)} late on average ({low:.2g} to {high:.2g})"
    sentence = f"By {how[source]}, rewards come {late}"
    off = given is not None and not low / _MATTERS <= given <= high * _MATTERS
    if given is not None:
        sentence += f"; it was given {span(given)}"
    found = None if math.isinf(high) else mean
    return OwnDelay(source, found, low, high, given, off, f"{sentence}.")
