"""The delay that Unmix learns from totals alone: the figure of docs/research/unmix.md.

python examples/unmix/learned_delay.py docs/images/learned-delay.png
"""

import sys

from latesum import Problem, Unmix, simulate

TRUE = "uniform(0, 200)"
HORIZON = 250_000


def main() -> None:
    """Told half of the mean, on ten arms in a line; the true law is uniform."""
    means = [0.1 + 0.8 * arm / 9 for arm in range(10)]
    policy = Unmix(10, HORIZON, mean_delay=50)
    made = simulate(Problem(means, TRUE), policy, HORIZON, seed=1)
    made.policy.plot_delay(sys.argv[1] if len(sys.argv) > 1 else "learned-delay.png", true=TRUE)
    learned = made.policy.learned_delay()
    print(
        f"told 50, learned {learned.mean:.0f}; the true mean is 100. Regret {made.regret():,.0f}."
    )


if __name__ == "__main__":
    main()
