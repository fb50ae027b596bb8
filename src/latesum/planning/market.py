"""A plan from a history: markets like it are simulated, with and without regions.

Levels, weekdays, noise and drift are fitted to the rows of the history. The delay is what was
given, because rows of one option hardly show it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, shortened, whole_number
from latesum._render import counted
from latesum.delays.lateness import Lateness, read_duration
from latesum.delays.parsing import text_of
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.files import FileForm
from latesum.files.totals import read_history
from latesum.markets import DelayPrior, MarketConfig, RegionRow, summarize
from latesum.markets.rows import Panel
from latesum.markets.search import FIRST_SEARCH, learned
from latesum.markets.summary import diagnose
from latesum.planning.stream import Candidate, read_lift
from latesum.policies import PolicySpec
from latesum.simulation.market import Market

#: What is tried: the label, the policy, and whether all regions are added up.
_TRIED = (
    ("switchback", "switchback", False),
    ("half-time test", "fixed-split", False),
    ("switchback (added up)", "switchback", True),
    ("half-time test (added up)", "fixed-split", True),
    ("flow (added up)", "flow", True),
    ("unmix (added up)", "unmix", True),
)
#: Markets are simulated with at most this many days of history.
_MAX_HISTORY = 56
_MIN_DAYS = 14
#: What a plan takes beside a history; the rest is in it.
_TAKEN = {"options", "lift", "late", "run_for", "history", "regions", "form", "equal_delays"}


@dataclass(frozen=True)
class MarketInputs:
    """What a plan from a history starts from.

    Args:
        options: How many options there are; one of them, today's included, is better by ...
        lift: ... this share.
        run_hours: How long the campaign runs.
        fitted: The law of markets that was fitted to the history.
        late: How late sales are, in days.
        days: How many days the history has.
        regions: The names of the regions, where the history has them.
        warnings: What the history says against a campaign.
        equal_delays: Whether all options are surely equally late.
        today_best: In a scenario: whether the option of today is the best, ...
        delay_factor: ... a factor on the delays of all options, ...
        best_delay_factor: ... and one on those of the best.
    """

    options: int
    lift: float
    run_hours: float
    fitted: Market
    late: DelayPrior
    days: int
    regions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    equal_delays: bool = False
    today_best: bool = False
    delay_factor: float = 1.0
    best_delay_factor: float = 1.0

    default_runs = 80
    #: By which factors a change is tried, and with which candidates: runs take long.
    factors = (1.5, 2.0, 3.0, 4.0)
    searched = ("switchback",)
    unit = "sales"
    bucket_hours = 24.0
    switch_cost = 0.0
    feasible = True

    @property
    def market(self) -> Market:
        """The law that is simulated."""
        return replace(
            self.fitted,
            options=self.options,
            buckets=round(self.run_hours / 24),
            effects=self.lift,
            delay=self.late.mean * self.delay_factor,
            shape=self._given.get("shape", "exponential"),
            best_later=self.best_delay_factor,
            status_quo_best=self.today_best,
        )

    @property
    def _given(self) -> dict[str, Any]:
        """What `switchback` is given beside the mean delay: its shape, where that was given."""
        found = {} if self.late.law is None else {"shape": text_of(self.late.law)}
        return {**found, "differing_delays": 0} if self.equal_delays else found

    @property
    def scale(self) -> float:
        """Simulated losses are shares of all sales."""
        return self.fitted.sales * self.market.buckets

    @property
    def best_reward(self) -> float:
        """What always playing the best option earns."""
        return self.scale

    @property
    def lift_share(self) -> float:
        """The lift as a share."""
        return self.lift

    def worlds(self) -> list[tuple[MarketInputs, int]]:
        """What is simulated: every run draws which option is the best."""
        return [(self, self.options)]

    def spec(self, candidate: Candidate, seed: tuple[int, ...], name: str) -> MarketRunSpec:
        """The runs of a candidate, given the delay of the inputs and not the true one."""
        law, player, late = self.market, candidate.spec.name, self.late
        if player == "switchback":
            given = {"given": float(f"{late.mean / law.delay:g}"), "certainty": late.certainty}
            named = {"winner": True, **given, **self._given}
            player += f"({', '.join(f'{name}={value!r}' for name, value in named.items())})"
        elif player == "fixed-split":
            player = "half-time-test"
        else:
            player += f"(mean_delay={late.mean * law.visitors:g})"
        tolerance = max(self.lift / (1 + self.lift) - 1e-9, 1e-9)
        return MarketRunSpec(
            law if candidate.regions > 1 else _one_stream(law),
            player,
            seed=seed[0],
            measures=(f"latesum.planning.runs:market_outcome(tolerance={tolerance})",),
            problem_name=name,
            policy_name=candidate.label,
        )

    def candidates(self) -> list[Candidate]:
        """With the regions, and with all of them added up; a test is there to compare with."""
        if self.fitted.regions > 1:
            return [self._candidate(*each) for each in _TRIED]
        return [
            self._candidate(label.removesuffix(" (added up)"), policy, False)
            for label, policy, added_up in _TRIED
            if not added_up or policy in ("flow", "unmix")
        ]

    def _candidate(self, label: str, policy: str, added_up: bool) -> Candidate:
        law, late = self.market, self.late
        delay = counted(f"{late.mean:g}", "day")
        parameters: dict[str, Any] = {"n_arms": law.options, "horizon": f"{law.buckets} days"}
        if policy == "switchback":
            about = "about " if late.certainty == "guess" else ""
            parameters |= {**self._given, "late": about + delay}
        elif policy == "fixed-split":
            parameters["horizon"] = law.buckets * max(1, round(law.visitors)) // 2
        else:
            parameters["mean_delay"] = delay
        runnable, regions = policy != "fixed-split", 1 if added_up else law.regions
        return Candidate(label, PolicySpec(policy, parameters), runnable, regions)

    def campaign(self, candidate: Candidate) -> dict[str, Any]:
        """What a campaign with this policy is set up with."""
        law, regions = self.fitted, candidate.regions
        found: dict[str, Any] = {
            "policy": candidate.spec.name,
            "parameters": dict(candidate.spec.parameters),
            "every": "day",
            "n_regions": regions,
            "regions": list(self.regions) if regions > 1 else [],
        }
        if law.rounds == "visitors":
            found["bucket"] = max(1, round(law.visitors / regions))
        return found

    def in_words(self) -> list[str]:
        """The inputs and what was assumed, in sentences."""
        law = self.market
        walk = math.hypot(law.walk, law.region_walk)
        return [
            f"The history: {counted(self.days, 'day')}, {law.sales:,.0f} sales a day in "
            f"{counted(law.regions, 'region')}, weekdays up to {law.weekday:.0%} apart from "
            f"the mean, levels that walk by {walk:.1%} a day, noise of {law.noise:.1%}. Campaigns "
            f"are simulated with {counted(law.history, 'day')} of history.",
            f"One of the {law.options} options, today's included, sells {law.effects:.0%} more "
            f"than the others, for {counted(law.buckets, 'day')}.",
            f"Sales come {self.late.mean:.2g} days late on average, as was given"
            f"{' (a guess)' if self.late.certainty == 'guess' else ''}.",
            "A winner is named when one option is as good as the best with 95% probability, and "
            "every candidate was shown in two periods. Only switchback is asked for one; "
            "'decided after' is when half of the runs have one.",
            *self.warnings,
        ]

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values."""
        return {
            "market": self.market.plain(),
            "mean_delay_days": self.late.mean,
            "certainty": self.late.certainty,
            "regions": list(self.regions),
            "run_hours": self.run_hours,
            "options": self.options,
            "lift": self.lift,
        }


