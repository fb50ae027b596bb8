"""What anonymity costs, and what an unknown delay distribution does: a figure and a table.

    python examples/theory/what_anonymity_costs.py --out docs/images/price.png
    python docs/tables.py --take price-results    # into docs/results and the pages

Left: one visit to an arm, in rounds that another arm's late rewards cover. Its mean is estimated from
the totals of every five rounds by generalized least squares, with the delay's distribution known; the
variance over many runs says how many attributed plays the visit was worth. Right: regret with
attributed feedback, and what is lost beyond it, in three parts: to anonymity (one visit per arm, by the
visit lemma), to the rule for visits (what a policy that knows the distribution loses beyond that), and
to the unknown distribution (what it loses more if it is given the mean only).
"""

import argparse
import math
from pathlib import Path

import numpy as np

from latesum import Problem, delays
from latesum.experiments.engine import run
from latesum.experiments.spec import RunSpec
from latesum.experiments.store import write_summary
from latesum.policies import PolicySpec
from latesum.theory import limit_with_visits, visit_worth

LAWS = {
    "constant": "constant(50)",
    "Poisson": "poisson(50)",
    "uniform, 25 to 75": "uniform(25, 75)",
    "uniform, 0 to 100": "uniform(0, 100)",
    "exponential": "exponential(50)",
    "Pareto, shape 2.5": "pareto(2.5, 50)",
    "Pareto, shape 1.5": "pareto(1.5, 50)",
}
#: A visit, how long totals are looked at after its begin, and how many rounds one total is of.
VISIT, LOOKED_AT, PART = 500, 2500, 5
ARMS = {
    "two arms": [0.5, 0.6],
    "ten arms, one better": [0.5] * 9 + [0.6],
    "ten arms in a line": [round(0.1 + 0.8 * i / 9, 6) for i in range(10)],
}
PROBLEMS = [
    ("two arms", "constant(50)"),
    ("two arms", "constant(500)"),
    ("two arms", "exponential(50)"),
    ("ten arms, one better", "constant(50)"),
    ("ten arms, one better", "exponential(50)"),
    ("ten arms in a line", "constant(50)"),
    ("ten arms in a line", "exponential(50)"),
]
PARTS = ("attributed", "anonymity", "visits", "distribution")
HORIZON = 250_000


def wasted_by_a_visit(text: str, mean: float, runs: int, seed: int = 1) -> tuple[float, float]:
    """How many of the visit's plays were wasted, from the variance over the runs, and its error."""
    delay = delays.parse(text)
    before = min(delay.quantile(0.9999), 4000)  # plays of the other arm whose rewards still arrive
    plays = np.arange(-before, LOOKED_AT)
    visited = (plays >= 0) & (plays < VISIT)
    parts = LOOKED_AT // PART
    # landing[s, c]: the probability that a reward of play s arrives in part c.
    edges = np.arange(parts + 1) * PART
    landing = -np.diff(delay.survival(edges[None, :] - plays[:, None] - 1), axis=1)
    design = landing[visited].sum(axis=0)
    expected = landing.sum(axis=0) * mean
    covariance = np.diag(expected) - mean**2 * landing.T @ landing
    weights = np.linalg.solve(covariance, design)
    weights /= weights @ design
    rng = np.random.default_rng(seed)
    found = np.empty(runs)
    for number in range(runs):
        paid = plays[rng.random(len(plays)) < mean]
        arrived = paid + delay.draw(len(paid), rng)
        kept = arrived[(arrived >= 0) & (arrived < LOOKED_AT)] // PART
        found[number] = weights @ (np.bincount(kept, minlength=parts) - expected)
    worth = mean * (1 - mean) / found.var()
    return VISIT - worth, worth * math.sqrt(2 / runs)


def lost(arms: str, delay: str, policy: str, runs: int) -> dict[str, float | None]:
    """Regret with attributed feedback, and the three parts that come to it."""
    problem = Problem(ARMS[arms], delay)
    texts = ("qpm-d(base='kl-ucb++')", f"{policy}(delay={delay!r})", policy)
    means, errors = [], []
    for text in texts:
        spec = RunSpec(
            problem, PolicySpec.parse(text), HORIZON, seed=5, order="drawn", measures=("regret",)
        )
        final = run([spec], runs, workers=1).regrets[:, -1]
        means.append(float(final.mean()))
        errors.append(float(final.std(ddof=1) / math.sqrt(runs)))
    attributed, known, mean_only = means
    visited = limit_with_visits(attributed, problem.means, problem.delays)
    parts = (attributed, visited - attributed, known - visited, mean_only - known)
    # Anonymity is computed from the attributed regret, and moves with it.
    error = (errors[0], None, math.hypot(errors[0], errors[1]), math.hypot(*errors[1:]))
    found = {f"{name}_error": each for name, each in zip(PARTS, error, strict=True)}
    return dict(zip(PARTS, parts, strict=True)) | found


def draw(path: str, visits: dict, rows: list[dict], policy: str) -> None:
    """The figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    spreads = {name: delays.parse(text).spread for name, text in LAWS.items()}
    line = np.array([0, 1.08 * max(spreads.values())])
    left.plot(line, line, color="0.6", label="W: the visit lemma, for long visits")
    exact = [VISIT - visit_worth(delays.parse(text), VISIT) for text in LAWS.values()]
    x = list(spreads.values())
    left.plot(x, exact, "_", ms=14, color="k", label="the lemma for this visit")
    for (mean, found), marker in zip(visits.items(), "os", strict=False):
        values = np.array([found[name] for name in LAWS])
        label = f"simulated, both means {mean:g}"
        left.errorbar(x, values[:, 0], 2 * values[:, 1], fmt=marker, ms=5, capsize=2, label=label)
    left.set(xlabel="spread W of the delay (rounds)", ylabel=f"plays wasted of a visit of {VISIT}")
    left.set_title("One visit", fontsize=11)
    left.legend(fontsize=8, loc="upper left")
    names = [f"{row['arms']}\n{row['delay']}" for row in rows]
    start = np.zeros(len(rows))
    labels = ("attributed feedback", "anonymity", "rule for visits", "unknown distribution")
    for part, label in zip(PARTS, labels, strict=True):
        values = np.array([row[part] for row in rows])
        right.barh(names, values, left=start, label=label)
        start += values
    right.invert_yaxis()
    right.set(xlabel="regret")
    right.set_title(f"What {policy} loses, given the mean delay", fontsize=11)
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def main() -> None:
    """Simulate, write the table and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="unmix", help="a policy that takes a delay")
    parser.add_argument("--runs", type=int, default=100, help="of each policy and problem")
    parser.add_argument("--visits", type=int, default=20_000, help="how many visits are simulated")
    parser.add_argument("--out", default="price.png", help="the picture")
    parser.add_argument("--results", type=Path, default=Path("price-results"), help="the table")
    chosen = parser.parse_args()
    rows = []
    for arms, delay in PROBLEMS:
        parts = lost(arms, delay, chosen.policy, chosen.runs)
        spread = delays.parse(delay).spread
        rows.append({"arms": arms, "delay": delay, "spread": spread, **parts, "runs": chosen.runs})
        print(arms, delay, *(f"{name} {parts[name]:.0f}" for name in PARTS), sep="; ", flush=True)
    print(write_summary(chosen.results / "price.csv", rows))
    visits = {
        mean: {name: wasted_by_a_visit(text, mean, chosen.visits) for name, text in LAWS.items()}
        for mean in (0.05, 0.5)
    }
    draw(chosen.out, visits, rows, chosen.policy)


if __name__ == "__main__":
    main()
