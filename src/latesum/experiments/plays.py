"""What was played in a run, as arrays: a sequence of plays that is cheap where there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from latesum.policies import Play
from latesum.policies.base import PURPOSES, Purpose

_ROOM = 128


class Plays(Sequence[Play]):
    """Plays whose totals are all known.

    Args:
        first: The number of the block that the first begins, if it begins one.
        room: For how many there is room at first.

    >>> plays = Plays()
    >>> plays.add(0, 150, 51.0, "learn")
    >>> plays[0], len(plays)
    (Play(arm=0, rounds=150, total=51.0, purpose='learn', number=1), 1)
    """

    def __init__(self, first: int = 1, *, room: int = _ROOM) -> None:
        self._first = first
        self._count = 0
        self._columns: tuple[NDArray[Any], ...] = (
            np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room),
            np.empty(room, dtype=np.int8), np.empty(room, dtype=np.int64),
        )  # fmt: skip

    @property
    def arms(self) -> NDArray[np.int64]:
        """The arm of each."""
        return self._columns[0][: self._count]

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The rounds of each."""
        return self._columns[1][: self._count]

    @property
    def totals(self) -> NDArray[np.float64]:
        """What arrived in each."""
        return self._columns[2][: self._count]

    @property
    def next_number(self) -> int:
        """The number of the next block."""
        return int(self._columns[4][self._count - 1]) + 1 if self._count else self._first

    def add(
        self,
        arm: int,
        rounds: int,
        total: float | None,
        purpose: Purpose,
        number: int | None = None,
    ) -> None:
        """Note one more.

        Args:
            arm: The arm.
            rounds: Its rounds.
            total: What arrived meanwhile.
            purpose: What for.
            number: The number of the block that it is a part of; by default the next.
        """
        self.make_room()
        number = self.next_number if number is None else number
        row = (arm, rounds, total, PURPOSES.index(purpose), number)
        for column, value in zip(self._columns, row, strict=True):
            column[self._count] = value
        self._count += 1

    def make_room(self) -> None:
        """Let at least one more be noted."""
        if self._count == len(self._columns[0]):
            self._columns = tuple(
                np.concatenate([column, np.empty_like(column)]) for column in self._columns
            )

    def for_kernel(self) -> tuple[Any, ...]:
        """The columns to write into, and how many rows there are."""
        return *self._columns, self._count

    def noted(self, count: int) -> None:
        """Compiled code has written rows, up to `count` in all.

        Args:
            count: How many there are now.
        """
        self._count = count

    def part(self, start: int, end: int) -> Plays:
        """Some of them that follow each other, where they are.

        Args:
            start: The place of the first.
            end: One past the place of the last.

        >>> plays = Plays()
        >>> for arm in range(3):
        ...     plays.add(arm, 150, 51.0, "learn")
        >>> plays.part(1, 3).arms.tolist()
        [1, 2]
        """
        new = Plays(self._first, room=0)
        new._columns, new._count = tuple(each[start:end] for each in self._columns), end - start
        return new

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Play]:
        arms, rounds, totals, purposes, numbers = (
            each[: self._count].tolist() for each in self._columns
        )
        names = [PURPOSES[purpose] for purpose in purposes]
        return map(Play, arms, rounds, totals, names, numbers)

    @overload
    def __getitem__(self, place: int) -> Play: ...
    @overload
    def __getitem__(self, place: slice) -> list[Play]: ...
    def __getitem__(self, place: int | slice) -> Play | list[Play]:
        if isinstance(place, slice):
            return list(self)[place]
        at = range(self._count)[place]
        arm, rounds, total, purpose, number = (each.item(at) for each in self._columns)
        return Play(arm, rounds, total, PURPOSES[purpose], number)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (Plays, list)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))
