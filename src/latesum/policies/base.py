"""The protocol of every policy that decides from totals: ask for a block, tell what was played.

A policy's knowledge is what was really played, in order. Every block has a number, which counts
decisions. Plays with one number that follow each other (one arm, one purpose, all known or all
pending) are one block, so that the order of book-keeping never changes a decision: `tell` goes
back to before the block that is still open and learns it whole. A policy that learns from the
segments in which a block was reported says so (`learns_from`).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies import saving
from latesum.policies.estimates import PLAIN, Estimate, Units, as_html

#: Why a block is played. "learn": to learn from it. "bridge": played and not learned from.
#: "commit": the answer stands. "override": something else was played than the policy asked for.
Purpose = Literal["learn", "bridge", "commit", "override"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
#: What is believed of an arm: mean, lower and upper limit, and the rounds learned from.
Believed = tuple[float | None, float, float, int]


class Block(NamedTuple):
    """What a policy asks for: play `arm` for at least `rounds` rounds.

    `number` counts the policy's decisions; the base class gives it. `segment` is the longest
    segment that the policy wants a total of; None: any.

    >>> Block(0, 150, "learn", number=3)
    Block(arm=0, rounds=150, purpose='learn', number=3)
    """

    arm: int
    rounds: int
    purpose: Purpose
    number: int = 0
    segment: int | None = None

    def __repr__(self) -> str:
        fields = (f"{name}={each!r}" for name, each in self._asdict().items() if each is not None)
        return f"Block({', '.join(fields)})"


class Play(NamedTuple):
    """What was really played of the block `number`, and the total that arrived (None: pending)."""

    arm: int
    rounds: int
    total: float | None = None
    purpose: Purpose = "learn"
    number: int | None = None


class Policy(ABC):
    """A policy that sees totals and nothing else.

    A subclass sets `kind`, assigns its constructor's arguments to attributes of the same names
    before it calls `super().__init__`, and fills in `_reset`, `_learn` and `_next`. What it learns
    are the attributes that `_reset` sets; the base class copies them. The other hooks have
    defaults; one that is replaced is always called. `names` are those of the arms, for sentences,
    by default letters; `rng` is the generator of a policy that draws.
    """

    #: The policy's name in the registry and in saved states.
    kind: str
    #: What the policy sees; attributed baselines have "attributed".
    sees: ClassVar[Literal["totals"]] = "totals"
    #: Whether the policy draws at random: from `_rng`, in `_reset` and `_learn` only.
    random: bool = False
    #: "blocks": `_learn` takes in whole blocks. "segments": each tell by itself, such as one
    #: bucket; `play.number` says which block it belongs to.
    learns_from: Literal["blocks", "segments"] = "blocks"
    #: Whether an option may be added while the policy runs. Given the plays of the other arms, the
    #: same policy with one more arm then asks for that arm next, or as soon as those before it had
    #: a turn.
    takes_new_options: ClassVar[bool] = False
    #: Whether a policy that is given a mean delay takes it for that of every arm.
    assumes_equal_delays: ClassVar[bool] = True

    def __init__(
        self,
        n_arms: int,
        *,
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        saving.arguments_of(type(self))  # refused where one has no name
        self.n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.names = saving.checked_names(names, self.n_arms)
        self._seed_state: dict[str, Any] | None = None  # the generator at the start
        if self.random:
            self._seed_state = dict((rng or np.random.default_rng(0)).bit_generator.state)
        self._begin()
        others = set(vars(self))
        self._reset()
        self._learned = tuple(name for name in vars(self) if name not in others)

    def _begin(self) -> None:
        """The book-keeping at the start."""
        self.rounds_played = 0
        self._events: list[Play | int] = []  # what was told, and the arms that were dropped
        self._asked: Block | None = None  # the answer of `ask`, until something was played
        self._open: Play | None = None  # the block that the next tell may go on with, ...
        self._unplayed = 0  # ... how many of the rounds that it was asked for remain, ...
        self._before: tuple[int, Any, Any] = (0, None, None)  # ... and what was known before it
        self._highest = 0  # the highest number of a block so far
        self._dropped: frozenset[int] = frozenset()
        self._rng: Any = None
        if self._seed_state is not None:
            self._rng = saving.generator_in(self._seed_state)

    def ask(self) -> Block:
        """The block to play next. Asked twice, it answers the same.

        It has the number of the block being played while some of that remains, else a new one.
        """
        if self._asked is None:
            block = self._next()
            if not isinstance(block, Block):
                example = f'{type(self).__name__}._next must return a Block, Block(0, 100, "learn")'
                raise InvalidInput(f"{example} for example, not {block!r}.")
            arm, rounds, purpose, _, segment = block
            last, number = self._open, self._highest + 1
            if self._unplayed > 0 and last is not None and last[:4:3] == (arm, purpose):
                number = last.number or 0
            self._asked = Block(arm, rounds, purpose, number, segment)
        return self._asked

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
            total: What arrived meanwhile; None while it is not known.
            purpose: The purpose of the block that was followed. By default it is that of `ask()`
                if the arm is the one asked for, and "override" if it is another.
            number: The number of the block that was followed; by default what `number_for` says.
        """
        arm = self._checked_arm(arm)
        rounds = whole_number(rounds, "rounds played", at_least=1)
        if total is not None:
            total = finite_number(total, "a total (None where it is not known yet)")
        if purpose is None:
            purpose = self.ask().purpose if arm == self.ask().arm else "override"
        elif purpose not in PURPOSES:
            raise InvalidInput(f"a purpose is one of {', '.join(PURPOSES)}, not {purpose!r}.")
        if number is None:
            number = self.number_for(arm, purpose)
        number = whole_number(number, "the number of a block", at_least=1)
        play, last = Play(arm, rounds, total, purpose, number), self._open
        continues = last is not None and last[0] == arm and last[3:] == play[3:]
        if continues:
            self._unplayed -= rounds
        else:
            asked = self.ask()
            followed = asked.arm == arm and asked.purpose == purpose
            self._unplayed = asked.rounds - rounds if followed else 0
            self._highest = max(self._highest, number)
        self._events.append(play)
        if self.learns_from == "blocks":
            if continues and last is not None and (last.total is None) == (total is None):
                self._go_back(self._before)  # the block is learned whole
                whole = None if total is None or last.total is None else last.total + total
                play = Play(arm, last.rounds + rounds, whole, purpose, number)
            else:
                self._before = self._memory()
        self._asked, self._open = None, play
        self.rounds_played += play.rounds
        self._learn(play)

    def number_for(self, arm: int, purpose: Purpose) -> int:
        """The number of a tell that comes without one.

        It is the number asked for, if arm and purpose are. Overrides of one arm that follow each
        other have one number. Everything else is a block of its own.
        """
        asked, last = self.ask(), self._open
        if (arm, purpose) == (asked.arm, asked.purpose):
            return asked.number
        if last is not None and last.purpose == purpose == "override" and last.arm == arm:
            return last.number or 0
        return self._highest + 1

    def drop(self, arm: int) -> None:
        """Take an option away: it is never asked for again."""
        arm = self._checked_arm(arm)
        if arm in self._dropped:
            return
        if len(self._dropped) == self.n_arms - 1:
            raise InvalidInput(f"{self.names[arm]} is the last option and cannot be dropped.")
        # What was played before and after a drop is not one block.
        self._asked, self._open, self._unplayed = None, None, 0
        self._events.append(arm)
        self._dropped = self._dropped | {arm}
        self._forget(arm)

    def fresh(
        self,
        *,
        rng: np.random.Generator | None = None,
        history: Iterable[Sequence[Any]] | None = None,
    ) -> Self:
        """The same policy, knowing nothing of what was played.

        `rng` and `history` (what was played before the start) take the place of its own.
        """
        new = copy.copy(self)
        if history is not None:
            if "history" not in saving.arguments_of(type(self)):
                raise InvalidInput(f"{type(self).__name__} takes no history.")
            vars(new)["history"] = saving.check_history(history, self.n_arms)
        if rng is not None and self.random:
            new._seed_state = dict(rng.bit_generator.state)
        new._begin()
        new._reset()
        return new

    def copy(self) -> Self:
        """The same policy, knowing the same; what one learns later, the other does not know."""
        new = copy.copy(self)
        new._events, new._asked = [*self._events], None
        new.rounds_played, learned, generator = self._memory()
        if generator is not None:
            new._rng = saving.generator_in(generator)
        vars(new).update(learned)
        return new

    def replay(self, plays: Iterable[Play | Sequence[Any] | int]) -> Self:
        """A fresh policy that learned `plays`: how late and restated totals come in.

        A number among them is an arm that was dropped then.
        """
        new = self.fresh()
        for play in plays:
            if isinstance(play, int):
                new.drop(play)
            else:
                new.tell(*play)
        return new

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """Per arm the mean, an interval that contains it with probability `level`, the plays."""
        level = finite_number(level, "the confidence level", above=0)
        if level >= 1:
            raise InvalidInput(f"the confidence level must be below 1, such as 0.95, not {level}.")
        names, active = self.names, self._candidates()
        return [
            Estimate(arm, names[arm], mean, max(low, 0.0), min(high, 1.0), plays, arm in active)
            for arm, (mean, low, high, plays) in enumerate(self._estimates(level))
        ]

    def explain(self, units: Units = PLAIN) -> list[str]:
        """Sentences for a person: what was found, and last the next block with its reason."""
        arm, rounds, *_ = self.ask()
        gone = [f"{self.names[each]} was taken away." for each in sorted(self._dropped)]
        following = f"Next: {self.names[arm]} for {units.block(rounds)}, {self._reason()}."
        return [*self._findings(units), *gone, following]

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, as JSON values."""
        return saving.parameters_of(self)

    def __repr__(self) -> str:
        return saving.typed(self)

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.explain(), self.estimates())

    def to_state(self) -> dict[str, Any]:
        """All that the policy knows, as JSON values: its parameters and what it was told."""
        return {
            "latesum_state": saving.STATE_VERSION,
            "policy": self.kind,
            "parameters": self.parameters,
            "generator": self._seed_state,
            "events": [list(each) if isinstance(each, Play) else each for each in self._events],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The policy that `to_state` described; it goes on exactly as the saved one would have."""
        saving.check_state(state, cls.kind)
        policy = cls(**state["parameters"])
        policy._seed_state = state["generator"]
        return policy.replay(state["events"])

    # The hooks: what a subclass fills in or replaces.

    @abstractmethod
    def _reset(self) -> None:
        """Know nothing."""

    @abstractmethod
    def _learn(self, play: Play) -> None:
        """Take in a whole block (or a segment, see `learns_from`); `rounds_played` includes it."""

    @abstractmethod
    def _next(self) -> Block:
        """The block to play next. It must not change anything."""

    def _estimate(self, arm: int, level: float) -> Believed:
        """What is believed of one arm; nothing by default."""
        return None, 0.0, 1.0, 0

    def _estimates(self, level: float) -> list[Believed]:
        """The same for all arms."""
        return [self._estimate(arm, level) for arm in range(self.n_arms)]

    def _forget(self, arm: int) -> None:
        """An option was taken away; most policies look at `_available()` and need nothing here."""

    def _candidates(self) -> Iterable[int]:
        """The arms that may still be the answer."""
        return self._available()

    def _findings(self, units: Units) -> list[str]:
        """What the policy has found out so far, in sentences."""
        return []

    def _reason(self) -> str:
        """Why the next block: the end of a sentence; no claim where nothing is known."""
        arm, _, purpose, *_ = self.ask()
        plays = [each[3] for each in self._estimates(0.95)]
        if purpose == "commit":
            late = "though nothing is known yet: the rounds to learn from are over"
            return "because it is the answer" if any(plays) else late
        if purpose == "learn":
            aim = "to learn more about it" if plays[arm] else "to learn about it"
            return aim if any(plays) else f"{aim}, because nothing is known yet"
        late = "while late rewards of other options fade out"
        return late if any(plays) else "because nothing is known yet"

    def _available(self) -> list[int]:
        return [arm for arm in range(self.n_arms) if arm not in self._dropped]

    def _checked_arm(self, arm: int) -> int:
        arm = whole_number(arm, "an arm")
        if arm >= self.n_arms:
            raise InvalidInput(f"there is no arm {arm}; the arms are 0 to {self.n_arms - 1}.")
        return arm

    def _memory(self) -> tuple[int, Any, Any]:
        """A copy of all that was learned: of the attributes that `_reset` sets."""
        generator = None if self._rng is None else self._rng.bit_generator.state
        learned = {name: saving.copied(getattr(self, name)) for name in self._learned}
        return self.rounds_played, learned, generator

    def _go_back(self, memory: tuple[int, Any, Any]) -> None:
        self.rounds_played, learned, generator = memory
        if generator is not None:
            self._rng.bit_generator.state = generator
        vars(self).update(saving.copied(learned))
