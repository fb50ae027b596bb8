"""What is known of a campaign's options: the same questions to a policy and to a market model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from latesum.campaigns.buckets import span_text
from latesum.campaigns.deciding import (
    Replay,
    at_next_block,
    market_rows,
    plays_at,
    units_of,
)
from latesum.campaigns.state import CampaignState
from latesum.policies import Estimate, Policy
from latesum.policies.estimates import may_be_best, named_winner

if TYPE_CHECKING:  # a policy's campaign does not load the model, nor `next` SciPy
    from latesum.markets import Effect, MarketSummary, Winner

#: How an option does beside the others.
OptionStatus = Literal["winner", "candidate", "behind", "removed"]
_POINTS = 2001


class OptionView(NamedTuple):
    """An option: how often it was shown, its estimate, and how it compares with the status quo."""

    name: str
    arm: int
    buckets: int = 0
    #: The runs of buckets without a break in which it was shown.
    periods: int = 0
    rounds: int = 0
    #: What a visitor brings, in the campaign's unit, with its confidence interval.
    mean: float | None = None
    low: float = -math.inf
    high: float = math.inf
    status: OptionStatus = "candidate"
    probability_best: float | None = None
    #: The relative difference of its mean from the status quo's, with its interval.
    uplift: float | None = None
    uplift_low: float | None = None
    uplift_high: float | None = None
    is_status_quo: bool = False


class ModelView(NamedTuple):
    """What a market model has learned besides the options."""

    #: The mean delay in buckets, and what was given at the start, in words.
    delay: float
    given_delay: str
    #: How much more arrives than on average, by weekday (or hour, then weekday).
    pattern: tuple[float, ...]
    #: How far the level walks in a bucket, and the noise besides that of counting, as shares.
    walk: float
    noise: float
    #: The buckets for which an option is shown at least.
    period: int


class PolicyKnowledge:
    """What a policy knows now, or knew before a bucket."""

    #: What only a market model has.
    summary = model = None
    first = 0

    def __init__(
        self, state: CampaignState, now: datetime, replay: Replay, before: int | None = None
    ) -> None:
        self.state, self.config = state, state.config
        self._plays = plays_at(state, now, before)
        self.policy: Policy = replay.after(state.config, self._plays)

    def estimates(self, region: str | None = None) -> list[Estimate]:
        """The mean of each option per visitor in the campaign's unit, with its interval."""
        unit = self.config.per_round
        return [
            each._replace(
                mean=None if each.mean is None else unit(each.mean),
                low=unit(each.low),
                high=unit(each.high),
            )
            for each in self.policy.estimates()
        ]

    def chances(self, region: str | None = None) -> dict[int, float] | None:
        """The probability of being best of each option; None unless something is known of all."""
        return probabilities(
            [each for each in self.estimates() if each.arm not in self.state.removed]
        )

    def winner(self) -> tuple[str | None, str | None]:
        """The option that can be kept, or None with why none is named yet."""
        estimates, visits = self.estimates(), count_visits(self.state)
        removed, commits = self.state.removed, self.policy.ask().purpose == "commit"
        # The option that would win if all had been shown often enough, then whether they were.
        often = [2] * len(visits)
        arm = named_winner(estimates, often, commits=commits, removed=removed)
        if arm is None:
            return None, "No winner yet: the options are still too close, or too little is known."
        best = estimates[arm]
        allowed = [each for each in estimates if each.arm not in removed and visits[each.arm] < 2]
        seldom = [each.name for each in allowed if each is best or may_be_best(each, best)]
        if seldom:
            return None, (
                f"{best.name} looks best, but no winner is named before every candidate was shown "
                f"in two periods; {_were_not(seldom)}"
            )
        return best.name, None

    def candidates(self) -> set[str]:
        """The options that may be the best; the others are behind."""
        estimates = self.estimates()
        best = estimates[leading(self)]
        return {each.name for each in estimates if each is best or may_be_best(each, best)}

    def sentences(self, region: str | None = None, *, next_block: bool = True) -> list[str]:
        """What was found and what comes next, in buckets, for people."""
        units = units_of(self.config)
        found = self.policy.explain(units)[:-1]
        if next_block:
            following = at_next_block(self.state, self.policy, self._plays)
            found.append(following.explain(units)[-1])
        return found


