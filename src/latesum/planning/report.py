"""The report of a plan: as text, as one HTML page, or as JSON for a campaign."""

from __future__ import annotations

import json
import math
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from latesum import _render
from latesum._checks import InvalidInput
from latesum._extras import MissingExtra
from latesum._render import WIDTH, TextTable, new_table
from latesum.delays.curves import Uncertain
from latesum.delays.lateness import as_time, unit_hours
from latesum.planning.market import MarketInputs
from latesum.planning.runs import PERCENTILE, PlanInputs, PlanRow
from latesum.policies import Policy

NOTHING_BETTER = "nothing is better"
#: Scenarios by how many times as late as the others the best option is.
LATE_BEST = {factor: f"best option {factor:g} times as late" for factor in (1.5, 2.0, 3.0)}
_FORMAT = 2
#: Sentences are read more easily in lines that are not longer than this.
_WIDEST = 100
_AT_PERCENTILE = f"at {PERCENTILE:.0%}"
#: What was tried, up to a factor, in words for where it does not help.
_ALONE = {
    "horizon": "a run up to {:g} times as long",
    "options": "fewer options",
    "traffic": "up to {:g} times the traffic",
    "lift": "a lift up to {:g} times as large",
}


@dataclass(frozen=True)
class Change:
    """Something that would make it a go, as a range of factors within which simulation finds it.

    Args:
        what: "horizon", "options", "traffic" or "lift".
        factor: The smallest that was a go.
        low: One step below it, and ...
        high: ... one above.
        sentence: What to do.
        row: How the policy does that would be recommended then.
    """

    what: str
    factor: float
    low: float
    high: float
    sentence: str
    row: PlanRow

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "what": self.what,
            "factor": self.factor,
            "range": [self.low, self.high],
            "sentence": self.sentence,
            "label": self.row.label,
            "finds_best": self.row.finds_best._asdict(),
        }


