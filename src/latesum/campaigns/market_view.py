"""What a page about a campaign with `switchback` shows of its model, in figures and in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist
from typing import Any

from latesum.campaigns.buckets import span_text
from latesum.campaigns.methods import MarketRows, market_rows
from latesum.campaigns.state import CampaignState
from latesum.markets import Effect, Readings, Winner, readings, winner
from latesum.policies import Estimate


@dataclass(frozen=True)
class MarketView:
    """What the model of a campaign has found.

    Args:
        found: The rows and config that it was told.
        readings: What it has found.
        winner: Whether there is a winner.
        labels: What its buckets are called, by their numbers in the model.
        every: What a bucket is.
    """

    found: MarketRows
    readings: Readings
    winner: Winner
    labels: dict[int, str]
    every: str = "day"

    @property
    def reference(self) -> str:
        """The option that effects are measured against."""
        return self.found.config.reference

    def effect(self, option: str) -> Effect:
        """What an option does beside the status quo, over all regions.

        Args:
            option: Its name.
        """
        return next(each for each in self.readings.effects if each.option == option)

    @staticmethod
    def interval(effect: Effect, level: float) -> tuple[float, float]:
        """An effect's interval of any level; it is normal on the scale of logarithms.

        Args:
            effect: The effect.
            level: How sure the interval is.
        """
        middle = math.log1p(effect.effect)
        sd = (math.log1p(effect.high95) - middle) / NormalDist().inv_cdf(0.975)
        width = NormalDist().inv_cdf((1 + level) / 2) * sd
        return math.expm1(middle - width), math.expm1(middle + width)

    def estimates(self, state: CampaignState, level: float) -> list[Estimate]:
        """Per option the mean per round, at the mean level of what is known, with an interval.

        The intervals are those of the effects: of the status quo, which they are measured against, it
        has no width.

        Args:
            state: What the log adds up to.
            level: How sure the intervals are.
        """
        told, options = self.found.rows, state.config.options
        known = [row for row in told if row.total is not None and row.rounds]
        effects = {each.option: each for each in self.readings.effects}
        weights = dict.fromkeys(options, 0.0)
        for row in known:
            shares = {row.shown: 1.0} if isinstance(row.shown, str) else row.shown
            for name, share in shares.items():
                weights[name] += share * (row.rounds or 0.0)
        rounds, total = sum(weights.values()), sum(row.total or 0.0 for row in known)
        worth = sum(weight * (1 + effects[name].effect) for name, weight in weights.items())
        base = total / worth if worth else None
        estimates = []
        for arm, name in enumerate(options):
            low, high = self.interval(effects[name], level)
            estimates.append(
                Estimate(
                    arm,
                    name,
                    None if base is None or not rounds else base * (1 + effects[name].effect),
                    -math.inf if base is None else base * (1 + low),
                    math.inf if base is None else base * (1 + high),
                    round(weights[name]),
                    arm not in state.removed,
                )
            )
        return estimates

    def leading(self, state: CampaignState) -> int:
        """The option that looks best now, of those that may still be shown.

        Args:
            state: What the log adds up to.
        """
        options = state.config.options
        arms = [arm for arm in range(len(options)) if arm not in state.removed]
        effects = {each.option: each.effect for each in self.readings.effects}
        return max(arms, key=lambda arm: effects[options[arm]])

    def sentences(self, level: float = 0.95) -> list[str]:
        """What was found, for people.

        Args:
            level: The confidence level of the intervals.
        """
        said = []
        for effect in self.readings.effects:
            low, high = self.interval(effect, level)
            text = f"{effect.effect:+.1%} ({level:.0%} interval {low:+.1%} to {high:+.1%})"
            if effect.option == self.reference:
                text = "the status quo, which the others are compared with"
            said.append(f"{effect.option}: {text}; probability of being best {effect.chance:.0%}.")
        said.append(
            f"Sales come {span_text(self.readings.delay, self.every)} late on average "
            f"(given: {self.told_delay_text})."
        )
        if self.readings.own_delays:
            own = ", ".join(
                f"{name} {span_text(late, self.every)}"
                for name, late in self.readings.own_delays.items()
            )
            said.append(f"Each option has a delay of its own: {own}.")
        for each in self.readings.outliers[-5:]:
            where = f" in {each.region}" if each.region else ""
            said.append(
                f"{self.label(each.bucket)}{where} was {abs(each.deviations):.1f} standard deviations "
                f"{'above' if each.deviations > 0 else 'below'} what was expected, and counted as 3.5."
            )
        return said + list(self.readings.warnings)

    @property
    def told_delay_text(self) -> str:
        """The delay that was told, in words."""
        told = self.found.config.delay
        return ("about " if told.sure == "guess" else "") + span_text(told.mean, self.every)

    def label(self, bucket: int) -> str:
        """What a bucket of the model is called.

        Args:
            bucket: Its number there.
        """
        return self.labels.get(bucket, str(bucket + self.found.first))

    def to_json(self) -> dict[str, Any]:
        """As plain values, for other programs."""
        found = self.readings
        return {
            "reference": self.reference,
            "effects": [each._asdict() for each in found.effects],
            "by_region": {
                region: [each._asdict() for each in effects]
                for region, effects in found.by_region.items()
            },
            "pattern": list(found.pattern),
            "delay": found.delay,
            "told_delay": found.told_delay,
            "told_delay_is": self.found.config.delay.sure,
            "own_delays": found.own_delays,
            "walk": found.walk,
            "noise": found.noise,
            "outliers": [
                {**each._asdict(), "bucket": self.label(each.bucket)} for each in found.outliers
            ],
            "warnings": list(found.warnings),
            "winner": self.winner._asdict(),
        }


def view_market(state: CampaignState, now: datetime, before: int | None = None) -> MarketView:
    """What the model finds from what is known now, or before a bucket.

    Args:
        state: What the log adds up to.
        now: The time.
        before: A bucket, if what was known before it is asked for.
    """
    found = market_rows(state, now, before)
    following = (before or (state.last or 0) + 1) - found.first
    labels = {
        row.bucket: state.config.buckets.label(row.bucket + found.first) for row in found.rows
    }
    return MarketView(
        found,
        readings(found.rows, following, found.config),
        winner(found.rows, following, found.config),
        labels,
        state.config.buckets.every,
    )


def market_winner(state: CampaignState, now: datetime) -> Winner:
    """Whether there is a winner, by what is known now.

    Args:
        state: What the log adds up to.
        now: The time.
    """
    found = market_rows(state, now)
    return winner(found.rows, (state.last or 0) + 1 - found.first, found.config)
