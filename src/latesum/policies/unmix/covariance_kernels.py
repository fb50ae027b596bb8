"""The noise of Unmix's rows: whitened equations from the covariance between rows.

Row c's total X_c has the expectation sum_i a_ci mu_i. A reward that arrives in one row is missing
in the others, so with p_s the shares of row s's plays that arrive in it and in the rows after it,

    Sigma = diag(a mu) - sum_s L_s mu_s^2 p_s p_s',

exactly for Bernoulli rewards, and an upper bound for any others in [0, 1]. Shares beyond the band
of rows are left out. The equations are divided by the Cholesky factor of Sigma row by row, so
rows that come later change nothing in earlier ones.

Four rows at a time: what a row s shares with the four is four neighbouring numbers in `band`, and each of them waits for the
same pivots, which take most of the time.
"""

from __future__ import annotations

import math

from latesum._compile import allocation_free, inlined
from latesum._lane_kernels import (
    LANES,
    are_zero,
    equal_lanes,
    keep,
    lanes,
    not_negative,
    number,
    padded,
)
from latesum.policies.unmix.design_kernels import BAND

#: The last dimension of `band`, which the loads of a row are written into as its shares are read. Behind the loads there are
#: zeros, since the last of four rows may be beyond the band, then sqrt(L_s), and what the row adds to minus twice the
#: log-likelihood. Behind a column of the factor there are zeros too: they are in front of the loads.
ROOT, NOISE = BAND + LANES - 1, BAND + LANES
BAND_PLACES = padded(NOISE + 1)
#: The places of `room`: what four rows share with each row before them in the band, and with each other; and for each what must
#: be expected to arrive in it at least, what is expected, and what is left of its variance.
_BEFORE, _WITHIN = 0, LANES * (BAND - 1)
_AT_LEAST = _WITHIN + LANES * LANES
_EXPECTED, _LEFT = _AT_LEAST + LANES, _AT_LEAST + 2 * LANES
ROOM = _LEFT + LANES

#: u_s, the mean of row s's arm, is taken to be no larger, so that Sigma stays positive.
_LARGEST_MEAN = 0.98
#: A row whose total is not known enters with this variance: it says nothing.
_NO_INFORMATION = 1e12
#: The least that is expected to arrive in a row, as a share of what a typical arm would earn in it.
_LEAST_EXPECTED = 0.02
_LEAST_VARIANCE = 0.25
_LEAST_VARIANCE_SHARE = 0.01
_LEAST_PIVOT = 0.05


@inlined
def _covariance(c, rows, low, band, room):  # type: ignore[no-untyped-def]
    """What four rows from c on, of which there are `rows`, share with each row from `low` on, into `room`.

    It is minus the sum of q_s,c-s q_s,j-s over s, for each j. What is not complete is held in registers, as a window that
    moves on with s: it is nine numbers for each of the four, since BAND is ten.
    """
    v0 = v1 = v2 = v3 = v4 = v5 = v6 = v7 = v8 = at_least = equal_lanes(0.0)
    for s in range(low, c):
        loads = lanes(band, (s, 1, c - s))
        at_least = at_least + number(band, (s, 1, ROOT)) * loads
        keep(room, _BEFORE + LANES * (s - low), v0 - number(band, (s, 1, 0)) * loads)
        v0 = v1 - number(band, (s, 1, 1)) * loads
        v1 = v2 - number(band, (s, 1, 2)) * loads
        v2 = v3 - number(band, (s, 1, 3)) * loads
        v3 = v4 - number(band, (s, 1, 4)) * loads
        v4 = v5 - number(band, (s, 1, 5)) * loads
        v5 = v6 - number(band, (s, 1, 6)) * loads
        v6 = v7 - number(band, (s, 1, 7)) * loads
        v7 = v8 - number(band, (s, 1, 8)) * loads
        v8 = equal_lanes(0.0) - number(band, (s, 1, 9)) * loads
    # By their own plays: of a row before s there are the zeros in front of the loads of s.
    loads = lanes(band, (c, 1, 0))
    at_least = at_least + number(band, (c, 1, ROOT)) * loads
    v0 = v0 - number(band, (c, 1, 0)) * loads
    v1 = v1 - number(band, (c, 1, 1)) * loads
    v2 = v2 - number(band, (c, 1, 2)) * loads
    v3 = v3 - number(band, (c, 1, 3)) * loads
    if rows > 1:
        loads = lanes(band, (c + 1, 1, -1))
        at_least = at_least + number(band, (c + 1, 1, ROOT)) * loads
        v1 = v1 - number(band, (c + 1, 1, 0)) * loads
        v2 = v2 - number(band, (c + 1, 1, 1)) * loads
        v3 = v3 - number(band, (c + 1, 1, 2)) * loads
    if rows > 2:
        loads = lanes(band, (c + 2, 1, -2))
        at_least = at_least + number(band, (c + 2, 1, ROOT)) * loads
        v2 = v2 - number(band, (c + 2, 1, 0)) * loads
        v3 = v3 - number(band, (c + 2, 1, 1)) * loads
    if rows > 3:
        loads = lanes(band, (c + 3, 1, -3))
        at_least = at_least + number(band, (c + 3, 1, ROOT)) * loads
        v3 = v3 - number(band, (c + 3, 1, 0)) * loads
    keep(room, _WITHIN, v0)
    keep(room, _WITHIN + LANES, v1)
    keep(room, _WITHIN + 2 * LANES, v2)
    keep(room, _WITHIN + 3 * LANES, v3)
    keep(room, _AT_LEAST, at_least)


