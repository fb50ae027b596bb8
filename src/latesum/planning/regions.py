"""A plan from a history: what regions buy, and which policy loses least, by simulating the market that it shows.

Levels, weekdays, noise and drift are fitted to the rows of the history; the delay is what was told, because rows of
one option hardly show it. Then markets like it are simulated with the model's rule, with the test of half the time that people would run otherwise, and as one stream.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from latesum._checks import InvalidInput, finite_number, shortened, whole_number
from latesum._render import TextTable, new_table
from latesum._sentences import counted
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.studies.markets import AS_GOOD
from latesum.files import totals
from latesum.markets import MarketConfig, RegionRow, ToldDelay, readings
from latesum.markets.rows import Panel
from latesum.markets.search import FIRST_SEARCH, learned
from latesum.simulation.market import Market

_SWITCHBACK = "switchback"
#: What is tried: the policy, whether with all regions or as one stream, and what it is called.
_TRIED = (
    ("switchback(winner=True)", True, "switchback"),
    ("half-time-test", True, "a test of half the time"),
    ("switchback(winner=True)", False, "switchback, as one stream"),
    ("half-time-test", False, "a test of half the time, as one stream"),
    ("flow", False, "flow, as one stream"),
    ("unmix", False, "unmix, as one stream"),
)
_ALONE = ", as one stream"
#: A history shows the level and the weekdays of this many days at least.
_LEAST_DAYS = FIRST_SEARCH


class RegionForecast(NamedTuple):
    """What a policy does in markets like the one of the history.

    Args:
        policy: Its name.
        regions: In how many regions.
        lost: What it loses of the sales of the best option, as a share.
        of_split: The same over what an equal split loses.
        ends_right: The share of runs that end on the best option, or within 2% of it.
        decided: The share of runs in which a winner was named; NaN where none is looked for.
        days: After how many days half of those were named; NaN where there are none.
    """

    policy: str
    regions: int
    lost: float
    of_split: float
    ends_right: float
    decided: float
    days: float


@dataclass(frozen=True)
class RegionPlan:
    """The answer of `plan_regions`.

    Args:
        market: The law of markets that was fitted to the history.
        forecasts: What was tried, the one that loses least first.
        warnings: What the history says against it.
        sentence: What to do, in words.
        late: How late sales are, as it was told.
        regions: The names of the regions, where the history has them.
    """

    market: Market
    forecasts: tuple[RegionForecast, ...]
    warnings: tuple[str, ...]
    sentence: str
    late: ToldDelay
    regions: tuple[str, ...] = ()

    @property
    def recommendation(self) -> dict[str, Any]:
        """What `latesum campaign new --plan` and the service's page set up: the best that a campaign can run.

        A test of half the time is no policy of a campaign; where it loses least, the next one is handed over.
        """
        policy, together = next(
            (policy, together)
            for row in self.forecasts
            for policy, together, name in _TRIED
            if name == row.policy and not policy.startswith("half")
        )
        law = self.market
        horizon = f"{law.buckets} days"
        delay = counted(f"{self.late.mean:g}", "day")
        about = "about " if self.late.sure == "guess" else ""
        is_market = policy.startswith(_SWITCHBACK)
        handed: dict[str, Any] = {
            "policy": _SWITCHBACK if is_market else policy,
            "parameters": {
                "n_arms": law.options, "horizon": horizon,
                **({"late": about + delay} if is_market else {"mean_delay": delay}),
            },
            "every": "day",
            "n_regions": law.regions if together else 1,
            "regions": list(self.regions) if together else [],
        }  # fmt: skip
        if law.rounds == "visitors":
            rounds = law.visitors / (law.regions if together else 1)
            handed["bucket"] = max(1, round(rounds))
        return handed

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        rows = [
            {key: None if value != value else value for key, value in row._asdict().items()}
            for row in self.forecasts
        ]
        return {
            "market": self.market.plain(), "policies": rows, "warnings": list(self.warnings),
            "sentence": self.sentence, "recommendation": self.recommendation,
        }  # fmt: skip

    def table(self) -> TextTable:
        """One row per policy, the best first."""
        columns = [
            "policy",
            "regions",
            "lost",
            "of an equal split's",
            "ends right",
            "decided",
            "half after",
        ]
        table = new_table("Markets like the one of the history", columns)
        for row in self.forecasts:
            known = row.decided == row.decided
            table.add_row(
                row.policy, f"{row.regions}", f"{row.lost:.1%}", f"{row.of_split:.2f}",
                f"{row.ends_right:.0%}", f"{row.decided:.0%}" if known else "",
                "" if row.days != row.days else f"{row.days:.0f} days",
            )  # fmt: skip
        return table

    def __str__(self) -> str:
        law = self.market
        told = (
            f"The history: {law.sales:,.0f} sales a day in {law.regions} region{'s' * (law.regions > 1)}, "
            f"weekdays up to {law.weekday:.0%} apart from the mean, levels that walk by "
            f"{math.hypot(law.walk, law.region_walk):.1%} a day, noise of {law.noise:.1%}, sales about "
            f"{law.delay:.2g} days late as was told."
        )
        return "\n".join([told, str(self.table()), *self.warnings, self.sentence])


def read_history(source: Path | bytes) -> list[RegionRow]:
    """Rows before the start from a file with the columns date, total, and region and rounds where there are any.

    Args:
        source: The file, or its content.

    >>> rows = read_history(b"date,region,rounds,total\\n2026-03-01,north,900,31\\n2026-03-02,north,950,29\\n")
    >>> [(row.bucket, row.region, row.total) for row in rows]
    [(-2, 'north', 31.0), (-1, 'north', 29.0)]
    """
    found = []
    for row in totals.read_history(source).rows:
        try:
            day = datetime.date.fromisoformat(row.bucket)
        except ValueError:
            raise InvalidInput(
                f"row {row.line} of the history is for {shortened(row.bucket)!r}; write days, such as 2026-03-01."
            ) from None
        found.append((day, row.region or "", row.rounds, row.total))
    return _before_the_end(found)


def past_rows(given: Iterable[Mapping[str, Any]]) -> list[RegionRow]:
    """Rows before the start from values with names, as a campaign's history has them.

    Args:
        given: Rows with `bucket`, a date, and `region`, `rounds` and `total` where they are known.

    >>> past_rows([{"bucket": "2026-03-01", "total": 31}, {"bucket": "2026-03-02", "total": 29}])[0][:2]
    ('', -2)
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
            None if row.get(name) is None
            else finite_number(row[name], f"{name} in row {place} of the history")
            for name in ("rounds", "total")
        )  # fmt: skip
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
    late: ToldDelay,
) -> tuple[Market, tuple[str, ...]]:
    """The law of markets that a history shows, and what it says against a campaign.

    Args:
        rows: The history, of days before 0, all with the same option "today".
        regions: How many regions there will be: as many as the history has, or some where it has one.
        options: How many options.
        lift: What the better option sells more, as a share.
        days: How long the campaign runs.
        late: How late sales are.

    >>> rng = np.random.default_rng(1)
    >>> rows = [RegionRow("", day, 1000, "today", float(rng.poisson(60))) for day in range(-42, 0)]
    >>> law, _ = fitted_market(rows, regions=1, options=2, lift=0.1, days=60, late=ToldDelay(1.0))
    >>> 55 < law.sales < 65
    True
    """
    names = tuple(sorted({row.region for row in rows}))
    if len(names) not in (1, regions):
        raise InvalidInput(
            f"the history has {len(names)} regions ({', '.join(names[:5])}), and {regions} are asked for."
        )
    known_rounds = any(row.rounds is not None for row in rows)
    settings = MarketConfig(
        ("today", "new"), days, regions=names, delay=late, before="today", rounds_known=known_rounds
    )
    panel = Panel.of(rows, settings, 0)
    if int(panel.known.sum()) < _LEAST_DAYS:
        raise InvalidInput(
            f"the history has {int(panel.known.sum())} days with a total; {_LEAST_DAYS} or more are needed."
        )
    hyper = learned(panel, settings)
    shown = readings(rows, 0, settings)
    totals = np.nanmean(panel.totals, axis=0)
    rounds = panel.exposure.mean(axis=0)
    split = regions > 1 and len(names) == 1  # one stream now, several regions then
    law = Market(
        options=options, regions=regions, buckets=days, history=min(-panel.first, 56),
        sales=float(totals.sum()), visitors=float(rounds.sum()), effects=lift, one_better=True,
        delay=late.mean,
        spread=1.0 if split or regions == 1 else float(max(totals.max() / max(totals.min(), 1e-9), 1.0)),
        weekday=float(max(np.abs(np.log1p(shown.pattern)).max(), 0.0)), traffic=0.0,
        traffic_noise=0.0 if not known_rounds else float(np.std(np.log(np.maximum(panel.exposure, 1)), axis=0).mean()),
        walk=hyper.common_walk if regions > 1 and not split else hyper.region_walk,
        region_walk=hyper.region_walk if regions > 1 and not split else 0.0,
        shocks=hyper.shocks if regions > 1 and not split else 0.0, noise=hyper.noise,
        rounds="visitors" if known_rounds else "constant",
    )  # fmt: skip
    return law, tuple(words for words in shown.warnings if "Demand walks" in words)


