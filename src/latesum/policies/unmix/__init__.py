"""Unmix: the arms' means and the delay's curve, recovered together from the totals of parts.

The mathematics stand in one file each: `design_kernels` (what is expected to arrive in a row),
`covariance_kernels` (the noise that rows share), `fit_kernels` (means and curve in one step),
`index_kernels` (how promising an arm is) and `visits` (how long it is played). `curve` is what is
known of the delay, `rows` what was played and seen, and `policy` puts them together.
"""

from latesum.policies.unmix.policy import Unmix

__all__ = ["Unmix"]
