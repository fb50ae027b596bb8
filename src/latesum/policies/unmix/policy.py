"""Unmix: optimism over the explanations of all totals by means and a delay curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum._extras import figure_class, save
from latesum.delays import Delay, exponential, parse, tabulated
from latesum.policies.base import Believed
from latesum.policies.estimates import PLAIN, Units
from latesum.policies.history import StatusQuo, check_history, check_status_quo
from latesum.policies.unmix.curves import (
    distribution_known,
    distributions,
    mean_difference,
    mean_known,
)
from latesum.policies.unmix.explanations import (
    SMALLEST_SCALE,
    DelayExplanation,
    Explanations,
    kernels,
)
from latesum.policies.unmix.rule import Rule
from latesum.policies.unmix.segments import Segments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNCERTAINTY = 0.1
#: The figure ends where this share has arrived, by the curve that takes longest, or at this many
#: means of the longest one.
_SHOWN_SHARE, _SHOWN_MEANS = 0.99, 6.0


class Unmix(Rule):
    """Explains the totals of all segments by the arms' means and a delay curve, with optimism.

    A block is reported in segments of about half a mean delay, which say *when* rewards arrived.
    Their totals are a bilinear function of the means and of the delay's curve. Several explanations
    are kept: curves of half, once, twice and four times the mean that was given, or of all lengths
    where nothing was given, each fitted by generalized least squares. The likeliest is believed,
    and the arm with the best index by it is played. An arm that looks worse is visited again while
    some explanation that is not yet refuted says that it may be as good as the best one.

    Give it what is known of the delay: the `mean_delay` and the share `uncertainty` by which it may
    be wrong; or the whole distribution as `delay`, one for all arms or a list with one per arm; or
    nothing.

    Args:
        n_arms: The number of arms.
        horizon: The rounds to plan for; None if that is not known (the index is then KL-UCB's).
        mean_delay: The delay's mean, in rounds.
        uncertainty: By what share of it the mean may be wrong (one standard deviation).
        delay: The delay's distribution, such as "exponential(50)"; a list has one per arm.
        status_quo: What was played before the start: None (nothing), an arm, or "other" (no arm).
        history: Segments that were played before the start, oldest first, as (arm, rounds, total or
            None); `status_quo` is then what was played before them.
        names: The arms' names.
        rng: The generator that the order of first visits is drawn from.

    >>> policy = Unmix(2, 250_000, mean_delay=50, rng=np.random.default_rng(1))
    >>> policy.ask()
    Block(arm=0, rounds=50, purpose='learn', number=1, segment=25)
    >>> policy.tell(0, 25, total=4)
    >>> policy.ask()
    Block(arm=0, rounds=25, purpose='learn', number=1, segment=25)

    References: `docs/research/unmix.md`; Menard and Garivier (2017), A minimax and asymptotically
    optimal algorithm for stochastic bandits, ALT.
    """

    kind = "unmix"
    index = "kl-ucb++"
    random = True
    learns_from = "segments"
    takes_new_options = True
    assumes_equal_delays = False

    def __init__(
        self,
        n_arms: int,
        horizon: int | None = None,
        *,
        mean_delay: float | None = None,
        uncertainty: float = _UNCERTAINTY,
        delay: Delay | str | Sequence[Delay | str] | None = None,
        status_quo: StatusQuo = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.n_arms = n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.horizon = None if horizon is None else whole_number(horizon, "the horizon", at_least=1)
        if mean_delay is not None and delay is not None:
            raise InvalidInput("give Unmix either the mean_delay or the whole delay, not both.")
        self.mean_delay = mean_delay
        if mean_delay is not None:
            self.mean_delay = finite_number(mean_delay, "the mean delay", at_least=0)
        self.uncertainty = finite_number(
            uncertainty, "the uncertainty of the mean delay, a share of it,", above=0
        )
        if mean_delay is None and uncertainty != _UNCERTAINTY:
            raise InvalidInput(
                "the uncertainty is that of the mean_delay; give Unmix both, or leave both out."
            )
        self._delays = None if delay is None else distributions(delay, n_arms)
        self._nothing_given = mean_delay is None and delay is None
        texts = [each.text for each in self._delays or ()]
        self.delay = texts[0] if len(set(texts)) == 1 else texts or None
        self.status_quo = check_status_quo(status_quo, n_arms)
        self.history = check_history(history, n_arms)
        super().__init__(n_arms, names=names, rng=rng)

    @classmethod
    def prior_knowledge(
        cls, known: Mapping[str, Any], written: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What a simulation gives where nothing is written: the mean delay, not the whole law."""
        left_out = {"delay"} if written.get("delay") is None else {"delay", "mean_delay"}
        return {key: value for key, value in known.items() if key not in left_out}

    def _clear(self) -> None:
        """No segments, and the explanations that there are at the start."""
        unknowns = self.n_arms + (self.status_quo == "other")
        ran = self.n_arms if self.status_quo == "other" else self.status_quo
        self._segments = Segments(unknowns, ran)
        #: The unit of visits: what a visit loses to late rewards, about one mean delay.
        self._unit = max(self.mean_delay or 0.0, SMALLEST_SCALE)
        self._loss = math.inf if self.mean_delay is None else self.mean_delay
        self._shortest, given, scale = 0.0, None, None
        if self._delays is not None:
            mean = max(each.mean for each in self._delays)
            # With shorter segments, those that share noise are beyond the band of the fit.
            self._shortest = mean / (kernels().BAND - 1)
            self._loss = max(map(mean_difference, self._delays))
            self._unit = max(self._loss, self._shortest, SMALLEST_SCALE)
            curve = distribution_known((*self._delays, *self._delays[:1])[:unknowns])
            given = DelayExplanation(max(mean, SMALLEST_SCALE), 0.0, curve)
        elif self.mean_delay is not None:
            scale = self._unit
            given = DelayExplanation(scale, 0.0, mean_known(scale, self.uncertainty, unknowns))
        self._explanations = Explanations(unknowns, given, scale)

    def _estimates(self, level: float) -> list[Believed]:
        segments, believed = self._segments, self._explanations.believed
        if not any(segments.known):
            return [(None, 0.0, 1.0, 0)] * self.n_arms
        limits = self._explanations.limits(segments, NormalDist().inv_cdf(0.5 + level / 2))
        return [
            (believed.mean(arm), *limits[arm], plays) if plays else (None, 0.0, 1.0, 0)
            for arm, plays in enumerate(segments.known[: self.n_arms])
        ]

    def learned_delay(self) -> Delay:
        """The delay's distribution as it is believed now."""
        if self._delays is not None:
            return self._delays[0]
        believed, times, shares = self._explanations.believed, [0.0], [0.0]
        for high, weight in zip(believed.curve.bins[3], believed.weights.tolist(), strict=True):
            if high > 0:
                times.append(high)
                shares.append(shares[-1] + weight)
            else:
                shares[0] += weight
        return tabulated(times, [min(share / shares[-1], 1.0) for share in shares])

    def plot_delay(
        self, path: str | Path | None = None, *, true: Delay | str | None = None
    ) -> Figure:
        """The delay as learned, beside what was given (needs the extra "plots").

        Args:
            path: A file to draw it into, such as "delay.png".
            true: The true distribution, where it is known, as in a simulation.
        """
        curves = [("learned", self.learned_delay(), "#0072B2", "-")]
        if self.mean_delay:
            given = f"given: a mean of {self.mean_delay:,.4g}"
            curves.append((given, exponential(self.mean_delay), "#D55E00", "--"))
        if true is not None:
            curves.append((f"true: {parse(true).text}", parse(true), "black", ":"))
        return draw_delays(curves, path)

    def _findings(self, units: Units) -> list[str]:
        segments, believed = self._segments, self._explanations.believed
        found = list[str]()
        if self._ramp:
            found.append("Nothing is known of the delay yet: blocks double until it can be seen.")
        elif self._delays is None and segments.reported_rounds:
            late, mean = units.rounds(believed.mean_delay), self.mean_delay
            given = "" if mean is None else f" (given: {units.rounds(mean)})"
            found.append(f"Rewards are about {late} late on average{given}.")
        if self.status_quo == "other" and segments.reported_rounds:
            found.append(units.status_quo(believed.mean(self.n_arms)))
        if believed.misfit > 1.5:
            found.append(
                f"Totals vary {math.sqrt(believed.misfit):.1f} times as much as rewards and delays "
                "of one distribution explain; all intervals are wider by that."
            )
        known = [arm for arm in range(self.n_arms) if segments.known[arm]]
        for arm, value in self._index(known).items():
            worth = min(believed.worth(segments, arm), segments.known[arm])
            found.append(units.estimate(self.names[arm], believed.mean(arm), worth, value))
        return found

    def _reason(self) -> str:
        """Why the block that `ask` names comes next; for an arm in doubt, by which explanation."""
        segments, arm = self._segments, self._arm
        nothing_known = not any(segments.known)
        if self._ramp:
            known = ", because nothing is known yet" if nothing_known else ""
            return f"to see how late its rewards come{known}"
        if not segments.played[arm]:
            return "because it has not been tried yet"
        if nothing_known:
            return "because nothing is known yet"
        if not segments.known[arm]:
            return "because nothing is known of it yet"
        if (tested := self._explanations.tested) is not None:
            late = PLAIN.rounds(tested.scale)
            return f"because it may be as good as the best one if rewards are about {late} late"
        if not segments.visits[arm]:  # it was the status quo, or the delay was sought
            return "because too little is known of it yet"
        if arm == segments.last_arm:
            return "because it may still be the best"
        return "because it looks most promising"


def draw_delays(curves: Sequence[tuple[str, Delay, str, str]], path: str | Path | None) -> Figure:
    """The share of rewards that has arrived over time, by each curve: label, delay, color, line."""
    longest = max(delay.mean for _, delay, *_ in curves)
    end = max(delay.quantile(_SHOWN_SHARE) for _, delay, *_ in curves)
    times = np.linspace(0, min(end, _SHOWN_MEANS * longest), 600)
    figure = figure_class()(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for label, delay, color, line in curves:
        arrived = 1 - delay.survival(np.floor(times).astype(np.int64))
        axes.plot(times, arrived, line, color=color, label=label)
    axes.set_xlim(0, times[-1])
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("rounds after the play")
    axes.set_ylabel("share of rewards that has arrived")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")
    return save(figure, path)
