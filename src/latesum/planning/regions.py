"""A plan from a history: what regions buy, by simulating markets like the one that it shows.

Levels, weekdays, noise and drift are fitted to the rows of the history. The delay is what was
given, because rows of one option hardly show it. Then markets like it are simulated with the market
model, with the test of half the time that people would run otherwise, and with all regions added up.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, shortened, whole_number
from latesum._render import counted
from latesum.experiments import stats
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.results import Rows
from latesum.experiments.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.files import FileForm, totals
from latesum.markets import DelayPrior, MarketConfig, RegionRow, summarize
from latesum.markets.rows import Panel
from latesum.markets.search import FIRST_SEARCH, learned
from latesum.markets.summary import diagnose
from latesum.planning.candidates import STREAM, Candidate
from latesum.planning.racing import Forecast, Thresholds, recommend
from latesum.planning.report import Plan
from latesum.planning.sensitivity import ALL_WORSE, NOTHING_BETTER, Scenario, next_best
from latesum.planning.verdict import Change, PlanVerdict, reason_for
from latesum.planning.words import Lateness
from latesum.policies import PolicySpec
from latesum.simulation.market import Market

#: What is tried: the label, what plays in a market, and whether all regions are added up.
_TRIED = (
    ("switchback", "switchback", False),
    ("half-time test", "half-time-test", False),
    ("switchback, added up", "switchback", True),
    ("half-time test, added up", "half-time-test", True),
    ("flow, added up", "flow", True),
    ("unmix, added up", "unmix", True),
)
_ADDED_UP = ", added up"
#: A history shows the level and the weekdays of this many days at least.
_MIN_DAYS = FIRST_SEARCH
#: Runs of a scenario, and of a change, at least.
_MIN_RUNS = 20
#: With a tie within this many standard errors the regions are kept.
_TIE_Z = 2.0
#: Simulated for the mean of a delay that is given in words.
_FINE = 1000.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RegionInputs:
    """What a plan from a history starts from.

    Args:
        market: The law of markets that was fitted to the history.
        late: How late sales are, as it was given.
        days: How many days the history has.
        regions: The names of the regions, where the history has them.
    """

    market: Market
    late: DelayPrior
    days: int
    regions: tuple[str, ...] = ()

    unit = "sales"
    switch_cost = 0.0

    @property
    def options(self) -> int:
        """How many options there are."""
        return self.market.options

    @property
    def run_hours(self) -> float:
        """How long the campaign runs."""
        return 24.0 * self.market.buckets

    @property
    def campaign(self) -> dict[str, Any]:
        """What a campaign is set up with beside the policy."""
        return {"every": "day"}

    def in_words(self) -> list[str]:
        """The inputs and what was assumed, in sentences."""
        law = self.market
        walk = math.hypot(law.walk, law.region_walk)
        return [
            f"The history: {counted(str(self.days), 'day')}, {law.sales:,.0f} sales a day in "
            f"{counted(str(law.regions), 'region')}, weekdays up to {law.weekday:.0%} apart from "
            f"the mean, levels that walk by {walk:.1%} a day, noise of {law.noise:.1%}. Campaigns "
            f"are simulated with {counted(str(law.history), 'day')} of history.",
            f"One of the {law.options} options, today's included, sells {law.effects:.0%} more "
            f"than the others, for {counted(str(law.buckets), 'day')}.",
            f"Sales come {self.late.mean:.2g} days late on average, as was given"
            f"{' (a guess)' if self.late.certainty == 'guess' else ''}.",
            "A winner is named when one option is as good as the best with 95% probability, and "
            "every option in the race was shown in two periods. Only switchback is asked for one; "
            "'decided after' is when half of the runs have one.",
        ]

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values."""
        return {
            "market": self.market.plain(),
            "mean_delay_days": self.late.mean,
            "sure": self.late.certainty,
            "regions": list(self.regions),
            "run_hours": self.run_hours,
            "options": self.options,
            "lift": self.market.effects,
        }


def given_delay(late: str) -> DelayPrior:
    """How late sales are, from the words that `plan` takes; "about 2 days" is a guess.

    Args:
        late: The words, of which the mean is kept.

    >>> given_delay("about 2 days").certainty, given_delay("up to 10 days").mean
    ('guess', 5.0)
    """
    mean = Lateness.read(late).in_rounds(_FINE).mean / _FINE / 24
    sure = "guess" if late.strip().lower().startswith("about") else "known"
    return DelayPrior(float(f"{mean:.3g}"), sure)  # type: ignore[arg-type]


