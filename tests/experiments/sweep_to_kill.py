"""Run by test_sweep.py in a process of its own: a small sweep in many small chunks."""

from __future__ import annotations

import sys

from latesum.experiments.sweep import Experiment, run_sweep

EXPERIMENT = Experiment.model_validate(
    {
        "name": "kill",
        "horizon": 50_000,
        "replications": 30,
        "checkpoints": 20,
        "problems": [{"name": "p", "arms": [0.4, 0.6], "delay": "uniform(0, 20)"}],
        "policies": [{"policy": "odaaf"}, {"policy": "qpm-d(base='ucb1')"}],
    }
)

#: How long a chunk takes, in seconds: short, so that many are left wherever a run is stopped.

if __name__ == "__main__":
    print("ready", flush=True)
    run_sweep(EXPERIMENT, sys.argv[1], workers=int(sys.argv[2]))
    print("done", flush=True)
