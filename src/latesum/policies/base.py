"""The protocol of every policy that decides from totals: ask for a block, tell what was played.

A policy's knowledge is what was really played, in order. Every block has a number, which counts
decisions. Plays with one number that follow each other (one arm, one purpose, all known or all
pending) are one block, so that the order of book-keeping never changes a decision: `tell` goes
back to before the block that is still open and learns it whole. A policy that learns from the
parts in which a block was told says so (`learns_from`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from latesum import _render
from latesum._checks import InvalidInput, finite_number, whole_number
from latesum._render import new_table
from latesum._sentences import sentence
from latesum.policies.arguments import KeepsArguments
from latesum.policies.compiled import PlayedByKernels, for_kernel, from_kernel
from latesum.policies.history import check_history
from latesum.policies.plays import (
    MOST_ROUNDS,
    PURPOSES,
    Block,
    Estimate,
    Play,
    Purpose,
    new_block,
    new_play,
)

#: What policies are made of: one place to import it from.
__all__ = [
    "MOST_ROUNDS",
    "PURPOSES",
    "Block",
    "Estimate",
    "Play",
    "Policy",
    "Purpose",
    "for_kernel",
    "from_kernel",
    "new_block",
    "new_play",
    "say_before",
    "say_estimate",
]

#: The version of the saved state's layout; `from_state` refuses any other.
STATE_VERSION = 2


class Policy(PlayedByKernels, KeepsArguments, ABC):
    """A policy that sees totals and nothing else.

    A subclass sets `kind` and fills in the hooks `_reset`, `_learn` and `_next`, mostly `_forget`
    too; the others at the end of this class have defaults. Its constructor's arguments are
    attributes of the same names, kept by the base class.

    Args:
        n_arms: The number of arms.
        names: The names of the arms, for sentences; by default letters.
        rng: The generator to draw from, for a policy that draws.
    """

    #: The policy's name in the registry and in saved states.
    kind: str
    #: What the policy sees; attributed baselines have "attributed".
    sees: ClassVar[Literal["totals"]] = "totals"
    #: Whether the policy draws at random; if so its generator is part of its state.
    random: bool = False
    #: "blocks": `_learn` takes in whole blocks. "parts": each tell by itself, such as one
    #: bucket; `play.number` says which block it belongs to.
    learns_from: Literal["blocks", "parts"] = "blocks"
    #: Whether an option may be added while the policy runs. Told the plays of the other arms, the same
    #: policy with one more arm then asks for that arm next, or as soon as those before it had a turn.
    takes_new_options: ClassVar[bool] = False

    rounds_told: int
    _asked: Block | None  # the answer of `ask`, until something is told
    _open: Play | None  # the block that the next tell may go on with
    _unplayed: int  # how many rounds of it are left, of those asked for when it began
    _highest: int  # the highest number of a block so far
    _before: tuple[int, Any, Any]  # what was known before the open block
    _dropped: frozenset[int]
    _learned: tuple[str, ...]  # the attributes that `_reset` sets
    _seeded: dict[str, Any] | None  # the generator's state at the beginning
    _generator: np.random.Generator | None  # made when it is first used, see `_rng`
    _generator_state: dict[str, Any] | None  # its state, as long as nothing was drawn since

    def __init__(
        self,
        n_arms: int,
        *,
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.names = _names(names, self.n_arms)
        if self.random and rng is None:
            rng = np.random.default_rng(0)
        self._seeded = None if rng is None else _state_of(rng)
        before = set(vars(self))
        self._begin()
        self._learned = tuple(name for name in vars(self) if name not in before | _PROTOCOL)

    # What a caller uses.

    def ask(self) -> Block:
        """The block to play next. Asked twice, it answers the same.

        Its number is that of the block being played while some of that is left to play, and a
        new one otherwise.
        """
        asked = self._asked
        if asked is None:
            arm, rounds, purpose, _, part = self._next()
            last = self._open
            if self._unplayed > 0 and last is not None and last[0] == arm and last[3] == purpose:
                number = last[4]
            else:
                number = self._highest + 1
            asked = self._asked = new_block(Block, (arm, rounds, purpose, number, part))
        return asked

    def tell(
        self,
        arm: int,
        rounds: int,
        total: float | None = None,
        purpose: Purpose | None = None,
        number: int | None = None,
    ) -> None:
        """Say what was really played, and the total that arrived meanwhile if it is known.

        Args:
            arm: The arm that was played.
            rounds: The number of rounds.
            total: What arrived meanwhile; None while it is not known.
            purpose: The purpose of the block that was followed. By default it is that of `ask()`
                if the arm is the one asked for, and "override" if it is another.
            number: The number of the block that was followed; by default what `number_for` says.
        """
        if not (
            type(rounds) is int and rounds >= 1 and type(number) is int and number >= 1
            and type(arm) is int and 0 <= arm < self.n_arms and purpose in PURPOSES
            and (total is None or (type(total) is float and math.isfinite(total)))
        ):  # fmt: skip
            arm, rounds, total, purpose, number = self._checked(arm, rounds, total, purpose, number)
        last = self._open
        if last is None or last[4] != number or last[0] != arm or last[3] != purpose:
            asked = self._asked or self.ask()
            self._unplayed = asked[1] - rounds if asked[0] == arm and asked[2] == purpose else 0
            if number > self._highest:
                self._highest = number
            if self.learns_from == "blocks":
                self._before = self._memory()
        else:
            self._unplayed -= rounds
            if self.learns_from == "blocks":
                if (last[2] is None) == (total is None):
                    self._go_back()  # the block is learned whole
                    rounds += last[1]
                    if total is not None and last[2] is not None:
                        total = last[2] + total
                else:
                    self._before = self._memory()
        self._open = play = new_play(Play, (arm, rounds, total, purpose, number))
        self._asked = None
        self.rounds_told += rounds
        self._learn(play)

    def number_for(self, arm: int, purpose: Purpose) -> int:
        """The number of a tell of `arm` for `purpose` that comes without one.

        It is the number asked for, if they are what is asked for. Overrides of one arm that follow
        each other have one number. Everything else is a block of its own.

        Args:
            arm: The arm that was played.
            purpose: Why it was played.
        """
        asked = self.ask()
        if arm == asked.arm and purpose == asked.purpose:
            return asked.number
        last = self._open
        if (
            purpose == "override"
            and last is not None
            and (last.arm, last.purpose) == (arm, purpose)
        ):
            assert last.number is not None
            return last.number
        return self._highest + 1

    def drop(self, arm: int) -> None:
        """Take an option away: it is never asked for again.

        Args:
            arm: The arm.
        """
        arm = self._checked_arm(arm)
        if arm in self._dropped:
            return
        if len(self._dropped) == self.n_arms - 1:
            raise InvalidInput(
                f"{self.names[arm]} is the last option left and cannot be dropped; "
                "end the campaign instead."
            )
        # What was played before and after a drop is not one block.
        self._asked, self._open, self._unplayed = None, None, 0
        self._dropped = self._dropped | {arm}
        self._forget(arm)

    def fresh(
        self,
        *,
        rng: np.random.Generator | None = None,
        history: Iterable[Sequence[Any]] | None = None,
    ) -> Self:
        """The same policy, knowing nothing of what was told.

        Args:
            rng: The generator to draw from, in place of the policy's own.
            history: What was played before the start, in place of the policy's own `history`.
        """
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        if history is not None:
            if "history" not in self.__signature__.parameters:
                raise InvalidInput(f"{type(self).__name__} cannot be told what was played before.")
            new.__dict__["history"] = check_history(history, self.n_arms)
        if rng is not None and self.random:
            new._seeded = _state_of(rng)
        new._begin()
        return new

    def copy(self) -> Self:
        """The same policy, knowing the same; what one is told later, the other does not know."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        _, learned, new._generator_state = self._memory()
        new._asked = new._generator = None
        new._restore(learned)
        return new

    def replay(self, plays: Iterable[Play | Sequence[Any]]) -> Self:
        """A fresh policy that has been told all of `plays`: how late and restated totals come in.

        Args:
            plays: What was played, oldest first.
        """
        new = self.fresh()
        for play in plays:
            new.tell(*play)
        return new

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """Per arm the mean, an interval that holds it with probability `level`, and the plays.

        Args:
            level: The confidence level, between 0 and 1.
        """
        level = finite_number(level, "the confidence level", above=0)
        if level >= 1:
            raise InvalidInput(f"the confidence level must be below 1, such as 0.95, not {level}.")
        available = self._candidates()
        rows = []
        for arm, name in enumerate(self.names):
            mean, low, high, plays = self._estimate(arm, level)
            rows.append(
                Estimate(arm, name, mean, max(low, 0.0), min(high, 1.0), plays, arm in available)
            )
        return rows

    @property
    def phase(self) -> int | None:
        """The phase that the policy is in, from 1 on; None if it has no phases, or they are over."""
        return None

    def findings(self) -> list[str]:
        """What the policy has found out so far, in sentences for a person.

        A sentence with values in it keeps them (`Sentence.kind` and `.fields`), so that others can say it in their own
        words; a plain text is shown as it is.
        """
        gone = [
            sentence("{option} was taken away.", kind="taken away", option=self.names[arm])
            for arm in sorted(self._dropped)
        ]
        return [*self._findings(), *gone]

    def reason(self) -> str:
        """Why the block that `ask` names comes next: the end of a sentence about it."""
        return self._reason()

    def explain(self) -> list[str]:
        """What the policy knows and does, in sentences for a person."""
        asked = self.ask()
        following = sentence(
            "Next: {option} for {rounds:block}, {why}.", kind="next",
            option=self.names[asked.arm], rounds=asked.rounds, why=self.reason(),
        )  # fmt: skip
        return [*self.findings(), following]

    def _repr_html_(self) -> str:
        """As a notebook shows it: what one would type, what it believes, what it does next."""
        table = new_table(None, ["arm", "mean", "95% limits", "rounds", "in play"])
        for row in self.estimates():
            known = row.mean is not None
            table.add_row(
                row.name, f"{row.mean:.4g}" if known else "?",
                f"{row.low:.3g} to {row.high:.3g}" if known else "", f"{row.plays:,}",
                "yes" if row.active else "no",
            )  # fmt: skip
        return (
            _render.heading(repr(self)) + _render.sentences(self.explain()) + _render.table(table)
        )

    def to_state(self) -> dict[str, Any]:
        """All that the policy knows, as JSON values."""
        goes_back = self._open is not None and self.learns_from == "blocks"
        rounds, learned, generator = self._before if goes_back else self._memory()
        return {
            "latesum_state": STATE_VERSION,
            "policy": self.kind,
            "parameters": self.parameters,
            "rounds": rounds,
            "learned": learned,
            "generator": generator,
            "seeded": self._seeded,
            "open": None if self._open is None else list(self._open),
            "unplayed": self._unplayed,
            "highest": self._highest,
            "dropped": sorted(self._dropped),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The policy that `to_state` described; it goes on exactly as the saved one would have.

        Args:
            state: What `to_state` gave.
        """
        if not isinstance(state, dict) or "latesum_state" not in state:
            raise InvalidInput("this is not a saved policy: it has no 'latesum_state' entry.")
        if state["latesum_state"] != STATE_VERSION:
            raise InvalidInput(
                f"this policy was saved with state version {state['latesum_state']!r}; this "
                f"latesum reads version {STATE_VERSION}. Replay its plays instead."
            )
        policy = cls._rebuild(state["policy"], state["parameters"])
        policy._seeded = state["seeded"]
        policy._begin()
        policy._dropped = frozenset(state["dropped"])
        policy._before = (state["rounds"], state["learned"], state["generator"])
        policy._go_back()
        if state["open"] is not None:
            policy._open = Play(*state["open"])
            if policy.learns_from == "blocks":
                policy.rounds_told += policy._open.rounds
                policy._learn(policy._open)
        policy._unplayed, policy._highest = state["unplayed"], state["highest"]
        return policy

    # How the protocol is kept.

    def _begin(self) -> None:
        self.rounds_told = self._highest = self._unplayed = 0
        self._asked = self._open = None
        self._before = (0, None, None)
        self._dropped = frozenset()
        self._generator = None
        self._generator_state = self._seeded if self.random else None
        self._reset()

    @property
    def _rng(self) -> np.random.Generator | None:
        """The generator to draw from; None if `random` is False. Do not keep it: it changes."""
        if self._generator is None and self._generator_state is not None:
            self._generator = _generator_in(self._generator_state)
        self._generator_state = None  # what takes it draws from it
        return self._generator

    def _memory(self) -> tuple[int, Any, Any]:
        if self._generator_state is None and self._generator is not None:
            self._generator_state = _state_of(self._generator)
        return (self.rounds_told, self._snapshot(), self._generator_state)

    def _go_back(self) -> None:
        self.rounds_told, learned, generator = self._before
        if generator is not self._generator_state:
            self._generator, self._generator_state = None, generator
        self._restore(learned)

    def _checked(
        self,
        arm: int,
        rounds: int,
        total: float | None,
        purpose: Purpose | None,
        number: int | None,
    ) -> tuple[int, int, float | None, Purpose, int]:
        """What was told, made right or refused."""
        arm = self._checked_arm(arm)
        if not (type(rounds) is int and rounds >= 1):
            rounds = whole_number(rounds, "rounds played", at_least=1)
        if total is not None and not (type(total) is float and math.isfinite(total)):
            total = finite_number(total, "a total (None where it is not known yet)")
        if purpose is None:
            asked = self.ask()
            purpose = asked.purpose if arm == asked.arm else "override"
        elif purpose not in PURPOSES:
            raise InvalidInput(f"a purpose is one of {', '.join(PURPOSES)}, not {purpose!r}.")
        if number is None:
            number = self.number_for(arm, purpose)
        elif not (type(number) is int and number >= 1):
            number = whole_number(number, "the number of a block", at_least=1)
        return arm, rounds, total, purpose, number

    def _checked_arm(self, arm: int) -> int:
        if not (type(arm) is int and 0 <= arm < self.n_arms):
            arm = whole_number(arm, "an arm")
            if arm >= self.n_arms:
                raise InvalidInput(f"there is no arm {arm}; the arms are 0 to {self.n_arms - 1}.")
        return arm

    @classmethod
    def _rebuild(cls, kind: str, parameters: dict[str, Any]) -> Self:
        """The policy with these parameters, for `from_state`."""
        if kind != cls.kind:
            raise InvalidInput(f"this is the state of a {kind!r} policy, not of {cls.kind!r}.")
        return cls(**parameters)

    def _reason_for(self, arm: int, purpose: Purpose) -> str:
        """Why an arm is asked for with this purpose. It claims nothing where nothing is known."""
        if self._nothing_known():
            return {
                "learn": "to learn about it, because nothing is known yet",
                "bridge": "because nothing is known yet",
                "commit": sentence(
                    "though nothing is known yet: the rounds to learn from are over",
                    kind="nothing known at the end",
                ),
                "override": "as ordered",
            }[purpose]
        return {
            "learn": "to learn more about it" if self._known_rounds(arm) else "to learn about it",
            "bridge": "while late rewards of other options fade out",
            "commit": "because it is the answer",
            "override": "as ordered",
        }[purpose]

    def _known_rounds(self, arm: int) -> int:
        """The rounds of an arm that were learned from."""
        return self._estimate(arm, 0.95)[3]

    def _nothing_known(self) -> bool:
        return not any(self._known_rounds(arm) for arm in range(self.n_arms))

    def _available(self) -> list[int]:
        return [arm for arm in range(self.n_arms) if arm not in self._dropped]

    # The hooks. `_next` must not change anything; random numbers are drawn in `_reset` and
    # `_learn` only. A snapshot holds JSON values and shares nothing that `_learn` changes.

    @abstractmethod
    def _reset(self) -> None:
        """Know nothing."""

    @abstractmethod
    def _learn(self, play: Play) -> None:
        """Take in a whole block (or a part, see `learns_from`); `rounds_told` includes it."""

    @abstractmethod
    def _next(self) -> Block:
        """The block to play next."""

    def _snapshot(self) -> Any:
        """All that was learned, as JSON values; unless replaced, all attributes that `_reset` sets."""
        return {name: _plain_copy(getattr(self, name), name, self) for name in self._learned}

    def _restore(self, learned: Any) -> None:
        """The opposite of `_snapshot`; the argument must not be changed later."""
        for name, value in learned.items():
            setattr(self, name, _plain_copy(value, name, self))

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        """Mean, lower and upper limit and rounds learned from, for one arm; unknown by default."""
        return None, 0.0, 1.0, 0

    def _forget(self, arm: int) -> None:
        """An option was taken away; most policies look at `_available()` and need nothing here."""

    def _candidates(self) -> Iterable[int]:
        """The arms that may still be the answer."""
        return self._available()

    def _findings(self) -> list[str]:
        """What the policy has found out so far, in sentences."""
        return []

    def _reason(self) -> str:
        """Why the next block is played."""
        arm, _, purpose, *_ = self.ask()
        return self._reason_for(arm, purpose)


#: What the protocol keeps for itself: set by `_begin`, and not learned.
_PROTOCOL = frozenset(
    ("rounds_told", "_asked", "_open", "_unplayed", "_highest", "_before", "_dropped",
     "_generator", "_generator_state")
)  # fmt: skip


def say_estimate(option: str, mean: float, worth: float, bound: float) -> str:
    """What is believed of an arm, how well it is known, and how good it might be."""
    return sentence(
        "{option} has a mean of about {mean:mean}, as sure as from {worth:rounds} without delay; it might be as "
        "good as {bound:mean}.", kind="estimate",
        option=option, mean=float(mean), worth=float(worth), bound=min(float(bound), 1.0),
    )  # fmt: skip


def say_before(mean: float) -> str:
    """What is believed of what ran before the start."""
    return sentence(
        "What ran before had a mean of about {mean:mean}.", kind="before", mean=float(mean)
    )


def _names(names: Sequence[str] | None, n_arms: int) -> tuple[str, ...]:
    if names is None:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return tuple(letters[i] if n_arms <= 26 else f"arm {i}" for i in range(n_arms))
    if len(names) != n_arms or len(set(names)) != n_arms:
        raise InvalidInput(f"give {n_arms} different names, one for each arm, not {list(names)!r}.")
    return tuple(str(name) for name in names)


def _plain_copy(value: Any, name: str, owner: object) -> Any:
    """A copy of JSON values that shares nothing with them."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_plain_copy(each, name, owner) for each in value]
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _plain_copy(each, name, owner) for key, each in value.items()}
    raise InvalidInput(
        f"{type(owner).__name__}.{name} holds a {type(value).__name__}, which is no JSON value: keep "
        "numbers, text, lists and dicts with text as keys there, or write _snapshot and _restore."
    )


def _state_of(rng: np.random.Generator) -> dict[str, Any]:
    state = rng.bit_generator.state
    return {"name": state["bit_generator"], "state": state}


def _generator_in(saved: dict[str, Any]) -> np.random.Generator:
    bits: Any = getattr(np.random, saved["state"]["bit_generator"])(0)
    bits.state = saved["state"]
    return np.random.Generator(bits)
