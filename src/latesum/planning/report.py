"""The report of a plan: as text, as one HTML page, or as JSON for a campaign."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol

from latesum import _render
from latesum._checks import InvalidInput
from latesum._extras import MissingExtra
from latesum._render import WIDTH, TextTable, new_table
from latesum.experiments.stats import Uncertain
from latesum.planning.racing import Forecast, Thresholds
from latesum.planning.sensitivity import Scenario
from latesum.planning.verdict import PlanVerdict
from latesum.planning.words import as_time, ordinal, unit_hours
from latesum.policies import Policy

_FORMAT = 2
#: Sentences are read more easily in lines that are not longer than this.
_WIDEST = 100


class Inputs(Protocol):
    """What a plan was asked: `PlanInputs`, or those of a plan from a history."""

    @property
    def options(self) -> int:
        """How many options there are."""

    @property
    def unit(self) -> str:
        """What rewards are counted in."""

    @property
    def run_hours(self) -> float:
        """How long the campaign runs."""

    @property
    def campaign(self) -> dict[str, Any]:
        """What a campaign is set up with beside the policy."""

    def in_words(self) -> list[str]:
        """The inputs and what was assumed, in sentences."""

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values."""


@dataclass(frozen=True)
class Plan:
    """The result of `plan`; it prints as text, and is written as HTML or JSON.

    Args:
        inputs: What was asked, in numbers.
        forecasts: How each policy does.
        recommended: That of the policy to take; `policy()` builds it.
        reason: Why it is that one.
        verdict: Go, conditional go, or no-go.
        sensitivity: What happens if inputs are wrong.
        thresholds: When it is a go.
        seed: The same seed gives the same plan.
        warnings: What the history says against it.
    """

    inputs: Inputs
    forecasts: tuple[Forecast, ...]
    recommended: Forecast
    reason: str
    verdict: PlanVerdict
    sensitivity: tuple[Scenario, ...]
    thresholds: Thresholds
    seed: int
    warnings: tuple[str, ...] = ()

    @property
    def assumed(self) -> list[str]:
        """What was given, assumed and left out, in sentences."""
        return [*self.inputs.in_words(), *self.warnings]

    def policy(self, **changes: Any) -> Policy:
        """The recommended policy, with its parameters or with some of them changed.

        Args:
            changes: Parameters by their names.
        """
        return self.recommended.candidate.build(**changes)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values.

        `recommendation["policy"]` and `["parameters"]` are what a campaign takes;
        `recommendation["simulated"]` has both as `policies.build` and `compare` take them, which
        differs for "switchback": its spans are in buckets in a campaign, and in rounds here. Where
        there is `recommendation["scale"]`, totals are given to the policy as
        (total - low * rounds) / (high - low).
        """
        candidate = self.recommended.candidate
        return {
            "latesum_plan": _FORMAT,
            "asked": self.inputs.to_json(),
            "assumed": self.assumed,
            "thresholds": self.thresholds._asdict(),
            "verdict": self.verdict.to_json(),
            "recommendation": {
                "label": candidate.label,
                **self.inputs.campaign,
                **candidate.campaign,
                "simulated": {
                    "policy": candidate.spec.name,
                    "parameters": dict(candidate.spec.parameters),
                },
                "reason": self.reason,
            },
            "policies": [forecast.to_json() for forecast in self.forecasts],
            "sensitivity": [scenario.to_json() for scenario in self.sensitivity],
            "seed": self.seed,
        }

    def to_html(self, *, whole: bool = True) -> str:
        """The report: one page that needs no other file.

        Args:
            whole: Whether it has a head of its own; a notebook shows it without.
        """
        policies = [
            (each.candidate.label, each.finds_best, each is self.recommended)
            for each in self.forecasts
        ]
        scenarios = [
            (each.truth, each.forecast.finds_best, each.still_go is not False)
            for each in self.sensitivity
        ]
        return _render.render(
            "planning/report.html.j2",
            whole=whole,
            plan=self,
            inputs=self.inputs,
            verdict=self.verdict,
            recommended=self.recommended,
            runs=self._runs,
            handed_on=json.dumps(dict(self.recommended.candidate.campaign), indent=2),
            policies=policies,
            scenarios=scenarios,
            as_time=as_time,
            amount=amount,
            ordinal=ordinal,
            percent=percent,
            time_of=time_of,
            with_limits=with_limits,
        )

    def save(self, path: str | Path) -> None:
        """Write the plan.

        Args:
            path: The file; the ending of its name, .html or .json, says how.
        """
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm", ".json"):
            raise InvalidInput(f"a plan is written as .html or .json, not {path.name!r}.")
        as_json = path.suffix.lower() == ".json"
        text = json.dumps(self.to_json(), indent=2) if as_json else self.to_html()
        try:
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror}.") from None

    def to_text(self, width: int = WIDTH) -> str:
        """The plan as text; columns that there is no room for are named below their table.

        Args:
            width: The places in a line; 80 is enough.
        """
        table = self._policies_table().within(width, ["switches", "regret", "winner named"])
        parts = [self._headline(width), "", *_wrapped(self.assumed, width), "", str(table), ""]
        if self.sensitivity:
            spare = ["decided after", "runs", "gain"]
            parts += [str(self._sensitivity_table().within(width, spare)), ""]
        return "\n".join(parts).rstrip()

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        try:
            return self.to_html(whole=False)
        except MissingExtra:  # a notebook shows the text then
            return f"<pre>{escape(str(self))}</pre>"

    @property
    def _runs(self) -> str:
        """How many runs there were."""
        return f"{sum(each.replications for each in self.forecasts):,} simulated runs"

    def _headline(self, width: int) -> str:
        """The verdict and the recommendation."""
        verdict = self.verdict
        lines = [f"{verdict.headline.upper()}. {verdict.reason}"]
        if verdict.changes:
            start = "It would be a go if you could: "
            if verdict.answer == "conditional go":
                start = "Go, if you can: "
            ways = "; or ".join(
                f"{change.sentence} (then {change.forecast.candidate.label}, "
                f"{percent(change.forecast.finds_best)} right)"
                for change in verdict.changes
            )
            lines.append(
                f"{start}{ways}. Found with at most {verdict.replications} runs of each step, so "
                "these are rough."
            )
        if verdict.not_enough:
            lines.append(verdict.not_enough)
        lines.append(f"Policy: {self.recommended.candidate.label}, because {self.reason}.")
        return "\n".join(_wrapped(lines, width))

    def _policies_table(self) -> TextTable:
        """One row per policy."""
        title = (
            f"{self._runs}; regret and gain in {self.inputs.unit}; ± and brackets are 95% limits"
        )
        return policies_table(title, self.forecasts, self.recommended, self.thresholds)

    def _sensitivity_table(self) -> TextTable:
        """One row per scenario."""
        most = max(each.forecast.replications for each in self.sensitivity)
        title = (
            f"If the inputs are wrong: {self.recommended.candidate.label} as above, only {most:,} "
            "runs each or fewer, a ? where they do not settle it"
        )
        columns = [
            "in truth",
            "regret",
            "gain",
            "finds best",
            "decided after",
            "winner named",
            "a go",
            "runs",
        ]
        other = self.sensitivity[0].runner_up
        if other is not None:
            columns.append(other.candidate.label)
            title += f"; last, how often {other.candidate.label} would find the best option"
        table = new_table(title, columns)
        for each in self.sensitivity:
            forecast, runner_up = each.forecast, each.runner_up
            cells = [
                each.truth,
                with_limits(forecast.regret),
                with_limits(forecast.gain),
                percent(forecast.finds_best),
                time_of(forecast.decided_after).split(" (")[0],
                percent(forecast.winner),
                each.in_short,
                f"{forecast.replications:,}",
            ]
            if runner_up is not None:
                cells.append(f"{runner_up.finds_best.value:.0%}")
            table.add_row(*cells)
        return table


def policies_table(
    title: str | None,
    forecasts: Sequence[Forecast],
    recommended: Forecast,
    thresholds: Thresholds,
    *,
    short: bool = False,
) -> TextTable:
    """One row per policy, with its own number of runs; the recommended one has a mark.

    Args:
        title: What stands above it, if anything.
        forecasts: How each policy does.
        recommended: That of the policy to take.
        thresholds: When it is a go.
        short: Whether it has only what the verdict depends on, which fits any terminal.
    """
    columns: dict[str, Callable[[Forecast], str]] = {
        "policy": lambda each: each.candidate.label + (" <" if each is recommended else ""),
        "regret": lambda each: with_limits(each.regret),
        "gain": lambda each: with_limits(each.gain),
        f"at {thresholds.percentile:.0%}": lambda each: f"{each.gain_low.value:,.0f}",
        "finds best": lambda each: percent(each.finds_best),
        "decided after": lambda each: time_of(each.decided_after),
        "winner named": lambda each: percent(each.winner),
        "switches": lambda each: f"{each.switches.value:,.1f}",
        "runs": lambda each: f"{each.replications:,}",
    }
    if short:
        for heading in ("regret", "decided after", "winner named", "switches"):
            del columns[heading]
    table = new_table(title, list(columns))
    for forecast in forecasts:
        table.add_row(*(cell(forecast) for cell in columns.values()))
    return table


def _wrapped(lines: list[str], width: int) -> list[str]:
    width = min(width, _WIDEST)
    return [piece for line in lines for piece in textwrap.wrap(line, width, subsequent_indent="  ")]


def amount(value: float) -> str:
    """A number for people.

    >>> amount(1234.5), amount(0.01234)
    ('1,234', '0.0123')
    """
    if abs(value) < 1e-9:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_limits(number: Uncertain) -> str:
    """A number and how far it may be off.

    >>> with_limits(Uncertain(100.0, 90.0, 110.0))
    '100 ± 10'
    """
    half = (number.high - number.low) / 2
    off = f"{half:,.0f}" if half >= 10 else amount(float(f"{half:.2g}"))
    return f"{amount(number.value)} ± {off}"


def percent(number: Uncertain) -> str:
    """A share with its limits; nothing where it is not known.

    >>> percent(Uncertain(0.8, 0.75, 0.85))
    '80% (75-85)'
    """
    if math.isnan(number.value):
        return ""
    return f"{number.value:.0%} ({number.low * 100:.0f}-{number.high * 100:.0f})"


def time_of(number: Uncertain) -> str:
    """A time with its limits, or that it never comes; nothing where it is not known.

    >>> time_of(Uncertain(1008.0, 840.0, 1200.0))
    '6 weeks (5-7.1)'
    """
    if math.isnan(number.value):
        return ""
    if math.isinf(number.value):
        return "never"
    if number.value == 0:
        return "at once"
    written, unit = as_time(number.value).rsplit(" ", 1)
    hours = unit_hours(unit)
    high = f"{number.high / hours:.2g}" if math.isfinite(number.high) else "never"
    return f"{float(written):.2g} {unit} ({number.low / hours:.2g}-{high})"
