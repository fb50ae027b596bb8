"""Conformance checks: what every delay must fulfill, for user-defined ones too."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum.delays.base import Delay, Integers
from latesum.delays.curves import Floats
from latesum.delays.parsing import parse
from latesum.errors import NotConforming

_DRAWS = 50_000
#: A delay that keeps to everything fails by chance with fewer than one of 100,000 seeds.
_LEVEL = 1e-6
_ERRORS = 5


def check(delay: Delay, *, seed: int = 1) -> None:
    """Raise `NotConforming` for a delay whose parts contradict each other.

    Its text must read back as itself, its survival function must be one, and what is drawn must
    have the law that the survival function says.

    >>> from latesum import delays
    >>> check(delays.exponential(50).clipped(75))
    """
    rng = np.random.default_rng(whole_number(seed, "the seed"))
    try:
        again = parse(delay.text)
    except InvalidInput as refusal:
        raise NotConforming(f"the text of a delay must read back as itself: {refusal}") from refusal
    same = again == delay and type(again) is type(delay)
    _require(same, f"{delay.text!r} reads back as another delay: {again!r}.")
    _check_survival(delay)
    drawn, bound = delay.draw(_DRAWS, rng), delay.bound
    _require(
        isinstance(drawn, np.ndarray) and drawn.dtype == np.int64 and drawn.shape == (_DRAWS,),
        "draw must give an array of as many whole numbers (int64) as were asked for.",
    )
    _require(
        int(drawn.min()) >= 0 and (bound is None or int(drawn.max()) <= bound),
        "what is drawn must be between 0 and the bound.",
    )
    _require(
        np.array_equal(drawn, delay.draw(_DRAWS, np.random.default_rng(seed))),
        "draw must use the generator that it is given and nothing else: one seed drew two results.",
    )
    _require(
        not _far_from(drawn, delay.cdf),
        f"what {delay.text} draws does not have the law of its survival function.",
    )
    error = math.sqrt(delay.variance / len(drawn))
    _require(
        abs(float(drawn.mean()) - delay.mean) <= _ERRORS * error + 1e-9 or math.isinf(error),
        f"{delay.text} says that its mean is {delay.mean:g}, and draws with the mean "
        f"{drawn.mean():g}.",
    )
    after = delay.quantile(0.5) - 1
    surviving = float(delay.survival(after))
    drawn = delay.draw_beyond(np.full(_DRAWS, after), np.random.default_rng(seed))
    _require(
        not _far_from(drawn, lambda k: np.maximum(1 - delay.survival(k) / surviving, 0.0)),
        f"what draw_beyond of {delay.text} draws does not have the law beyond {after}.",
    )


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise NotConforming(sentence)


def _check_survival(delay: Delay) -> None:
    end = min(delay.quantile(0.999) + 10, 100_000)
    surviving = delay.survival(np.arange(-3, end))
    _require(surviving.shape == (end + 3,), "survival must answer an array with one of its shape.")
    inside = bool(((surviving >= 0) & (surviving <= 1)).all())
    _require(inside, "survival must be between 0 and 1 everywhere.")
    _require(bool((surviving[:3] == 1).all()), "survival must be 1 for negative numbers.")
    _require(bool((np.diff(surviving) <= 1e-12).all()), "survival must not increase.")
    bound = delay.bound
    ends = bound is None or (bound >= 0 and float(delay.survival(bound)) == 0)
    _require(ends, f"survival must be 0 from the bound {bound} on.")


def _far_from(drawn: Integers, cdf: Callable[[Integers], Floats]) -> bool:
    """Whether what was drawn lies outside the limits that hold for any law.

    These are those of Dvoretzky, Kiefer and Wolfowitz, with the constant of Massart (1990).
    """
    values, counts = np.unique(drawn, return_counts=True)
    shares = np.cumsum(counts) / len(drawn)
    at_each = np.abs(shares - cdf(values)).max()
    before_each = np.abs(np.append(0.0, shares[:-1]) - cdf(values - 1)).max()
    return bool(max(at_each, before_each) > math.sqrt(math.log(2 / _LEVEL) / (2 * len(drawn))))