class MarketKnowledge:
    """What the model of `switchback` knows now, or knew before a bucket."""

    def __init__(self, state: CampaignState, now: datetime, before: int | None = None) -> None:
        self.state, self.config = state, state.config
        self._rows = market_rows(state, now, before)
        self.first = self._rows.first

    @cached_property
    def summary(self) -> MarketSummary:
        """What the model has found."""
        from latesum.markets import summarize

        return summarize(*self._rows[:3])

    @property
    def model(self) -> ModelView:
        """What it has found besides the options, as a page shows it."""
        found, period = self.summary, self._rows.config.period_length
        pattern = tuple(found.pattern)
        return ModelView(found.delay, self._given_delay, pattern, found.walk, found.noise, period)

    @property
    def _given_delay(self) -> str:
        given = self._rows.config.delay
        about = "about " if given.certainty == "guess" else ""
        return about + span_text(given.mean, self.config.buckets.every)

    @cached_property
    def _winner(self) -> Winner:
        from latesum.markets import winner

        removed = [self.config.options[arm] for arm in self.state.removed]
        return winner(*self._rows[:3], barred=removed)

    def _effects(self, region: str | None) -> Sequence[Effect]:
        return self.summary.effects if region is None else self.summary.by_region[region]

    def estimates(self, region: str | None = None) -> list[Estimate]:
        """The means, at the mean level of what is known.

        The status quo is the reference, so its interval has zero width.
        """
        effects = self._effects(region)
        weights = dict.fromkeys(self.config.options, 0.0)
        total = 0.0
        for row in self._rows.rows:
            if row.total is None or not row.rounds or region not in (None, row.region):
                continue
            total += row.total
            shares = {row.shown: 1.0} if isinstance(row.shown, str) else row.shown
            for name, share in shares.items():
                weights[name] += share * row.rounds
        equal = sum(weights[each.option] * (1 + each.effect) for each in effects)
        base = total / equal if equal else None
        estimates = []
        for arm, effect in enumerate(effects):
            mean, low, high = None, -math.inf, math.inf
            if base is not None:
                ends = effect.effect, effect.low95, effect.high95
                mean, low, high = (base * (1 + each) for each in ends)
            rounds, active = round(weights[effect.option]), arm not in self.state.removed
            estimates.append(Estimate(arm, effect.option, mean, low, high, rounds, active))
        return estimates

    def chances(self, region: str | None = None) -> dict[int, float]:
        """The probability of being best of each option, over all regions or in one."""
        return {arm: effect.chance for arm, effect in enumerate(self._effects(region))}

    def winner(self) -> tuple[str | None, str | None]:
        """The option that can be kept, or None with why none is named yet."""
        found = self._winner
        if found.option is not None:
            return found.option, None
        if found.waits_for:
            return None, (
                "No winner is named before every candidate was shown in two periods, and one that "
                f"seems late for long enough in a row; {_were_not(found.waits_for)}"
            )
        return None, (
            "No winner yet: the probability that the leading option is as good as any is "
            f"{found.chance:.0%}; it takes 95%."
        )

    def candidates(self) -> set[str]:
        """The options that may be the best; a winner waits for none of the others."""
        return set(self._winner.candidates)

    def sentences(self, region: str | None = None, *, next_block: bool = True) -> list[str]:
        """What was found, for people."""
        found, every, said = self.summary, self.config.buckets.every, list[str]()
        any_total = any(row.total is not None for row in self._rows.rows)
        for effect in self._effects(region) if any_total else ():
            ends = f"{effect.low95:+.1%} to {effect.high95:+.1%}"
            text = f"{effect.effect:+.1%} (95% interval {ends})"
            if effect.option == self._rows.config.reference:
                text = "the status quo, which the others are compared with"
            said.append(f"{effect.option}: {text}; probability of being best {effect.chance:.0%}.")
        said.append(
            f"Sales come {span_text(found.delay, every)} late on average "
            f"(given: {self._given_delay})."
        )
        outliers = [each for each in found.outliers.items() if region in (None, each[0][0])]
        for (where, bucket), off in outliers[-5:]:
            label = self.config.buckets.label(bucket + self.first)
            said.append(
                f"{label}{f' in {where}' if where else ''} was {abs(off):.1f} standard deviations "
                f"{'above' if off > 0 else 'below'} what was expected, and counted as 3.5."
            )
        return said + list(found.warnings)


