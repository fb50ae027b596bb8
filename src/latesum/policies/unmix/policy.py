"""Unmix: optimism over the explanations of all totals by means and a delay curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.delays import Delay
from latesum.delays.parsing import parse_each
from latesum.policies.base import Believed, Block, Play, Policy
from latesum.policies.estimates import Units
from latesum.policies.saving import StatusQuo, check_history, check_status_quo
from latesum.policies.unmix import report
from latesum.policies.unmix.curves import mean_difference
from latesum.policies.unmix.explanations import SMALLEST_SCALE, Explanations, kernels
from latesum.policies.unmix.segments import Segments

#: The longest first visit to an arm, in units: by then most of its rewards have come.
FIRST_BLOCK = 3.0
#: All first visits get at most this share of the rounds, and no delay is longer than one of them.
FIRST_SHARE = 0.25
#: The length of a segment in units: shorter ones tell little more of when rewards come.
SEGMENT = 0.5
#: Staying with the leader adds this share to its known rounds before the next decision.
STAY_SHARE = 0.2

#: By what share of it a given mean delay may be wrong, unless that is given too.
_UNCERTAINTY = 0.1
#: Where no horizon is known, the least number of rounds to plan for.
_LEAST_PLAN = 1000


class Unmix(Policy):
    """Explains the totals of all segments by the arms' means and a delay curve, with optimism.

    A block is reported in segments of about half a mean delay, which say when rewards arrived.
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
        self._delays = None if delay is None else parse_each(delay, n_arms)
        for each in self._delays or ():
            if not math.isfinite(each.mean):
                raise InvalidInput(
                    f"the delay {each.text} has no finite mean; bound it, or leave the delay out "
                    "and Unmix learns it."
                )
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

    def _reset(self) -> None:
        self._order = [int(arm) for arm in self._rng.permutation(self.n_arms)]
        self._arm = self._remaining = 0
        #: Where nothing is given: the next block's length while the delay cannot be seen yet.
        self._ramp = Segments.FEWEST if self._nothing_given else 0
        #: All explanations are fitted again when this many rounds are over; then doubts are due.
        self._look_at, self._look_due = 0, True
        #: The unit of visits: what a visit loses to late rewards, about one mean delay.
        self._unit, self._shortest = max(self.mean_delay or 0.0, SMALLEST_SCALE), 0.0
        self._loses_little = self.mean_delay is not None and self.mean_delay < 1.0
        if self._delays is not None:
            loss = max(map(mean_difference, self._delays))
            # With shorter segments, those that share noise are beyond the band of the fit.
            self._shortest = max(each.mean for each in self._delays) / (kernels().BAND - 1)
            self._unit = max(loss, self._shortest, SMALLEST_SCALE)
            self._loses_little = loss < 1.0
        unknowns = self.n_arms + (self.status_quo == "other")
        before = self.n_arms if self.status_quo == "other" else self.status_quo
        self.segments = Segments(unknowns, before)
        self.explanations = Explanations(unknowns, self.mean_delay, self.uncertainty, self._delays)
        for arm, rounds, total in self.history:
            self._add(arm, rounds, total)
        if self.history:
            self._fit()
        self._decide()

    def _learn(self, play: Play) -> None:
        arm, rounds, total, *_ = play
        self._add(arm, rounds, total)
        if arm == self._arm and rounds < self._remaining:
            self._remaining -= rounds
        else:
            self._fit()
            self._decide()

    def _add(self, arm: int, rounds: int, total: float | None) -> None:
        merged_after = math.inf if self._ramp else self._later_visit
        if self._nothing_given:  # not while the delay may be longer than it seems
            merged_after *= max(1.0, self.explanations.longest_plausible / self._unit)
        self.segments.add(arm, rounds, total, merged_after)

    def _fit(self) -> None:
        """Fit all explanations when the rounds have doubled, otherwise go one step further."""
        segments, explanations = self.segments, self.explanations
        if segments.clock >= self._look_at or self._ramp:
            self._look_at, self._look_due = 2 * segments.clock, True
            explanations.reach(min(self._most_of_first_visit, 4.0 * segments.clock))
            explanations.look(segments)
            known = [arm for arm in self._remaining_arms() if segments.known[arm]]
            if not self._ramp and known:
                explanations.add_late_arms(segments, self._upper_limits(known), self._leader(known))
        else:
            explanations.follow(segments)
        if self._nothing_given:
            self._unit = max(explanations.believed.base.scale, SMALLEST_SCALE)

    def _decide(self) -> None:
        """The arm to play next, and for how long."""
        if self._ramp and self._goes_on_with_ramp():
            return
        segments, arm = self.segments, self._choose()
        rounds = max(Segments.FEWEST, self._unit)
        if arm == segments.last_arm:
            # A visit to another arm is followed more closely than a stay with the leader.
            means, others = self.explanations.believed.means, range(self.n_arms)
            leads = all(means[arm] >= means[each] for each in others if segments.known[each])
            share = STAY_SHARE if leads else STAY_SHARE / 2
            rounds = max(share * segments.known[arm], self._segment)
        elif not segments.visits[arm]:
            silence = segments.silence if self._nothing_given else 0
            rounds = min(max(rounds, silence), max(Segments.FEWEST, self._most_of_first_visit))
        self._arm, self._remaining = arm, _whole(rounds)
        if self.horizon is not None and self.rounds_played < self.horizon:
            self._remaining = min(self._remaining, self.horizon - self.rounds_played)

    def _goes_on_with_ramp(self) -> bool:
        """Blocks of 8, 16, 32, ... on one arm after the other, until the delay can be seen."""
        segments, order = self.segments, self._remaining_arms()
        if segments.count:
            seen = self._ramp >= 2 * self.explanations.longest_plausible
            enough = seen and segments.rewards >= Segments.FEWEST
            if enough or self._ramp > self._most_of_first_visit:
                self._ramp = 0
                segments.visits = [0] * segments.n_arms  # nothing is known of the arms yet
                return False
        last = segments.last_arm if segments.count else -1
        following = order.index(last) + 1 if last in order else 0
        self._arm, self._remaining = order[following % len(order)], self._ramp
        self._ramp *= 2
        return True

    def _choose(self) -> int:
        """The arm to play: go on with the visit; a new arm; an arm in doubt; the best index."""
        segments, explanations, order = self.segments, self.explanations, self._remaining_arms()
        last = segments.last_arm
        new = sorted(filter(self._is_new, order), key=lambda arm: segments.played[arm] > 0)
        known = [arm for arm in order if segments.known[arm]]
        if not segments.count:
            return order[0]
        if last in order:
            later = segments.visits[last] > 1 and segments.block_rounds >= self._unit
            if not (later and new) and self._visit_goes_on(last, known):
                return last
            new = [arm for arm in new if arm != last]
        tested, explanations.tested = explanations.tested, None
        if new or not known:
            return new[0] if new else last if last in order else order[0]
        values, leader = self._upper_limits(known), self._leader(known)
        arm = max(known, key=values.__getitem__)
        if arm == leader and (self._look_due or tested is not None):
            self._look_due = False
            explanations.look(segments)
            values, arm = self._upper_limits(known), self._leader(known)
            means = explanations.believed.means
            for other in sorted(known, key=means.__getitem__, reverse=True):
                if other != arm and self._in_doubt(other, values[arm]):
                    return other
        return arm

    def _is_new(self, arm: int) -> bool:
        """Not visited yet, or all its totals are missing; it gets a tenth of all rounds."""
        segments = self.segments
        if not segments.visits[arm] or segments.known[arm] or segments.pending[arm]:
            return not segments.visits[arm]
        return segments.visits[arm] == 1 or segments.played[arm] <= STAY_SHARE / 2 * segments.clock

    def _visit_goes_on(self, arm: int, known: list[int]) -> bool:
        """While its index is above the other arms' means, or, in doubt, while the doubt lasts."""
        segments, believed = self.segments, self.explanations.believed
        rounds, most = segments.block_rounds, self._most_of_first_visit
        others = [other for other in known if other != arm]
        if not others:  # the very first visit lasts until the arm has shown what it earns
            short = rounds < 2 * self._unit or segments.rewards < Segments.FEWEST
            return short and rounds < min(2 * FIRST_BLOCK * self._unit, most)
        cap = max(self._later_visit, segments.known[arm] - rounds)
        if segments.visits[arm] <= 1:
            cap = min(FIRST_BLOCK * self._unit, most)
        if rounds >= cap or not segments.known[arm]:
            return rounds < cap
        best = self._leader(others)
        if self.explanations.tested is not None and believed.means[best] > believed.means[arm]:
            value = believed.means[best]
            if not self._in_doubt(arm, value):
                self.explanations.look(segments)
                return self._in_doubt(arm, value)
            return True
        # A visit that ends early is soon followed by another, which loses late rewards again.
        values = self._upper_limits([arm, best])
        return values[arm] >= (values[best] if self._loses_little else believed.mean(best))

    def _in_doubt(self, arm: int, value: float) -> bool:
        """Whether some explanation, which is then tested, says that its mean may be `value`."""
        share = max(self.horizon or 0, self.segments.clock) / self.n_arms
        found = self.explanations.in_doubt(self.segments, arm, value, share)
        self.explanations.tested = found or self.explanations.tested
        return found is not None

    def _leader(self, arms: list[int]) -> int:
        return max(arms, key=self.explanations.believed.means.__getitem__)

    def _upper_limits(self, arms: Iterable[int]) -> dict[int, float]:
        """KL-UCB++ by what is believed, for as many attributed plays as the data are worth."""
        believed, index = self.explanations.believed, kernels().index
        about = self.n_arms, float(self.rounds_played), float(self.horizon or 0)
        return {
            arm: index(believed.mean(arm), believed.worth(self.segments, arm), *about)
            for arm in arms
        }

    def _remaining_arms(self) -> list[int]:
        return [arm for arm in self._order if arm not in self._dropped]

    @property
    def _later_visit(self) -> float:
        """A later visit may always last three times as long as a first one."""
        return 3.0 * FIRST_BLOCK * self._unit

    @property
    def _segment(self) -> float:
        return max(SEGMENT * self._unit, self._shortest)

    @property
    def _most_of_first_visit(self) -> float:
        """Of the planned rounds, or of twice those so far."""
        clock = self.rounds_played
        planned = max(2 * clock, _LEAST_PLAN)
        if self.horizon and self.horizon > clock:
            planned = self.horizon
        return FIRST_SHARE * planned / self.n_arms

    def _next(self) -> Block:
        if self._ramp:  # a quarter of the block, which is half of the next one
            segment = max(1, self._ramp // 8)
        else:
            segments, shortest = self.segments, self._segment
            played = segments.block_rounds if self._arm == segments.last_arm else 0
            segment = min(_whole(max(shortest, played / 2)), self._remaining)
            if self._remaining - segment < shortest:
                segment = self._remaining
        return Block(self._arm, self._remaining, "learn", segment=segment)

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._decide()

    def _estimates(self, level: float) -> list[Believed]:
        return report.estimates(self.explanations, self.segments, level)[: self.n_arms]

    def _findings(self, units: Units) -> list[str]:
        segments, believed, found = self.segments, self.explanations.believed, list[str]()
        if self._ramp:
            found.append("Nothing is known of the delay yet: blocks double until it can be seen.")
        elif self._delays is None and any(segments.known):
            late, mean = units.rounds(believed.mean_delay), self.mean_delay
            given = "" if mean is None else f" (given: {units.rounds(mean)})"
            found.append(f"Rewards are about {late} late on average{given}.")
        limits = self._upper_limits([arm for arm in range(self.n_arms) if segments.known[arm]])
        return found + report.findings(believed, segments, limits, self.names, units)

    def _reason(self) -> str:
        tested = self.explanations.tested
        return report.reason(self.segments, self._arm, bool(self._ramp), tested)


def _whole(rounds: float) -> int:
    return max(1, math.floor(rounds + 0.5))
