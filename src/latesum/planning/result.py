"""A plan: what was asked, what was found, and how to hand it on."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from latesum._checks import InvalidInput
from latesum._extras import MissingExtra
from latesum.lab.stats import Uncertain
from latesum.planning.answers import Forecast
from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import MOST_DECISIONS
from latesum.planning.verdict import PlanVerdict, Thresholds
from latesum.planning.what_if import WhatIf
from latesum.planning.words import as_time, unit_hours
from latesum.policies import Policy
from latesum.policies.spec import PolicySpec

_FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """The answer of `plan`; it prints as text, and is written as HTML or JSON.

    `recommended` is the answer of the policy to take; `policy()` builds it.
    """

    beliefs: Beliefs
    answers: tuple[Forecast, ...]
    recommended: Forecast
    reason: str
    verdict: PlanVerdict
    what_ifs: tuple[WhatIf, ...]
    thresholds: Thresholds
    seed: int
    seconds: float  # for the main answer

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
        """The recommended policy, with its parameters or with some of them changed."""
        candidate = self.recommended.candidate
        spec = PolicySpec(candidate.spec.name, {**candidate.spec.parameters, **changes})
        return candidate._replace(spec=spec).build()

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values.

        `recommendation["policy"]` and `["parameters"]` are what `policies.build` takes, and so
        `compare` and a live campaign. Totals must be told to it as `recommendation["scale"]` says:
        (total - low * rounds) / (high - low).
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
                "policy": candidate.spec.name,
                "parameters": candidate.spec.parameters,
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

    def to_html(self) -> str:
        """The report: one page that needs no other file."""
        from latesum.planning.report import render

        return render(self)

    def save(self, path: str | Path) -> None:
        """Write the plan; the ending of the name, .html or .json, says how."""
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm", ".json"):
            raise InvalidInput(f"a plan is written as .html or .json, not {path.name!r}.")
        as_json = path.suffix.lower() == ".json"
        text = json.dumps(self.to_json(), indent=2) if as_json else self.to_html()
        try:
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror}.") from None

    def __str__(self) -> str:
        from latesum.planning.tables import plan_text

        return plan_text(self)

    def _repr_html_(self) -> str:
        from latesum.planning.report import render_body

        try:
            return render_body(self)
        except MissingExtra:  # a notebook shows the text then
            return f"<pre>{escape(str(self))}</pre>"


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
    return (
        f"{amount(number.value)} ± {half:,.0f}"
        if half >= 10
        else (f"{amount(number.value)} ± {amount(float(f'{half:.2g}'))}")
    )


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