@dataclass(frozen=True)
class Plan:
    """The result of `plan`; it prints as text, and is written as HTML or JSON.

    Args:
        inputs: What was asked, in numbers.
        rows: How each policy does.
        recommended: That of the policy to take; `policy()` builds it.
        reason: Why it is that one.
        verdict: "go", "conditional go" or "no-go".
        changes: What would make it a go, where it is not.
        in_vain: What does not help by itself, up to which factor.
        sensitivity: If something else is true: how the recommended policy does, and one more.
        seed: The same seed gives the same plan.
    """

    inputs: PlanInputs
    rows: tuple[PlanRow, ...]
    recommended: PlanRow
    reason: str
    verdict: Literal["go", "conditional go", "no-go"]
    changes: tuple[Change, ...]
    in_vain: Mapping[str, float]
    sensitivity: Mapping[str, Sequence[PlanRow]]
    seed: int

    @property
    def headline(self) -> str:
        """The verdict, with how sure it is."""
        return self.verdict if self.recommended.is_sure else f"{self.verdict}, not sure"

    @property
    def explanation(self) -> str:
        """Why it is a go or not, how sure that is, and how often a winner is named."""
        row = self.recommended
        label, named = row.label, row.winner.value
        shares = f"{row.finds_best.value:.0%} of runs"
        said = []
        if row.passes:
            said.append(
                f"{label} ends on the best option, or one within the lift, in {shares} and gains "
                "over an equal split even at its 5th percentile"
            )
        if row.finds_best.value < row.wanted:
            said.append(
                f"even {label} ends on the best option, or one within the lift, in only {shares}; "
                f"{row.wanted:.0%} are wanted"
            )
        if row.gain_low.value <= 0:
            said.append(f"at its 5th percentile {label} does not gain over an equal split")
        text = "; ".join(said)
        text = f"{text[0].upper()}{text[1:]}."
        if not math.isnan(named):
            text += f" A winner is named in {named:.0%} of runs by the end"
            kept = "; in the others the option that looks best is kept without being sure of it."
            text += "." if named == 1 else kept
        if not row.is_sure:
            text += (
                f" It is not sure: {row.replications:,} runs do not settle it, and within the "
                "uncertainty of the simulation the answer may be another one."
            )
        return text

    @property
    def not_enough(self) -> str:
        """What does not help by itself, in a sentence."""
        useless = "; ".join(_ALONE[what].format(factor) for what, factor in self.in_vain.items())
        return f"Not enough by itself: {useless}." if useless else ""

    @property
    def late_best(self) -> str:
        """How often the best option is found where it is later than the others, in a sentence."""
        found = {factor: self.sensitivity.get(truth) for factor, truth in LATE_BEST.items()}
        rows = {factor: each for factor, each in found.items() if each is not None}
        if not rows:
            return ""
        shares = ", ".join(
            f"{row.finds_best.value:.0%} of runs where it is {factor:g} times as late"
            for factor, (row, *_) in rows.items()
        )
        others = [other for _, *next_best in rows.values() for other in next_best]
        if others:
            values = ", ".join(f"{other.finds_best.value:.0%}" for other in others)
            label, recommended = others[0].label, [row for row, *_ in rows.values()]
            lead = sum(each.finds_best.value for each in others)
            lead -= sum(each.finds_best.value for each in recommended)
            safer = f": the safer choice, with --policies {label}" if lead > 0 else ""
            shares += f" ({label} in {values}{safer})"
        return (
            f"If the best option's rewards come later than the others', {self.recommended.label} "
            f"finds it in {shares}. Say --equal-delays if all options are surely equally late."
        )

    def policy(self) -> Policy:
        """The recommended policy, with its parameters."""
        spec = self.recommended.candidate.spec
        if isinstance(self.inputs, MarketInputs):
            raise InvalidInput(
                "a plan from a history is set up as a campaign: `latesum campaign new --plan`."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            policy: Policy = spec.build()
        return policy

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values.

        `recommendation` is what a campaign takes; `policies` are as they were simulated. Where
        there is a `scale`, totals are given to the policy as (total - low * rounds) / (high - low).
        """
        candidate = self.recommended.candidate
        return {
            "latesum_plan": _FORMAT,
            "asked": self.inputs.to_json(),
            "assumed": self.inputs.in_words(),
            "thresholds": {"finds_best": self.recommended.wanted, "percentile": PERCENTILE},
            "verdict": {
                "answer": self.verdict,
                "sure": self.recommended.is_sure,
                "headline": self.headline,
                "reason": self.explanation,
                "changes": [change.to_json() for change in self.changes],
                "replications": self._search_runs,
                "not_enough": self.not_enough,
                "late_best": self.late_best,
            },
            "recommendation": {
                "label": candidate.label,
                **self.inputs.campaign(candidate),
                "reason": self.reason,
            },
            "policies": [row.to_json() for row in self.rows],
            "sensitivity": [_scenario(*each) for each in self.sensitivity.items()],
            "seed": self.seed,
        }

    def to_html(self, *, whole: bool = True) -> str:
        """The report: one page that needs no other file.

        Args:
            whole: Whether it has a head of its own; a notebook shows it without.
        """
        policies = [(row.label, row.finds_best, row is self.recommended) for row in self.rows]
        scenarios = [
            (truth, rows[0].finds_best, rows[0].passes or truth == NOTHING_BETTER)
            for truth, rows in self.sensitivity.items()
        ]
        shown = (as_time, amount, percent, time_of, with_limits, still_go)
        return _render.render(
            "planning/report.html.j2",
            whole=whole,
            plan=self,
            inputs=self.inputs,
            recommended=self.recommended,
            runs=self._runs,
            search_runs=self._search_runs,
            gain=self._gain,
            policies=policies,
            scenarios=scenarios,
            **{function.__name__: function for function in shown},
        )

    def save(self, path: str | Path) -> None:
        """Write the plan.

        Args:
            path: The file; the ending of its name, .html or .json, says how.
        """
        path = Path(path)
        text = self.to_html() if is_html(path) else json.dumps(self.to_json(), indent=2)
        try:
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror}.") from None

    def to_text(self, width: int = WIDTH) -> str:
        """The plan as text; columns that there is no room for are named below their table.

        Args:
            width: The places in a line; 80 is enough.
        """
        title = (
            f"{self._runs}; regret and gain in {self.inputs.unit}; ± and brackets are 95% limits"
        )
        policies = {
            row.label + (" <" if row is self.recommended else ""): _cells(row) for row in self.rows
        }
        table = _table(title, "policy", policies).within(
            width, ["switches", "regret", "winner named"]
        )
        parts = [
            *_wrapped(self._headline(), width),
            "",
            *_wrapped(self.inputs.in_words(), width),
            "",
        ]
        parts += [str(table), ""]
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
        return f"{sum(each.replications for each in self.rows):,} simulated runs"

    @property
    def _search_runs(self) -> int:
        """The runs of each step of the search for changes."""
        return max((change.row.replications for change in self.changes), default=0)

    @property
    def _gain(self) -> str:
        """What the recommended policy gains, also as a share of what an equal split earns."""
        gain = self.recommended.gain
        split = self.recommended.reward.value - gain.value
        share = f", {gain.value / split:+.1%}" if split > 0 else ""
        return f"{with_limits(gain)} {self.inputs.unit}{share}"

    def _headline(self) -> list[str]:
        """The verdict and the recommendation."""
        lines = [f"{self.headline.upper()}. {self.explanation}"]
        if self.changes:
            start = "It would be a go if you could: "
            if self.verdict == "conditional go":
                start = "Go, if you can: "
            ways = "; or ".join(
                f"{change.sentence} (then {change.row.label}, "
                f"{percent(change.row.finds_best)} right)"
                for change in self.changes
            )
            lines.append(
                f"{start}{ways}. Found with at most {self._search_runs} runs of each step, so "
                "these are rough."
            )
        lines += [each for each in (self.not_enough, self.late_best) if each]
        lines.append(f"Policy: {self.recommended.label}, because {self.reason}.")
        lines.append(f"Expected gain over an equal split: {self._gain}.")
        return lines

    def _sensitivity_table(self) -> TextTable:
        """One row per scenario."""
        first, *others = next(iter(self.sensitivity.values()))
        title = (
            f"If the inputs are wrong: {first.label} as above, only {first.replications:,} runs "
            "each or fewer, a ? where they do not settle it"
        )
        for other in others:
            title += f"; last, how often {other.label} would find the best option"
        rows = {}
        for truth, (row, *others) in self.sensitivity.items():
            cells = {**_cells(row), "a go": still_go(truth, row)}
            del cells[_AT_PERCENTILE], cells["switches"]
            cells["decided after"] = cells["decided after"].split(" (")[0]
            cells |= {other.label: f"{other.finds_best.value:.0%}" for other in others}
            rows[truth] = cells
        return _table(title, "in truth", rows)


def is_html(path: Path) -> bool:
    """Whether a plan is written there as HTML, by the ending of its name; otherwise as JSON."""
    if path.suffix.lower() not in (".html", ".htm", ".json"):
        raise InvalidInput(f"a plan is written as .html or .json, not {path.name!r}.")
    return path.suffix.lower() != ".json"


def _scenario(truth: str, rows: Sequence[PlanRow]) -> dict[str, Any]:
    """One row of the sensitivity analysis as JSON values."""
    kept = ["regret", "gain", "gain_low", "finds_best", "decided_after", "winner", "switches"]
    numbers = rows[0].to_json()
    found = {
        "truth": truth,
        "still_go": None if truth == NOTHING_BETTER else rows[0].passes,
        "sure": rows[0].is_sure,
        **{name: numbers[name] for name in ("replications", *kept)},
    }
    for other in rows[1:]:
        found["runner_up"] = {name: other.to_json()[name] for name in ("label", *kept)}
    return found


def still_go(truth: str, row: PlanRow) -> str:
    """Whether it is still a go, with a question mark where the runs do not settle it."""
    if truth == NOTHING_BETTER:
        return "–"  # there is nothing to gain
    return ("yes" if row.passes else "no") + ("" if row.is_sure else "?")


def _cells(row: PlanRow) -> dict[str, str]:
    """What tables show of a policy, by column."""
    return {
        "regret": with_limits(row.regret),
        "gain": with_limits(row.gain),
        _AT_PERCENTILE: f"{row.gain_low.value:,.0f}",
        "finds best": percent(row.finds_best),
        "decided after": time_of(row.decided_after),
        "winner named": percent(row.winner),
        "switches": f"{row.switches.value:,.1f}",
        "runs": f"{row.replications:,}",
    }


def _table(title: str, first: str, rows: Mapping[str, Mapping[str, str]]) -> TextTable:
    table = new_table(title, [first, *next(iter(rows.values()))])
    for name, cells in rows.items():
        table.add_row(name, *cells.values())
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
    low = number.low / hours + 0.0  # no minus before a zero
    return f"{written} {unit} ({low:.2g}-{high})"
