"""The runs of settings: what was measured, by problem and policy, and its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name
from latesum._render import finite
from latesum.experiments import stats
from latesum.experiments.spec import AnySetting

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: What was measured in the runs of a setting: by measure, one row per run.
Rows = Mapping[str, NDArray[Any]]


class Summary(NamedTuple):
    """How one policy ended on one problem: its regret over all runs, and what else matters.

    Args:
        problem: The name of the problem.
        policy: The name of the policy.
        replications: The number of runs.
        mean: The mean regret.
        standard_error: That of the mean; NaN for a single run.
        median: The median regret.
        percentile_95: What 95% of the runs stay below.
        percentile_99: What 99% of the runs stay below.
        worst: The largest regret.
        ended_on_best: The share of runs that ended on the best arm; NaN where it was not measured.
        switches: How often the arm changed, on average; NaN where it was not measured.
    """

    problem: str
    policy: str
    replications: int
    mean: float
    standard_error: float
    median: float
    percentile_95: float
    percentile_99: float
    worst: float
    ended_on_best: float
    switches: float

    def to_json(self) -> dict[str, Any]:
        """As JSON values; a standard error that there is not is null."""
        found: dict[str, Any] = finite(self._asdict())
        return found


@dataclass(frozen=True)
class Runs:
    """All runs of one policy on one problem, in the order of their numbers.

    Args:
        checkpoints: The rounds at which regret was kept.
        measured: By measure, one row per run.
    """

    checkpoints: Integers
    measured: Rows

    @property
    def regrets(self) -> Floats:
        """One row per run, one column per checkpoint."""
        return self.measured["regret"]

    @property
    def ended_on_best(self) -> NDArray[np.bool_]:
        """Whether each run ended on the best arm."""
        return self.measured["ended_on_best"]

    @property
    def switches(self) -> Integers:
        """How often the arm changed in each run."""
        return self.measured["switches"]

    def __len__(self) -> int:
        return len(next(iter(self.measured.values())))

    def summary(self, problem: str, policy: str) -> Summary:
        """The runs in one row, at the horizon.

        Args:
            problem: What the problem is called there.
            policy: What the policy is called there.
        """
        if "regret" not in self.measured:
            raise InvalidInput(
                f"the runs of {policy!r} on {problem!r} have no regret to sum up; "
                'add "regret" to their measures.'
            )
        final = self.regrets[:, -1]
        median, percentile_95, percentile_99 = np.quantile(final, [0.5, 0.95, 0.99]).tolist()
        return Summary(
            problem,
            policy,
            len(final),
            float(final.mean()),
            float(stats.standard_error(final)),
            median,
            percentile_95,
            percentile_99,
            float(final.max()),
            self._mean_of("ended_on_best"),
            self._mean_of("switches"),
        )

    def _mean_of(self, measure: str) -> float:
        values = self.measured.get(measure)
        return float("nan") if values is None else float(values.mean())


@dataclass(frozen=True)
class Results:
    """Run specifications and their runs.

    Args:
        settings: What was run.
        runs: The runs, by the names of problem and policy.
    """

    settings: Sequence[AnySetting]
    runs: dict[tuple[str, str], Runs] = field(repr=False)

    @classmethod
    def of(cls, settings: Sequence[AnySetting], rows: Sequence[Rows]) -> Results:
        """Put settings and their runs together.

        Args:
            settings: What was run.
            rows: What was measured in the runs of each.
        """
        runs: dict[tuple[str, str], Runs] = {}
        for setting, each in zip(settings, rows, strict=True):
            names = (setting.problem_name, setting.policy_name)
            if names in runs:
                raise InvalidInput(
                    f"two settings are {names[1]!r} on {names[0]!r}; give each a name of its own."
                )
            runs[names] = Runs(setting.checkpoint_rounds, each)
        return cls(list(settings), runs)

    @property
    def problems(self) -> list[str]:
        """The names of the problems."""
        return list(dict.fromkeys(problem for problem, _ in self.runs))

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return list(dict.fromkeys(policy for _, policy in self.runs))

    @property
    def checkpoints(self) -> Integers:
        """The rounds at which regret was kept, those of the first setting."""
        return self.settings[0].checkpoint_rounds

    def __getitem__(self, names: tuple[str, str]) -> Runs:
        problem, policy = names
        known_name(problem, self.problems, "problem here")
        known_name(policy, [p for q, p in self.runs if q == problem], "policy on this problem")
        return self.runs[problem, policy]

    def summary(self) -> list[Summary]:
        """One row per policy and problem, at the horizon."""
        return [runs.summary(problem, policy) for (problem, policy), runs in self.runs.items()]


def to_columns(measured: Rows) -> dict[str, Any]:
    """What was measured as columns of an Arrow table; an array per run is a list there."""
    import pyarrow as pa

    return {
        name: pa.array(values if values.ndim == 1 else list(values))
        for name, values in measured.items()
    }


def from_column(column: Any) -> NDArray[Any]:
    """The opposite of `to_columns`, of one column."""
    import pyarrow as pa

    column = column.combine_chunks()
    if pa.types.is_list(column.type):
        flat: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(column), -1)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