def plan_regions(
    history: Iterable[RegionRow] | Path | bytes,
    *,
    regions: int,
    options: int,
    lift: float,
    days: int,
    late: ToldDelay,
    replications: int = 100,
    seed: int = 1,
    **how: Unpack[RunOptions],
) -> RegionPlan:
    """What regions buy and which policy loses least, by simulating markets like that of a history.

    Args:
        history: Rows before the start, or a file of them (`read_history`).
        regions: How many regions there will be.
        options: How many options.
        lift: What the better option sells more, as a share.
        days: How long the campaign runs.
        late: How late sales are, as far as it is known.
        replications: How often each policy is run.
        seed: The same seed gives the same plan.
        how: Where and how runs are made.

    >>> rng = np.random.default_rng(1)
    >>> rows = [RegionRow(region, day, 9000, "today", float(rng.poisson(300)))
    ...     for day in range(-28, 0) for region in ("north", "south")]
    >>> found = plan_regions(
    ...     rows, regions=2, options=2, lift=0.2, days=35, late=ToldDelay(1.0), replications=3, workers=1)
    >>> found.market.regions, len(found.forecasts)
    (2, 6)
    """
    rows = read_history(history) if isinstance(history, (Path, bytes)) else list(history)
    lift = finite_number(lift, "the lift", above=0, at_most=5)
    regions = whole_number(regions, "the number of regions", at_least=1)
    days = whole_number(days, "the days of the campaign", at_least=14)
    replications = whole_number(replications, "the number of replications", at_least=1)
    law, warnings = fitted_market(
        rows, regions=regions, options=options, lift=lift, days=days, late=late
    )
    alone = replace(
        law, regions=1, spread=1.0, walk=math.hypot(law.walk, law.region_walk / math.sqrt(regions)),
        region_walk=0.0, noise=law.noise / math.sqrt(regions),
    )  # fmt: skip
    tried = list(_TRIED)
    if regions == 1:  # it is one stream anyway
        tried = [
            (policy, True, name.removesuffix(_ALONE))
            for policy, together, name in _TRIED
            if together or policy in ("flow", "unmix")
        ]
    settings = [
        MarketRunSpec(
            law if together else alone, policy, seed, problem_name="plan", policy_name=name
        )
        for policy, together, name in tried
    ]
    results = run(settings, replications, what="policies", **how)
    forecasts = [
        _forecast(name, law.regions if together else 1, results["plan", name].measured)
        for _, together, name in tried
    ]
    forecasts.sort(key=lambda row: row.lost)
    names = tuple(sorted({row.region for row in rows}))
    return RegionPlan(
        law, tuple(forecasts), warnings, _sentence(forecasts), late, names if names != ("",) else ()
    )


