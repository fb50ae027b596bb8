# mypy: ignore-errors
"""Runs of one setting, one after the other, compiled: what each costs is then what it plays."""

from __future__ import annotations

from latesum._compile import allocation_free
from latesum.experiments.run_kernels import DRAWN, NO_ROOM, begin, play_blocks
from latesum.experiments.state_kernels import copy_state
from latesum.simulation.kernels import DONE

#: A round that never comes.
_NEVER = (1 << 63) - 1


@allocation_free
def play_runs(
    template, state, worlds, policies, first, until, bucket, tables, under_way, words, own_words,
    arms, rounds, totals, purposes, numbers, ends, alone,
):  # fmt: skip
    """Play the runs from `first` on as long as there is room for what they play; the first that is not played.

    A row of `worlds` and of `policies` is what a run draws from, as `latesum._draw_kernels` has it. Each begins with the state
    `template` and nothing under way. `ends` says where the plays of a run end, after those of the runs before it.
    `alone` says True of a run that plays to its end here, and False of one that needs Python, of which nothing is noted.
    The second number returned says whether it was the state that had no room.
    """
    count = 0
    for run in range(first, len(worlds)):
        copy_state(state, template)
        for place in range(len(words)):
            words[place], own_words[place] = worlds[run, place], policies[run, place]
        begin(state, own_words)
        under_way.carry[:] = 0.0
        why, played, _, _, _, to_do, _, _, _ = play_blocks(
            state, 0, until, bucket, tables, under_way, words, 0, _NEVER, (-1, 0, 0, 0), 0,
            arms, rounds, totals, purposes, numbers, count,
        )  # fmt: skip
        if why == NO_ROOM:
            return run, played < len(arms)
        alone[run] = why == DRAWN and to_do == DONE
        if alone[run]:
            count = played + 1
        ends[run] = count
    return len(worlds), False
