"""The paper's problem with every policy: a table, and the figure of the front page.

python examples/demo.py [FOLDER] [REPLICATIONS]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from latesum import Problem, compare
from latesum.experiments.results import COLORS
from latesum.policies import registry

HORIZON = 250_000
#: QPM-D with the index of Flow and Unmix: a reference with attributed feedback.
SAME_INDEX = "qpm-d(base='kl-ucb++')"
#: The policies of the figure and their labels there.
LABELS = {
    "odaaf-v": "ODAAF-V",
    "odaaf": "ODAAF",
    "odaaf-b": "ODAAF-B",
    "flow": "Flow",
    "unmix": "Unmix",
    "qpm-d": "QPM-D with UCB1,\n  attributed feedback",
    SAME_INDEX: "QPM-D with KL-UCB++,\n  attributed feedback",
}


def draw(results, title, path):
    """Median regret over rounds with bands from the 5th to the 95th percentile, on a log axis."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", xlabel="rounds", ylabel="regret: median, 5th to 95th percentile")
    axes.set_title(title, fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    rounds = results.checkpoints
    for color, (policy, label) in zip(COLORS, LABELS.items(), strict=False):
        one = results[policy]
        low, median, high = np.quantile(one.regrets, (0.05, 0.5, 0.95), axis=0)
        line = ":" if one.specs[0].attributed else "-"
        axes.plot(rounds, median, color=color, linestyle=line)
        axes.fill_between(rounds, low, high, color=color, alpha=0.2, linewidth=0)
        text, end = f"  {label}: {median[-1]:,.0f}", (rounds[-1], median[-1])
        axes.annotate(text, end, color=color, va="center", fontsize=8)
    axes.set_yscale("log")
    axes.set_xlim(100, rounds[-1])
    axes.set_ylim(bottom=5)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    replications = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    folder.mkdir(parents=True, exist_ok=True)
    problem = Problem([0.5, 0.6], "uniform(0, 100)")
    # Improved UCB is for undelayed rewards only.
    names = [name for name in registry.available(None) if name != "improved-ucb"]
    policies = [*names, SAME_INDEX]
    found = compare(
        problem, policies, HORIZON, replications=replications, seed=1, workers=2, progress=True
    )
    print(found.table())
    draw(found, repr(problem), folder / "regret.png")
    print(f"Regret over rounds, with quantiles: {folder / 'regret.png'}")
