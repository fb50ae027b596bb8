"""Unmix: the arms' means and the delay's curve, recovered together from the totals of segments.

`rule` is the rule, `explanations` the delay curves that may be true with their likelihoods,
`model` the design, covariance and fit as formulas in NumPy, and `model_kernels` the same compiled.
`curves` says what is known of a delay, `segments` keeps what was played and seen, and `policy` has
what Unmix is given and what it says.
"""

from latesum.policies.unmix.policy import Unmix

__all__ = ["Unmix"]
