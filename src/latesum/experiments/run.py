"""What happened in one simulated run, and its regret."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from latesum import _render
from latesum._checks import InvalidInput
from latesum._extras import as_frame, require
from latesum.policies import Play, Policy
from latesum.simulation import Problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Run:
    """The blocks that were played, and the regret after any number of rounds.

    `problem` has its arms as this run met them; `arms` and `rounds` are those of every block;
    `plays` has their totals too and is None where these are not known; `policy` is as it was at the
    end, None if it has attributed feedback; `spec` and `number` say what the run was made from.
    """

    def __init__(
        self,
        problem: Problem,
        arms: Sequence[int] | Integers,
        rounds: Sequence[int] | Integers,
        *,
        plays: Sequence[Play] | None = None,
        policy: Policy | None = None,
        spec: Any = None,
        number: int = 0,
    ) -> None:
        self.problem = problem
        #: The policy as it was at the end.
        self.policy = policy
        self.spec, self.number = spec, number
        self.checkpoints = None if spec is None else spec.checkpoint_rounds
        #: The rounds between two decisions.
        self.bucket = 1 if spec is None else spec.reports.bucket
        #: The arm of every block.
        self.arms = np.asarray(arms, dtype=np.int64)
        #: The rounds after which the arm could change: 0, and the end of every block.
        self.ends = np.concatenate([[0], np.cumsum(rounds, dtype=np.int64)])
        #: The rounds played.
        self.horizon = int(self.ends[-1])
        self._plays = plays
        lost = np.array(problem.gaps)[self.arms] * rounds
        if problem.changes:
            lost = np.array([self._lost(*each) for each in enumerate(np.diff(self.ends))])
        self._regret_at_ends = np.concatenate([[0.0], np.cumsum(lost)])

    @functools.cached_property
    def plays(self) -> Sequence[Play]:
        """The blocks with the totals that were reported."""
        if self._plays is not None:
            return self._plays
        rounds = np.diff(self.ends).tolist()
        return [Play(*each) for each in zip(self.arms.tolist(), rounds, strict=True)]

    @property
    def ended_on_best(self) -> bool:
        """Whether no arm was better than the one that was played last."""
        return self.problem.is_best(int(self.arms[-1]), self.horizon)

    @functools.cached_property
    def answer(self) -> int:
        """The arm that the policy would go on with: the one that looks best to it at the end."""
        if self.policy is None:
            raise InvalidInput("a policy with attributed feedback does not say which looks best.")
        estimates = [row for row in self.policy.estimates() if row.mean is not None]
        still_in = [row for row in estimates if row.active] or estimates
        if not still_in:  # nothing is known yet
            return self.policy.ask().arm
        return max(still_in, key=lambda row: row.mean if row.mean is not None else -1.0).arm

    def policies_after(self, rounds: Sequence[int]) -> Iterator[Policy]:
        """The policy as it was after the first block that ends at each of `rounds`, or later.

        Everything is reported to it again, so late totals are known at once here.
        """
        if self.policy is None:
            raise InvalidInput("of this run it is not known what its policy believed.")
        replayed = self.policy.fresh()
        plays, played = iter(self.plays), 0
        for wanted in rounds:
            while played < min(wanted, self.horizon):
                play = next(plays)
                replayed.tell(*play)
                played += play[1]
            yield replayed

    @property
    def switches(self) -> int:
        """How often the arm changed."""
        return int(np.count_nonzero(self.arms[1:] != self.arms[:-1]))

    @overload
    def regret(self, at: int | None = None) -> float: ...
    @overload
    def regret(self, at: Integers) -> Floats: ...
    def regret(self, at: int | Integers | None = None) -> float | Floats:
        """The regret after `at` rounds, or at the end: T mu* - sum of mu of the arms played.

        Where means change, mu* is that of the best arm in each round.
        """
        rounds = np.asarray(self.horizon if at is None else at)
        if rounds.size and (rounds.min() < 0 or rounds.max() > self.horizon):
            raise InvalidInput(
                f"the run has {self.horizon} rounds; ask for its regret within them."
            )
        result: Any = np.interp(rounds, self.ends, self._regret_at_ends)
        if self.problem.changes:
            result = np.vectorize(self._changing_regret, otypes=[float])(rounds)
        return result if isinstance(at, np.ndarray) else float(result)

    def _lost(self, index: int, rounds: int) -> float:
        """What is lost in the first `rounds` rounds of a block, where means change over time."""
        start = self.ends[index]
        lost = self.problem.lost_by(int(self.arms[index]), np.array([start, start + rounds]))
        return float(lost[1] - lost[0])

    def _changing_regret(self, rounds: int) -> float:
        index = min(int(np.searchsorted(self.ends, rounds, side="right")), len(self.arms)) - 1
        return float(self._regret_at_ends[index]) + self._lost(index, rounds - self.ends[index])

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row per block, as a frame of "pyarrow", "pandas" or "polars"."""
        pa = require("pyarrow", "parquet")
        _, rounds, totals, purposes, _ = zip(*self.plays, strict=True)
        columns = {
            "start": pa.array(self.ends[:-1]),
            "rounds": pa.array(rounds, pa.int64()),
            "arm": pa.array(self.arms),
            "purpose": pa.array(purposes, pa.string()),
            "total": pa.array(totals, pa.float64()),
        }
        return as_frame(pa.table(columns), backend)

    def __repr__(self) -> str:
        return (
            f"Run({self.horizon:,} rounds, {len(self.arms):,} blocks, regret {self.regret():,.1f})"
        )

    def _repr_html_(self) -> str:
        """Which arm was played when, and the regret over rounds."""
        ends = ("0", f"{self.horizon:,} rounds")
        rounds = np.unique(np.linspace(0, self.horizon, 161).astype(np.int64))
        regrets = self.regret(rounds)
        top = f"regret {regrets[-1]:,.0f}"
        played = ", ".join(f"{row} (mean {mean:g})" for row, mean in enumerate(self.problem.means))
        when, n_arms = "which arm was played when", self.problem.n_arms
        over = rounds.tolist(), regrets.tolist()
        return (
            _render.heading(repr(self))
            + _render.sentences([f"On {self.problem!r}. Rows: arms {played}; pale: bridges."])
            + _render.strip(self._boxes(), n_arms, label=when, ends=ends)
            + _render.curve(*over, label="regret over rounds", ends=ends, top=top)
        )

    def _boxes(self, columns: int = 320) -> Iterator[tuple[float, float, int, bool]]:
        """Where each arm was played, in shares of the run: no finer than is seen."""
        learned = np.zeros((self.problem.n_arms, columns + 1), dtype=np.int8)
        for start, play in zip(self.ends[:-1].tolist(), self.plays, strict=True):
            first = start * columns // self.horizon
            last = -(-(start + play.rounds) * columns // self.horizon)
            part = learned[play.arm, first:last]
            np.maximum(part, 1 if play.purpose == "bridge" else 2, out=part)
        for arm, row in enumerate(learned):
            edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), columns]
            for first, last in itertools.pairwise(edges):
                if row[first]:
                    yield first / columns, last / columns, arm, bool(row[first] == 2)
