"""The model of Unmix as formulas, in plain NumPy: `model_kernels` computes the same on bands.

For a delay tau, H(n) = E min(tau, n) is how many of n plays in a row are still in flight at their
end. Of a block [p, q) that ended earlier, H(u - p) - H(u - q) - H(v - p) + H(v - q) plays arrive in
the segment [u, v), and of the segment's own L plays L - H(L). The delay is a mixture of bins g with
weights theta_g, so with A_cgi the plays of arm i that arrive in segment c by bin g,

    E X_c = sum_gi theta_g mu_i A_cgi.

A reward that arrives in one segment is missing in the others. With p_s the shares of segment s's
plays that arrive in it and in those after it, rewards of 0 or 1 have exactly

    Sigma = diag(E X) - sum_s L_s mu_s^2 p_s p_s',

and any others in [0, 1] no more. Weights and means are fitted by generalized least squares with
priors: theta_g around pi_g with precision w / pi_g, the delay's mean around the given one, and each
mu_i around the mean total per round, as if it were known from one round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latesum.policies.unmix.curves import DelayCurve
from latesum.policies.unmix.segments import Floats, Segments


def in_flight(n: float, pieces: Floats, g: int) -> float:
    """H(n) of a bin: a mixture of uniform pieces on low + 1, ..., high (0 where both are 0)."""
    total = 0.0
    for low, high, weight, _ in pieces[pieces[:, 3] == g]:
        values = np.arange(low + 1, high + 1) if high > 0 else np.zeros(1)
        total += weight * float(np.minimum(values, max(n, 0.0)).mean())
    return total


def plays_arriving(segments: Segments, curve: DelayCurve) -> tuple[Floats, Floats]:
    """A_cgi, and p_sgc: the share of segment s's plays that arrives in segment c, by bin."""
    table, n_bins = segments.table, curve.bins.shape[1]
    plays = np.zeros((len(table), n_bins, segments.n_arms))
    shares = np.zeros((len(table), n_bins, len(table)))

    of_arm = [curve.distributions[law] for law in curve.laws]

    def of_earlier(u: float, v: float, p: float, q: float, arm: int, g: int) -> float:
        at = [in_flight(n, of_arm[arm], g) for n in (u - p, u - q, v - p, v - q)]
        return at[0] - at[1] - at[2] + at[3]

    for c, (u, v, arm, *_) in enumerate(table):
        for g in range(n_bins):
            own = v - u - in_flight(v - u, of_arm[int(arm)], g)
            plays[c, g, int(arm)] += own
            shares[c, g, c] = own / (v - u)
            for p, q, other in segments.blocks:
                if p < min(q, u):
                    arm_of = int(other)
                    plays[c, g, arm_of] += of_earlier(u, v, p, min(q, u), arm_of, g)
            for s in range(c):
                p, q, other = table[s, :3]
                shares[s, g, c] = of_earlier(u, v, p, q, int(other), g) / (q - p)
    return plays, shares


def covariance(segments: Segments, plays: Floats, shares: Floats, point: Floats) -> Floats:
    """Sigma, from A and p, at the weights and means of `point`."""
    n_bins = plays.shape[1]
    weights, means = point[:n_bins], point[n_bins:]
    sigma = np.diag(np.einsum("cgi,g,i->c", plays, weights, means))
    for s, (start, end, arm, *_) in enumerate(segments.table):
        share = weights @ shares[s]
        sigma -= (end - start) * means[int(arm)] ** 2 * np.outer(share, share)
    return sigma


class Step(NamedTuple):
    """A Gauss-Newton step: the new point, the means' variances, minus twice the log-likelihood."""

    point: Floats
    variances: Floats
    objective: float


def step(segments: Segments, curve: DelayCurve, point: Floats) -> Step:
    """One step from `point`, all totals being known and no weight coming out negative.

    E X is linear around the point:
    X + theta A mu = sum_g theta_g (A mu)_g + sum_i mu_i (theta A)_i.
    The solution has sum theta = 1, by a multiplier.
    """
    n_bins, width = curve.bins.shape[1], len(point)
    prior, precision, bin_means, _, (mean, *_), (mean_sd, *_) = curve.bins
    plays, shares = plays_arriving(segments, curve)
    by_weight = np.einsum("cgi,i->cg", plays, point[n_bins:])
    by_mean = np.einsum("cgi,g->ci", plays, point[:n_bins])
    equations = np.hstack([by_weight, by_mean])
    right = segments.table[:, 3] + by_weight @ point[:n_bins]
    sigma = covariance(segments, plays, shares, point)
    inverse = np.linalg.inv(sigma)

    matrix = equations.T @ inverse @ equations
    matrix += np.diag(np.concatenate([precision, np.ones(width - n_bins)]))
    side = equations.T @ inverse @ right
    side += np.concatenate([precision * prior, np.full(width - n_bins, segments.typical)])
    if mean_sd > 0:
        matrix[:n_bins, :n_bins] += np.outer(bin_means, bin_means) / mean_sd**2
        side[:n_bins] += bin_means * mean / mean_sd**2
    border = np.concatenate([np.ones(n_bins), np.zeros(width - n_bins)])
    bordered = np.block([[matrix, border[:, None]], [border[None, :], np.zeros((1, 1))]])
    found = np.linalg.solve(bordered, np.append(side, 1.0))[:-1]
    variances = np.diag(np.linalg.inv(bordered))[n_bins:width]

    left = right - equations @ found
    objective = float(left @ inverse @ left + np.linalg.slogdet(sigma)[1])
    objective += float(np.sum(precision * (found[:n_bins] - prior) ** 2))
    if mean_sd > 0:
        objective += float(((found[:n_bins] @ bin_means - mean) / mean_sd) ** 2)
    return Step(found, variances, objective)
