"""A plan: what was asked, what was found, and how to hand it on."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from latesum import _render
from latesum._checks import InvalidInput
from latesum._extras import MissingExtra
from latesum._render import WIDTH, TextTable, new_table
from latesum.experiments.stats import Uncertain
from latesum.planning.answers import Forecast, Thresholds
from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import MOST_DECISIONS
from latesum.planning.verdict import PlanVerdict
from latesum.planning.what_if import WhatIf
from latesum.planning.words import as_time, ordinal, unit_hours
from latesum.policies import Policy
from latesum.policies.spec import PolicySpec

_FORMAT = 1
#: Sentences are read more easily in lines that are not longer than this.
_WIDEST = 100


@dataclass(frozen=True)
class Plan:
    """The answer of `plan`; it prints as text, and is written as HTML or JSON.

    Args:
        beliefs: What was asked, in numbers.
        answers: How each policy does.
        recommended: That of the policy to take; `policy()` builds it.
        reason: Why it is that one.
        verdict: Go, go but, or no-go.
        what_ifs: What happens if beliefs are wrong.
        thresholds: When it is a go.
        seed: The same seed gives the same plan.
        seconds: How long the main answer took.
    """

    beliefs: Beliefs
    answers: tuple[Forecast, ...]
    recommended: Forecast
    reason: str
    verdict: PlanVerdict
    what_ifs: tuple[WhatIf, ...]
    thresholds: Thresholds
    seed: int
    seconds: float

    @property
    def assumed(self) -> list[str]:
        """What was believed, assumed and left out, in sentences."""
        sentences = self.beliefs.in_words()
        if self.beliefs.buckets > MOST_DECISIONS:
            sentences.append(
                f"ars-ucb was left out: with {self.beliefs.buckets:,} buckets it would decide too often "
                "to be simulated in time."
            )
        return sentences

    def policy(self, **changes: Any) -> Policy:
        """The recommended policy, with its parameters or with some of them changed.

        Args:
            changes: Parameters by their names.
        """
        candidate = self.recommended.candidate
        spec = PolicySpec(candidate.spec.name, {**candidate.spec.parameters, **changes})
        return candidate._replace(spec=spec).build()

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values.

        `recommendation["policy"]` and `["parameters"]` are what a live campaign takes; `recommendation["simulated"]` has both as
        `policies.build` and `compare` take them, which differs for "switchback": its spans are in buckets in a campaign, and in
        rounds here. Totals must be told to it as `recommendation["scale"]` says: (total - low * rounds) / (high - low).
        """
        candidate = self.recommended.candidate
        return {
            "latesum_plan": _FORMAT,
            "asked": self.beliefs.to_json(),
            "assumed": self.assumed,
            "thresholds": self.thresholds._asdict(),
            "verdict": self.verdict.to_json(),
            "recommendation": {
                "label": candidate.label,
                **candidate.handed_on,
                "simulated": {
                    "policy": candidate.spec.name,
                    "parameters": dict(candidate.spec.parameters),
                },
                "reason": self.reason,
                "every": self.beliefs.bucket,
                "bucket": self.beliefs.bucket_rounds,
                "horizon": self.beliefs.horizon,
                "scale": {"low": self.beliefs.low, "high": self.beliefs.high},
            },
            "policies": [answer.to_json() for answer in self.answers],
            "wrong_beliefs": [what_if.to_json() for what_if in self.what_ifs],
            "seed": self.seed,
        }

    def to_html(self, *, whole: bool = True) -> str:
        """The report: one page that needs no other file.

        Args:
            whole: Whether it has a head of its own; a notebook shows it without.
        """
        candidate = self.recommended.candidate
        policies = [
            (each.candidate.label, each.ended_well, each is self.recommended)
            for each in self.answers
        ]
        wrong = [(each.belief, each.answer.ended_well, each.still_passes) for each in self.what_ifs]
        return _render.render(
            "planning/report.html.j2",
            whole=whole, plan=self, beliefs=self.beliefs, unit=self._unit, verdict=self.verdict,
            recommended=self.recommended, runs=self._runs, handed_on=json.dumps(candidate.handed_on, indent=2),
            policies=policies, wrong=wrong, as_time=as_time,
            amount=amount, ordinal=ordinal, percent=percent, time_of=time_of,
            with_limits=with_limits,
        )  # fmt: skip

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
        """The plan as text of a certain width; columns that there is no room for are named below their table.

        Args:
            width: The places in a line; 80 is enough.
        """
        policies = self._policies_table().within(width, ["switches", "lost"])
        parts = [self._headline(width), "", *_wrapped(self.assumed, width), "", str(policies), ""]
        if self.what_ifs:
            table = self._beliefs_table().within(width, ["lost", "settles after", "runs"])
            parts += [str(table), ""]
        return "\n".join(parts).rstrip()

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        try:
            return self.to_html(whole=False)
        except MissingExtra:  # a notebook shows the text then
            return f"<pre>{escape(str(self))}</pre>"

    @property
    def _unit(self) -> str:
        return "conversions" if self.beliefs.is_rate else "reward"

    @property
    def _runs(self) -> str:
        """How many runs there were."""
        return f"{sum(answer.replications for answer in self.answers):,} simulated runs"

    def _headline(self, width: int) -> str:
        """The verdict and the recommendation."""
        verdict, candidate = self.verdict, self.recommended.candidate
        lines = [f"{verdict.answer.upper()}. {verdict.reason}"]
        if verdict.changes:
            start = (
                "Go, but: " if verdict.answer == "go, but" else "It would be a go if you could: "
            )
            ways = "; or ".join(
                f"{change.sentence} (then {change.candidate.label}, {change.ended_well:.0%} right)"
                for change in verdict.changes
            )
            lines.append(f"{start}{ways}. Found with {verdict.replications} replications each.")
        if verdict.not_enough:
            lines.append(verdict.not_enough)
        handed = candidate.handed_on
        policy = PolicySpec(handed["policy"], handed["parameters"])
        lines.append(f"Policy: {policy}, because {self.reason}.")
        return "\n".join(_wrapped(lines, width))

    def _policies_table(self) -> TextTable:
        """One row per policy."""
        title = f"{self._runs}; lost and gain in {self._unit}; ± and brackets are 95% limits"
        return policies_table(title, self.answers, self.recommended, self.thresholds)

    def _beliefs_table(self) -> TextTable:
        """One row for each belief that may be wrong."""
        most = max(what_if.answer.replications for what_if in self.what_ifs)
        title = (
            f"If what you believe is wrong: {self.recommended.candidate.label} as above, only "
            f"{most:,} runs each or fewer, a ? where they do not settle it"
        )
        columns = ["in truth", "lost", "gain", "ends right", "settles after", "a go", "runs"]
        other = self.what_ifs[0].runner_up
        if other is not None:
            columns.append(other.candidate.label)
            title += f"; last, how often {other.candidate.label} would end right"
        table = new_table(title, columns)
        for what_if in self.what_ifs:
            answer, runner_up = what_if.answer, what_if.runner_up
            table.add_row(
                what_if.belief, with_limits(answer.loss), with_limits(answer.gain),
                percent(answer.ended_well), time_of(answer.settled_after).split(" (")[0],
                what_if.in_short, f"{answer.replications:,}",
                *([] if runner_up is None else [f"{runner_up.ended_well.value:.0%}"]),
            )  # fmt: skip
        return table


