"""A policy as Optuna's users know it: ask for a trial, tell its value.

A trial is a period in which one option is shown, its value the total that arrived in the period.
Values may be told late and in any order; the policy learns them in the order of the trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies import Block, Estimate, Policy

#: As Optuna calls them.
TrialState = Literal["RUNNING", "COMPLETE", "FAIL"]
_TOLD = ("COMPLETE", "FAIL")


@dataclass
class Trial:
    """A period: which option to show, and for how many rounds.

    Args:
        number: Counts the trials, from 0.
        option: What to show.
        options: What there is to choose from.
        rounds: For how many rounds; if it was another number, say so to `AskTell.tell`.
        state: "RUNNING" until it is told, then "COMPLETE" or "FAIL".
        value: The total, once it is told.
    """

    number: int
    option: str
    options: tuple[str, ...]
    rounds: int
    state: TrialState = "RUNNING"
    value: float | None = None

    @property
    def params(self) -> dict[str, str]:
        """The option, as Optuna has it."""
        return {"option": self.option}

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """The option; the choices must be those of the study.

        Args:
            name: What the choice is called; there is only one.
            choices: What there is to choose from.
        """
        if tuple(choices) != self.options:
            raise InvalidInput(
                f"the choices of {name!r} are {list(choices)}, and this study has "
                f"{list(self.options)}."
            )
        return self.option


class AskTell:
    """A study of one policy, with the `ask` and `tell` of Optuna's `Study`.

    Args:
        policy: What decides; the object itself is left as it is. Its `names` are the options.
        rounds: The rounds of a trial, such as the visitors of a day; by default each trial is as
            long as the policy wants it.
        low: The least that a round can bring.
        high: The most that a round can bring.

    >>> from latesum import Flow
    >>> study = AskTell(Flow(2, mean_delay=50, names=["red", "blue"]), rounds=1_000)
    >>> trial = study.ask()
    >>> trial.suggest_categorical("banner", ["red", "blue"])
    'red'
    >>> study.tell(trial, 512)
    >>> study.ask().number
    1
    """

    def __init__(
        self, policy: Policy, *, rounds: int | None = None, low: float = 0.0, high: float = 1.0
    ) -> None:
        self.options = tuple(policy.names)
        self.rounds = None if rounds is None else whole_number(rounds, "rounds", at_least=1)
        self._low = finite_number(low, "the least that a round can bring")
        self._span = finite_number(high, "the most that a round can bring", above=low) - low
        self.trials: list[Trial] = []
        self._asked: list[Block] = []
        self._certain = policy.fresh()  # told the first trials, all of which have ended
        self._n_certain = 0

    @property
    def policy(self) -> Policy:
        """The policy, told all trials; the totals of those that run are not known yet."""
        told = self._certain.copy()
        for trial in self.trials[self._n_certain :]:
            self._tell(told, trial)
        return told

    def ask(self) -> Trial:
        """A new trial. Others may still be running: they count as played."""
        asked = self.policy.ask()
        rounds = self.rounds
        if rounds is None:
            rounds = asked.rounds if asked.part is None else min(asked.rounds, asked.part)
        trial = Trial(len(self.trials), self.options[asked.arm], self.options, rounds)
        self.trials.append(trial)
        self._asked.append(asked)
        return trial

    def tell(
        self,
        trial: Trial | int,
        value: float | None = None,
        *,
        state: Any = None,
        rounds: int | None = None,
        skip_if_finished: bool = False,
    ) -> None:
        """Say what arrived in the period of a trial.

        Args:
            trial: The trial or its number.
            value: The total that arrived.
            state: "COMPLETE", "FAIL" (the total will never be known), or Optuna's own.
            rounds: How many rounds it really had.
            skip_if_finished: Whether a trial that has been told already is left as it is; otherwise
                that is refused.
        """
        number = trial.number if isinstance(trial, Trial) else trial
        if not isinstance(number, int) or not 0 <= number < len(self.trials):
            raise InvalidInput(f"there is no trial {number!r}; ask() gives one.")
        mine = self.trials[number]
        if mine.state != "RUNNING":
            if skip_if_finished:
                return
            raise InvalidInput(
                f"trial {number} was told already; skip_if_finished=True lets it be."
            )
        ended: Any = getattr(state, "name", state) or ("COMPLETE" if value is not None else "FAIL")
        if ended not in _TOLD or (ended == "COMPLETE") != (value is not None):
            raise InvalidInput("a trial is told a value, or the state FAIL and no value.")
        if rounds is not None:
            rounds = whole_number(rounds, "rounds", at_least=1)
        checked = None if value is None else finite_number(value, "the value of a trial")
        mine.rounds, mine.state, mine.value = rounds or mine.rounds, ended, checked
        while (
            self._n_certain < len(self.trials) and self.trials[self._n_certain].state != "RUNNING"
        ):
            self._tell(self._certain, self.trials[self._n_certain])
            self._n_certain += 1

    @property
    def estimates(self) -> list[Estimate]:
        """What is believed of each option, on the scale from `low` to `high`."""
        rows = self.policy.estimates()

        def scaled(value: float) -> float:
            return self._low + self._span * value

        return [
            row._replace(
                mean=None if row.mean is None else scaled(row.mean),
                low=scaled(row.low), high=scaled(row.high),
            )
            for row in rows
        ]  # fmt: skip

    @property
    def best_params(self) -> dict[str, str]:
        """The option that looks best so far."""
        known = [row for row in self.estimates if row.mean is not None and row.active]
        if not known:
            raise InvalidInput("nothing is known of any option yet.")
        return {"option": max(known, key=lambda row: row.mean or 0.0).name}

    def _tell(self, policy: Policy, trial: Trial) -> None:
        asked = self._asked[trial.number]
        total = None
        if trial.value is not None:
            total = (trial.value - self._low * trial.rounds) / self._span
        policy.tell(asked.arm, trial.rounds, total, asked.purpose, asked.number)
