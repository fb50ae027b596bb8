"""How long a plan takes without and with its what-if rows: a million rounds, five options.

    python benchmarks/plans.py                # a go, and one that is not, each in a process of its own
    python benchmarks/plans.py --lift 15%     # one of them

The first writes `speed-results/speed.csv` too, for `python docs/tables.py --take`. Wall time is
from the start of the process, imports included; CPU time is that of all processes together. On two
idle cores the answer should come within 12 s.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIFTS = ("15%", "2%")
ASKED: dict[str, Any] = {
    "options": 5,
    "rate": 0.03,
    "traffic": "12000 per day",
    "run_for": "84 days",
    "late": "half within 4 hours, 95% within 4 days",
}


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def in_processes(workers: int) -> None:
    """Make the plan for each lift in a process of its own, and write how long the parts took."""
    import speed

    took = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "times.json"
        for lift in LIFTS:
            command = [sys.executable, __file__, "--lift", lift, "--workers", str(workers)]
            subprocess.run([*command, "--times", str(file)], check=True)
            took.append(json.loads(file.read_text()))
    go, no_go = took
    row = {
        "what": "a plan for a million rounds, 5 options, all candidates, two cores",
        "figure": f"the answer after {go['answer']:.1f} s, with what-if rows {go['all']:.1f} s; "
        f"{no_go['all']:.1f} s where it is not a go as asked",
        "goal": "12 s",
        "command": "`python benchmarks/plans.py`",
    }
    speed.write([row])


def main() -> None:
    """Make the plan, and print when each part of it was there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lift", help="the lift to plan for; without it 15%% and 2%%")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=Path, help="a file for the times, in seconds")
    asked = parser.parse_args()
    if asked.lift is None:
        in_processes(asked.workers)
        return
    started = time.perf_counter()
    from latesum.planning import plan

    times: dict[str, float] = {}

    def say(what: str) -> float:
        passed = time.perf_counter() - started
        print(f"{passed:6.1f} s  {cpu_seconds():6.1f} CPU-s  {what}", flush=True)
        return passed

    for name, sensitivity in (("answer", False), ("all", True)):
        found = plan(**ASKED, lift=asked.lift, workers=asked.workers, sensitivity=sensitivity)
        times[name] = say(f"{name}: {found.verdict}")
    times["all"] -= times["answer"]
    if asked.times:
        asked.times.write_text(json.dumps(times))


if __name__ == "__main__":
    main()
