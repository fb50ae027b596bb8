"""How promising an arm is to Unmix, and between which limits its mean lies.

Of the variance V_j of an estimate a part is that of the arm's own rewards, as if from n_o labelled
plays; it is bounded by the binomial divergence. The rest leaked in from other arms and is added as
a Gaussian width. Without leaks the index is exactly KL-UCB++.
"""

from __future__ import annotations

import math

from latesum._compile import compiled
from latesum._kl_kernels import CLOSE, bernoulli_lower, bernoulli_upper, exploration
from latesum.policies.unmix.rows_kernels import KNOWN, PENDING, VISITS


@compiled
def split_variance(mean, variance, plays, runs, scale):  # type: ignore[no-untyped-def]
    """n_o, the labelled plays behind the arm's own part; V_leak, the rest; n_e, what both are worth."""
    typical = (mean * plays + 0.5) / (plays + 1.0)
    own = typical * (1.0 - typical)
    n_own = min(plays, max(plays - scale * runs, plays / 3.0, own / variance))
    return n_own, max(0.0, variance - own / n_own), min(n_own, own / variance)


@compiled
def index_values(mu, variances, counts, n_arms, scale, clock, horizon, values):  # type: ignore[no-untyped-def]
    """The index of every played arm, minus infinity for the others, into `values`.

    `counts` is that of `rows_kernels`; `scale` is the mean delay; a `horizon` of 0 is not known, and the
    index is then KL-UCB's.
    """
    for arm in range(n_arms):
        values[arm] = -math.inf
        if counts[KNOWN, arm] <= 0.0:
            continue
        mean = min(max(mu[arm], 0.0), 1.0)
        plays = counts[KNOWN, arm] + counts[PENDING, arm]
        runs = counts[VISITS, arm]
        n_own, leak, n_worth = split_variance(mean, variances[arm], plays, runs, scale)
        allowance = exploration(n_worth, n_arms, clock, horizon)
        width = bernoulli_upper(mean, allowance / n_own, CLOSE) - mean
        values[arm] = mean + math.sqrt(width * width + 2.0 * allowance * leak)


@compiled
def limits(mean, variance, plays, runs, scale, allowance, dispersion):  # type: ignore[no-untyped-def]
    """Lower and upper limit of one mean; `allowance` is half the square of the normal quantile.

    The arm's own rewards vary by the share `dispersion` of what 0/1 rewards do.
    """
    n_own, leak, _ = split_variance(mean, variance, plays, runs, scale)
    own = dispersion * allowance / n_own
    below, above = (
        mean - bernoulli_lower(mean, own, CLOSE),
        bernoulli_upper(mean, own, CLOSE) - mean,
    )
    leaked = 2.0 * allowance * leak
    return (
        max(0.0, mean - math.sqrt(below * below + leaked)),
        min(1.0, mean + math.sqrt(above * above + leaked)),
    )