Knowledge = PolicyKnowledge | MarketKnowledge


def knowledge_of(
    state: CampaignState, now: datetime, replay: Replay, before: int | None = None
) -> Knowledge:
    """What the campaign's method knows now, or knew before a bucket."""
    if state.config.is_market:
        return MarketKnowledge(state, now, before)
    return PolicyKnowledge(state, now, replay, before)


def leading(known: Knowledge) -> int:
    """The option that looks best now, of those that may still be shown."""
    state = known.state
    allowed = [each for each in known.estimates() if each.arm not in state.removed]
    found = [each for each in allowed if each.mean is not None]
    if found:
        active = [each for each in found if each.active]
        return max(active or found, key=lambda each: each.mean or 0.0).arm
    shown = None if state.last is None else state.decisions[state.last].arm
    return shown if shown in [each.arm for each in allowed] else allowed[0].arm


def count_visits(state: CampaignState) -> list[int]:
    """How many times each option was shown, a run of buckets without a break being one time."""
    arms = [state.shown(b) for b in state.decisions if state.value(b).rounds != 0]
    runs = [arm for arm, _ in itertools.groupby(arms)]
    return [runs.count(arm) for arm in range(state.config.n_options)]


def compare(
    rows: Sequence[Estimate], base: int, chances: dict[int, float] | None
) -> list[OptionView]:
    """Options compared with that of index `base`, the status quo.

    The interval of an uplift combines those of the two means side by side: its lower end lies where
    the option brings less than estimated, or the status quo more.

    Args:
        chances: The probability of being best by arm; None if it is not known.
    """
    quo, found = rows[base], []
    for row in rows:
        option = OptionView(row.name, row.arm, mean=row.mean, low=row.low, high=row.high)
        if row.mean is not None and chances is not None:
            option = option._replace(probability_best=chances.get(row.arm, 0.0))
        if row is quo:
            option = option._replace(is_status_quo=True)
        elif row.mean is not None and quo.mean is not None and quo.mean > 0:
            ratio = row.mean / quo.mean
            less = math.hypot(row.mean - row.low, ratio * (quo.high - quo.mean)) / quo.mean
            more = math.hypot(row.high - row.mean, ratio * (quo.mean - quo.low)) / quo.mean
            uplift = ratio - 1
            option = option._replace(
                uplift=uplift, uplift_low=uplift - less, uplift_high=uplift + more
            )
        found.append(option)
    return found


def probabilities(racing: Sequence[Estimate]) -> dict[int, float] | None:
    """The probability of being best of each arm, as if the estimates were normal; None unless
    something is known of all."""
    from scipy.special import ndtr

    if any(row.mean is None for row in racing):
        return None
    # Normal on each side of the mean: intervals are as wide on both sides only where much is known.
    means = np.array([row.mean for row in racing], dtype=float)
    ends = np.array([(row.low, row.high) for row in racing], dtype=float)
    quantile = NormalDist().inv_cdf(0.975)  # of intervals of 95%
    below_sd, above_sd = np.maximum(np.abs(ends - means[:, None]).T / quantile, 1e-12)
    # Each option's own grid is where its density is; a common one would miss narrow ones.
    grid = np.linspace(-8, 8, _POINTS)
    density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    found = {}
    for index, row in enumerate(racing):
        points = means[index] + np.where(grid < 0, below_sd[index], above_sd[index]) * grid
        others = np.delete(np.arange(len(racing)), index)
        away = points[:, None] - means[others]
        below = np.prod(ndtr(away / np.where(away < 0, below_sd[others], above_sd[others])), axis=1)
        found[row.arm] = float(np.trapezoid(below * density, grid))
    total = sum(found.values())
    return {arm: share / total for arm, share in found.items()}


def _were_not(names: Sequence[str]) -> str:
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"{listed} {'was' if len(names) == 1 else 'were'} not."