def _forecast(name: str, regions: int, measured: Any) -> RegionForecast:
    lost, split, named = measured["lost"], measured["lost_by_split"], measured["named"][:, 0]
    looked = name.startswith("switchback")
    found = np.isfinite(named)
    return RegionForecast(
        name, regions, float(lost.mean()), float(lost.mean() / split.mean()),
        float(np.mean(measured["within"] < AS_GOOD)), float(found.mean()) if looked else math.nan,
        float(np.median(named[found])) if found.any() else math.nan,
    )  # fmt: skip


def _sentence(forecasts: list[RegionForecast]) -> str:
    best = forecasts[0]
    by_name = {row.policy: row for row in forecasts}
    test = by_name["a test of half the time"]
    words = [
        f"Use {best.policy}: it loses {best.lost:.1%} of the best option's sales, and a test of half the time "
        f"{test.lost:.1%}."
    ]
    together, alone = by_name["switchback"], by_name.get("switchback, as one stream")
    if alone is not None and together.days == together.days:
        if not alone.decided >= 0.5 or math.isnan(alone.days):
            instead = f"where one stream is decided in {alone.decided:.0%} of runs"
        elif together.days <= alone.days:
            instead = f"instead of {_days(alone.days)}"
        else:
            instead = f"where one stream needs {_days(alone.days)}"
        words.append(
            f"{together.regions} regions: decided in {together.decided:.0%} of runs, half of them within "
            f"{_days(together.days)} {instead}."
        )
    return " ".join(words)


def _days(number: float) -> str:
    return counted(f"{number:.0f}", "day")
