"""How long whole runs take with each policy that sees totals only, beside ODAAF, in one process.

    python benchmarks/policies.py

Delays uniform(0, 100), horizon 250,000. Times are CPU times, the best of several repetitions taken
in turn, since machines are noisy.
"""

from __future__ import annotations

import time

import numpy as np

from latesum import Problem, simulate
from latesum._render import new_table, terminal
from latesum.experiments import RunSpec
from latesum.policies import Policy, PolicySpec

HORIZON = 250_000
PROBLEMS = {"two arms": [0.5, 0.6], "ten arms": [0.6] + [0.5] * 9}
POLICIES = (
    "odaaf",
    "odaaf-b",
    "flow",
    "flow(lookahead=True)",
    "ars-ucb",
    "unmix",
    "unmix-unknown-delay",
)
REPETITIONS, RUNS = 5, 10


def policy_for(name: str, problem: Problem) -> Policy:
    """The policy of this name, given what is true of a problem."""
    policy = RunSpec(problem, PolicySpec(name), HORIZON).prepared[1]
    assert isinstance(policy, Policy)
    return policy


def seconds_per_run(problem: Problem, name: str) -> float:
    """CPU seconds of a run of `simulate`."""
    policy = policy_for(name, problem)
    start = time.process_time()
    for seed in range(RUNS):
        simulate(problem, policy.fresh(), HORIZON, seed=seed)
    return (time.process_time() - start) / RUNS


def main() -> None:
    """Print the table."""
    problems = {name: Problem(means, "uniform(0, 100)") for name, means in PROBLEMS.items()}
    cells = [(name, policy) for policy in POLICIES for name in problems]
    for name, policy in cells:  # compiled before anything is timed
        simulate(problems[name], policy_for(policy, problems[name]).fresh(), HORIZON, seed=1)
    best = dict.fromkeys(cells, np.inf)
    for _ in range(REPETITIONS):
        for name, policy in cells:
            best[name, policy] = min(best[name, policy], seconds_per_run(problems[name], policy))
    columns = ["policy"] + [
        text for name in problems for text in (f"{name}, ms per run", "× odaaf")
    ]
    table = new_table(None, columns)
    for policy in POLICIES:
        row = [policy]
        for name in problems:
            mine, odaaf = best[name, policy], best[name, "odaaf"]
            row += [f"{1000 * mine:.2f}", f"{mine / odaaf:.1f}"]
        table.add_row(*row)
    terminal().print(table)


if __name__ == "__main__":
    main()
