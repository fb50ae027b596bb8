"""Compiled code draws what NumPy's generators draw, from the same seeds and in the same order."""

import numpy as np
import pytest

from latesum import _draw_kernels as kernels
from latesum._compile import compiled
from latesum._draws import SharedGenerator, generator_in, seeded


@pytest.mark.parametrize("seed", [(0,), (1,), (2**40 + 5,), (7, 3), (2**130, 2**33, 5)], ids=str)
@pytest.mark.parametrize("number", [0, 1, 255, 256, 70_000, 2**32 - 1, 2**32 + 5])
@pytest.mark.parametrize("stream", [0, 3])
def test_seeds_are_those_of_numpy(seed, number, stream):
    children = np.random.SeedSequence(seed[0], spawn_key=(*seed[1:], number, stream))
    expected = np.random.PCG64(children).state
    assert seeded(seed, number, stream).generator.bit_generator.state == expected


@compiled
def fill(words, uniforms, counts, n, p):
    for place in range(len(uniforms)):
        uniforms[place] = kernels.uniform(words)
        counts[place] = kernels.binomial(words, n, p)


@pytest.mark.parametrize(
    ("n", "p"), [(0, 0.5), (10, 0.3), (1000, 0.5), (1000, 0.01), (9, 0.99), (10**9, 0.7)]
)
def test_numbers_are_those_of_numpy(n, p):
    rng, draws = np.random.default_rng(4), SharedGenerator(np.random.default_rng(4))
    uniforms, counts = np.empty(500), np.empty(500, dtype=np.int64)
    fill(draws.words(), uniforms, counts, n, p)
    draws.drawn()
    expected = [(rng.random(), rng.binomial(n, p)) for _ in range(500)]
    assert list(zip(uniforms.tolist(), counts.tolist(), strict=True)) == expected
    assert draws.generator.bit_generator.state == rng.bit_generator.state


def test_by_turns():
    rng = np.random.default_rng(8)
    for draws in (
        SharedGenerator(np.random.default_rng(8)),
        SharedGenerator(words=SharedGenerator(np.random.default_rng(8)).words()),
    ):
        seen = []
        for _ in range(3):
            seen.append(kernels.uniform(draws.words()))
            draws.drawn()
            seen += draws.generator.integers(
                100, size=3, dtype=np.uint32
            ).tolist()  # half a word is left
        again = np.random.default_rng(8)
        for _ in range(3):
            assert seen.pop(0) == again.random()
            assert [seen.pop(0) for _ in range(3)] == again.integers(
                100, size=3, dtype=np.uint32
            ).tolist()
        assert draws.generator.bit_generator.state == again.bit_generator.state
    assert rng.bit_generator.state != again.bit_generator.state


def test_a_generator_that_was_given_is_as_far_as_the_draws():
    rng = np.random.default_rng(2)
    draws = SharedGenerator(rng)
    kernels.uniform(draws.words())
    draws.drawn()
    expected = np.random.default_rng(2)
    expected.random()
    assert rng.random() == expected.random()


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_other_generators_are_for_python(kind):
    rng = np.random.Generator(getattr(np.random, kind)(3))
    assert (SharedGenerator(rng).words() is None) == (kind != "PCG64")
    assert generator_in(rng.bit_generator.state).random() == rng.random()
