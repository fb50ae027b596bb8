"""A small sweep in many small chunks, which test_sweep.py also runs in processes of its own."""

from __future__ import annotations

import sys
from pathlib import Path

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


def tables(folder: Path, name: str = "kill") -> list[bytes]:
    """The files with the results of the sweep."""
    return [(folder / name / f"{kind}.parquet").read_bytes() for kind in ("runs", "checkpoints")]


if __name__ == "__main__":
    print("ready", flush=True)
    run_sweep(EXPERIMENT, sys.argv[1], workers=int(sys.argv[2]))
    print("done", flush=True)