@inlined
def _factors_before(c, low, band, room):  # type: ignore[no-untyped-def]
    """Write the columns `low` to c - 1 of the Cholesky factor into `band`, for the four rows from c on.

    Row j of the factor takes its part from what is between c and all rows after j: a window as in `_covariance`.
    """
    v0, v1, v2 = (
        lanes(room, _BEFORE),
        lanes(room, _BEFORE + LANES),
        lanes(room, _BEFORE + 2 * LANES),
    )
    v3, v4 = lanes(room, _BEFORE + 3 * LANES), lanes(room, _BEFORE + 4 * LANES)
    v5, v6 = lanes(room, _BEFORE + 5 * LANES), lanes(room, _BEFORE + 6 * LANES)
    v7, v8 = lanes(room, _BEFORE + 7 * LANES), lanes(room, _BEFORE + 8 * LANES)
    w0, w1, w2 = (
        lanes(room, _WITHIN),
        lanes(room, _WITHIN + LANES),
        lanes(room, _WITHIN + 2 * LANES),
    )
    left = lanes(room, _LEFT)
    for j in range(low, c):
        factors = v0 / number(band, (j, 0, 0))
        keep(band, (j, 0, c - j), factors)
        left = left - factors * factors
        v0 = v1 - number(band, (j, 0, 1)) * factors
        v1 = v2 - number(band, (j, 0, 2)) * factors
        v2 = v3 - number(band, (j, 0, 3)) * factors
        v3 = v4 - number(band, (j, 0, 4)) * factors
        v4 = v5 - number(band, (j, 0, 5)) * factors
        v5 = v6 - number(band, (j, 0, 6)) * factors
        v6 = v7 - number(band, (j, 0, 7)) * factors
        v7 = v8 - number(band, (j, 0, 8)) * factors
        w0 = w0 - number(band, (j, 0, c - j)) * factors
        w1 = w1 - number(band, (j, 0, c - j + 1)) * factors
        w2 = w2 - number(band, (j, 0, c - j + 2)) * factors
    keep(room, _WITHIN, w0)
    keep(room, _WITHIN + LANES, w1)
    keep(room, _WITHIN + 2 * LANES, w2)
    keep(room, _LEFT, left)


@inlined
def _pivots(c, rows, judged, band, room):  # type: ignore[no-untyped-def]
    """Write the rest of the factor of the `rows` from c on into `band`: what they share with each other."""
    for row in range(rows):
        left = number(room, _LEFT + row)
        for j in range(row):
            factor = number(room, _WITHIN + LANES * j + row) / number(band, (c + j, 0, 0))
            left -= factor * factor
            for later in range(j + 1, row):
                room[_WITHIN + LANES * later + row] -= factor * number(band, (c + j, 0, later - j))
            band[c + j, 0, row - j] = factor
        pivot = math.sqrt(max(left, _LEAST_PIVOT * (number(room, _EXPECTED + row) + 1.0)))
        band[c + row, 0, 0] = pivot
        if judged:
            band[c + row, 1, NOISE] = 2.0 * math.log(pivot)


@inlined
def _loads(s, own, table, shares, point, n_bins, band):  # type: ignore[no-untyped-def]
    """Write the loads of row s into `band`; `own` is the mean of its arm."""
    root = math.sqrt(table[s, 1] - table[s, 0])
    scale = min(max(own, 0.0), _LARGEST_MEAN) * root
    near = middle = far = equal_lanes(0.0)  # SHARES is three times LANES
    for g in range(n_bins):
        weight = number(point, g)
        near = near + weight * lanes(shares, (s, g, 0))
        middle = middle + weight * lanes(shares, (s, g, LANES))
        far = far + weight * lanes(shares, (s, g, 2 * LANES))
    keep(band, (s, 0, BAND_PLACES - LANES), equal_lanes(0.0))
    keep(band, (s, 1, 0), scale * not_negative(near))
    keep(band, (s, 1, LANES), scale * not_negative(middle))
    keep(band, (s, 1, 2 * LANES), scale * not_negative(far))
    for k in range(BAND, ROOT):
        band[s, 1, k] = 0.0
    band[s, 1, ROOT] = root