def read_history(source: Path | bytes, form: FileForm | None = None) -> list[RegionRow]:
    """Rows before the start from a file with date and total, and region and rounds.

    Args:
        source: The file, or its content.
        form: How the file is written, where that cannot be seen.

    >>> rows = read_history(b"date,region,total\\n2026-03-01,north,31\\n2026-03-02,north,29\\n")
    >>> [(row.bucket, row.region, row.total) for row in rows]
    [(-2, 'north', 31.0), (-1, 'north', 29.0)]
    """
    found = []
    for row in totals.read_history(source, form).rows:
        try:
            day = datetime.date.fromisoformat(str(row.bucket))
        except ValueError:
            raise InvalidInput(
                f"row {row.line} of the history is for {shortened(str(row.bucket))!r}; write days, such "
                "as 2026-03-01."
            ) from None
        found.append((day, row.region or "", row.rounds, row.total))
    return _before_the_end(found)


def past_rows(given: Iterable[Mapping[str, Any]]) -> list[RegionRow]:
    """Rows before the start from values with names, as a campaign's history has them.

    Args:
        given: Rows with `bucket`, a date, and `region`, `rounds` and `total` where they are known.

    >>> past_rows([{"bucket": "2026-03-01", "total": 31}])[0][:2]
    ('', -1)
    """
    found = []
    for place, row in enumerate(given, start=1):
        try:
            day = datetime.date.fromisoformat(str(row["bucket"]))
        except (KeyError, ValueError):
            raise InvalidInput(
                f"row {place} of the history has no day; write its bucket as 2026-03-01."
            ) from None
        rounds, total = (
            None
            if row.get(name) is None
            else finite_number(row[name], f"{name} in row {place} of the history")
            for name in ("rounds", "total")
        )
        found.append((day, str(row.get("region") or ""), rounds, total))
    return _before_the_end(found)


def _before_the_end(
    found: Sequence[tuple[datetime.date, str, float | None, float | None]],
) -> list[RegionRow]:
    if not found:
        raise InvalidInput("the history has no rows below the names of its columns.")
    end = max(day for day, *_ in found) + datetime.timedelta(days=1)
    return [
        RegionRow(region, (day - end).days, rounds, "today", total)
        for day, region, rounds, total in found
    ]


def fitted_market(
    rows: Sequence[RegionRow],
    *,
    regions: int,
    options: int,
    lift: float,
    days: int,
    late: DelayPrior,
) -> tuple[Market, tuple[str, ...]]:
    """The law of markets that a history shows, and what it says against a campaign.

    Args:
        rows: The history, of days before 0, all with the same option "today".
        regions: How many regions there will be: as many as in the history, or any if it has one.
        options: How many options.
        lift: What the better option sells more, as a share.
        days: How long the campaign runs.
        late: How late sales are.

    >>> rng = np.random.default_rng(1)
    >>> rows = [RegionRow("", day, 1000, "today", float(rng.poisson(60))) for day in range(-42, 0)]
    >>> law, _ = fitted_market(rows, regions=1, options=2, lift=0.1, days=60, late=DelayPrior(1.0))
    >>> 55 < law.sales < 65
    True
    """
    names = tuple(sorted({row.region for row in rows}))
    if len(names) not in (1, regions):
        raise InvalidInput(
            f"the history has {len(names)} regions ({', '.join(names[:5])}), and {regions} are "
            "asked for."
        )
    known_rounds = any(row.rounds is not None for row in rows)
    settings = MarketConfig(
        ("today", "new"),
        days,
        regions=names,
        delay=late,
        status_quo="today",
        rounds_known=known_rounds,
    )
    panel = Panel.of(rows, settings, 0)
    if int(panel.known.sum()) < _MIN_DAYS:
        raise InvalidInput(
            f"the history has {int(panel.known.sum())} days with a total; {_MIN_DAYS} or more are "
            "needed."
        )
    hyper = learned(panel, settings)
    shown = summarize(rows, 0, settings)
    totals = np.nanmean(panel.totals, axis=0)
    rounds = panel.exposure.mean(axis=0)
    several = regions > 1 and len(names) > 1  # otherwise one stream now, and maybe regions then
    spread = float(max(totals.max() / max(totals.min(), 1e-9), 1.0)) if several else 1.0
    visits_noise = float(np.std(np.log(np.maximum(panel.exposure, 1)), axis=0).mean())
    law = Market(
        options=options,
        regions=regions,
        buckets=days,
        history=min(-panel.first, 56),
        sales=float(totals.sum()),
        visitors=float(rounds.sum()),
        effects=lift,
        one_better=True,
        delay=late.mean,
        spread=spread,
        weekday=float(max(np.abs(np.log1p(shown.pattern)).max(), 0.0)),
        traffic=0.0,
        traffic_noise=visits_noise if known_rounds else 0.0,
        walk=hyper.common_walk if several else hyper.region_walk,
        region_walk=hyper.region_walk if several else 0.0,
        shocks=hyper.shocks if several else 0.0,
        noise=hyper.noise,
        rounds="visitors" if known_rounds else "constant",
    )
    noisy, _ = diagnose(rows, 0, settings)
    return law, () if noisy is None else (str(noisy),)


