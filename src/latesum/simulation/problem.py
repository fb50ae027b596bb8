"""A problem: arms, their rewards and their delays."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from latesum import _render
from latesum._checks import InvalidInput, whole_number
from latesum.delays import Delay
from latesum.delays.base import Integers
from latesum.delays.parsing import parse_each, text_of
from latesum.simulation.rewards import Bernoulli, Floats, Reward, as_reward, reward_text
from latesum.simulation.world import World


class Problem:
    """K arms and how late their rewards come.

    Args:
        arms: Rewards, their means (of Bernoulli rewards), or rewards as text.
        delay: One delay for all arms, or a list with one for each; as delays or as text.

    >>> problem = Problem([0.5, 0.6], "uniform(0, 100)")
    >>> problem.means, problem.best
    ((0.5, 0.6), 1)
    """

    _world: ClassVar[type[World]] = World
    #: Whether the means change over time.
    changes = False

    def __init__(
        self, arms: Sequence[Reward | float | str], delay: Delay | str | Sequence[Delay | str]
    ) -> None:
        if isinstance(arms, str) or not hasattr(arms, "__len__"):
            raise InvalidInput(f"the arms are a list of rewards or of means, not {arms!r}.")
        if len(arms) < 2:
            raise InvalidInput(f"a problem needs at least 2 arms to choose from, not {len(arms)}.")
        rewards = [as_reward(arm) for arm in arms]
        self.arms, self.delays = tuple(rewards), tuple(parse_each(delay, len(rewards)))
        #: The number of arms (the paper's K).
        self.n_arms = len(self.arms)
        #: The mean reward of each arm (the paper's mu_j).
        self.means = tuple(arm.mean for arm in self.arms)
        #: The arm with the largest mean, the first of them if there are several.
        self.best = int(np.argmax(self.means))
        #: How far each arm's mean is below the best (the paper's Delta_j).
        self.gaps = tuple(self.means[self.best] - mean for mean in self.means)

    @property
    def delay(self) -> Delay:
        """The delay, where all arms have the same one."""
        if len(set(self.delays)) > 1:
            raise InvalidInput("the arms have different delays: see problem.delays.")
        return self.delays[0]

    def gaps_at(self, rounds: int) -> tuple[float, ...]:
        """How far each arm's mean is below the best after `rounds` rounds."""
        return self.gaps

    def permuted(self, order: Sequence[int]) -> Problem:
        """The same arms and delays in another order: arm `j` is now arm `order[j]` of this.

        >>> problem = Problem([0.2, 0.5, 0.9], ["constant(1)", "constant(2)", "constant(3)"])
        >>> problem.permuted([2, 0, 1])
        Problem([0.9, 0.2, 0.5], ['constant(3)', 'constant(1)', 'constant(2)'])
        """
        arms = [whole_number(arm, "an arm of the order") for arm in order]
        if sorted(arms) != list(range(self.n_arms)):
            raise InvalidInput(
                f"an order names each of the arms 0 to {self.n_arms - 1} once, and {arms} does not."
            )
        result = copy.copy(self)
        Problem.__init__(result, [self.arms[j] for j in arms], [self.delays[j] for j in arms])
        return result

    def lost_by(self, arm: int, rounds: Integers) -> Floats:
        """What playing `arm` all the time has lost to the best of each round, after `rounds`.

        >>> Problem([0.5, 0.6], "constant(2)").lost_by(0, np.array([10, 20])).round(6).tolist()
        [1.0, 2.0]
        """
        return self.gaps[arm] * np.asarray(rounds, dtype=np.float64)

    def start(
        self,
        *,
        rng: np.random.Generator,
        status_quo: Reward | float | str | None = None,
        at: int = 0,
    ) -> World:
        """A world in which nothing has been played yet, or something has always been played.

        Args:
            status_quo: What was played until now, forever: an arm (a whole number), a reward or
                its mean that is no arm, or None: nothing, so that nothing is in flight.
            at: The round in which the world begins, for means that change: before the start they
                follow the calendar's cycle, and a drift begins in round 0.

        >>> world = Problem([0.5, 0.6], "constant(2)").start(rng=np.random.default_rng(1))
        >>> world.play(0, 2)                # nothing can have arrived yet
        0.0
        >>> problem = Problem([0.5, 0.6], "constant(2)")
        >>> world = problem.start(rng=np.random.default_rng(1), status_quo=1.0)
        >>> world.play(0, 2)                # two rounds of a reward that is always 1
        2.0
        """
        return self._world(self, rng, status_quo=status_quo, at=at)

    def plain(self) -> dict[str, Any]:
        """As JSON values, for files and digests; `latesum.simulation.field.problem_from` reads it.

        A reward that is no class of latesum, or a delay with the text of another one, is refused.

        >>> Problem([0.5, "beta(6, 4)"], "uniform(0, 100)").plain()
        {'arms': [0.5, 'beta(6, 4)'], 'delay': 'uniform(0, 100)'}
        """
        delays = [text_of(delay) for delay in self.delays]
        arms = [reward_text(arm) for arm in self.arms]
        return {"arms": arms, "delay": delays[0] if len(set(delays)) == 1 else delays}

    def __repr__(self) -> str:
        arms = [arm.mean if isinstance(arm, Bernoulli) else arm for arm in self.arms]
        texts = [delay.short_text for delay in self.delays]
        return f"Problem({arms}, {texts[0] if len(set(texts)) == 1 else texts!r})"

    def _repr_html_(self) -> str:
        """As a notebook shows it: what each arm pays, what it loses, and how late it pays."""
        table = _render.new_table(None, ["arm", "reward", "mean", "gap", "delay", "mean delay"])
        for arm, (reward, delay) in enumerate(zip(self.arms, self.delays, strict=True)):
            table.add_row(
                f"{arm}{' (best)' if arm == self.best else ''}",
                str(reward),
                f"{reward.mean:g}",
                f"{self.gaps[arm]:.4g}",
                delay.short_text,
                f"{delay.mean:.4g}",
            )
        return _render.heading(repr(self)) + _render.table(table)
