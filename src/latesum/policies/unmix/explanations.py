"""The explanations of what was seen: delay curves, each with its fit and its likelihood."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from latesum.delays import Delay
from latesum.policies.unmix import curves
from latesum.policies.unmix.curves import DelayCurve
from latesum.policies.unmix.segments import Floats, Segments

#: What believing costs that is not what was given, in minus twice the log-likelihood: 1 to 20.
KAPPA = 6.0
#: Where a mean delay is given: the multiples of it that may be true.
FACTORS = (0.5, 1.0, 2.0, 4.0)
#: Where the mean is a guess: the prior share of rewards that come at once.
ATOM = 0.2
#: Where nothing is given, the mean delays that may be true are this times powers of two: half of
#: the shortest delay, which is one round.
SMALLEST_SCALE = 0.5

# What follows is for cost only: Gauss-Newton steps of a fit from a neutral point; from which
# deficit on an explanation is left alone until all are fitted again.
STEPS = 3
FAR = 40.0
#: What was refuted by a margin is looked at again once the rounds have grown by so much at most:
#: budgets grow with twice their logarithm.
_MOST_GROWTH = 8.0
#: Minus twice the log-likelihood of what cannot be.
_UNLIKELY = 1e100
#: The largest mean that is asked about: at 1 a reward would have no variance.
_BELOW_ONE = 0.9999


@functools.cache
def kernels() -> Any:
    """The compiled part, imported once it is needed: to load the compiler takes a while."""
    from latesum.policies.unmix import model_kernels

    return model_kernels


class Design:
    """The plays that arrive in each segment, by the distributions of a curve."""

    def __init__(self, curve: DelayCurve) -> None:
        self._distributions = curve.distributions
        shape = len(curve.laws) + kernels().BAND, curve.bins.shape[1]
        self.arrivals: Floats = np.empty((len(curve.distributions), 0, *shape))
        self._known = [(0, 0)] * len(curve.distributions)  # segments and rounds

    def __deepcopy__(self, memo: dict[int, Any]) -> Design:
        """Without what arrived: to fill it again, where it is needed, is faster than to copy it."""
        new = copy.copy(self)
        new._known, new.arrivals = [(0, 0)] * len(self._known), self.arrivals[:, :0]
        return new

    def fill(self, segments: Segments, law: int) -> None:
        """Add what was played since the last time, by one distribution."""
        count, clock = self._known[law]
        if clock == segments.clock:
            return
        n_laws, size, *shape = self.arrivals.shape
        if size < segments.count:
            larger = np.empty((n_laws, 2 * segments.count, *shape))
            for each, (filled, _) in enumerate(self._known):
                larger[each, :filled] = self.arrivals[each, :filled]
            self.arrivals = larger
        about = self._distributions[law], self.arrivals[law]
        kernels().fill(max(0, count - 1), segments.table, segments.blocks, *about)
        self._known[law] = segments.count, segments.clock


class DelayExplanation:
    """A delay curve, and the fit of the means and of the weights of its bins by it.

    `cost` is minus twice the log-likelihood with all priors, and what it would cost to have all
    means within [0, 1]; `deficit` by how much it exceeds the least one, in units of the misfit.
    """

    def __init__(self, scale: float, penalty: float, curve: DelayCurve) -> None:
        self.scale, self.penalty, self.curve = scale, penalty, curve
        n_arms, self.n_bins = len(curve.laws), curve.bins.shape[1]
        #: How many times as late the rewards of each arm are as by `base`, and what that costs.
        self.base, self.ratios, self.charged = self, (1.0,) * n_arms, 0.0
        self.design, self.laws = Design(curve), curve.laws
        self._used_laws = set(curve.laws.tolist())
        #: Per arm that was not in doubt by this: its known rounds then, and when to test it again.
        self.refuted: dict[int, tuple[int, float]] = {}
        self.point: Floats = np.concatenate([curve.bins[0], np.full(n_arms, 0.5)])
        self.variances: Floats = np.ones(n_arms)
        self.means = [0.5] * n_arms  # not clipped to [0, 1]
        self.objective, self.misfit, self.cost, self.deficit = 0.0, 1.0, 0.0, 0.0
        self.fitted_at = 0  # the rounds that the fit knows
        #: At how many rounds to fit it again, and from a neutral point too.
        self.look_at = self.refit_at = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> DelayExplanation:
        """A copy that shares the curve, which nothing changes."""
        new = memo[id(self)] = copy.copy(self)
        new.point, new.variances = self.point.copy(), self.variances.copy()
        new.refuted = {**self.refuted}
        new.base, new.design = copy.deepcopy((self.base, self.design), memo)
        return new

    def with_ratios(self, ratios: tuple[float, ...]) -> DelayExplanation:
        """The same curve, with how many times as late each arm's rewards are."""
        new, factors = copy.copy(self), curves.delay_factors()
        later = sum(each != 1.0 for each in ratios)
        one_of_many = 2.0 * math.log(len(curves.DELAY_RATIOS) * (len(ratios) - 1)) * later
        new.ratios, new.scale = ratios, self.base.scale * max(ratios)
        new.penalty = self.base.penalty + one_of_many + KAPPA / 2 * later
        new.charged = one_of_many + 2.0 * KAPPA
        new.laws = np.array([factors.index(each) for each in ratios])
        new._used_laws = set(new.laws.tolist())
        new.point, new.variances = self.point.copy(), self.variances.copy()
        new.refuted, new.look_at = {}, 0.0
        return new

    def mean(self, arm: int) -> float:
        """The mean of an arm, within [0, 1]."""
        return min(max(self.means[arm], 0.0), 1.0)

    def worth(self, segments: Segments, arm: int) -> float:
        """How many attributed plays would tell as much of an arm: m (1 - m) / V."""
        plays = float(segments.known[arm] + segments.pending[arm])
        mean = (self.mean(arm) * plays + 0.5) / (plays + 1.0)
        return min(plays, mean * (1.0 - mean) / float(self.variances[arm] * self.misfit))

    @property
    def mean_delay(self) -> float:
        """The mean of the curve as it was fitted."""
        return float(self.point[: self.n_bins] @ self.curve.bins[2])

    def fit(
        self,
        segments: Segments,
        steps: int,
        point: Floats,
        held: tuple[int, float] = (-1, 0.0),
        dispersion: float = 1.0,
    ) -> tuple[float, float, float, float]:
        """Steps from `point`, in place; with one mean held, or none: `model_kernels.fit`."""
        design, (arm, value) = self.design, held
        if arm >= 0:
            point[self.n_bins + arm] = value
        for law in self._used_laws:
            design.fill(segments, law)
        variances = self.variances if point is self.point else self.variances.copy()
        seen = segments.table, segments.pending_from, design.arrivals, self.laws
        found: tuple[float, float, float, float] = kernels().fit(
            steps, arm, *seen, self.curve.bins, segments.typical, dispersion, point, variances
        )
        if not math.isfinite(sum(found)):  # absurd totals, which nothing explains
            point[:], variances[:] = self._neutral(segments), 1.0
            return _UNLIKELY, 1.0, 0.0, 0.0
        return found

    def refine(self, segments: Segments, steps: int = 1) -> None:
        """Steps from where the fit is."""
        self.objective, self.misfit, impossible, _ = self.fit(segments, steps, self.point)
        self.means = self.point[self.n_bins :].tolist()
        self.cost = self.objective + self.penalty * self.misfit + impossible
        self.fitted_at = segments.clock

    def refit(self, segments: Segments) -> None:
        """Fit from a neutral point too, and keep the likelier one."""
        other = copy.copy(self)
        other.point, other.variances = self._neutral(segments), self.variances.copy()
        other.refine(segments, STEPS)
        first = not self.fitted_at
        if not first:
            self.refine(segments)
        if first or other.objective < self.objective:
            vars(self).update(vars(other))

    def _neutral(self, segments: Segments) -> Floats:
        """The prior of the curve, after the silence at the start, and all means the same."""
        (prior, _, _, ends, *_), silence = self.curve.bins, segments.silence
        if silence * segments.typical >= Segments.FEWEST and silence <= ends[-1]:
            prior = np.where(ends < silence, 0.0, prior)
        point = np.full(len(self.point), segments.typical)
        point[: self.n_bins] = prior / prior.sum()
        return point

    def held(self, segments: Segments, arm: int, value: float, limit: float, far: float) -> float:
        """Minus twice the log-likelihood where the mean is `value`, as far as `limit` asks.

        From where the fit is, and from a neutral point where that is neither within nor `far` off.
        """
        point, held = self.point.copy(), (arm, value)
        found = self.fit(segments, 1, point, held)[0]
        if limit < found <= far:
            found = self.fit(segments, STEPS - 1, point, held)[0]
            if found > limit:
                again = self.fit(segments, STEPS, self._neutral(segments), held)[0]
                found = min(found, again)
        return found


