"""Suboptimal convergence on random problems, counted.

    python studies/safety.py --law wide --policy unmix --told 1 --replications 2000

A lock-in is a run that plays arms with a gap of at least 0.02 for more than half of its last half,
and does so again when it is continued to ten times the horizon. (The first alone may be honest
exploration: with a dozen close arms there is a lot to find out.) A policy that was told the
    horizon settles by it;
so it is also counted how many suspects are so again when they are made anew and told the tenfold
horizon from the
start. In random markets it is a run whose last half
went mostly to options that sell at least 5% less than the best, and that would keep such an option.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name
from latesum.delays import Delay, parse
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.measures import harmful_gap
from latesum.experiments.spec import DrawnProblem, RunSpec
from latesum.experiments.stats import number_text, rate_upper_limit
from latesum.policies import PolicySpec
from latesum.simulation import Problem
from latesum.simulation.market import Market
from report import command, keep, options, running, show

HORIZON = 200_000

#: Kinds of delay with mean {e}; {twice} and the others are multiples of it, as whole numbers.
DELAY_KINDS = (
    "constant({e})",
    "uniform(0, {twice})",
    "exponential({e})",
    "poisson({e})",
    "negative_binomial({e}, {wide})",
    "mixture((0.5, constant(0)), (0.5, constant({twice})))",
    "mixture((0.05, constant({tenfold})), (0.95, uniform(0, {e})))",
    "pareto(2.5, {e})",
    "pareto(1.5, {e})",
)
MEAN_DELAYS = (10, 25, 50, 100)
#: The laws of problems by their names on the command line.
LAWS = {
    "usual": "safety:random_problem",
    "wide": "safety:wide_problem",
    "markets": "safety:random_market",
}

#: Of the wide law: an arm is harmful from a gap of 0.02 on, or of this share of the best mean.
HARMFUL_SHARE = 0.2
_WIDE_MEAN_DELAYS = (1, 5_000)
_WIDE_HORIZONS_IN_DELAYS = (200, 100_000)
_WIDE_HORIZONS = (2_000, 2_000_000)
_FEWEST_BUCKETS = 40
_SHARE_WITH_BUCKETS = 0.2


class Safety(NamedTuple):
    """How a policy fared over many runs, each on its own problem."""

    policy: str
    told: float | None  # None: nothing
    replications: int
    suspects: int  # harmful for more than half of the last half
    lock_ins: int  # and again at ten times the horizon
    told_longer: int | None  # or again when told ten times the horizon; None: not counted
    upper_limit: float  # of the rate of lock-ins, at 95%
    mean_regret: float
    worst_regret: float
    found: tuple[LockIn, ...]


class LockIn(NamedTuple):
    """A run that locked in: `RunSpec.from_json(setting).run(number)` is that run.

    In markets it is `MarketRunSpec.from_json(setting).run(number)`.
    """

    number: int
    setting: dict[str, Any]
    regret: float


def measure_safety(
    replications: int = 10_000,
    *,
    policy: str = "flow",
    told: float | None = 1.0,
    horizon: int | None = None,
    seed: int = 0,
    problems: str = "usual",
    **how: Unpack[RunOptions],
) -> Safety:
    """Count the lock-ins of a policy over random problems, another one in every run.

    Args:
        replications: The number of runs.
        policy: The policy as text; it is told the mean delay and nothing more of the delay.
        told: A factor on the mean delay that it is told; None: it is told nothing of the delay.
        horizon: The rounds of a run, 200,000 without; the wide law draws its own.
        seed: The same seed gives the same runs.
        problems: The law of the problems: "usual", "wide" (`wide_problem`), "markets"
            (`random_market`; there
            also "switchback" and the analysts' tests play), or a function that draws one, as
            "package.module:function".
        how: Where and how runs are made, as `latesum.experiments.engine.run` takes it.

    >>> measure_safety(4, horizon=20_000).lock_ins
    0
    """
    if told is not None:
        told = finite_number(told, "the factor on the mean delay", above=0)
    law = problems if ":" in problems else LAWS[known_name(problems, LAWS, "law of problems")]
    if law == LAWS["markets"]:
        return _in_markets(replications, policy, told, horizon, seed, how)
    wide = law == LAWS["wide"]
    if wide and horizon is not None:
        raise InvalidInput("the wide law draws the horizon of every run; leave it out.")
    spec = PolicySpec.parse(policy)
    if spec.sees != "totals":
        raise InvalidInput(
            f"{policy} has attributed feedback; lock-ins are those of other policies."
        )
    spec = _told_no_more(spec, told is None)
    share = [f"share={HARMFUL_SHARE}"] if wide else []
    suspect, lock_in, told_longer = (
        f"{name}({', '.join(given)})" if given else name
        for name, given in (
            ("possibly_stuck", share),
            ("stuck", share),
            ("stuck", [*share, "anew=True"]),
        )
    )
    setting = RunSpec(
        law,
        spec,
        horizon or (_WIDE_HORIZONS[1] if wide else HORIZON),
        seed=seed,
        measures=("regret", suspect, lock_in, told_longer),
        given={} if told in (None, 1) else {"mean_delay": told},
        policy_name=policy,
    )
    what = f"{policy}, told {'nothing' if told is None else f'{told:g}'}"
    runs = run([setting], replications, what=what, **how)
    final = runs.regrets[:, -1]
    found = tuple(
        LockIn(number, setting.drawn(number).to_json(), float(final[number]))
        for number in np.flatnonzero(runs.measured[lock_in]).tolist()
    )
    return Safety(
        policy,
        told,
        runs.replications,
        int(runs.measured[suspect].sum()),
        len(found),
        int(runs.measured[told_longer].sum()),
        rate_upper_limit(len(found), runs.replications),
        float(final.mean()),
        float(final.max()),
        found,
    )


def _in_markets(
    replications: int,
    policy: str,
    told: float | None,
    horizon: int | None,
    seed: int,
    how: RunOptions,
) -> Safety:
    if horizon is not None:
        raise InvalidInput(
            "the law of markets draws the buckets of every run; leave the horizon out."
        )
    if told is None or (told != 1 and not policy.startswith("switchback")):
        raise InvalidInput("in markets policies are told the true mean delay: say 1.")
    if told != 1:
        if "(" in policy:
            raise InvalidInput(f"write the factor into the policy: switchback(told={told:g}, ...).")
        policy = f"{policy}(told={told!r})"
    setting = MarketRunSpec(
        LAWS["markets"],
        policy,
        seed,
        ("regret", "market_suspect", "market_lock_in"),
        policy_name=policy,
    )
    runs = run([setting], replications, what=f"{policy} in markets", **how)
    final = runs.regrets[:, -1]
    locked = np.flatnonzero(runs.measured["market_lock_in"]).tolist()
    found = tuple(LockIn(number, setting.to_json(), float(final[number])) for number in locked)
    return Safety(
        policy,
        told,
        runs.replications,
        int(runs.measured["market_suspect"].sum()),
        len(found),
        None,
        rate_upper_limit(len(found), runs.replications),
        float(final.mean()),
        float(final.max()),
        found,
    )


def _told_no_more(spec: PolicySpec, nothing: bool) -> PolicySpec:
    """The policy that is told the mean delay and no more of the delay, or nothing."""
    hidden = ["delay_bound", "delay_variance", "delay"]
    if nothing:
        hidden.append("mean_delay")
        if "mean_delay" in spec.accepted and "mean_delay" not in spec.optional:
            raise InvalidInput(f"{spec.name} must be told the mean delay, such as 1 times of it.")
    untold = [key for key in spec.optional if key in hidden]
    return PolicySpec(spec.name, {**dict.fromkeys(untold), **spec.parameters})


def is_safe(safety: Safety) -> bool:
    """Whether there was at most one lock-in, or one in 10,000 runs."""
    return safety.lock_ins <= max(1, safety.replications // 10_000)


def random_problem(rng: np.random.Generator) -> Problem:
    """2 to 12 arms, means from one of three laws, one of nine kinds of delay, mean 10 to 100.

    >>> random_problem(np.random.default_rng(1)).n_arms
    7
    """
    n_arms = int(rng.integers(2, 13))
    law = rng.integers(3)
    if law == 0:
        means = rng.random(n_arms)
    elif law == 1:
        means = rng.beta(1, 3, n_arms)
    else:
        means = 0.1 * rng.random(n_arms)  # conversion rates
    kind = DELAY_KINDS[rng.integers(len(DELAY_KINDS))]
    return Problem([float(mean) for mean in means], _delay(kind, int(rng.choice(MEAN_DELAYS))))


def wide_problem(rng: np.random.Generator) -> DrawnProblem:
    """A problem from a law that is as wide as policies can be asked to bear.

    2 to 12 arms, with at least one that is harmful; means uniform, Beta(1, 3), rates of 0.002 to
    0.1,
    within 0.1 of 1, or within 0.05 of each other; nine kinds of delay with means of 1 to 5,000
    rounds;
    a horizon of 200 to 100,000 mean delays, between 2,000 and 2,000,000 rounds; and a fifth of
    the problems with
    buckets of up to three mean delays, at least 40 of them.

    >>> case = wide_problem(np.random.default_rng(1))
    >>> case.problem.n_arms, case.horizon, case.bucket
    (7, 21614, 1)
    """
    n_arms = int(rng.integers(2, 13))
    law = int(rng.integers(5))
    means = _wide_means(law, n_arms, rng)
    while max(means) - min(means) < harmful_gap(Problem(means, "constant(0)"), share=HARMFUL_SHARE):
        means = _wide_means(law, n_arms, rng)
    kind = DELAY_KINDS[rng.integers(len(DELAY_KINDS))]
    mean = round(_log_uniform(*_WIDE_MEAN_DELAYS, rng))
    horizon = round(mean * _log_uniform(*_WIDE_HORIZONS_IN_DELAYS, rng))
    horizon = min(max(horizon, _WIDE_HORIZONS[0]), _WIDE_HORIZONS[1])
    bucket = 1
    if rng.random() < _SHARE_WITH_BUCKETS:
        most = max(2, min(3 * mean, horizon // _FEWEST_BUCKETS))
        bucket = round(_log_uniform(2, most, rng))
        horizon = horizon // bucket * bucket
    return DrawnProblem(Problem(means, _delay(kind, mean)), horizon, bucket)


def random_market(rng: np.random.Generator) -> Market:
    """A law of markets: 2 to 5 options, 1 to 6 regions, 60 to 120 days, 100 to 2,000 sales a day.

    Sales come half a day to five days late, effects have an sd of 10%, and half of the markets
    have a
    history.

    >>> law = random_market(np.random.default_rng(1))
    >>> law.options, law.regions, law.buckets
    (3, 4, 106)
    """
    return Market(
        options=int(rng.integers(2, 6)),
        regions=int(rng.integers(1, 7)),
        buckets=int(rng.integers(60, 121)),
        sales=round(_log_uniform(100, 2_000, rng)),
        delay=round(_log_uniform(0.5, 5, rng), 2),
        history=28 * int(rng.integers(2)),
    )


def _wide_means(law: int, n_arms: int, rng: np.random.Generator) -> list[float]:
    if law == 0:
        means = rng.random(n_arms)
    elif law == 1:
        means = rng.beta(1, 3, n_arms)
    elif law == 2:
        means = np.exp(rng.uniform(math.log(0.002), math.log(0.1), n_arms))
    elif law == 3:
        means = 1 - 0.1 * rng.random(n_arms)
    else:
        means = rng.uniform(0.05, 0.9) + 0.05 * rng.random(n_arms)
    return [float(mean) for mean in means]


def _log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


@functools.lru_cache(maxsize=512)
def _delay(kind: str, mean: int) -> Delay:
    return parse(kind.format(e=mean, twice=2 * mean, tenfold=10 * mean, wide=10 * mean))


def main() -> bool:
    """Read the options, count, and say how to replay what was found; whether it is safe."""
    parser = options(__doc__, "safety-results")
    parser.add_argument("--policy", default="unmix", help="a policy, or package.module:Class")
    parser.add_argument(
        "--told", action="append", help="factor on the mean delay that is given, or 'nothing'"
    )
    parser.add_argument("--law", default="usual", help="usual, wide or markets")
    parser.add_argument("--horizon", type=int, help="the rounds of a run, where a law draws none")
    asked = parser.parse_args()
    factors = [
        _factor(text) for text in asked.told or (["1"] if asked.law == "markets" else ["1", "0.8"])
    ]
    with running(asked) as how:
        rows = [
            measure_safety(
                10_000 if asked.replications is None else asked.replications,
                policy=asked.policy,
                told=factor,
                horizon=asked.horizon,
                seed=asked.seed,
                problems=asked.law,
                **how,
            )
            for factor in factors
        ]
    columns = ["given", "runs", "suspects", "stuck", "given tenfold", "95% limit", "mean", "worst"]
    cells = (
        [
            _given(row.told),
            f"{row.replications:,}",
            f"{row.suspects:,}",
            f"{row.lock_ins:,}",
            "" if row.told_longer is None else f"{row.told_longer:,}",
            f"{row.upper_limit:.2e}",
            number_text(row.mean_regret),
            number_text(row.worst_regret),
        ]
        for row in rows
    )
    show(f"Suboptimal convergence of {asked.policy} on random problems", columns, cells)
    keep(
        asked.out / "safety.csv",
        (
            {
                "policy": row.policy,
                "law": asked.law,
                "told": _given(row.told),
                "horizon": asked.horizon,
                "seed": asked.seed,
                "runs": row.replications,
                "suspects": row.suspects,
                "lock_ins": row.lock_ins,
                "told_longer": row.told_longer,
                "upper_limit": row.upper_limit,
                "mean": row.mean_regret,
                "worst": row.worst_regret,
            }
            for row in rows
        ),
        ("policy", "law", "told", "horizon", "seed"),
    )
    kind = "MarketRunSpec" if asked.law == "markets" else "RunSpec"
    for row in rows:
        for each in row.found:
            print(
                f"Run {each.number} is stuck, with a regret of {each.regret:,.0f}: "
                f"{kind}.from_json({json.dumps(each.setting)}).run({each.number})"
            )
    return all(is_safe(row) for row in rows)


def _given(factor: float | None) -> str:
    return "nothing" if factor is None else f"{factor:g}"


def _factor(text: str) -> float | None:
    """The factor on the mean delay that is given; None for 'nothing'."""
    if text == "nothing":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(
            f"--told takes a factor on the mean delay, such as 0.8, or 'nothing', not {text!r}."
        ) from None


if __name__ == "__main__":
    command(main)
