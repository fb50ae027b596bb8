"""What the paper proves of ODAAF, and what anonymity costs.

Of ODAAF: widths, failure probabilities, regret bounds, a lower bound. Every function names its
equation, lemma or theorem by its label in the paper (Pike-Burke, Agrawal, Szepesvari, Grunewalder,
ICML 2018). What the proofs support is the default; what is printed, where it differs, is
`corrected=False`.

>>> from latesum import theory
>>> from latesum.policies.schedules import KnownMean
>>> round(theory.half_width(KnownMean(50), phase=1, tolerance=0.5, horizon=250_000), 4)
0.2499
"""

from latesum.theory.bounds import (
    arm_regret_bound,
    bernoulli_divergence,
    failure_probability,
    half_width,
    lai_robbins,
    regret_bound,
    worst_case_regret,
)
from latesum.theory.visits import (
    LeastPlays,
    least_plays,
    limit_with_visits,
    visit_length,
    visit_worth,
)

__all__ = [
    "LeastPlays",
    "arm_regret_bound",
    "bernoulli_divergence",
    "failure_probability",
    "half_width",
    "lai_robbins",
    "least_plays",
    "limit_with_visits",
    "regret_bound",
    "visit_length",
    "visit_worth",
    "worst_case_regret",
]
