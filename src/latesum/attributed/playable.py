"""What the compiled code can play: anything else is refused, not played as something else.

The compiled code knows a policy by its memory alone. It looks at no method, and takes a number that
it does not know for the last of its cases. So a class of your own is looked at before it plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latesum._checks import InvalidInput
from latesum.attributed import layout_kernels as layout
from latesum.attributed.memory import Memory

if TYPE_CHECKING:
    from latesum.simulation.problem import Problem

_POSSIBLE = (
    "A baseline that sees which arm paid cannot bring a rule of its own yet: use QPMD, DelayedUCB1, "
    "SBD, DUCB, KLDUCB or ImprovedUCB, or subclass one of them and change its parameters, name, "
    "check or new_memory. A rule of your own that sees totals is a latesum.Policy."
)


def _named(*names: str) -> dict[int, str]:
    return {getattr(layout, name): name for name in names}


#: The numbers that the compiled code tells apart, by their names in `layout_kernels`.
KINDS = _named("QUEUED", "RECEIVED", "WEIGHTED", "PHASED")
_INDICES = _named("UCB1", "KL_UCB", "KL_UCB_PLUS_PLUS")
_BASES = {
    layout.QUEUED: _INDICES | _named("THOMPSON", "FIXED"),
    layout.RECEIVED: _INDICES,
}
_HEURISTICS = _named("NO_HEURISTIC", "THOMPSON_HEURISTIC", "GREEDY_HEURISTIC")


def memory_of(policy: Any, rng: np.random.Generator, problem: Problem | None = None) -> Memory:
    """The memory of `policy` before its first round, if the compiled code plays it as it should.

    `problem`: what will be played; without one the policy is stepped by hand.

    >>> from latesum.attributed import QPMD
    >>> memory_of(QPMD("ucb1", n_arms=2), np.random.default_rng(1)).tallies.shape
    (6, 2)
    >>> class Mine(QPMD):
    ...     def choose(self):
    ...         return 0
    >>> memory_of(Mine("ucb1", n_arms=2), np.random.default_rng(1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: Mine.choose would never be called: ...
    """
    label = type(policy).__name__
    _refuse_unused_methods(type(policy))
    if problem is not None:
        refuse_other_arms(policy, problem)  # whatever a check of its own leaves out
    memory = policy.new_memory(rng)
    if not isinstance(memory, Memory):
        raise InvalidInput(
            f"{label}.new_memory must return a Memory, not {memory!r:.80}. {_POSSIBLE}"
        )
    _refuse_arrays(label, memory, policy.n_arms)
    _refuse_numbers(label, memory, policy.n_arms)
    if problem is not None and memory.whole[layout.KIND] == layout.PHASED:
        _refuse_delays(policy, problem)
    return memory


def refuse_other_arms(policy: Any, problem: Problem) -> None:
    """Refuse a problem with another number of arms than the policy was made for."""
    if problem.n_arms != policy.n_arms:
        raise InvalidInput(
            f"{policy.name} was made for {policy.n_arms} arms and the problem has "
            f"{problem.n_arms}; make it with n_arms={problem.n_arms}."
        )


def refuse_unplayable(policy: Any, problem: Problem) -> None:
    """Refuse a policy before the first of many runs.

    >>> from latesum.attributed import QPMD
    >>> from latesum.simulation import Problem
    >>> refuse_unplayable(QPMD("ucb1", n_arms=2), Problem([0.5, 0.6], "poisson(9)"))
    """
    memory_of(policy, np.random.default_rng(0), problem)


def _refuse_unused_methods(policy: type) -> None:
    """Refuse methods of a subclass that neither a run nor the class that it extends would call."""
    from latesum import attributed

    ours = {each for each in vars(attributed).values() if isinstance(each, type)}
    # `start` serves steps by hand only: a run would play by another rule.
    called = {name for each in ours.intersection(policy.__mro__) for name in vars(each)} - {"start"}
    for each in policy.__mro__:
        if each in ours:
            continue
        for name in vars(each):
            if name in called or (name.startswith("__") and name.endswith("__")):
                continue
            value = getattr(each, name)
            if callable(value) and not isinstance(value, type):
                raise InvalidInput(
                    f"{policy.__name__}.{name} would never be called: a run is compiled and knows "
                    "a policy by the memory that its new_memory returns. Delete it; if your "
                    f"new_memory calls it, make it a function outside the class. {_POSSIBLE}"
                )


def _refuse_arrays(label: str, memory: Memory, n_arms: int) -> None:
    """Compiled code does not look whether a place is within an array."""
    places = len(memory.queue_next)
    window = int(memory.whole[layout.WINDOW])
    weighted = memory.whole[layout.KIND] == layout.WEIGHTED
    wanted: dict[str, tuple[Any, tuple[int, ...]]] = {
        "whole": (np.int64, (layout.WHOLE_SIZE,)),
        "settings": (np.float64, (layout.SETTINGS_SIZE,)),
        "tallies": (np.int64, (layout.TALLY_ROWS, n_arms)),
        "arms": (np.float64, (layout.ARM_ROWS, n_arms)),
        "queue_next": (np.int64, (places,)),
        "queue_reward": (np.float64, (places,)),
        "survival": (np.int64, (n_arms, max(window, 1) if weighted else 1)),
        "edges": (np.int64, (3, 1 << window.bit_length() if weighted else 1)),
        "random_state": (np.uint64, (4,)),
    }
    for name, (number, shape) in wanted.items():
        array = getattr(memory, name)
        if array.dtype != number or array.shape != shape or not array.flags.c_contiguous:
            raise InvalidInput(
                f"the memory of {label} must hold {name} as an array of {number.__name__} of "
                f"shape {shape}, not of {array.dtype} of shape {array.shape}. {_POSSIBLE}"
            )


def _refuse_numbers(label: str, memory: Memory, n_arms: int) -> None:
    whole, settings = memory.whole, memory.settings
    kind, base = int(whole[layout.KIND]), int(whole[layout.BASE])
    _refuse_unknown(label, "KIND", kind, KINDS)
    if whole[layout.ROUNDS]:
        raise InvalidInput(
            f"{label}.new_memory returned a memory that has played {whole[layout.ROUNDS]} rounds; it "
            "must return a new one at every call."
        )
    if kind in _BASES:
        _refuse_unknown(label, "BASE", base, _BASES[kind])
        _refuse_unless(0 <= whole[layout.ASKED] < n_arms, label, "whole[ASKED]", "an arm")
        if base == layout.UCB1:
            _refuse_unless(
                settings[layout.EXPLORATION] > 0, label, "settings[EXPLORATION]", "above 0"
            )
        if base == layout.KL_UCB_PLUS_PLUS:
            per_arm = settings[layout.HORIZON_PER_ARM]
            _refuse_unless(per_arm > 0, label, "settings[HORIZON_PER_ARM]", "above 0")
    if kind == layout.QUEUED:
        _refuse_unknown(label, "HEURISTIC", int(whole[layout.HEURISTIC]), _HEURISTICS)
    if kind == layout.WEIGHTED:
        order = np.sort(memory.tallies[layout.FIRST_PLAYS])
        _refuse_unless(whole[layout.WINDOW] >= 1, label, "whole[WINDOW]", "1 or more")
        _refuse_unless(
            bool((order == np.arange(n_arms)).all()),
            label,
            "tallies[FIRST_PLAYS]",
            "every arm once",
        )
    if kind == layout.PHASED:
        _refuse_unless(settings[layout.HORIZON] >= 1, label, "settings[HORIZON]", "1 or more")
        _refuse_unless(settings[layout.TOLERANCE] > 0, label, "settings[TOLERANCE]", "above 0")


def _refuse_unknown(label: str, place: str, value: int, known: dict[int, str]) -> None:
    if value not in known:
        names = ", ".join(f"{number} ({name})" for number, name in known.items())
        raise InvalidInput(
            f"the memory of {label} has {value} in whole[{place}], which the compiled code does "
            f"not know; there it knows {names}. {_POSSIBLE}"
        )


def _refuse_unless(holds: bool, label: str, place: str, wanted: str) -> None:
    if not holds:
        raise InvalidInput(f"the memory of {label} must have {wanted} in {place}. {_POSSIBLE}")


def _refuse_delays(policy: Any, problem: Problem) -> None:
    for delay in problem.delays:
        if delay.bound != 0:
            raise InvalidInput(
                f"{policy.name} is for undelayed rewards, and these come with {delay.short_text}; "
                "use delay 'constant(0)', or QPMD, which takes any delay."
            )
