"""Recorded runs: what every policy plays for one seed must not change unnoticed.

After a change that is meant, record again and look at the difference:

    LATESUM_RECORD=1 python -m pytest tests/experiments/test_golden.py
"""

import json
import os
from pathlib import Path

import pytest

from latesum import Problem, simulate
from latesum.attributed import AttributedPolicy
from latesum.experiments import RunSpec
from latesum.policies import PolicySpec, available

GOLDEN = Path(__file__).with_name("golden_runs.json")
PROBLEMS = {
    "three arms, poisson(9)": Problem([0.3, 0.5, 0.6], "poisson(9).clipped(40)"),
    "two arms, heavy tail": Problem([0.2, 0.25], "pareto(2.5, 20).truncated(6000)"),
}
HORIZON = 12_000
#: Enough of a run to notice a change; policies with short blocks have thousands.
KEPT = 40


def _played(problem, name):
    policy = RunSpec(problem, PolicySpec.parse(name), HORIZON).prepared[1]
    run = simulate(problem, policy, HORIZON, seed=7)
    blocks = [[s.arm, s.rounds, s.purpose, s.total] for s in run.plays[:KEPT]]
    if isinstance(policy, AttributedPolicy):
        blocks = [block[:2] for block in blocks]
    return {"regret": round(run.regret(), 6), "blocks": blocks}


NAMES = [name for name in available(None) if name != "improved-ucb"] + ["flow(lookahead=True)"]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_do_not_change(problem, name):
    played = _played(PROBLEMS[problem], name)
    recorded = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("LATESUM_RECORD"):
        recorded[f"{name} on {problem}"] = played
        rows = (f"{json.dumps(key)}: {json.dumps(recorded[key])}" for key in sorted(recorded))
        GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    assert recorded[f"{name} on {problem}"] == played
