"""Plain versions of the policies and of their world, written from the papers, without hurry.

They share no code with the package but the draws of rewards and delays.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from latesum.attributed import runner


def play(problem, policy, horizon, seed_sequence):
    """The arms played in each round."""
    draws = runner.Draws(problem, seed_sequence)
    under_way = {}
    arms = []
    for now in range(horizon):
        if now % runner.CHUNK == 0:
            draws.next_chunk()
        arm = policy.choose()
        reward, delay = draws.of_play(now % runner.CHUNK, arm)
        under_way.setdefault(now + delay, []).append((arm, reward))
        policy.observe(under_way.pop(now, []))  # the earliest play first
        arms.append(arm)
    return arms


def argmax(values):
    """The first of the largest."""
    return max(range(len(values)), key=lambda place: (values[place], -place))


def kl(p, q):
    total = 0.0
    if p > 0:
        total += p * math.log(p / q)
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else math.inf
    return total


def poisson_divergence(p, q):
    return q - p + (p * math.log(p / q) if p > 0 else 0.0)


def largest_within(divergence, p, allowance):
    """The largest q in [p, 1] with divergence(p, q) <= allowance, by bisection."""
    low, high = p, 1.0
    if p >= 1 or divergence(p, 1.0) <= allowance:
        return 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if divergence(p, middle) <= allowance:
            low = middle
        else:
            high = middle
    return low


class Counts:
    """How many rewards of each arm are known, and their sum."""

    def __init__(self, n_arms):
        self.counts = [0] * n_arms
        self.totals = [0.0] * n_arms

    def feed(self, arm, reward):
        self.counts[arm] += 1
        self.totals[arm] += reward

    def observe(self, arrivals):
        for arrival in arrivals:
            self.feed(*arrival)


class IndexBase(Counts):
    """UCB1, KL-UCB and KL-UCB++, every index again in every step."""

    def __init__(self, n_arms, index):
        super().__init__(n_arms)
        self.index = index

    def ask(self):
        steps = sum(self.counts)
        if steps < len(self.counts):
            return steps
        return argmax(
            [
                self.index(total / count, count, steps)
                for count, total in zip(self.counts, self.totals, strict=True)
            ]
        )


def ucb1(exploration=2.0):
    return lambda mean, count, n: mean + math.sqrt(exploration * math.log(n) / count)


def kl_ucb(mean, count, n):
    return largest_within(kl, mean, math.log(n) / count)


def kl_ucb_plus_plus(horizon, n_arms):
    def index(mean, count, _):
        x = max(1.0, horizon / (n_arms * count))
        return largest_within(kl, mean, math.log(x * (1 + math.log(x) ** 2)) / count)

    return index


class ThompsonBase(Counts):
    def __init__(self, n_arms, first, beta):
        super().__init__(n_arms)
        self.first = first
        self.beta = beta

    def ask(self):
        if sum(self.counts) == 0:
            return self.first
        return argmax(
            [self.beta(1 + s, 1 + n - s) for n, s in zip(self.counts, self.totals, strict=True)]
        )


class QueuedPolicy:
    """QPM-D, and SDB when a heuristic is given."""

    def __init__(self, base, n_arms, heuristic=None, max_delay=0):
        self.base = base
        self.queues = [deque() for _ in range(n_arms)]
        self.asked = base.ask()
        self.heuristic = heuristic
        self.max_delay = max_delay
        self.unused = [0] * n_arms  # queued or outstanding
        self.received = [(0, 0.0)] * n_arms

    def choose(self):
        while self.queues[self.asked]:
            self.base.feed(self.asked, self.queues[self.asked].popleft())
            self.unused[self.asked] -= 1
            self.asked = self.base.ask()
        arm = self.asked
        if self.heuristic is not None:
            wanted = self.heuristic(self.received, self.asked)
            if wanted == arm or self.unused[wanted] < self.max_delay:
                arm = wanted
        self.unused[arm] += 1
        return arm

    def observe(self, arrivals):
        for arm, reward in arrivals:
            self.queues[arm].append(reward)
            count, total = self.received[arm]
            self.received[arm] = (count + 1, total + reward)


def greedy(received, asked):
    known = [arm for arm, (count, _) in enumerate(received) if count]
    if not known:
        return asked
    return max(known, key=lambda arm: (received[arm][1] / received[arm][0], -arm))


def thompson_heuristic(beta):
    return lambda received, _: argmax([beta(1 + s, 1 + n - s) for n, s in received])


class DelayedUCB1(Counts):
    def __init__(self, n_arms, exploration=2.0):
        super().__init__(n_arms)
        self.plays = [0] * n_arms
        self.exploration = exploration

    def choose(self):
        unseen = [arm for arm, count in enumerate(self.counts) if count == 0]
        if unseen:
            arm = min(unseen, key=lambda each: (self.plays[each], each))
        else:
            rounds = sum(self.plays)
            arm = argmax(
                [
                    s / n + math.sqrt(self.exploration * math.log(rounds) / n)
                    for n, s in zip(self.counts, self.totals, strict=True)
                ]
            )
        self.plays[arm] += 1
        return arm


class DUCB:
    """N~ as the plain sum over all plays still within the window.

    `chances[arm][lag]` is F; beyond its end F is 1.
    """

    def __init__(self, chances, order, epsilon=0.0, poisson=False):
        self.chances = chances
        self.order = list(order)
        self.epsilon = epsilon
        self.poisson = poisson
        self.totals = [0.0] * len(chances)
        self.full = [0] * len(chances)
        self.recent = deque()  # (round, arm)
        self.now = 0

    def choose(self):
        self.now += 1
        t = self.now
        n_arms = len(self.chances)
        while self.recent and t - 1 - self.recent[0][0] >= len(self.chances[self.recent[0][1]]):
            self.full[self.recent.popleft()[1]] += 1
        if t <= n_arms:
            arm = self.order[t - 1]
        else:
            expected = [float(n) for n in self.full]
            plays = list(self.full)
            for s, played in self.recent:
                lag = t - 1 - s
                chances = self.chances[played]
                expected[played] += chances[lag] if lag < len(chances) else 1.0
                plays[played] += 1
            hopeless = [arm for arm in range(n_arms) if expected[arm] <= 0]
            if hopeless:
                arm = min(hopeless, key=lambda each: (plays[each], each))
            else:
                level = (1 + self.epsilon) * math.log(t)
                arm = argmax(
                    [
                        self._index(*each, level)
                        for each in zip(self.totals, plays, expected, strict=True)
                    ]
                )
        self.recent.append((t, arm))
        return arm

    def _index(self, total, plays, expected, level):
        if self.poisson:
            return largest_within(poisson_divergence, min(total / expected, 1.0), level / expected)
        # total / N~ + sqrt(N / N~) sqrt(level / (2 N~)), over one denominator: before the first
        # rewards, indices can be equal (N = 1, N~ = 5/51 and N = 4, N~ = 10/51), and then
        # the last digit decides.
        return (total + math.sqrt(plays * level / 2)) / expected

    def observe(self, arrivals):
        for arm, reward in arrivals:
            self.totals[arm] += reward


class ImprovedUCB(Counts):
    def __init__(self, n_arms, horizon):
        super().__init__(n_arms)
        self.horizon = horizon
        self.plan = self._arms(n_arms)

    def _arms(self, n_arms):
        active = list(range(n_arms))
        best = 0
        tolerance = 1.0
        while len(active) > 1 and self.horizon * tolerance**2 >= math.e:
            level = math.log(self.horizon * tolerance**2)
            plays = math.ceil(2 * level / tolerance**2)
            for arm in active:
                while self.counts[arm] < plays:
                    yield arm
            means = {arm: self.totals[arm] / self.counts[arm] for arm in active}
            best = max(active, key=lambda arm: (means[arm], -arm))
            width = math.sqrt(level / (2 * plays))
            active = [arm for arm in active if means[arm] + width >= means[best] - width]
            tolerance /= 2
        while True:
            yield best

    def choose(self):
        return next(self.plan)


def rounded_chances(delay, cdf_horizon=200):
    """F per lag as DUCB states it: in multiples of 2^-40, 1 from the bound or the horizon on."""
    window = cdf_horizon if delay.bound is None else delay.bound
    units = np.rint(delay.survival(np.arange(window)) * 2.0**40)
    return [1.0 - unit / 2.0**40 for unit in units]


def unrounded_chances(delay, cdf_horizon=200):
    window = cdf_horizon if delay.bound is None else delay.bound
    return delay.cdf(np.arange(window)).tolist()