def policies_table(
    title: str | None,
    answers: Sequence[Forecast],
    recommended: Forecast,
    thresholds: Thresholds,
    *,
    short: bool = False,
) -> TextTable:
    """One row per policy, with its own number of runs; the recommended one has a mark.

    Args:
        title: What stands above it, if anything.
        answers: How each policy does.
        recommended: That of the policy to take.
        thresholds: When it is a go.
        short: Whether it has only what the verdict depends on, which fits any terminal.
    """
    columns: dict[str, Callable[[Forecast], str]] = {
        "policy": lambda each: each.candidate.label + (" <" if each is recommended else ""),
        "lost": lambda each: with_limits(each.loss),
        "gain": lambda each: with_limits(each.gain),
        f"at {thresholds.percentile:.0%}": lambda each: f"{each.worst_gain.value:,.0f}",
        "ends right": lambda each: percent(each.ended_well),
        "settles after": lambda each: time_of(each.settled_after),
        "switches": lambda each: f"{each.switches.value:,.1f}",
        "runs": lambda each: f"{each.replications:,}",
    }
    if short:
        for heading in ("lost", "settles after", "switches"):
            del columns[heading]
    table = new_table(title, list(columns))
    for answer in answers:
        table.add_row(*(cell(answer) for cell in columns.values()))
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
    """A share with its limits.

    >>> percent(Uncertain(0.8, 0.75, 0.85))
    '80% (75-85)'
    """
    return f"{number.value:.0%} ({number.low * 100:.0f}-{number.high * 100:.0f})"


def time_of(number: Uncertain) -> str:
    """A time with its limits, or that it never comes.

    >>> time_of(Uncertain(1008.0, 840.0, 1200.0))
    '6 weeks (5-7.1)'
    """
    if not math.isfinite(number.value):
        return "never"
    if number.value == 0:
        return "at once"
    written, unit = as_time(number.value).rsplit(" ", 1)
    hours = unit_hours(unit)
    high = f"{number.high / hours:.2g}" if math.isfinite(number.high) else "never"
    return f"{float(written):.2g} {unit} ({number.low / hours:.2g}-{high})"
