"""Unmix: the arms' means and the delay's curve, recovered together from the totals of parts.

The mathematics stand in one file each: `design_kernels` (what is expected to arrive in a row),
`covariance_kernels` (the noise that rows share), `fit_kernels` (means and curve in one step),
`index_kernels` (how promising an arm is) and `visits_kernels` (how long it is played). `rows_kernels` and
`step_kernels` put them together: a part is added, and what comes next is decided, in one compiled call over arrays. `curve`
is what is known of the delay, `search` how it is looked for, `rows` keeps what was played and seen, and `policy` is the policy.
"""

from latesum.policies.unmix.policy import Unmix

__all__ = ["Unmix"]
