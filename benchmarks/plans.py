"""How long a plan takes until its first look, its main answer and its end: a million rounds, five options, all candidates.

    python benchmarks/plans.py                # a go, and one that is not, each in a process of its own
    python benchmarks/plans.py --lift 15%     # one of them

Wall time is from the start of the process, imports included; CPU time is that of all processes together. On two idle cores the first look
should come within 2 s, the main answer within 10, all of it within 20, and a no-go with its searches within 25.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from typing import Any

LIFTS = ("15%", "2%")
ASKED: dict[str, Any] = {
    "options": 5, "rate": 0.03, "traffic": "12000 per day", "run_for": "84 days",
    "late": "half within 4 hours, 95% within 4 days",
}  # fmt: skip


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Make the plan, and print when each part of it was there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lift", help="the lift to plan for; without it 15%% and 2%%")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    if asked.lift is None:
        for lift in LIFTS:
            command = [sys.executable, __file__, "--lift", lift, "--workers", str(asked.workers)]
            subprocess.run(command, check=True)
        return
    started = time.perf_counter()
    from latesum.planning import PresentAnswer, plan

    def say(what: str) -> None:
        print(
            f"{time.perf_counter() - started:6.1f} s  {cpu_seconds():6.1f} CPU-s  {what}",
            flush=True,
        )

    def on_answer(answer: PresentAnswer) -> None:
        say(str(answer))

    found = plan(**ASKED, lift=asked.lift, workers=asked.workers, on_answer=on_answer)
    say(f"all of it: {found.verdict.answer}")


if __name__ == "__main__":
    main()
