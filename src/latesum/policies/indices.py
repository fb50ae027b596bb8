"""How promising an arm is: the optimistic indices that the flow policies choose by."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = Literal["kl-ucb++", "kl-ucb", "ucb1"]

#: The indices by name, with their numbers in the compiled code.
INDICES: dict[str, int] = {"kl-ucb++": 0, "kl-ucb": 1, "ucb1": 2}


def index_values(
    index: str, means: Floats, counts: Floats, *, clock: int, horizon: int | None = None
) -> Floats:
    """The index of every arm from its estimated mean and its (effective) number of plays.

    With n plays of mean m, t rounds so far, horizon T and K arms:

    - "kl-ucb++" (Menard and Garivier, 2017): the largest q with n kl(m, q) <= ln(x (1 + ln(x)^2)),
      x = max(1, T / (K n)). Past the horizon, t takes the place of T. Without a horizon it is
      "kl-ucb".
    - "kl-ucb" (Garivier and Cappe, 2011): the largest q with n kl(m, q) <= ln(t + 1).
    - "ucb1" (Auer, Cesa-Bianchi, Fischer, 2002): m + sqrt(2 ln(t + 1) / n).

    An arm without plays has the index minus infinity: it is for the caller to play it.

    >>> values = index_values(
    ...     "kl-ucb", np.array([0.5, 0.6]), np.array([100.0, 900.0]), clock=1000
    ... )
    >>> values.round(3).tolist()
    [0.68, 0.659]
    """
    from latesum.policies import flow_kernels

    values: Floats = flow_kernels.index_values(
        INDICES[index], means, counts, float(clock), float(horizon or 0)
    )
    return values


def thinned_index_values(
    index: str,
    means: Floats,
    own: Floats,
    plays: Floats,
    totals: Floats,
    *,
    clock: int,
    horizon: int | None = None,
) -> Floats:
    """A KL index of every arm from totals that rewards have leaked out of and into.

    The total S of an arm is a sum of n' terms in [0, 1] (`plays`), and its expectation is `own` times
    the arm's mean plus what leaked in. So with g as in `index_values` for own^2 / n' plays, the
    expectation is at most n' q where n' kl(S / n', q) <= g, and the index is the estimated mean and
    (n' q - S) / own. Without leaks, own = n', it is the index of `index_values`. It may be above 1.

    >>> values = thinned_index_values(
    ...     "kl-ucb", np.array([0.97, 0.97]), np.array([300.0, 200.0]), np.array([300.0, 400.0]),
    ...     np.array([291.0, 242.5]), clock=1000,
    ... )
    >>> values.round(3).tolist()
    [0.994, 1.145]
    """
    from latesum.policies import flow_kernels

    values = np.empty(len(means))
    flow_kernels.fill_thinned_index(
        INDICES[index], means, own, plays, totals, float(clock), float(horizon or 0),
        np.zeros((len(means), 5)), values,
    )  # fmt: skip
    return values


def upper_limit(mean: float, allowance: float) -> float:
    """The largest q with kl(mean, q) <= allowance.

    >>> round(upper_limit(0.5, 0.02), 4)
    0.599
    """
    from latesum.policies import flow_kernels

    return float(flow_kernels.kl_upper(_share(mean), allowance))


def lower_limit(mean: float, allowance: float) -> float:
    """The smallest q with kl(mean, q) <= allowance.

    >>> round(lower_limit(0.5, 0.02), 4)
    0.401
    """
    from latesum.policies import flow_kernels

    return float(flow_kernels.kl_lower(_share(mean), allowance))


def _share(mean: float) -> float:
    return min(max(mean, 0.0), 1.0)