def _one_stream(law: Market) -> Market:
    """The market with all regions added up."""
    root = math.sqrt(law.regions)
    walk = math.hypot(law.walk, law.region_walk / root)
    return replace(law, regions=1, spread=1.0, walk=walk, region_walk=0.0, noise=law.noise / root)


def read_market(said: Mapping[str, Any]) -> MarketInputs:
    """Read the history and check what else was said.

    >>> rng = np.random.default_rng(1)
    >>> rows = [{"bucket": f"2026-03-{day:02}", "rounds": 1000, "total": int(rng.poisson(60))}
    ...         for day in range(1, 31)]
    >>> inputs = read_market(
    ...     {"history": rows, "options": 2, "lift": "10%", "late": "1 day", "run_for": "60 days"})
    >>> 55 < inputs.market.sales < 65, inputs.market.buckets
    (True, 60)
    """
    unused = [name for name, value in said.items() if value and name not in _TAKEN]
    if "bucket" in unused and said["bucket"] == "day":
        unused.remove("bucket")
    if unused:
        raise InvalidInput(
            f"what is true of the market is in the history: leave {', '.join(unused)} out."
        )
    form, regions = said.get("form"), said.get("regions")
    if regions is None and form is not None and form.add_up:
        regions = 1
    rows = past_rows(said["history"], form, add_up=regions == 1)
    names = sorted({row.region for row in rows})
    regions = len(names) if regions is None else whole_number(regions, "the regions", at_least=1)
    if len(names) not in (1, regions):
        raise InvalidInput(
            f"the history has {len(names)} regions ({', '.join(names[:5])}), and {regions} are "
            "asked for."
        )
    days = round(read_duration(said["run_for"], "the run") / 24)
    whole_number(days, "the days of the campaign", at_least=_MIN_DAYS)
    lift = finite_number(read_lift(said["lift"], 1.0), "the lift", above=0, at_most=5)
    options = whole_number(said["options"], "the number of options", at_least=2)
    lateness = Lateness.read(said["late"])
    sure = "guess" if lateness.said.strip().lower().startswith("about") else "known"
    mean = float(f"{lateness.in_rounds(1000.0).mean / 24_000:.3g}")  # in days, of fine rounds
    delay = None if lateness.mean_only else lateness.in_rounds(1000.0)
    late = DelayPrior(mean, sure, delay)  # type: ignore[arg-type]
    law, warnings = fitted_market(rows, regions, late)
    return MarketInputs(
        options=options,
        lift=lift,
        run_hours=24.0 * days,
        fitted=law,
        late=late,
        days=len({row.bucket for row in rows}),
        regions=() if names == [""] else tuple(names),
        warnings=warnings,
        equal_delays=bool(said.get("equal_delays")),
    )


