"""Unmix: the arms' means and the delay's curve, recovered together from the totals of segments.

`policy` is the rule, `explanations` the delay curves that may be true with their likelihoods,
`model` the design, covariance and fit as formulas in NumPy, and `model_kernels` the same compiled.
`curves` has the prior knowledge of the delay, `segments` what was played and seen, `report` what
is said of it.
"""

from latesum.policies.unmix.policy import Unmix

__all__ = ["Unmix"]