class Explanations:
    """The set of explanations, of which `believed` has the least cost.

    What was given of the delay is one of them; without it there are all scales.
    """

    def __init__(
        self,
        n_arms: int,
        mean_delay: float | None,
        uncertainty: float,
        delays: Sequence[Delay] | None,
    ) -> None:
        self._n_arms = n_arms
        self._of_all_scales = mean_delay is None and delays is None
        self._may_differ = delays is None
        #: With one delay for all arms, and with arms whose delay is longer.
        self.common: list[DelayExplanation] = []
        self.with_late_arms: list[DelayExplanation] = []
        self._refuted: dict[tuple[DelayExplanation, tuple[float, ...]], float] = {}
        if delays is not None:
            scale = max(SMALLEST_SCALE, *(each.mean for each in delays))
            curve = curves.distribution_known((*delays, *delays[:1])[:n_arms])
            self.common.append(DelayExplanation(scale, 0.0, curve))
        elif mean_delay is not None:
            scale = max(SMALLEST_SCALE, mean_delay)
            given = DelayExplanation(scale, 0.0, curves.mean_known(scale, uncertainty, n_arms))
            self.common += [given, *(self._wide(each * scale, ATOM, KAPPA) for each in FACTORS)]
        else:
            self.common.append(self._wide(SMALLEST_SCALE, 0.0, 0.0))
        self.believed = self.common[0]
        #: The explanation by which the arm that is visited may be the best one.
        self.tested: DelayExplanation | None = None

    @property
    def all(self) -> list[DelayExplanation]:
        """All explanations."""
        return self.common + self.with_late_arms

    def _wide(self, scale: float, atom: float, penalty: float) -> DelayExplanation:
        curve = curves.mean_known(scale, curves.WIDE, self._n_arms, atom=atom)
        return DelayExplanation(scale, penalty, curve)

    def reach(self, longest: float) -> None:
        """Where nothing is given: scales up to the `longest` may be true, with an atom and not."""
        while self._of_all_scales and (last := self.common[-1].scale) <= longest:
            with_atom = len(self.common) % 2
            new = (last, ATOM, KAPPA) if with_atom else (2 * last, 0.0, 0.0)
            self.common.append(self._wide(*new))

    def look(self, segments: Segments) -> None:
        """Fit what may be believed or raise a doubt by now; the rest once the rounds have doubled.

        Common delays are fitted from a neutral point too whenever the rounds have grown fourfold.
        """
        clock = segments.clock
        for each in self.all:
            if clock >= each.refit_at and not each.charged:
                each.refit_at = 4.0 * clock
                each.refit(segments)
            elif clock >= each.look_at and each.fitted_at < clock:
                each.refine(segments)
        for each in self._believe(segments):
            budget = 2.0 * math.log(max(clock / max(each.scale, 1.0), 1.0))
            margin = each.deficit - each.penalty - budget
            each.look_at = min(_test_again_at(clock, margin), 2.0 * clock)

    def follow(self, segments: Segments) -> None:
        """Fit what is believed, and what is tested."""
        self.believed.refine(segments)
        if self.tested is not None and self.tested is not self.believed:
            self.tested.refine(segments)
        self._believe(segments)

    def _believe(self, segments: Segments) -> list[DelayExplanation]:
        """Believe the likeliest of those that know all segments, which are returned."""
        fitted = [each for each in self.all if each.fitted_at == segments.clock]
        self.believed = min(fitted, key=lambda each: each.cost)
        for each in fitted:
            each.deficit = (each.cost - self.believed.cost) / self.believed.misfit
        return fitted

    def add_late_arms(self, segments: Segments, index: dict[int, float], leader: int) -> None:
        """Let the rewards of an arm be later than those of the others, where that matters.

        Rewards that are r times as late can hide a mean that is at most r times as
        high; those of the leader may be earlier. What is refuted for a factor is also for larger
        ones.
        """
        if not self._may_differ or len(index) < 2:
            return
        self.with_late_arms = [
            each
            for each in self.with_late_arms
            if each.deficit <= _kept(segments, each) or each is self.believed
        ]
        likeliest = min(self.common, key=lambda each: each.cost)
        best = max(upper for arm, upper in index.items() if arm != leader)
        for base in dict.fromkeys((likeliest, self.believed)):
            known = {(each.base, each.ratios) for each in self.with_late_arms}
            for arm, upper in index.items():
                if base.ratios[arm] != 1.0:
                    continue
                factors = [each for each in curves.DELAY_RATIOS if each * upper >= index[leader]]
                if arm == leader:
                    factors = [1.0 / each for each in curves.DELAY_RATIOS if upper <= each * best]
                for factor in factors:
                    ratios = (*base.ratios[:arm], factor, *base.ratios[arm + 1 :])
                    if (base.base, ratios) in known:
                        continue
                    if self._is_refuted(segments, base, ratios):
                        break
        self._believe(segments)

    def _is_refuted(
        self, segments: Segments, base: DelayExplanation, ratios: tuple[float, ...]
    ) -> bool:
        """Whether arms' own delays cost too much; otherwise they are one more explanation."""
        if self._refuted.get((base.base, ratios), 0.0) > segments.clock:
            return True
        each, margin = base.with_ratios(ratios), 0.0
        for _ in range(STEPS - 1):
            if margin <= KAPPA:
                each.refine(segments)
                over = (each.cost - self.believed.cost) / self.believed.misfit
                margin = over - _kept(segments, each)
        if margin > 0.0:
            self._refuted[base.base, ratios] = _test_again_at(segments.clock, margin)
        else:
            self.with_late_arms.append(each)
        return margin > 0.0

    @property
    def longest_plausible(self) -> float:
        """The longest scale that is nearly as likely as the believed one."""
        believed, most = self.believed, KAPPA / self.believed.misfit
        atom = believed.base.penalty
        return max(
            (each.scale for each in self.common if each.penalty == atom and each.deficit <= most),
            default=believed.base.scale,
        )

    def in_doubt(
        self, segments: Segments, arm: int, value: float, share: float
    ) -> DelayExplanation | None:
        """An explanation that is not refuted and by which the mean of `arm` may be `value`.

        It is refuted once it costs more than 2 log min(share / n, t / s): n is what the arm's data
        are worth in attributed plays, `share` the rounds per arm, s the explanation's scale. To
        test it takes about s rounds; not to test it, if it is true with odds exp(-cost / 2),
        costs t.
        """
        least, misfit = self.believed.cost, self.believed.misfit
        value, plays = min(max(value, 0.0), _BELOW_ONE), segments.known[arm] + segments.pending[arm]
        own, known = max(value * (1.0 - value), 0.5 / plays), segments.known[arm]
        fitted = [each for each in self.all if each.fitted_at == segments.clock]
        for each in sorted(fitted, key=lambda each: each.deficit):
            if each.charged and each.ratios[arm] == 1.0 and each is not self.believed:
                continue  # a longer delay of other arms
            worth = min(plays, own / (each.variances[arm] * misfit))
            odds = min(share / worth, segments.clock / max(each.scale, 1.0))
            limit = least + (2.0 * math.log(max(odds, 1.0)) - each.charged) * misfit
            if each.cost - each.penalty * each.misfit > limit:
                continue
            if each.means[arm] >= value:
                return each
            if each.refuted.get(arm, (0, 0.0)) > (known, segments.clock):
                continue
            found = each.held(segments, arm, value, limit, limit + FAR * misfit)
            if found <= limit:
                return each
            each.refuted[arm] = known, _test_again_at(segments.clock, (found - limit) / misfit)
        return None


def _kept(segments: Segments, each: DelayExplanation) -> float:
    """How much an arm's own delay may cost: it is soon believed, or it raises a doubt."""
    return max(2.0 * math.log(segments.clock / each.scale) - 2.0 * KAPPA, KAPPA)


def _test_again_at(clock: int, margin: float) -> float:
    """When to test again what is over its budget by a margin: budgets grow by 2 log(t)."""
    return clock * math.exp(min(max(margin, 0.0) / 4.0, math.log(_MOST_GROWTH)))
