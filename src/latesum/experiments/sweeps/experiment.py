# ruff: noqa: E402
"""An experiment as data: what a sweep file says, before it is multiplied out."""

from __future__ import annotations

from latesum._extras import need

need("experiments")  # before anything of it is imported

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Value = bool | int | float | str
Rounds = Annotated[int, Field(ge=1)]
Lag = Annotated[int, Field(ge=0)]
Order = Literal["listed", "drawn"]
Arm = float | str


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ProblemEntry(_Entry):
    """A problem, or a grid of them: a field that has a list takes each of its values."""

    #: Means, or rewards as text such as "beta(6, 4)".
    arms: list[Arm] | list[list[Arm]] | None = None
    delay: str | list[str] | None = None
    delay_per_arm: list[str] | None = None
    #: In place of arms and delay: a function that draws another problem for every run.
    drawn_by: str | None = None
    #: In place of arms and delay: a market, by what `latesum.simulation.market.Market` takes. Its
    #: horizon counts
    #: its buckets, and is 'buckets' there.
    market: dict[str, Any] | None = None
    #: What `Calendar` (or `Calendar.weekly`), `Background` and `Reporting` take.
    calendar: dict[str, Any] | None = None
    background: dict[str, Any] | None = None
    reporting: dict[str, Any] | None = None
    name: str | None = None
    #: What was played until the start: an arm, a mean, or a reward as text; and for how many rounds
    #: before the start its totals are known to policies.
    status_quo: int | float | str | list[int | float | str] | None = None
    history: Lag | list[Lag] = 0
    #: What policies are given of the delay, where that is not what is true of it.
    given: dict[str, Value | list[Value]] = {}
    #: Where a figure over problems draws this one.
    x: float | None = None
    #: Where these are not those of the whole experiment.
    horizon: Rounds | list[Rounds] | None = None
    bucket: Rounds | list[Rounds] | None = None
    report_lag: Lag | list[Lag] | None = None
    order: Order | list[Order] | None = None

    @model_validator(mode="after")
    def _one_kind_of_problem(self) -> ProblemEntry:
        written = [self.arms, self.delay or self.delay_per_arm]
        if self.market is not None:
            given = {
                "arms": self.arms,
                "delay": self.delay,
                "delay_per_arm": self.delay_per_arm,
                "drawn_by": self.drawn_by,
                "calendar": self.calendar,
                "background": self.background,
                "reporting": self.reporting,
                "status_quo": self.status_quo,
                "history": self.history or None,
                "given": self.given or None,
                "horizon": self.horizon,
                "bucket": self.bucket,
                "report_lag": self.report_lag,
                "order": self.order,
            }
            if said := [name for name, part in given.items() if part is not None]:
                raise ValueError(f"a 'market' says all of this itself: leave out {', '.join(said)}")
        elif self.drawn_by is not None:
            parts = [*written, self.calendar, self.background, self.reporting]
            if any(part is not None for part in parts):
                raise ValueError(
                    "a problem is either 'drawn_by' a function or has 'arms' and so on"
                )
        elif self.arms is None:
            raise ValueError("a problem has 'arms' (or is 'drawn_by' a function, or a 'market')")
        elif (self.delay is None) == (self.delay_per_arm is None):
            raise ValueError("a problem has either 'delay' or 'delay_per_arm'")
        return self


class PolicyEntry(_Entry):
    """A policy, or a grid of them: parameters given as lists."""

    policy: str
    name: str | None = None
    parameters: dict[str, Value | list[Value]] = {}
    replications: Rounds | None = None
    #: The names of the problems that it is run on; all of them without.
    problems: list[str] | None = None


class Ratio(_Entry):
    """Regret over that of another policy, or over that of the same policy on another problem."""

    policy: str | None = None
    problem: str | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Ratio:
        if (self.policy is None) == (self.problem is None):
            raise ValueError("a ratio names either a 'policy' or a 'problem' to divide by")
        return self


class Experiment(_Entry):
    """What a sweep file says."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    title: str = ""
    notes: str = ""
    horizon: Rounds | list[Rounds]
    replications: Rounds
    seed: Annotated[int, Field(ge=0)] = 1
    #: The number of rounds to keep the regret at, or which.
    checkpoints: Rounds | list[Rounds] = 200
    bucket: Rounds | list[Rounds] = 1
    report_lag: Lag | list[Lag] = 0
    #: Whether arms stand as they are listed, or in an order that every run draws.
    order: Order | list[Order] = "listed"
    #: What is kept of every run beside regret, ended_on_best and switches.
    measures: list[str] = []
    problems: Annotated[list[ProblemEntry], Field(min_length=1)]
    policies: Annotated[list[PolicyEntry], Field(min_length=1)]
    ratio: Ratio | None = None
    #: The figure of the paper whose curves are compared with ours.
    published: str | None = None

    @property
    def digest(self) -> str:
        """A digest of all that matters to the results."""
        content = self.model_dump(exclude={"title", "notes"})
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def with_replications(self, number: int) -> Experiment:
        """The same experiment with `number` replications of every policy."""
        policies = [entry.model_copy(update={"replications": None}) for entry in self.policies]
        return self.model_copy(update={"replications": number, "policies": policies})