def past_rows(
    history: Path | bytes | str | Iterable[Mapping[str, Any]],
    form: FileForm | None = None,
    *,
    add_up: bool = False,
) -> list[RegionRow]:
    """Rows before the start, from a file or from values with names, counted back from its last day.

    Args:
        history: A file or its content, with date and total, and region and rounds where they are
            known; or rows with `bucket`, `total`, `region` and `rounds`.
        form: How the file is written, where that cannot be seen.
        add_up: Whether the regions of a file are added up.

    >>> rows = past_rows(b"date,region,total\\n2026-03-01,north,31\\n2026-03-02,north,29\\n")
    >>> [(row.bucket, row.region, row.total) for row in rows]
    [(-2, 'north', 31.0), (-1, 'north', 29.0)]
    """
    if isinstance(history, Path | bytes | str):
        source = Path(history) if isinstance(history, str) else history
        read = read_history(source, form, regions=False if add_up else None)
        history = [{**row.as_history(), "line": row.line} for row in read.rows]
    found = []
    for place, row in enumerate(history, start=1):
        name = f"row {row.get('line', place)} of the history"
        try:
            day = datetime.date.fromisoformat(str(row["bucket"]))
        except (KeyError, ValueError):
            what = shortened(str(row.get("bucket", "no bucket")))
            raise InvalidInput(f"{name} is for {what!r}; write days, such as 2026-03-01.") from None
        rounds, total = (
            None if row.get(key) is None else finite_number(row[key], f"{key} in {name}")
            for key in ("rounds", "total")
        )
        found.append((day, str(row.get("region") or ""), rounds, total))
    if not found:
        raise InvalidInput("the history has no rows below the names of its columns.")
    end = max(day for day, *_ in found) + datetime.timedelta(days=1)
    return [
        RegionRow(region, (day - end).days, n, "today", total) for day, region, n, total in found
    ]


def fitted_market(
    rows: Sequence[RegionRow], regions: int, late: DelayPrior
) -> tuple[Market, tuple[str, ...]]:
    """The law of markets that a history shows, and what it says against a campaign."""
    names = tuple(sorted({row.region for row in rows}))
    known_rounds = any(row.rounds is not None for row in rows)
    config = MarketConfig(
        ("today", "new"),
        90,
        regions=names,
        delay=late,
        status_quo="today",
        rounds_known=known_rounds,
    )
    panel = Panel.of(rows, config, 0)
    if (known := int(panel.known.sum())) < FIRST_SEARCH:
        raise InvalidInput(
            f"the history has {known} days with a total; {FIRST_SEARCH} or more are needed."
        )
    hyper, shown = learned(panel, config)[0], summarize(rows, 0, config)
    totals, rounds = np.nanmean(panel.totals, axis=0), panel.exposure.mean(axis=0)
    several = regions > 1 and len(names) > 1  # otherwise one stream now, and maybe regions then
    visits_noise = float(np.std(np.log(np.maximum(panel.exposure, 1)), axis=0).mean())
    law = Market(
        regions=regions,
        history=min(-panel.first, _MAX_HISTORY),
        sales=float(totals.sum()),
        visitors=float(rounds.sum()),
        one_better=True,
        spread=max(float(totals.max() / max(totals.min(), 1e-9)), 1.0) if several else 1.0,
        weekday=float(np.abs(np.log1p(shown.pattern)).max()),
        traffic=0.0,
        traffic_noise=visits_noise if known_rounds else 0.0,
        walk=hyper.common_walk if several else hyper.region_walk,
        region_walk=hyper.region_walk if several else 0.0,
        shocks=hyper.shocks if several else 0.0,
        noise=hyper.noise,
        rounds="visitors" if known_rounds else "constant",
    )
    noisy, _ = diagnose(rows, 0, config)
    return law, () if noisy is None else (noisy,)
