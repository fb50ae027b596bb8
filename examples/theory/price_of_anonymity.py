"""The price of anonymity against the spread of the delay: the figure and the tables of docs/theory.md.

    python examples/theory/price_of_anonymity.py --out docs/images/price.png
    python docs/tables.py --take price-results    # into docs/results and the pages
    python examples/theory/price_of_anonymity.py --policy "odaaf" --runs 400 --out mine.png

All delays have a mean of about 50 rounds. Left: one visit to an arm, in rounds that another arm's late
rewards cover. Its mean is estimated from the totals of every five rounds by generalised least squares, with
the delay's law known, and the variance over many runs says how many labelled plays the visit was worth.
Right: what a policy loses on ten arms in a line beyond QPM-D with the same index, which sees labels.
"""

import argparse
import math
from pathlib import Path

import numpy as np

from latesum import Problem, delays
from latesum.experiments.engine import run
from latesum.experiments.spec import RunSpec
from latesum.experiments.summaries import write_summary
from latesum.policies import PolicySpec
from latesum.theory import visit_worth

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
LINE = [round(0.1 + 0.8 * i / 9, 6) for i in range(10)]
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


def regrets(policy: str, text: str, runs: int) -> tuple[float, float]:
    """The mean regret on ten arms in a line, and its standard error."""
    setting = RunSpec(Problem(LINE, text), PolicySpec.parse(policy), HORIZON, measures=("regret",))
    found = run([setting], runs, workers=1)
    final = found.regrets[:, -1]
    return float(final.mean()), float(final.std(ddof=1) / math.sqrt(runs))


def draw(path: str, visits: dict, prices: dict, policy: str) -> None:
    """The figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    spreads = {name: delays.parse(text).spread for name, text in LAWS.items()}
    longest = max(spreads.values())
    line = np.array([0, 1.08 * longest])
    left.plot(line, line, color="0.6", label="W: the visit lemma, for long visits")
    exact = [VISIT - visit_worth(delays.parse(text), VISIT) for text in LAWS.values()]
    left.plot(
        list(spreads.values()), exact, "_", ms=14, color="k", label="the lemma for this visit"
    )
    for (mean, found), marker in zip(visits.items(), "os", strict=False):
        values = np.array([found[name] for name in LAWS])
        left.errorbar(list(spreads.values()), values[:, 0], 2 * values[:, 1], fmt=marker, ms=5,
                      capsize=2, label=f"simulated, both means {mean:g}")  # fmt: skip
    left.set(xlabel="spread W of the delay (rounds)", ylabel=f"plays wasted of a visit of {VISIT}")
    left.set_title("One visit", fontsize=11)
    left.set_ylim(-18, 2.05 * longest)
    gaps = sum(max(LINE) - mean for mean in LINE)
    for count, style in ((1, "-"), (2, "--")):
        right.plot(line, count * gaps * line, style, color="0.6",
                   label=f"{count} visit{'s' * (count > 1)} per arm: {count} W × sum of gaps")  # fmt: skip
    values = np.array([prices[name] for name in LAWS])
    right.errorbar(list(spreads.values()), values[:, 0], 2 * values[:, 1], fmt="o", ms=5, capsize=2,
                   color="C2", label=f"simulated, {policy}")  # fmt: skip
    right.set(xlabel="spread W of the delay (rounds)", ylabel="regret beyond that with labels")
    right.set_ylim(bottom=min(0, values[:, 0].min()))
    right.set_title("Ten arms in a line", fontsize=11)
    top = left.get_ylim()[1]
    for name, spread in spreads.items():
        left.annotate(name, (spread, top), xytext=(0, -4), textcoords="offset points", rotation=90,
                      fontsize=7, color="0.35", ha="right", va="top")  # fmt: skip
    for axes in (left, right):
        axes.legend(fontsize=8, loc="lower right")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def main() -> None:
    """Simulate, write the table and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="unmix", help="a policy as text")
    parser.add_argument("--runs", type=int, default=200, help="of each policy and delay")
    parser.add_argument("--visits", type=int, default=20_000, help="how many visits are simulated")
    parser.add_argument("--out", default="price.png", help="the picture")
    parser.add_argument("--results", type=Path, default=Path("price-results"), help="the table")
    chosen = parser.parse_args()
    visits = {
        mean: {name: wasted_by_a_visit(text, mean, chosen.visits) for name, text in LAWS.items()}
        for mean in (0.05, 0.5)
    }
    prices, rows = {}, []
    for name, text in LAWS.items():
        policies = (chosen.policy, "qpm-d(base='kl-ucb++')")
        own, labelled = (regrets(policy, text, chosen.runs) for policy in policies)
        prices[name] = own[0] - labelled[0], math.hypot(own[1], labelled[1])
        delay = delays.parse(text)
        row = {"delay": name, "spread": delay.spread, "lemma": VISIT - visit_worth(delay, VISIT)}
        found = {"wasted_rare": visits[0.05][name], "wasted_even": visits[0.5][name]}
        found |= {"regret": own, "with_labels": labelled, "beyond": prices[name]}
        for what, (value, error) in found.items():
            row |= {what: value, f"{what}_error": error}
        rows.append(row | {"policy": chosen.policy, "runs": chosen.runs})
        print(
            name,
            *("{}: {:.0f} ± {:.0f}".format(what, *each) for what, each in found.items()),
            sep="; ",
            flush=True,
        )
    print(write_summary(chosen.results / "price.csv", rows))
    draw(chosen.out, visits, prices, chosen.policy)


if __name__ == "__main__":
    main()