@inlined
def _whiten_row(row, low, width, band, equations):  # type: ignore[no-untyped-def]
    """Whiten the equation of a row that shares noise with those from `low` on."""
    pivot = number(band, (row, 0, 0))
    place = 0
    while place + 3 * LANES <= width:  # sixteen at a time, so that none waits for another
        a = lanes(equations, (row, place))
        b = lanes(equations, (row, place + LANES))
        c = lanes(equations, (row, place + 2 * LANES))
        d = lanes(equations, (row, place + 3 * LANES))
        for s in range(row - 1, low - 1, -1):
            factor = number(band, (s, 0, row - s))
            a = a - factor * lanes(equations, (s, place))
            b = b - factor * lanes(equations, (s, place + LANES))
            c = c - factor * lanes(equations, (s, place + 2 * LANES))
            d = d - factor * lanes(equations, (s, place + 3 * LANES))
        keep(equations, (row, place), a / pivot)
        keep(equations, (row, place + LANES), b / pivot)
        keep(equations, (row, place + 2 * LANES), c / pivot)
        keep(equations, (row, place + 3 * LANES), d / pivot)
        place += 4 * LANES
    while place <= width:
        values = lanes(equations, (row, place))
        for s in range(row - 1, low - 1, -1):
            values = values - number(band, (s, 0, row - s)) * lanes(equations, (s, place))
        keep(equations, (row, place), values / pivot)
        place += LANES


@inlined
def _expect(c, table, design, n_eps, point, equations):  # type: ignore[no-untyped-def]
    """Write the equation of a row, not whitened, into `equations`; what is expected to arrive in it."""
    n_bins, n_arms = design.shape[1], design.shape[2]
    first_mean = n_bins + n_eps
    for place in range(equations.shape[1]):
        equations[c, place] = 0.0
    expected, known_part = 0.0, 0.0
    for i in range(n_arms):
        mean = point[first_mean + i]
        block = point[n_bins + i] if n_eps > 0 else 0.0
        plays, change = 0.0, 0.0  # a_ci, and its change with eps_i
        for g in range(n_bins):
            slope = design[c, g, i, 1]
            arriving_plays = design[c, g, i, 0] + block * slope
            plays += point[g] * arriving_plays
            change += point[g] * slope
            equations[c, g] += mean * arriving_plays
        plays = max(plays, 0.0)
        equations[c, first_mean + i] = plays
        expected += plays * min(max(mean, 0.0), 1.0)
        if n_eps > 0:
            equations[c, n_bins + i] = mean * change
            known_part += mean * change * block
    for g in range(n_bins):
        known_part += equations[c, g] * point[g]
    right = known_part if math.isnan(table[c, 3]) else known_part + table[c, 3]
    equations[c, first_mean + n_arms] = right
    return expected


@allocation_free
def whiten(first, pending, count, typical, judged, table, design, shares, n_eps, point, equations, band, room):  # type: ignore[no-untyped-def]  # fmt: skip
    """Whiten the equations of rows `first` to `count` - 1; those before are whitened already.

    Rows from `pending` on are still to be reported: they are whitened as if they were known.
    A whitened equation has the places theta, eps, mu and the right side, and zeros behind; `point` is where they are
    linearised. `band` takes, per row s, the column of the Cholesky factor below its diagonal and the loads
    q_sk = u_s sqrt(L_s) sum_g theta_g P_sgk. `typical` is m0, the mean total per round.
    `room` is room for four rows of the band; with `judged` it is noted what rows add to the likelihood.

    Sigma and its factor are zero to the left of the first row that shares noise with row c: what is
    certain to be zero is left out.
    """
    n_bins, n_arms = design.shape[1], design.shape[2]
    first_mean = n_bins + n_eps
    width = first_mean + n_arms
    for s in range(first, count):
        own = point[first_mean + int(table[s, 2])]
        _loads(s, own, table, shares, point, n_bins, band)
    for c in range(first, count, LANES):
        rows = min(LANES, count - c)
        low = max(0, c - BAND + 1)
        while low < c and are_zero(lanes(band, (low, 1, c - low))):
            keep(band, (low, 0, c - low), equal_lanes(0.0))
            low += 1
        _covariance(c, rows, low, band, room)
        for row in range(rows):
            expected = _expect(c + row, table, design, n_eps, point, equations)
            # The second keeps Sigma positive where the curve and the stretched one disagree.
            length = table[c + row, 1] - table[c + row, 0]
            mean_total = max(
                expected, number(room, _AT_LEAST + row), _LEAST_EXPECTED * length * typical
            )
            left = max(
                mean_total + number(room, _WITHIN + LANES * row + row),
                _LEAST_VARIANCE,
                _LEAST_VARIANCE_SHARE * mean_total,
            )
            if c + row < pending and math.isnan(table[c + row, 3]):
                left += _NO_INFORMATION
            room[_EXPECTED + row], room[_LEFT + row] = mean_total, left
        _factors_before(c, low, band, room)
        _pivots(c, rows, judged, band, room)
        for row in range(c, c + rows):
            _whiten_row(row, max(low, row - BAND + 1), width, band, equations)
