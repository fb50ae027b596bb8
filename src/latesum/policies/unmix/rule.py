"""The rule of Unmix: optimism over explanations. `docs/research/unmix.md` has it as pseudo-code."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable

from latesum.policies.base import Block, Play, Policy
from latesum.policies.history import History
from latesum.policies.unmix.explanations import SMALLEST_SCALE, DelayExplanation, Explanations
from latesum.policies.unmix.segments import Segments

#: The longest first visit to an arm, in units: by then most of its rewards have come.
FIRST_VISIT = 3.0
#: All first visits get at most this share of the rounds, and no delay is longer than one of them.
FIRST_SHARE = 0.25
#: The length of a segment in units: shorter ones tell little more of when rewards come.
SEGMENT = 0.5
#: Staying with the leader adds this share to its known rounds before the next decision.
STAY_SHARE = 0.2


class Rule(Policy):
    """What Unmix does; `Unmix` adds what it is given and what it says."""

    horizon: int | None
    history: History
    _nothing_given: bool
    _segments: Segments
    _explanations: Explanations
    _unit: float  # of visits: what a visit loses to late rewards, about one mean delay
    _loss: float  # how many plays a visit loses to late rewards, if that is known
    _shortest: float  # the shortest segment, where it is not a share of the unit

    @abstractmethod
    def _clear(self) -> None:
        """No segments, the explanations that there are at the start, and the unit of visits."""

    def _reset(self) -> None:
        self._order = [int(arm) for arm in self._rng.permutation(self.n_arms)]
        self._arm = self._remaining = 0
        #: Where nothing is given: the next block's length while the delay cannot be seen yet.
        self._ramp = Segments.FEWEST if self._nothing_given else 0
        #: All explanations are fitted again when this many rounds are over; then doubts are due.
        self._look_at, self._look_due = 0, True
        self._clear()
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
        # Segments are not merged while the delay may be longer than it seems.
        longest = self._explanations.longest_plausible if self._nothing_given else self._unit
        merged_after = self._later_visit * max(1.0, longest / self._unit)
        self._segments.add(arm, rounds, total, math.inf if self._ramp else merged_after)

    def _fit(self) -> None:
        """Fit all explanations when the rounds have doubled, otherwise go one step further."""
        segments, explanations = self._segments, self._explanations
        if segments.clock >= self._look_at or self._ramp:
            self._look_at, self._look_due = 2 * segments.clock, True
            explanations.reach(min(self._most_of_first_visit, 4.0 * segments.clock))
            explanations.look(segments)
            known = [arm for arm in self._order if segments.known[arm] and arm not in self._dropped]
            if not self._ramp and known:
                explanations.stretch(segments, self._index(known), self._leader(known))
        else:
            explanations.follow(segments)
        if self._nothing_given:
            self._unit = max(explanations.believed.base.scale, SMALLEST_SCALE)

    def _decide(self) -> None:
        order = [arm for arm in self._order if arm not in self._dropped]
        if self._ramp and self._goes_on_with_ramp(order):
            return
        segments = self._segments
        arm = self._choose(order)
        if arm == segments.last_arm:
            # A visit to another arm is followed more closely than a stay with the leader.
            share = STAY_SHARE if self._leads(arm) else STAY_SHARE / 2
            rounds = max(share * segments.known[arm], self._segment)
        else:
            rounds = max(Segments.FEWEST, self._unit)
            if not segments.visits[arm]:
                silence = segments.silence if self._nothing_given else 0
                rounds = min(max(rounds, silence), max(Segments.FEWEST, self._most_of_first_visit))
        self._arm, self._remaining = arm, max(1, math.floor(rounds + 0.5))
        if self.horizon is not None and self.rounds_played < self.horizon:
            self._remaining = min(self._remaining, self.horizon - self.rounds_played)

    def _goes_on_with_ramp(self, order: list[int]) -> bool:
        """Blocks of 8, 16, 32, ... on one arm after the other, until the delay can be seen."""
        segments = self._segments
        if segments.count:
            seen = self._ramp >= 2 * self._explanations.longest_plausible
            if (seen and segments.rewards >= Segments.FEWEST) or (
                self._ramp > self._most_of_first_visit
            ):
                self._ramp = 0
                segments.visits = [0] * segments.n_arms  # nothing is known of the arms yet
                return False
        last = segments.last_arm if segments.count else -1
        place = order.index(last) + 1 if last in order else 0
        self._arm, self._remaining = order[place % len(order)], self._ramp
        self._ramp *= 2
        return True

    def _choose(self, order: list[int]) -> int:
        """The arm to play: go on with the visit; a new arm; an arm in doubt; the best index."""
        segments, last = self._segments, self._segments.last_arm
        new = sorted(filter(self._is_new, order), key=lambda arm: segments.played[arm] > 0)
        known = [arm for arm in order if segments.known[arm]]
        if not segments.count:
            return order[0]
        if last in order:
            later = segments.visits[last] > 1 and segments.block_rounds >= self._unit
            if not (later and new) and self._visit_goes_on(last, known):
                return last
            new = [arm for arm in new if arm != last]
        tested, self._explanations.tested = self._explanations.tested, None
        if new or not known:
            return new[0] if new else last if last in order else order[0]
        values, leader = self._index(known), self._leader(known)
        arm = max(known, key=values.__getitem__)
        if arm == leader and (self._look_due or tested is not None):
            self._look_due = False
            self._explanations.look(segments)
            values, arm = self._index(known), self._leader(known)
            means = self._explanations.believed.means
            for other in sorted(known, key=means.__getitem__, reverse=True):
                if other != arm and (found := self._doubt(other, values[arm])):
                    self._explanations.tested = found
                    return other
        return arm

    def _leads(self, arm: int) -> bool:
        """Whether it has the best mean of the arms of which something is known."""
        segments, means = self._segments, self._explanations.believed.means
        return all(means[arm] >= means[each] for each in self._order if segments.known[each])

    def _leader(self, known: list[int]) -> int:
        return max(known, key=self._explanations.believed.means.__getitem__)

    def _is_new(self, arm: int) -> bool:
        """Not visited yet, or all its totals are missing; it gets a tenth of all rounds."""
        segments = self._segments
        if not segments.visits[arm] or segments.known[arm] or segments.pending[arm]:
            return not segments.visits[arm]
        return segments.visits[arm] == 1 or segments.played[arm] <= STAY_SHARE / 2 * segments.clock

    def _visit_goes_on(self, arm: int, known: list[int]) -> bool:
        """While its index is above the other arms' means, or, in doubt, while the doubt lasts."""
        segments, means = self._segments, self._explanations.believed.means
        rounds, most = segments.block_rounds, self._most_of_first_visit
        others = [other for other in known if other != arm]
        if not others:  # the very first visit lasts until the arm has shown what it earns
            short = rounds < 2 * self._unit or segments.rewards < Segments.FEWEST
            return short and rounds < min(2 * FIRST_VISIT * self._unit, most)
        cap = max(self._later_visit, segments.known[arm] - rounds)
        if segments.visits[arm] <= 1:
            cap = min(FIRST_VISIT * self._unit, most)
        if rounds >= cap or not segments.known[arm]:
            return rounds < cap
        best = max(others, key=means.__getitem__)
        if self._explanations.tested is not None and means[best] > means[arm]:
            value = float(means[best])
            found = self._doubt(arm, value)
            if found is None:
                self._explanations.look(segments)
                found = self._doubt(arm, value)
            self._explanations.tested = found or self._explanations.tested
            return found is not None
        # A visit that ends early is soon followed by another, which loses late rewards again.
        values = self._index([arm, best])
        free = self._loss < 1.0
        return values[arm] >= (values[best] if free else self._explanations.believed.mean(best))

    def _doubt(self, arm: int, value: float) -> DelayExplanation | None:
        share = max(self.horizon or 0, self._segments.clock) / self.n_arms
        return self._explanations.in_doubt(self._segments, arm, value, share)

    def _index(self, arms: Iterable[int]) -> dict[int, float]:
        """KL-UCB++ by what is believed, for as many attributed plays as the data are worth."""
        from latesum._kl_kernels import CLOSE, bernoulli_upper, exploration

        values, believed = dict[int, float](), self._explanations.believed
        clock, horizon = float(self.rounds_played), float(self.horizon or 0)
        for arm in arms:
            worth = believed.worth(self._segments, arm)
            allowance = exploration(worth, self.n_arms, clock, horizon)
            values[arm] = bernoulli_upper(believed.mean(arm), allowance / worth, CLOSE)
        return values

    @property
    def _later_visit(self) -> float:
        """A later visit may always last three times as long as a first one."""
        return 3.0 * FIRST_VISIT * self._unit

    @property
    def _segment(self) -> float:
        return max(SEGMENT * self._unit, self._shortest)

    @property
    def _most_of_first_visit(self) -> float:
        """Of the planned rounds, or of twice those so far."""
        clock = self.rounds_played
        planned = self.horizon if self.horizon and self.horizon > clock else max(2 * clock, 1000)
        return FIRST_SHARE * planned / self.n_arms

    def _next(self) -> Block:
        segments, shortest = self._segments, self._segment
        if self._ramp:  # a quarter of the block, which is half of the next one
            return Block(self._arm, self._remaining, "learn", segment=max(1, self._ramp // 8))
        played = segments.block_rounds if self._arm == segments.last_arm else 0
        rounds = min(max(1, math.floor(max(shortest, played / 2) + 0.5)), self._remaining)
        if self._remaining - rounds < shortest:
            rounds = self._remaining
        return Block(self._arm, self._remaining, "learn", segment=rounds)

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._decide()
