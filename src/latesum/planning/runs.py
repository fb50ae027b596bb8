"""The simulated runs of candidates: what is kept of a run, and how each candidate does."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._render import plain
from latesum.delays.curves import Uncertain
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.one_stream import Switchback
from latesum.experiments.markets.players import SwitchbackPlayer
from latesum.experiments.markets.spec import MarketRun, MarketRunSpec
from latesum.experiments.run import Run, ends_right, on_good, settled_after
from latesum.experiments.spec import RunSpec
from latesum.experiments.stats import mean_of, quantile_of, share_of, standard_error
from latesum.experiments.store import Rows
from latesum.planning.market import MarketInputs
from latesum.planning.stream import Candidate, StreamInputs
from latesum.policies.estimates import named_winner

#: With a tie within this many standard errors the regions are kept.
_TIE_Z = 2.0
#: One that takes long to simulate has this share of the runs, and this many at least.
_SHARE_OF_SLOW, _MIN_RUNS = 0.4, 20
#: A go gains over an equal split even at this percentile of runs.
PERCENTILE = 0.05

Floats = NDArray[np.float64]
PlanInputs = StreamInputs | MarketInputs
Pair = tuple[PlanInputs, Candidate]
#: `simulate` for one plan: pairs, runs of each, the stream of seeds, and a title.
Simulate = Callable[[Sequence[Pair], int, int, str], list["PlanRow"]]


def outcome(run: Run, within: float) -> Floats:
    """What a plan keeps of a run on one stream: a measure.

    Regret, that of an equal split, switches, whether a winner is named, whether the best option is
    found, the bucket in which it is decided; and whether a good option is played, over time.
    """
    policy, problem, arms = run.policy, run.problem, run.arms
    named: bool = False
    if isinstance(policy, Switchback):
        named = policy.winner().option is not None
    elif policy is not None:
        changes = np.append(True, arms[1:] != arms[:-1])
        visits = np.bincount(arms[changes], minlength=problem.n_arms).tolist()
        commits = policy.ask().purpose == "commit"
        named = named_winner(run.estimates, visits, commits=commits) is not None
    end = np.array([run.horizon])
    split = np.mean([problem.lost_by(arm, end)[0] for arm in range(problem.n_arms)])
    found, decided = ends_right(run, within), settled_after(run, within)
    kept = [run.regret(), split, run.switches, named, found, decided]
    return np.concatenate([np.array(kept, dtype=np.float64), on_good(run, within)])


def market_outcome(run: MarketRun, tolerance: float) -> Floats:
    """The same of a run in a market, as shares of sales; only switchback names a winner."""
    named = decided = math.nan
    if isinstance(run.playing, SwitchbackPlayer):
        winner = run.playing.winner
        named, decided = float(winner is not None), math.inf if winner is None else winner[1]
    found = run.falls_short(run.answer) < tolerance
    return np.array([run.lost, run.lost_by_split, run.switches, named, found, decided])


@dataclass(frozen=True)
class PlanRow:
    """How one policy does in the planned campaign. Rewards are in the user's unit, times in hours.

    `regret` is against always playing the best; `gain` is over an equal split, both net of the cost
    of switches; `gain_low` is the 5th percentile of the gain. Times are infinite for runs that
    are never decided. `winner` is the share of runs in which a winner has been named by the end,
    and `wanted` the share that must find the best option.
    """

    candidate: Candidate
    wanted: float
    reward: Uncertain
    regret: Uncertain
    gain: Uncertain
    gain_low: Uncertain
    finds_best: Uncertain
    decided_after: Uncertain  # the median
    decided_late: Uncertain  # by when four of five runs are decided
    winner: Uncertain
    switches: Uncertain
    on_good: tuple[float, ...]
    #: The gain of each run.
    gains: Floats = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """What the policy is called."""
        return self.candidate.label

    @property
    def replications(self) -> int:
        """How many runs there were."""
        return len(self.gains)

    @property
    def passes(self) -> bool:
        """Whether the policy meets both thresholds."""
        return self.finds_best.value >= self.wanted and self.gain_low.value > 0

    @property
    def is_sure(self) -> bool:
        """Whether that is so within the uncertainty of the simulation too."""
        found, worst = self.finds_best, self.gain_low
        if self.passes:
            # The worst of fewer runs than this says little of so low a percentile.
            enough = (1 - PERCENTILE) ** self.replications <= 0.025
            return enough and found.low >= self.wanted and worst.low > 0
        return found.high < self.wanted or worst.high <= 0

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values; a time that is infinite is null."""
        names = "reward regret gain gain_low finds_best decided_after decided_late winner switches"
        return {
            "label": self.label,
            "policy": self.candidate.spec.name,
            "parameters": dict(self.candidate.spec.parameters),
            "replications": self.replications,
            **{name: plain(getattr(self, name)) for name in names.split()},
            "on_good": list(self.on_good),
        }


