# mypy: ignore-errors
"""The loop of `lab.play.Game`, compiled: block after block, until something needs Python.

A policy is its state, a named tuple of arrays, and two functions of it; the type of the state says
which. A further policy needs a line in `_RULES`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import types
from numba.extending import intrinsic

from latesum._compile import allocation_free
from latesum.policies import choice_kernels
from latesum.policies.unmix import step_kernels as unmix_kernels
from latesum.simulation.bucket_kernels import BucketTables, play_in_buckets
from latesum.simulation.cohort_kernels import LongTables, play_long
from latesum.simulation.kernels import DONE, play_bernoulli

#: Why the loop ended: there is no room for one more block; one was drawn that is the last, or in
#: which something further off than a table of delays has a part; or the policy needs Python before the next.
NO_ROOM, DRAWN, RULE_STOPS = range(3)
#: More rounds than any part of a block has.
_ANY = 1 << 62


class _Rule(NamedTuple):
    next_block: Any  # (state, told) -> arm, rounds, purpose
    learn: Any  # (state, told, arm, rounds, total, known, purpose)
    can_learn: Any = None  # (state) -> whether there is room for one more block
    longest_part: Any = None  # (state) -> the most rounds that are told at once
    stops: Any = None  # (state) -> whether Python has something to do before the next block
    begin: Any = None  # (state, words): for a policy that draws, what it draws at the beginning


_RULES = {
    choice_kernels.FlowState: _Rule(
        choice_kernels.next_block,
        choice_kernels.learn,
        choice_kernels.can_learn,
        begin=choice_kernels.begin,
    ),
    unmix_kernels.UnmixState: _Rule(
        unmix_kernels.next_block,
        unmix_kernels.learn_part,
        unmix_kernels.can_learn,
        unmix_kernels.longest_part,
        unmix_kernels.must_search,
    ),
}


def _call_of(kernel, typing_context, arguments):
    """The signature and the code of a call of a kernel, for an intrinsic."""
    kind = types.Dispatcher(kernel)
    signature = kind.get_call_type(typing_context, tuple(map(types.unliteral, arguments)), {})

    def generate(context, builder, signature, values):
        return context.get_function(kind, signature)(builder, values)

    return signature, generate


# What is called is known by the types of the arguments, and called as if its name stood there: an overload would be
# compiled by itself, with all that it calls, and then be inlined.
@intrinsic
def next_block(typing_context, state, told):
    """The block that a policy asks for."""
    rule = _RULES[state.instance_class].next_block
    return _call_of(rule, typing_context, (state, told))


@intrinsic
def learn(typing_context, state, told, arm, rounds, total, known, purpose):
    """What a policy makes of a block."""
    rule = _RULES[state.instance_class].learn
    arguments = (state, told, arm, rounds, total, known, purpose)
    return _call_of(rule, typing_context, arguments)


@intrinsic
def begin(typing_context, state, words):
    """What a policy draws at the beginning."""
    rule = _RULES[state.instance_class].begin
    if rule is not None:
        return _call_of(rule, typing_context, (state, words))
    return types.void(state, words), lambda context, *_: context.get_dummy_value()


def runs_alone(state, random):
    """Whether a policy with such a state plays a run from its beginning without Python."""
    rule = _RULES[type(state)]
    return rule.stops is None and (rule.begin is not None or not random)


@intrinsic
def play_part(typing_context, tables, under_way, words, arm, rounds, end):
    """What arrives while an arm is played until round `end`."""
    arguments = (tables, under_way, words, arm, rounds, end)
    if tables.instance_class is LongTables:
        return _call_of(play_long, typing_context, arguments)
    if tables.instance_class is BucketTables:
        return _call_of(play_in_buckets, typing_context, arguments)
    signature, generate = _call_of(play_bernoulli, typing_context, arguments[:-1])
    taken = signature.return_type(*signature.args, types.unliteral(end))
    return taken, lambda context, builder, _, values: generate(
        context, builder, signature, values[:-1]
    )


def _optional(part, kind, otherwise, typing_context, state):
    """A part of a rule, or `otherwise` where the rule has none."""
    rule = getattr(_RULES[state.instance_class], part)
    if rule is not None:
        return _call_of(rule, typing_context, (state,))
    return kind(state), lambda context, builder, signature, values: context.get_constant(
        kind, otherwise
    )


@intrinsic
def can_learn(typing_context, state):
    """Whether a policy has room for one more block."""
    return _optional("can_learn", types.boolean, True, typing_context, state)


@intrinsic
def longest_part(typing_context, state):
    """The most rounds that a policy wants to be told at once."""
    return _optional("longest_part", types.int64, _ANY, typing_context, state)


@intrinsic
def stops(typing_context, state):
    """Whether a policy needs Python before the next block."""
    return _optional("stops", types.boolean, False, typing_context, state)


@allocation_free
def play_blocks(
    state,
    told,
    left,
    bucket,
    tables,
    under_way,
    words,
    start,
    quiet,
    opened,
    highest,
    arms,
    rounds,
    totals,
    purposes,
    numbers,
    count,
):
    """Play `left` rounds, and note each part of a block; the last is drawn and not told, nor counted.

    `words` is the generator, as `latesum._draw_kernels` has it, and `start` the rounds that nature has played. `told` is the rounds that the policy was told, and before `quiet` more rounds are over nothing
    arrives that is further off than a table. `opened` is the block that is being played: its arm, purpose and
    number, and how many of its rounds are left (0: none is); `highest` is the highest number so far.

    Returns why it ended, the parts noted, the rounds played in them, the highest number, how many rounds
    are left of the block that is being played then, and of a part that was drawn and not told, which is in the row
    after those noted, what `play_bernoulli` returns.
    """
    played = 0
    open_arm, open_purpose, number, unplayed = opened
    while True:
        if count == len(arms) or not can_learn(state):
            return NO_ROOM, count, played, highest, unplayed, DONE, 0.0, 0, 0
        arm, asked, purpose = next_block(state, told + played)
        buckets = min(-(-asked // bucket), max(1, longest_part(state) // bucket))
        length = min(buckets * bucket, left - played)
        to_do, arrived, late, far = play_part(
            tables, under_way, words, arm, length, start + played + length
        )
        goes_on = unplayed > 0 and arm == open_arm and purpose == open_purpose
        if not goes_on:
            number = highest + 1
        ends = played + length
        arms[count], rounds[count], totals[count], purposes[count] = arm, length, arrived, purpose
        numbers[count] = number
        if to_do != DONE or ends >= quiet or ends == left:
            return DRAWN, count, played, highest, unplayed, to_do, arrived, late, far
        played = ends
        unplayed = (unplayed if goes_on else asked) - length
        highest, open_arm, open_purpose = number, arm, purpose
        learn(state, told + played, arm, length, arrived, True, purpose)
        count += 1
        if stops(state):
            return RULE_STOPS, count, played, highest, unplayed, DONE, 0.0, 0, 0
