"""How fast whole runs are, beside another version of latesum, in turn and in CPU time.

    python benchmarks/versions.py ../latesum-before/src

The argument is the folder that holds the other version's `latesum` package, such as a worktree's
`src`. Each version runs in a process of its own; the two take turns, and the ratio is the median of
the ratios of the turns, since machines are noisy. Both do the same work: Flow by its first rule,
and a plan with candidates that every version has.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"
TURNS = 25
#: What is run, how often per turn, and the statement that makes `runs` runs.
CASES = {
    "ODAAF-B, two arms": (120, "compare(two, {'': bounded}, 250_000, replications=runs, seed=1)"),
    "Flow, two arms": (12, "compare(two, {'': flow}, 250_000, replications=runs, seed=1)"),
    "Flow, ten arms": (4, "compare(ten, {'': flow10}, 250_000, replications=runs, seed=1)"),
    "Flow in buckets, reported late": (
        4,
        "compare(two, {'': flow}, 25_000, replications=runs, seed=1, bucket=100, report_lag=500)",
    ),
    "Unmix, two arms": (6, "compare(two, {'': unmix}, 250_000, replications=runs, seed=1)"),
    "QPM-D, two arms": (4, "compare(two, {'': qpmd}, 250_000, replications=runs, seed=1)"),
    "a plan": (20, "plan(**asked, replications=runs, workers=1, policies=candidates)"),
    "figure 3a of the paper": (12, "paper(runs // 12)"),
}
_WORKER = """
import sys, tempfile, time
from latesum import ODAAFB, Flow, Problem, Unmix, compare, plan
from latesum.attributed import QPMD
try:
    from latesum.experiments.paper import run_paper
except ImportError:  # an earlier version
    from latesum.experiments.paper import run_paper

two = Problem([0.5, 0.6], "uniform(0, 100)")
ten = Problem([0.6] + [0.5] * 9, "uniform(0, 100)")
bounded = ODAAFB(2, 250_000, mean_delay=50, delay_bound=100)
flow, flow10 = (Flow(arms, 250_000, mean_delay=50) for arms in (2, 10))
qpmd = QPMD("ucb1", n_arms=2)
unmix = Unmix(2, 250_000, mean_delay=50)
asked = dict(options=3, rate=0.03, lift="15%", traffic="6000 per day", run_for="10 weeks",
             late="half within 4 hours, 95% within 4 days")
candidates = ["flow", "odaaf", "ars-ucb", "quarter test",
              "half test", "equal split"]


def paper(replications):
    with tempfile.TemporaryDirectory() as folder:
        run_paper(["3a"], folder, replications=replications)


for line in sys.stdin:
    number, statement = line.rstrip("\\n").split(" ", 1)
    runs = int(number)
    start = time.process_time()
    eval(statement)
    print((time.process_time() - start) / runs, flush=True)
"""


class Version:
    """A process that runs what it is sent with one version of latesum."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def seconds(self, runs: int, statement: str) -> float:
        """CPU seconds of one run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{runs} {statement}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> None:
    """Print the table."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "latesum").is_dir():
        sys.exit("give the folder that holds the other version's latesum package.")
    other, this = Version(Path(sys.argv[1]).resolve()), Version(HERE)
    print(f"{'':32}{'before, us':>12}{'now, us':>12}{'now / before':>14}")
    for name, (runs, statement) in CASES.items():
        for version in (other, this):
            version.seconds(runs, statement)  # compiled before it is timed
        before: list[float] = []
        now: list[float] = []
        for turn in range(TURNS):
            for version, times in ((other, before), (this, now))[:: 1 if turn % 2 else -1]:
                times.append(version.seconds(runs, statement))
        ratio = statistics.median(b / a for a, b in zip(before, now, strict=True))
        print(f"{name:32}{min(before) * 1e6:12,.0f}{min(now) * 1e6:12,.0f}{ratio:14.3f}")
    other.close()
    this.close()


if __name__ == "__main__":
    main()
