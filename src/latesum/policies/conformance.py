"""What every policy must keep to, as checks that anyone can run on a class of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from latesum._checks import InvalidInput
from latesum.errors import NotConforming
from latesum.policies.base import PURPOSES, Block, Play, Policy


def check(policy: Policy, *, seed: int = 0, steps: int = 40) -> None:
    """Run the whole conformance suite on a policy; it raises `NotConforming` at the first breach.

    Args:
        seed: For the histories that it learns.

    >>> from latesum.policies import ODAAF
    >>> check(ODAAF(3, 5_000, mean_delay=10))
    """
    for examine in CHECKS:
        examine(policy, np.random.default_rng(seed), steps)


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise NotConforming(sentence)


def _history(policy: Policy, rng: np.random.Generator, steps: int) -> list[Play]:
    """Tell `policy` a history as real ones are, and return it.

    Blocks are followed, cut short, run over or overridden; some totals are not known.
    """
    means = rng.random(policy.n_arms)
    plays = []
    for _ in range(steps):
        arm, rounds, purpose, number, _ = _block(policy)
        manner = rng.random()
        if manner < 0.2:  # cut short
            rounds = max(1, int(rounds * rng.random()))
        elif manner < 0.3:  # run over
            rounds += int(rng.integers(1, 50))
        elif manner < 0.4:
            arm, rounds = int(rng.integers(policy.n_arms)), int(rng.integers(1, 200))
            purpose, number = "override", policy.number_for(arm, "override")
        total = float(rng.binomial(rounds, means[arm])) if rng.random() < 0.85 else None
        plays.append(Play(arm, rounds, total, purpose, number))
        policy.tell(*plays[-1])
    return plays


def _block(policy: Policy) -> Block:
    """What a policy asks for, if that is a block."""
    asked = policy.ask()
    arm, rounds, purpose, number, segment = asked
    whole = all(isinstance(each, int) for each in (arm, rounds, number))
    _require(
        whole and 0 <= arm < policy.n_arms and rounds >= 1 and number >= 1,
        f"ask() must name an arm from 0 to {policy.n_arms - 1}, at least 1 round and a number from "
        f"1 on, not {asked}.",
    )
    known = purpose in PURPOSES and purpose != "override"
    _require(known, f"ask() must learn, bridge or commit, not {purpose!r}.")
    whole = segment is None or (isinstance(segment, int) and segment >= 1)
    _require(whole, f"a segment is a number of rounds, at least 1, or None, not {segment!r}.")
    return asked


def _same(one: Policy, other: Policy, what: str) -> None:
    _require(one.ask() == other.ask(), f"{what}: {one.ask()} against {other.ask()}.")
    _require(one.estimates() == other.estimates(), f"{what}: the estimates differ.")


def _saved(policy: Policy) -> Policy:
    """The policy as it is read from its state in JSON."""
    return type(policy).from_state(json.loads(json.dumps(policy.to_state())))


def ask_is_pure(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """Asked twice, a policy answers the same; looking at it changes nothing."""
    one, other = policy.fresh(), policy.fresh()
    for play in _history(policy.fresh(), rng, steps):
        first = one.ask()
        one.estimates()
        one.explain()
        one.to_state()
        pure = "`ask` must answer the same when asked again: `_next` must not change anything."
        _require(one.ask() == first, pure)
        copied = "a copy must ask for the same: set what is learned in `_reset`."
        _require(one.copy().ask() == first, copied)
        one.tell(*play)
        other.tell(*play)
    _same(one, other, "looking at a policy must change nothing")


def tells_merge(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """(a, 3, x) then (a, 4, y) is (a, 7, x + y); after a short tell, `ask` returns the rest."""
    if policy.learns_from == "segments":
        return
    whole, parts = policy.fresh(), policy.fresh()
    for play in _history(policy.fresh(), rng, steps):
        asked = parts.ask()
        followed = (play.arm, play.purpose) == (asked.arm, asked.purpose)
        whole.tell(*play)
        remaining, seen = play.rounds, play.total
        while remaining > 1 and rng.random() < 0.6:
            some = int(rng.integers(1, remaining))
            share = None if seen is None else float(rng.binomial(int(seen), some / remaining))
            parts.tell(play.arm, some, share, play.purpose, play.number)
            remaining -= some
            seen = None if seen is None or share is None else seen - share
            short = asked.rounds - (play.rounds - remaining)
            if followed and seen is not None and short > 0:
                now, rest = parts.ask(), asked._replace(rounds=short)
                part = "when part of a block was played, `_next` must ask for what remains of it"
                _require(now == rest, f"{part}: {rest} of {asked}, not {now}.")
        parts.tell(play.arm, remaining, seen, play.purpose, play.number)
        _same(whole, parts, "a block played in segments must be learned as one played whole")


def segments_are_learned(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """The same segments lead to the same decisions, whether it is asked in between or not."""
    if policy.learns_from == "blocks":
        return
    one, other = policy.fresh(), policy.fresh()
    for play in _history(policy.fresh(), rng, steps):
        remaining = play.rounds
        while remaining:
            some = int(rng.integers(1, remaining + 1))
            total = None if play.total is None else float(rng.integers(0, some + 1))
            segment = play._replace(rounds=some, total=total)
            one.tell(*segment)
            _block(one)
            other.tell(*segment)
            remaining -= some
    _same(one, other, "the same segments must lead to the same decisions")
    _same(one, _saved(one), "replayed segments must lead to the same decisions")


def numbers_count_decisions(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """A block keeps its number while some of it remains; the next one has a higher one."""
    lived, highest = policy.fresh(), 0
    for _ in range(steps):
        asked = lived.ask()
        _require(asked.number > highest, f"a new block must have a new number: {asked} has not.")
        highest = asked.number
        remaining = asked.rounds
        while remaining:
            some = int(rng.integers(1, remaining + 1))
            total = None if rng.random() < 0.1 else float(rng.binomial(some, 0.5))
            lived.tell(asked.arm, some, total, asked.purpose, asked.number)
            remaining -= some
            now = lived.ask()
            if remaining and (now.arm, now.purpose) != (asked.arm, asked.purpose):
                break  # it thought better of it
            _require(
                (now.number == highest) == (remaining > 0),
                "a block keeps its number while some of it remains, and then there is a new one: "
                f"{now} follows {asked}, of which {remaining} rounds remain.",
            )


def states_and_replays_go_on_the_same(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """Replayed, or saved as JSON text and read again, a policy goes on identically."""
    for length in (0, 1, steps):
        lived = policy.fresh()
        plays = _history(lived, rng, length)
        others = lived.replay(plays), _saved(lived)
        for play in _history(lived.copy(), rng, steps):
            for other in others:
                what = "a policy that is replayed, or read from its state, must be the same"
                _same(lived, other, f"{what}: `_reset` sets all that is learned")
                other.tell(*play)
            lived.tell(*play)


def drops_are_kept(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """A dropped arm is never asked for, and the last one cannot be dropped."""
    lived = policy.fresh()
    order = [int(arm) for arm in rng.permutation(policy.n_arms)]
    for count, arm in enumerate(order[:-1], start=1):
        _history(lived, rng, steps // 4)
        lived.drop(arm)
        for _ in range(steps // 4):
            asked = lived.ask()
            only = "`_next` may choose from `_available()` only"
            _require(asked.arm not in order[:count], f"a dropped arm was asked for: {only}.")
            total = float(asked.rounds // 2)
            lived.tell(asked.arm, asked.rounds, total, asked.purpose, asked.number)
        known = "a policy that is read from its state must know the dropped arms."
        _require(_saved(lived).ask() == lived.ask(), known)
    _refuses(lambda: lived.drop(order[-1]), "dropping the last arm")


def new_options_are_asked_for(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """A policy that `takes_new_options` soon asks for an arm that was added."""
    if not policy.takes_new_options:
        return
    arguments = {key: each for key, each in policy.parameters.items() if key != "names"}
    plays = _history(policy.fresh(), rng, steps)
    try:
        larger = type(policy)(**{**arguments, "n_arms": policy.n_arms + 1}).replay(plays)
    except InvalidInput:
        return  # a parameter is for the present arms, and a campaign refuses in these words
    for _ in range(2 * larger.n_arms + 2):
        asked = larger.ask()
        if asked.arm == policy.n_arms:
            return
        larger.tell(*asked[:2], float(asked.rounds // 2), *asked[2:4])
    raise NotConforming("a policy that takes new options must soon ask for one that was added.")


def totals_may_come_late_and_change(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """Whatever totals become known, in whatever order, there is always an answer."""
    plays = _history(policy.fresh(), rng, steps)
    for _ in range(5):
        for index in rng.permutation(len(plays))[: len(plays) // 3]:
            play = plays[index]
            restated = None if rng.random() < 0.2 else float(rng.integers(0, play.rounds + 1))
            plays[index] = play._replace(total=restated)
        again = policy.replay(plays)
        _block(again)
        again.estimates()
        again.explain()


def knows_nothing_when_fresh(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """`fresh` forgets everything, and the same generator gives the same decisions."""
    new, lived = policy.fresh(), policy.fresh()
    _history(lived, rng, steps)
    _same(new, lived.fresh(), "a fresh policy must know nothing: `_reset` sets all that is learned")
    one, other = (policy.fresh(rng=np.random.default_rng(7)) for _ in range(2))
    for play in _history(one.copy(), rng, steps):
        what = "the same generator must lead to the same decisions: draw from `_rng` only"
        _same(one, other, what)
        one.tell(*play)
        other.tell(*play)


def goes_on_past_its_horizon(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """However much was played, there is a next block."""
    lived = policy.fresh()
    horizon = getattr(policy, "horizon", None) or 1_000
    while lived.rounds_played < 3 * horizon:
        arm, rounds, purpose, number, _ = _block(lived)
        rounds = max(rounds, horizon // 50)
        lived.tell(arm, rounds, float(rng.binomial(rounds, 0.5)), purpose, number)
    _block(lived)


def bad_input_is_refused(policy: Policy, rng: np.random.Generator, steps: int) -> None:
    """Nonsense is refused with a sentence, and changes nothing."""
    lived = policy.fresh()
    _history(lived, rng, steps // 4)
    before, state, read = lived.ask(), lived.to_state(), type(policy).from_state
    unknown: Any = "fun"
    for act, what in (
        (lambda: lived.tell(policy.n_arms, 1, 0.0), "an arm that does not exist"),
        (lambda: lived.tell(-1, 1, 0.0), "a negative arm"),
        (lambda: lived.tell(0, 0, 0.0), "a play of no rounds"),
        (lambda: lived.tell(0, -5, 0.0), "negative rounds"),
        (lambda: lived.tell(0, 1, float("nan")), "a total that is not a number"),
        (lambda: lived.tell(0, 1, 0.0, unknown), "an unknown purpose"),
        (lambda: lived.tell(0, 1, 0.0, "learn", 0), "a block without a number"),
        (lambda: lived.drop(policy.n_arms), "dropping an arm that does not exist"),
        (lambda: lived.estimates(1.0), "a confidence level of 1"),
        (lambda: read({**state, "latesum_state": -1}), "another version"),
        (lambda: read({**state, "policy": "other"}), "another policy's state"),
        (lambda: read({}), "a state that is none"),
    ):
        _refuses(act, what)
    _require(lived.ask() == before, "refused input must change nothing.")


def _refuses(act: Callable[[], object], what: str) -> None:
    try:
        act()
    except InvalidInput as error:
        _require(len(str(error)) > 15, f"{what} is refused without a sentence.")
        return
    raise NotConforming(f"{what} must be refused with InvalidInput.")


CHECKS: tuple[Callable[[Policy, np.random.Generator, int], None], ...] = (
    ask_is_pure,
    tells_merge,
    segments_are_learned,
    numbers_count_decisions,
    states_and_replays_go_on_the_same,
    drops_are_kept,
    new_options_are_asked_for,
    totals_may_come_late_and_change,
    knows_nothing_when_fresh,
    goes_on_past_its_horizon,
    bad_input_is_refused,
)