def plan_regions(
    history: Iterable[RegionRow] | Path | bytes,
    *,
    regions: int,
    options: int,
    lift: float,
    days: int,
    late: DelayPrior,
    thresholds: Thresholds | None = None,
    sensitivity: bool = True,
    replications: int = 100,
    seed: int = 1,
    **how: Unpack[RunOptions],
) -> Plan:
    """What regions buy and which policy to take, by simulating markets like that of a history.

    Args:
        history: Rows before the start, or a file of them (`read_history`).
        regions: How many regions there will be.
        options: How many options.
        lift: What the better option sells more, as a share.
        days: How long the campaign runs.
        late: How late sales are, as far as it is known.
        thresholds: When it is a go, as in `plan`.
        sensitivity: Whether to find out what happens if inputs are wrong.
        replications: How often each policy is run.
        seed: The same seed gives the same plan.
        how: Where and how runs are made.

    >>> rng = np.random.default_rng(1)
    >>> rows = [RegionRow(region, day, 9000, "today", float(rng.poisson(300)))
    ...     for day in range(-28, 0) for region in ("north", "south")]
    >>> found = plan_regions(
    ...     rows, regions=2, options=2, lift=0.2, days=35, late=DelayPrior(1.0), replications=3,
    ...     sensitivity=False, workers=1)
    >>> [each.candidate.label for each in found.forecasts][:2]
    ['switchback', 'half-time test']
    """
    rows = read_history(history) if isinstance(history, (Path, bytes)) else list(history)
    lift = finite_number(lift, "the lift", above=0, at_most=5)
    regions = whole_number(regions, "the number of regions", at_least=1)
    days = whole_number(days, "the days of the campaign", at_least=14)
    replications = whole_number(replications, "the number of replications", at_least=1)
    thresholds = Thresholds() if thresholds is None else thresholds.checked()
    law, warnings = fitted_market(
        rows, regions=regions, options=options, lift=lift, days=days, late=late
    )
    names = tuple(sorted({row.region for row in rows}))
    known = len({row.bucket for row in rows})
    inputs = RegionInputs(law, late, known, () if names == ("",) else names)
    tried = {
        label if regions > 1 else label.removesuffix(_ADDED_UP): (player, added_up and regions > 1)
        for label, player, added_up in _TRIED
        if regions > 1 or not added_up or player in ("flow", "unmix")
    }
    simulation = _MarketSimulation(inputs, tried, thresholds.percentile, seed, how)
    worlds = dict.fromkeys(tried, law)
    forecasts, gains = simulation.forecasts(list(worlds.items()), replications, "policies")
    recommended, reason = _recommend(forecasts, gains, thresholds)
    fewer = min(replications, max(replications // 5, _MIN_RUNS))
    verdict = _judge(recommended, thresholds, simulation, fewer)
    scenarios: list[Scenario] = []
    if sensitivity:
        runner_up = next_best([each for each in forecasts if _can_run(each)], recommended)
        scenarios = _analyze(recommended, runner_up, thresholds, simulation, fewer)
    return Plan(
        inputs,
        tuple(forecasts),
        recommended,
        reason,
        verdict,
        tuple(scenarios),
        thresholds,
        seed,
        warnings,
    )


@dataclass(frozen=True)
class _MarketSimulation:
    """Runs of what plays in markets."""

    inputs: RegionInputs
    tried: Mapping[str, tuple[str, bool]]
    percentile: float
    seed: int
    options: RunOptions

    def forecasts(
        self, cases: Sequence[tuple[str, Market]], replications: int, what: str
    ) -> tuple[list[Forecast], list[Floats]]:
        """A forecast for each label in a law of markets, and the gain of each run."""
        specs = []
        for number, (label, law) in enumerate(cases):
            player, added_up = self.tried[label]
            specs.append(
                MarketRunSpec(
                    _one_stream(law) if added_up else law,
                    self._text(player, law),
                    self.seed,
                    problem_name=f"{number}",
                    policy_name=label,
                )
            )
        results = run(specs, replications, what=what, **self.options)
        found = [
            self._forecast(label, law, rows)
            for (label, law), rows in zip(cases, results.rows, strict=True)
        ]
        return [forecast for forecast, _ in found], [gain for _, gain in found]

    def _text(self, player: str, law: Market) -> str:
        """What plays, given the delay of the inputs and not the true one."""
        late = self.inputs.late
        if player == "switchback":
            return (
                f"switchback(winner=True, told={late.mean / law.delay:g}, sure={late.certainty!r})"
            )
        if player in ("flow", "unmix"):
            return f"{player}(mean_delay={late.mean * law.visitors:g})"
        return player

    def _forecast(self, label: str, law: Market, measured: Rows) -> tuple[Forecast, Floats]:
        sales = law.sales * law.buckets
        regret = measured["lost"] * sales
        gain = measured["lost_by_split"] * sales - regret
        tolerance = law.effects / (1 + law.effects)
        found = measured["within"] < max(tolerance - 1e-9, 1e-9)
        unknown = Uncertain(math.nan, math.nan, math.nan)
        decided = decided_late = winner = unknown
        if self.tried[label][0] == "switchback":
            named = measured["named"][:, 0]
            count = int(np.isfinite(named).sum())
            winner = share_of(count, len(named))
            hours = np.where(np.isfinite(named), 24 * named, np.inf)
            decided, decided_late = quantile_of(hours, 0.5), quantile_of(hours, 0.8)
        forecast = Forecast(
            candidate=self._candidate(label),
            reward=mean_of(sales - regret),
            regret=mean_of(regret),
            gain=mean_of(gain),
            gain_low=quantile_of(gain, self.percentile),
            finds_best=share_of(int(found.sum()), len(found)),
            decided_after=decided,
            decided_late=decided_late,
            winner=winner,
            switches=mean_of(measured["switches"].astype(np.float64)),
            on_good=(),
            replications=len(regret),
        )
        return forecast, gain

    def _candidate(self, label: str) -> Candidate:
        """What plays, as a campaign takes it: with the regions, or with all of them added up."""
        law, late = self.inputs.market, self.inputs.late
        player, added_up = self.tried[label]
        days, delay = f"{law.buckets} days", counted(f"{late.mean:g}", "day")
        rounds = max(1, round(law.visitors))
        known = {"n_arms": law.options, "horizon": law.buckets * rounds}
        mean = {"mean_delay": late.mean * rounds}
        is_model = player == "switchback"
        if is_model:
            spec = PolicySpec(STREAM, {**known, **mean, "bucket": rounds})
            about = "about " if late.certainty == "guess" else ""
            parameters = {"n_arms": law.options, "horizon": days, "late": about + delay}
        elif player == "half-time-test":
            spec = PolicySpec("fixed-split", {**known, "horizon": known["horizon"] // 2})
            parameters = dict(spec.parameters)
        else:
            spec = PolicySpec(player, {**known, **mean})
            parameters = {"n_arms": law.options, "horizon": days, "mean_delay": delay}
        together = law.regions if not added_up else 1
        campaign: dict[str, Any] = {
            "policy": "switchback" if is_model else spec.name,
            "parameters": parameters,
            "n_regions": together,
            "regions": list(self.inputs.regions) if together > 1 else [],
            "added_up": list(self.inputs.regions) if added_up else [],
        }
        if law.rounds == "visitors":
            campaign["bucket"] = max(1, round(law.visitors / together))
        return Candidate(label, spec, "", campaign)


def _one_stream(law: Market) -> Market:
    """The market with all regions added up."""
    root = math.sqrt(law.regions)
    walk = math.hypot(law.walk, law.region_walk / root)
    return replace(law, regions=1, spread=1.0, walk=walk, region_walk=0.0, noise=law.noise / root)


def _can_run(forecast: Forecast) -> bool:
    """Whether a campaign can run it: a test is there to compare with."""
    return not forecast.candidate.label.startswith("half-time test")


def _recommend(
    forecasts: Sequence[Forecast], gains: Sequence[Floats], thresholds: Thresholds
) -> tuple[Forecast, str]:
    """The policy to take and why; with a tie the regions are kept."""
    best, reason = recommend([each for each in forecasts if _can_run(each)], thresholds)
    together = forecasts[0]
    if best is together or together.candidate.campaign["n_regions"] == 1:
        return best, reason
    lead = gains[forecasts.index(best)] - gains[0]
    close = float(lead.mean()) <= _TIE_Z * float(stats.standard_error(lead))
    if (len(lead) == 1 or close) and together.passes(thresholds) == best.passes(thresholds):
        return together, (
            f"{best.candidate.label} does not gain clearly more within the uncertainty of the "
            "simulation, and on a tie the regions are kept"
        )
    return best, f"{reason}; the regions are added up to one total for that"


def _judge(
    recommended: Forecast, thresholds: Thresholds, simulation: _MarketSimulation, replications: int
) -> PlanVerdict:
    """The verdict; where it is not a go, whether a longer run or a larger lift makes it one."""
    reason, sure = reason_for(recommended, thresholds), recommended.is_sure(thresholds)
    if recommended.passes(thresholds):
        return PlanVerdict("go", sure, reason)
    law, longer, label = simulation.inputs.market, thresholds.longer, recommended.candidate.label
    days = round(law.buckets * longer)
    tried = {
        "horizon": (longer, replace(law, buckets=days), f"run for up to {days} days"),
        "lift": (2.0, replace(law, effects=2 * law.effects), f"look for {2 * law.effects:.0%}"),
    }
    cases = [(label, changed) for _, changed, _ in tried.values()]
    found, _ = simulation.forecasts(cases, replications, "what would have to change")
    changes = [
        Change(what, factor, 1.0, factor, said, forecast)
        for (what, (factor, _, said)), forecast in zip(tried.items(), found, strict=True)
        if forecast.passes(thresholds)
    ]
    small = tuple(change for change in changes if change.what == "horizon")
    if small:
        return PlanVerdict("conditional go", sure, reason, small, replications)
    helps = {change.what for change in changes}
    useless = [said for what, (_, _, said) in tried.items() if what not in helps]
    not_enough = f"Not enough by itself: {'; '.join(useless)}."
    return PlanVerdict("no-go", sure, reason, tuple(changes), replications, not_enough)


def _analyze(
    recommended: Forecast,
    runner_up: Forecast | None,
    thresholds: Thresholds,
    simulation: _MarketSimulation,
    replications: int,
) -> list[Scenario]:
    """The recommended policy and the next best where something else is true of the market."""
    law = simulation.inputs.market
    worlds = {
        "as given": law,
        "delays twice as long": replace(law, delay=2 * law.delay),
        "delays half as long": replace(law, delay=law.delay / 2),
        "lift half as large": replace(law, effects=law.effects / 2),
        NOTHING_BETTER: replace(law, effects=0.0),
        ALL_WORSE: replace(law, status_quo_best=True),
        "best option twice as late": replace(law, best_later=2.0),
        "best option in half the time": replace(law, best_later=0.5),
    }
    labels = [each.candidate.label for each in (recommended, runner_up) if each is not None]
    cases = [(label, world) for world in worlds.values() for label in labels]
    found, _ = simulation.forecasts(cases, replications, "sensitivity analysis")
    made = iter(found)
    return [
        Scenario.of(truth, next(made), None if runner_up is None else next(made), thresholds)
        for truth in worlds
    ]
