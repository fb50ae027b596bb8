"""Unmix: explains the totals of all parts by means and a delay curve, and plays an index."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays import Delay, parse, tabulated
from latesum.policies.base import (
    Block,
    Play,
    Policy,
)
from latesum.policies.estimates import Units, say_estimate, say_status_quo
from latesum.policies.history import StatusQuo, check_history, check_status_quo
from latesum.policies.unmix.curve import Floats, known_laws, told_mean
from latesum.policies.unmix.rows import IN_DOUBT, PartRows, VisitPlan
from latesum.policies.unmix.search import (
    DOUBT,
    DOUBTS_FROM,
    LATE_DOUBT,
    SMALLEST,
    UNCERTAINTY,
    Found,
    doubted_longer,
    likeliest,
    second_opinion,
    visited_once,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SMALLEST_SCALE = 0.2
_USUAL_UNCERTAINTY = 0.1
_USUAL_DIFFERENCE = 0.05
#: While nothing is known of the delay, blocks of 8, 16, 32, ... rounds are played until the next is
#: this multiple of the largest plausible length scale, and rewards flow.
_FIRST_RAMP = 8
_SEEN = 2.0
#: Then the scale is searched for again whenever the rounds have grown by this factor.
_SEARCH_AGAIN = 2.0
#: Where a mean was told: after how many of it there is a second opinion, and by what factor rounds have
#: grown when there is another.
_FIRST_OPINION, _OPINION_AGAIN = 20.0, 6.0
#: From how many told means on it is late to doubt.
_LATE_DOUBTS_FROM = 600.0
#: A delay is looked for up to this part of the horizon, or of the usual one where none is told.
_LONGEST_DELAY = 20
_USUAL_HORIZON = 2_000_000
#: What an explanation says: the length scale of the delay, the means, and their variances.
Said = tuple[float, Floats, Floats]


class Unmix(Policy):
    """Explains the totals of all parts by the arms' means and a delay curve, and plays an index.

    A block is told in parts of about half a mean delay, which say *when* rewards arrived. Their
    totals are a bilinear function of the means and of the delay's curve; both are fitted by
    generalised least squares with the covariance between parts: a reward that arrives in one part
    is missing in the others. An arm is visited until its index falls below the best estimate of the
    other arms, or its data have doubled; then the arm with the best index is next.

    It needs only a guess of the delay. Tell it what is known: the `mean_delay` and the share
    `uncertainty` by which it may be wrong; or the whole law as `delay`, one for all arms or a list
    with one per arm; or neither, if nothing is known of the delay.

    Args:
        n_arms: The number of arms.
        horizon: The rounds to plan for; None if that is not known (the index is then KL-UCB's).
        mean_delay: The delay's mean, in rounds.
        uncertainty: By what share of it the mean may be wrong (one standard deviation).
        delay: The delay's law, such as "exponential(50)"; a list has one law per arm.
        delays_differ: By what share arms' delays differ (one standard deviation); 0: not at all.
            Where it is not told, 0.05, or 0 if the law is told.
        status_quo: What ran before the start: None (nothing), an arm, or "other" (none of the arms).
        history: Parts that were played before the start, oldest first, as (arm, rounds, total or
            None); `status_quo` is then what ran before the first of them.
        names: The arms' names.
        rng: The generator that the order of first visits is drawn from.

    >>> policy = Unmix(2, 250_000, mean_delay=50, rng=np.random.default_rng(1))
    >>> policy.ask()
    Block(arm=0, rounds=50, purpose='learn', number=1, segment=25)
    >>> policy.tell(0, 25, total=4)
    >>> policy.ask()
    Block(arm=0, rounds=25, purpose='learn', number=1, segment=25)

    References: `docs/theory.md`; Menard and Garivier (2017), A minimax and asymptotically optimal
    algorithm for stochastic bandits, ALT.
    """

    kind = "unmix"
    random = True
    learns_from = "segments"
    #: What was reported last: the rows, the rounds and the rows that were known then, how much rewards vary, and what
    #: was said of the means.
    _reported: tuple[PartRows, tuple[int, int], tuple[float, list[Said]]] | None = None
    takes_new_options = True

    #: The arms that can be played, in the order of first visits, and which were dropped then.
    _ordered: tuple[frozenset[int] | None, NDArray[np.int64]]
    #: What is planned, as compiled code has left it.

    def __init__(
        self,
        n_arms: int,
        horizon: int | None = None,
        *,
        mean_delay: float | None = None,
        uncertainty: float = _USUAL_UNCERTAINTY,
        delay: Delay | str | Sequence[Delay | str] | None = None,
        delays_differ: float | None = None,
        status_quo: StatusQuo = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.n_arms = n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.horizon = None if horizon is None else whole_number(horizon, "the horizon", at_least=1)
        if mean_delay is not None and delay is not None:
            raise InvalidInput("tell Unmix either the mean_delay or the whole delay, not both.")
        self.mean_delay = mean_delay
        if mean_delay is not None:
            self.mean_delay = finite_number(mean_delay, "the mean delay", at_least=0)
        self.uncertainty = finite_number(
            uncertainty, "the uncertainty of the mean delay, a share of it,", above=0
        )
        if mean_delay is None and uncertainty != _USUAL_UNCERTAINTY:
            raise InvalidInput(
                "the uncertainty is that of the mean_delay; tell Unmix both, or leave both out."
            )
        self.delays_differ = delays_differ
        if delays_differ is not None:
            self.delays_differ = finite_number(
                delays_differ, "the share by which delays differ", at_least=0, at_most=1
            )
        self._laws = None if delay is None else _laws(delay, n_arms)
        self.delay = None if self._laws is None else _texts(self._laws)
        self.status_quo = check_status_quo(status_quo, n_arms)
        self.history = check_history(history, n_arms)
        super().__init__(n_arms, names=names, rng=rng)

    @classmethod
    def prior_knowledge(
        cls, known: Mapping[str, Any], written: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What a simulation tells where nothing is written: the mean delay, not the whole law.

        Args:
            known: All that is true of the problem, by the names of parameters.
            written: The parameters that were written.
        """
        left_out = {"delay"} if written.get("delay") is None else {"delay", "mean_delay"}
        return {key: value for key, value in known.items() if key not in left_out}

    # What it knows.

    @property
    def scale(self) -> float:
        """The length scale of the delay, in rounds: the mean as told, or what was learned of it."""
        return self._scale

    def learned_delay(self) -> Delay:
        """The delay's law as it is believed now: what was told, corrected by what was seen.

        >>> Unmix(2, 1000, mean_delay=10).learned_delay().mean > 5
        True
        """
        if self._laws is not None:
            return self._laws[0]
        curve, theta = self._rows.curve, self._rows.theta
        times, shares = [0.0], [0.0]
        for high, weight in zip(curve.highs.tolist(), theta.tolist(), strict=True):
            if high > 0:
                times.append(high)
                shares.append(shares[-1] + weight)
            else:
                shares[0] += weight
        return tabulated(times, [min(share / shares[-1], 1.0) for share in shares])

    def plot_delay(
        self, path: str | Path | None = None, *, true: Delay | str | None = None
    ) -> Figure:
        """The delay as learned, beside what was told (needs the extra "plots").

        Args:
            path: A file to draw it into, such as "delay.png".
            true: The true law, where it is known, as in a simulation.

        >>> Unmix(2, 1000, mean_delay=10).plot_delay(true="constant(12)").axes[0].get_xlabel()
        'rounds after the play'
        """
        from latesum.policies.unmix.picture import draw_learned

        law = None if true is None else parse(true)
        return draw_learned(self.learned_delay(), self.mean_delay, law, path)

    def _reset(self) -> None:
        assert self._rng is not None
        self._order = [int(arm) for arm in self._rng.permutation(self.n_arms)]
        self._forget_order()
        #: Where nothing was told: the length of the next block while the delay is looked for, the
        #: largest length scale that is plausible, and when to search again.
        self._ramp: int | None = None
        self._plausible, self._search_at = 0.0, 0.0
        #: Whether a wide curve was found likelier than the one that was told.
        self._wide = False
        #: Whether a part of the rewards may come at once, where the curve is wide.
        self._at_once = True
        #: The arms that are in doubt and will be visited next.
        self._doubted: list[int] = []
        #: Where nothing was told: the length scale of the delay by which they are.
        self._doubt_scale = 0.0
        self._arm = self._left = self._why = 0
        self._part: int | None = None  # the next part, once it is known
        if self._told_nothing:
            self._scale, self._ramp = SMALLEST, _FIRST_RAMP
        else:
            self._scale = self._told_scale
            self._search_at = _FIRST_OPINION * self._scale
        self._rows = self._new_rows()
        for arm, rounds, total in self.history:
            self._add(arm, rounds, total)
        if self.history:
            self._fit()
        self._decide()

    @property
    def _told_nothing(self) -> bool:
        return self.mean_delay is None and self._laws is None

    @property
    def _told_scale(self) -> float:
        if self._laws is not None:
            return max(*(law.mean for law in self._laws), _SMALLEST_SCALE)
        return max(self.mean_delay or 0.0, _SMALLEST_SCALE)

    def _new_rows(self) -> PartRows:
        unknowns = self.n_arms + (self.status_quo == "other")
        if self._laws is not None:
            curve = known_laws((*self._laws, *self._laws[:1])[:unknowns])
        else:
            sure = UNCERTAINTY if self._told_nothing or self._wide else self.uncertainty
            curve = told_mean(self._scale, sure, unknowns, at_once=self._at_once)
        differ = self.delays_differ
        if differ is None:
            differ = _USUAL_DIFFERENCE if self._laws is None else 0.0
        rows = PartRows(unknowns, curve, differ)
        if self.status_quo is not None:
            rows.add_status_quo(self.n_arms if self.status_quo == "other" else int(self.status_quo))
        return rows

    def _snapshot(self) -> Any:
        plan = [self._arm, self._left, self._why]
        search = [
            self._scale,
            self._plausible,
            self._search_at,
            self._ramp,
            self._wide,
            self._at_once,
            *([list(self._doubted)] if self._doubted else []),
            *([self._doubt_scale] if self._doubted and self._told_nothing else []),
        ]
        return [self._order, plan, search, self._rows.to_json()]

    def _restore(self, learned: Any) -> None:
        self._order, plan, search, rows = learned
        self._forget_order()
        self._arm, self._left, self._why = plan
        self._part = None
        self._scale, self._plausible, self._search_at, self._ramp, *curve = search
        curve += [(), 0.0][len(curve) - 2 :]
        self._wide, self._at_once, doubted, self._doubt_scale = curve
        self._doubted = list(doubted)
        self._rows = self._new_rows()
        self._rows.load(rows)

    # How it decides.

    def _learn(self, play: Play) -> None:
        arm, rounds, total, *_ = play
        if self._ramp is None:
            was = self._why
            self._arm, self._why, self._left, self._part = self._rows.learn(
                arm, rounds, total, self._plan()
            )
            if self._why < 0:
                self._search_and_decide(was)
            return
        self._add(arm, rounds, total)
        if arm == self._arm and rounds < self._left:
            self._left -= rounds
        else:
            self._search()
            self._decide()

    def _search_and_decide(self, was: int) -> None:
        """It is time to search, or a visit to an arm in doubt is over; `was` is why it was played."""
        if was == IN_DOUBT and not self._doubted:  # what was seen says which explanation is right
            self._search(go_on=True)
        elif self._rows.clock >= self._search_at:
            self._search()
        self._decide()

    def _add(self, arm: int, rounds: int, total: float | None) -> None:
        # Rows are not merged while the delay may be longer than it seems.
        scale = max(self._scale, self._plausible) if self._ramp is None else math.inf
        self._rows.add(arm, rounds, total, scale)

    def _plan(self) -> VisitPlan:
        return VisitPlan(
            self._arm, self._left, self._why, self._scale, self._plausible,
            # What comes before and after a visit to an arm in doubt is not decided there.
            0.0 if self._doubted or self._why == IN_DOUBT else self._search_at,
            self._in_order(), self.n_arms, float(self.rounds_played), float(self.horizon or 0),
            self._told_nothing,
        )  # fmt: skip

    def _fit(self) -> None:
        """Estimate means and curve, and look for the delay's length scale where it is time to."""
        if self._ramp is None:
            self._rows.fit()
        if self._ramp is not None or self._rows.clock >= self._search_at:
            self._search()

    def _search(self, *, go_on: bool = False) -> None:
        """Look for the delay anew; with `go_on` after a visit to an arm in doubt, for the arms not visited since."""
        rows = self._rows
        if not self._told_nothing:
            self._reconsider(go_on=go_on)
            return
        found = self._likeliest()
        if (
            self._ramp is not None
            or (found.scale, found.at_once) != (self._scale, self._at_once)
            or found.rows.objective < rows.objective
        ):
            self._scale, self._at_once, self._rows = found.scale, found.at_once, found.rows
        self._plausible = found.plausible
        if self._ramp is None:
            arms = self._in_order().tolist()
            self._doubt_scale, doubted = doubted_longer(self._rows, found, arms)
            since = self._search_at / _SEARCH_AGAIN if go_on else math.inf
            self._doubted = self._to_visit(doubted, since)
        if not go_on:
            self._search_at = _SEARCH_AGAIN * rows.clock

    def _likeliest(self) -> Found:
        longest = (self.horizon or _USUAL_HORIZON) / _LONGEST_DELAY
        return likeliest(self._rows, longest)

    def _reconsider(self, *, go_on: bool = False) -> None:
        """A second opinion; with `go_on` that after a visit to an arm in doubt, for the arms not visited since the first."""
        told, rows = self._told_scale, self._rows
        if self._laws is None:
            arms = self._in_order().tolist()
            late = rows.clock >= _LATE_DOUBTS_FROM * told
            self._scale, self._wide, self._rows, doubted = second_opinion(
                rows, self._scale, self._wide, told, arms, LATE_DOUBT if late else DOUBT
            )
            if rows.clock >= DOUBTS_FROM * told:
                doubted = (*doubted, *visited_once(self._rows, arms))
                since = self._search_at / _OPINION_AGAIN if go_on else math.inf
                self._doubted = self._to_visit(doubted, since)
        if not go_on:
            self._search_at = _OPINION_AGAIN * rows.clock

    def _to_visit(self, doubted: Sequence[int], since: float) -> list[int]:
        """Of the arms in doubt those to visit before there is another opinion; not those that were visited `since`."""
        # One visit says more of the delay, and may end the doubt of the others: the best one first, which costs least.
        rows = self._rows
        left = [
            arm for arm in doubted
            if since == math.inf or (arm != rows.last_arm and rows.began(arm) < since)
        ]  # fmt: skip
        return sorted(left, key=lambda arm: -rows.mu[arm])[:1]

    def _decide(self) -> None:
        self._part = None
        if self._ramp is not None:
            if self._go_on_with_ramp():
                return
            self._ramp = None
        while self._doubted:
            arm = self._doubted.pop(0)
            if arm not in self._dropped:
                self._visit_again(arm)
                return
        self._arm, self._why, self._left = self._rows.decide(self._plan())

    def _visit_again(self, arm: int) -> None:
        scale = max(self._scale, self._doubt_scale if self._told_nothing else self._told_scale)
        rounds = int(_visits().doubt_length(scale, self._share, self._told_nothing))
        if self.horizon is not None and self.rounds_played < self.horizon:
            rounds = min(rounds, self.horizon - self.rounds_played)
        self._arm, self._why, self._left = arm, IN_DOUBT, rounds

    def _go_on_with_ramp(self) -> bool:
        """Blocks of 8, 16, 32, ... on one arm after the other, until the delay can be seen."""
        assert self._ramp is not None
        rows, available = self._rows, self._in_order().tolist()
        seen = self._ramp >= _SEEN * self._plausible and rows.flowing
        if rows.count and (seen or self._ramp > self._share):
            return False
        last = rows.last_arm if rows.count else None
        place = available.index(last) + 1 if last in available else 0
        self._arm = available[place % len(available)]
        self._left = self._ramp
        self._ramp *= 2
        return True

    def _values(self) -> Floats:
        from latesum.policies.unmix import index_kernels

        rows = self._rows
        values: Floats = np.empty(self.n_arms)
        index_kernels.index_values(
            rows.mu, rows.variances[1], rows.counts, self.n_arms, self._scale, float(self.rounds_played),
            float(self.horizon or 0), values,
        )  # fmt: skip
        return values

    @property
    def _share(self) -> float:
        """The most that a first visit may take of the rounds that are planned for."""
        horizon, told = float(self.horizon or 0), float(self.rounds_played)
        return float(_visits().first_visit_share(horizon, told, self.n_arms))

    def _in_order(self) -> NDArray[np.int64]:
        """The arms that can be played, in the order of their first visits."""
        if self._ordered[0] is not self._dropped:
            left = [arm for arm in self._order if arm not in self._dropped]
            self._ordered = self._dropped, np.array(left)
        return self._ordered[1]

    def _forget_order(self) -> None:
        self._ordered = None, np.arange(0)

    def _next(self) -> Block:
        if self._ramp is not None:  # a quarter of the block, which is half of the next one
            return Block(self._arm, self._left, "learn", segment=max(1, self._ramp // 8))
        if self._part is None:
            self._part = self._rows.next_part(self._arm, self._left, self._scale)
        return Block(self._arm, self._left, "learn", segment=self._part)

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._decide()

    # What it says.

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        from scipy.special import ndtri

        from latesum.policies.unmix import index_kernels

        plays = self._known_rounds(arm)
        if plays == 0:
            return None, 0.0, 1.0, 0
        runs, allowance = self._rows.counts[2, arm], float(ndtri(0.5 + level / 2)) ** 2 / 2
        dispersion, said = self._for_limits()
        low, high = 1.0, 0.0
        for scale, means, variances in said:
            mean = min(max(float(means[arm]), 0.0), 1.0)
            below, above = index_kernels.limits(
                mean, variances[arm], float(plays), runs, scale, allowance, dispersion
            )
            low, high = min(low, float(below)), max(high, float(above))
        return self._mean(arm), low, high, plays

    def _for_limits(self) -> tuple[float, list[Said]]:
        """How much rewards vary, and what each plausible explanation says of the means: for reports, not for decisions.

        Where nothing was told, the delay is not known better than that: limits hold by all of them.
        """
        rows = self._rows
        seen = rows.clock, rows.reported
        if self._reported is None or self._reported[0] is not rows or self._reported[1] != seen:
            said = [(self._scale, rows.mu, rows.variances[0])]
            if self._told_nothing:
                said += [
                    (scale, under.mu.copy(), under.variances[0].copy())
                    for scale, _, under in self._likeliest().as_plausible
                ]
            self._reported = rows, seen, (rows.dispersion(), said)
        return self._reported[2]

    def _mean(self, arm: int) -> float:
        """The estimate of a mean, as it is reported."""
        return min(max(float(self._rows.mu[arm]), 0.0), 1.0)

    def _known_rounds(self, arm: int) -> int:
        return int(self._rows.counts[0, arm])

    def _findings(self, units: Units) -> list[str]:
        rows = self._rows
        found = list[str]()
        if self._ramp is not None:
            found.append("Nothing is known of the delay yet: blocks double until it can be seen.")
        elif self._laws is None and rows.reported:
            mean = float(rows.theta @ rows.curve.bin_means)
            mean_delay = self.mean_delay
            given = "" if mean_delay is None else f" (given: {units.rounds(mean_delay)})"
            found.append(f"Rewards are about {units.rounds(mean)} late on average{given}.")
        if self.status_quo == "other" and rows.reported:
            found.append(say_status_quo(self._mean(self.n_arms), units))
        if rows.misfit > 1.5:
            found.append(
                f"Totals vary {math.sqrt(rows.misfit):.1f} times as much as rewards and delays of one law "
                "explain; all intervals are wider by that."
            )
        values = self._values()
        for arm, name in enumerate(self.names):
            plays = rows.counts[0, arm]
            if not plays:
                continue
            mean = self._mean(arm)
            typical = (mean * plays + 0.5) / (plays + 1)
            worth = min(typical * (1 - typical) / rows.variances[0, arm], plays)
            found.append(say_estimate(name, mean, worth, values[arm], units))
        return found

    def reason(self) -> str:
        visits = _visits()
        if self._ramp is not None:
            known = "" if not self._nothing_known() else ", because nothing is known yet"
            return f"to see how late its rewards come{known}"
        if self._why == visits.NOT_TRIED:
            return "because it has not been tried yet"
        if self._nothing_known():
            return "because nothing is known yet"
        if not self._known_rounds(self._arm):
            return "because nothing is known of it yet"
        if self._why == IN_DOUBT:
            return (
                "because it may be as good as the best one, if rewards come otherwise than it seems"
            )
        if self._why == visits.GOES_ON:
            return "because it may still be the best"
        return "because it looks most promising"


@functools.cache
def _visits() -> Any:
    """The compiled part, imported once it is needed: to load the compiler takes a while."""
    from latesum.policies.unmix import visits_kernels

    return visits_kernels


@functools.cache
def _steps() -> Any:
    from latesum.policies.unmix import step_kernels

    return step_kernels


def _laws(delay: Delay | str | Sequence[Delay | str], n_arms: int) -> tuple[Delay, ...]:
    if isinstance(delay, (str, Delay)):
        laws: tuple[Delay, ...] = (parse(delay),) * n_arms
    else:
        laws = tuple(parse(each) for each in delay)
    if len(laws) != n_arms:
        raise InvalidInput(
            f"give Unmix one delay for all arms or one for each of the {n_arms}, not {len(laws)}."
        )
    for law in laws:
        if not math.isfinite(law.mean):
            raise InvalidInput(
                f"the delay {law.text} has no finite mean; bound it, or leave the delay out and "
                "Unmix learns it."
            )
    return laws


def _texts(laws: tuple[Delay, ...]) -> Any:
    texts = [law.text for law in laws]
    return texts[0] if len(set(texts)) == 1 else texts
