"""A random generator that Python and compiled code draw from by turns."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_HALF = (1 << 64) - 1
#: The number of runs whose seeds are made at once.
_BLOCK = 256
_FEWEST_WORDS = 4


class _NoSeed(ISeedSequence):
    """In place of a seed where a state is set at once: making one of a number costs 15 microseconds."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """Zeros."""
        return np.zeros(n_words, dtype=dtype)


_NO_SEED = _NoSeed()


class SharedGenerator:
    """A generator, and what compiled code draws from in its place (`latesum._draw_kernels`).

    Args:
        generator: The generator; it is as far as all draws so far after every call.
        words: In place of it its state, as compiled code keeps it; a generator is made when one is needed.

    >>> draws = SharedGenerator(np.random.default_rng(7))
    >>> words = draws.words()
    >>> from latesum._draw_kernels import uniform
    >>> first = uniform(words)
    >>> draws.drawn()
    >>> np.random.default_rng(7).random(2).tolist() == [first, draws.generator.random()]
    True
    """

    def __init__(
        self, generator: np.random.Generator | None = None, *, words: Words | None = None
    ) -> None:
        self._generator, self._words = generator, words
        self._given = generator is not None
        self._words_lead = words is not None

    @property
    def generator(self) -> np.random.Generator:
        """The generator, as far as all that was drawn; do not keep it."""
        if self._words_lead:
            self._write_back()
        assert self._generator is not None
        return self._generator

    def words(self) -> Words | None:
        """What compiled code draws from; None where the generator is not of NumPy's usual kind."""
        if self._words_lead:
            return self._words
        assert self._generator is not None
        bits = self._generator.bit_generator
        if type(bits) is not np.random.PCG64:
            return None
        saved: Any = bits.state
        state, step = saved["state"]["state"], saved["state"]["inc"]
        self._words = np.array(
            [state & _HALF, state >> 64, step & _HALF, step >> 64, saved["has_uint32"], saved["uinteger"]],
            dtype=np.uint64,
        )  # fmt: skip
        return self._words

    def drawn(self) -> None:
        """Compiled code has drawn from the words."""
        self._words_lead = True
        if self._given:
            self._write_back()

    def _write_back(self) -> None:
        assert self._words is not None
        low, high, step_low, step_high, kept, half = self._words.tolist()
        state = {
            "bit_generator": "PCG64",
            "state": {"state": high << 64 | low, "inc": step_high << 64 | step_low},
            "has_uint32": kept,
            "uinteger": half,
        }
        if self._generator is None:
            self._generator = generator_in(state)
        else:
            self._generator.bit_generator.state = state
        self._words_lead = False


def generator_in(saved: dict[str, Any]) -> np.random.Generator:
    """A generator whose bit generator is in this state.

    Args:
        saved: What `bit_generator.state` gave.

    >>> rng = np.random.default_rng(3)
    >>> generator_in(rng.bit_generator.state).random() == rng.random()
    True
    """
    bits: Any = getattr(np.random, saved["bit_generator"])(_NO_SEED)
    bits.state = saved
    return np.random.Generator(bits)


def seeded(seed: tuple[int, ...], number: int, stream: int) -> SharedGenerator:
    """What `PCG64(SeedSequence(seed[0], spawn_key=(*seed[1:], number, stream)))` draws.

    Args:
        seed: A seed, and the path to one of its children.
        number: Which child of it, such as the number of a run.
        stream: Which child of that.

    >>> children = np.random.SeedSequence(3, spawn_key=(5, 0))
    >>> np.random.default_rng(children).random() == seeded((3,), 5, 0).generator.random()
    True
    """
    block, place = divmod(number, _BLOCK)
    return SharedGenerator(words=_block_of(seed, block, stream)[place].copy())


def seeded_rows(seed: tuple[int, ...], first: int, end: int, stream: int) -> Words:
    """What compiled code draws from in place of `seeded`, for the numbers `first` to `end` - 1: a row for each.

    Args:
        seed: As for `seeded`.
        first: The first number.
        end: One past the last.
        stream: As for `seeded`.

    >>> bool((seeded_rows((3,), 250, 260, 1)[7] == seeded((3,), 257, 1).words()).all())
    True
    """
    blocks = [_block_of(seed, block, stream) for block in range(first // _BLOCK, -(-end // _BLOCK))]
    start = first // _BLOCK * _BLOCK
    return np.concatenate(blocks)[first - start : end - start]


@functools.lru_cache(maxsize=64)
def _block_of(seed: tuple[int, ...], block: int, stream: int) -> Words:
    from latesum import _draw_kernels as kernels  # compiled at first use

    if (block + 1) * _BLOCK > 1 << 32:  # numbers of two words: NumPy makes these
        return np.array(
            [_by_numpy(seed, block * _BLOCK + place, stream) for place in range(_BLOCK)]
        )
    before = _words_of(seed[0])
    before += [0] * (_FEWEST_WORDS - len(before))
    for part in seed[1:]:
        before += _words_of(part)
    entropy = np.array([*before, 0, *_words_of(stream)], dtype=np.uint64)
    made = np.empty((_BLOCK, kernels.WORDS), dtype=np.uint64)
    kernels.seed_generators(entropy, len(before), block * _BLOCK, made)
    return made


def _by_numpy(seed: tuple[int, ...], number: int, stream: int) -> Words:
    children = np.random.SeedSequence(seed[0], spawn_key=(*seed[1:], number, stream))
    words = SharedGenerator(np.random.Generator(np.random.PCG64(children))).words()
    assert words is not None
    return words


def _words_of(number: int) -> list[int]:
    """A whole number in words of 32 bits, the lowest first."""
    words = [number & 0xFFFFFFFF]
    while number := number >> 32:
        words.append(number & 0xFFFFFFFF)
    return words