def simulate(
    pairs: Sequence[Pair],
    runs: int,
    stream: int,
    what: str,
    *,
    wanted: float,
    seed: int,
    how: RunOptions,
) -> list[PlanRow]:
    """How each candidate does with its inputs; another `stream` draws from another seed."""
    specs: list[RunSpec | MarketRunSpec] = []
    counts: list[int] = []
    for place, (inputs, candidate) in enumerate(pairs):
        count = runs
        if candidate.slow:
            count = min(runs, max(round(_SHARE_OF_SLOW * runs), _MIN_RUNS))
        worlds: Sequence[tuple[PlanInputs, int]] = inputs.worlds()
        rest = [count * weight // inputs.options for _, weight in worlds[1:]]
        counts += [count - sum(rest), *rest]
        specs += [
            world.spec(candidate, (seed, stream, *[n] * (n > 0)), f"{place}.{n}")
            for n, (world, _) in enumerate(worlds)
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
        made = iter(run(specs, counts, what=what, **how).rows)
    return [_row(inputs, candidate, wanted, made) for inputs, candidate in pairs]


def _row(inputs: PlanInputs, candidate: Candidate, wanted: float, made: Iterator[Rows]) -> PlanRow:
    """How a candidate does, by the runs in each of its worlds."""
    kept, best = list[Floats](), list[Floats]()
    worlds: Sequence[tuple[PlanInputs, int]] = inputs.worlds()
    for world, _ in worlds:
        (measured,) = next(made).values()
        kept.append(measured * np.append([world.scale] * 2, np.ones(measured.shape[1] - 2)))
        best.append(np.full(len(measured), world.best_reward))
    regret, split, switches, named, found, decided = np.concatenate(kept).T[:6]
    regret = regret + inputs.switch_cost * switches
    gain, hours = split - regret, decided * inputs.bucket_hours
    unknown = Uncertain(math.nan, math.nan, math.nan)
    knows = not np.isnan(named).any()
    return PlanRow(
        candidate=candidate,
        wanted=wanted,
        reward=mean_of(np.concatenate(best) - regret),
        regret=mean_of(regret),
        gain=mean_of(gain),
        gain_low=quantile_of(gain, PERCENTILE),
        finds_best=share_of(int(found.sum()), len(found)),
        decided_after=quantile_of(hours, 0.5) if knows else unknown,
        decided_late=quantile_of(hours, 0.8) if knows else unknown,
        winner=share_of(int(named.sum()), len(named)) if knows else unknown,
        switches=mean_of(switches),
        on_good=tuple(np.concatenate(kept)[:, 6:].mean(axis=0).tolist()),
        gains=gain,
    )


def recommend(rows: Sequence[PlanRow]) -> tuple[PlanRow, str]:
    """The policy to take and why: the largest gain among those that pass, otherwise the surest.

    With a tie the regions are kept.
    """
    deciding = [each for each in rows if each.candidate.runnable]
    passing = [each for each in deciding if each.passes]
    if not passing:
        best = max(deciding, key=lambda each: (each.finds_best.value, each.gain.value))
        reason = "none meets both thresholds, and it finds a good option most often"
    else:
        best, *others = sorted(passing, key=lambda each: -each.gain.value)
        reason = "it is the only one that meets both thresholds"
        if others:
            reason = (
                f"it gains most over an equal split among the {len(passing)} that meet both "
                f"thresholds ({best.gain.value:,.4g} against {others[0].gain.value:,.4g} of the "
                f"next, {others[0].label})"
            )
    together = max(deciding, key=lambda each: each.candidate.regions)
    if together.candidate.regions == best.candidate.regions:
        return best, reason
    lead = best.gains - together.gains  # run by run: in markets all have as many runs
    clear = lead.mean() > max(_TIE_Z * standard_error(lead), 0.0)
    if together.passes == best.passes and not clear:
        return together, (
            f"{best.label} does not gain clearly more within the uncertainty of the simulation, "
            "and on a tie the regions are kept"
        )
    return best, f"{reason}; the regions are added up to one total for that"
