"""Suboptimal convergence on random problems, counted.

    python studies/safety.py --law wide --policy unmix --given 1 --replications 2000

A run is stuck if it plays arms with a gap of at least 0.02 for more than half of its last half, and
does so again when it is continued to ten times the horizon. (The first alone may be honest
exploration: with a dozen close arms there is a lot to find out.) A policy that knows the horizon
settles by it; so it is also counted how many runs are stuck when they are made again with a policy
that is given ten times the horizon. In random markets a run is stuck if its last half went mostly
to options that sell at least 5% less than the best, and it would keep such an option.
"""

from __future__ import annotations

import functools
import json
import math
from typing import NamedTuple, Unpack

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
    law: str
    given: float | None  # a factor on the mean delay; None: nothing is given
    horizon: int | None
    seed: int
    runs: int
    possibly_stuck: int  # harmful for more than half of the last half
    stuck: int  # and again at ten times the horizon
    stuck_anew: int | None  # or again when given ten times the horizon; None: not counted
    upper_limit: float  # of the rate of stuck runs, at 95%
    mean: float
    worst: float
    #: The stuck runs: `RunSpec.from_json(data).run(number)` is that run, of this regret.
    found: tuple[tuple[int, dict[str, object], float], ...] = ()


def measure_safety(
    replications: int = 10_000,
    *,
    policy: str = "flow",
    given: float | None = 1.0,
    horizon: int | None = None,
    seed: int = 0,
    problems: str = "usual",
    **how: Unpack[RunOptions],
) -> Safety:
    """Count the stuck runs of a policy over random problems, another one in every run.

    Args:
        replications: The number of runs.
        policy: The policy as text; it is given the mean delay and nothing more of the delay.
        given: A factor on the mean delay that it is given; None: nothing of the delay is.
        horizon: The rounds of a run, 200,000 without; the wide law draws its own.
        seed: The same seed gives the same runs.
        problems: The law of the problems: "usual", "wide" (`wide_problem`), "markets"
            (`random_market`; there also "switchback" and the analysts' tests play), or a function
            that draws one, as "package.module:function".
        how: Where and how runs are made, as `latesum.experiments.engine.run` takes it.

    >>> measure_safety(4, horizon=20_000).stuck
    0
    """
    if given is not None:
        given = finite_number(given, "the factor on the mean delay", above=0)
    law = problems if ":" in problems else LAWS[known_name(problems, LAWS, "law of problems")]
    if horizon is not None and law in (LAWS["wide"], LAWS["markets"]):
        raise InvalidInput(f"the law {problems!r} draws the horizon of every run; leave it out.")
    spec = (
        _market_spec(policy, given, seed)
        if law == LAWS["markets"]
        else _spec(law, policy, given, horizon, seed)
    )
    runs = run([spec], replications, what=f"{policy}, given {_given(given)}", **how)
    _, possibly, stuck, *anew = spec.measures
    final = runs.regrets[:, -1]
    numbers = np.flatnonzero(runs.measured[stuck]).tolist()
    return Safety(
        policy,
        problems,
        given,
        horizon,
        seed,
        runs.replications,
        int(runs.measured[possibly].sum()),
        len(numbers),
        int(runs.measured[anew[0]].sum()) if anew else None,
        rate_upper_limit(len(numbers), runs.replications),
        float(final.mean()),
        float(final.max()),
        tuple((number, _replay(spec, number), float(final[number])) for number in numbers),
    )


def _spec(law: str, policy: str, given: float | None, horizon: int | None, seed: int) -> RunSpec:
    """The policy is given the mean delay and no more of the delay, or nothing."""
    spec = PolicySpec.parse(policy)
    if spec.sees != "totals":
        raise InvalidInput(f"{policy} has attributed feedback; runs of other policies are counted.")
    hidden = ["delay_bound", "delay_variance", "delay"] + ["mean_delay"] * (given is None)
    if given is None and "mean_delay" in spec.accepted and "mean_delay" not in spec.optional:
        raise InvalidInput(f"{spec.name} must be given the mean delay, such as 1 times of it.")
    unknown = [key for key in spec.optional if key in hidden]
    wide = law == LAWS["wide"]
    share = f"share={HARMFUL_SHARE}" if wide else "share=None"
    return RunSpec(
        law,
        PolicySpec(spec.name, {**dict.fromkeys(unknown), **spec.parameters}),
        horizon or (_WIDE_HORIZONS[1] if wide else HORIZON),
        seed=seed,
        measures=(
            "regret",
            f"possibly_stuck({share})",
            f"stuck({share})",
            f"stuck({share}, anew=True)",
        ),
        given={} if given in (None, 1) else {"mean_delay": given or 1.0},
        policy_name=policy,
    )


def _market_spec(policy: str, given: float | None, seed: int) -> MarketRunSpec:
    if given is None or (given != 1 and not policy.startswith("switchback")):
        raise InvalidInput("in markets policies are given the true mean delay: say 1.")
    if given != 1:
        if "(" in policy:
            raise InvalidInput(f"write the factor into the policy: switchback(given={given:g}).")
        policy = f"{policy}(given={given!r})"
    measures = ("regret", "market_possibly_stuck", "market_stuck")
    return MarketRunSpec(LAWS["markets"], policy, seed, measures, policy_name=policy)


def _replay(spec: RunSpec | MarketRunSpec, number: int) -> dict[str, object]:
    return (spec.drawn(number) if isinstance(spec, RunSpec) else spec).to_json()


def is_safe(safety: Safety) -> bool:
    """Whether at most one run was stuck, or one in 10,000."""
    return safety.stuck <= max(1, safety.runs // 10_000)


def random_problem(rng: np.random.Generator) -> Problem:
    """2 to 12 arms, means from one of three laws, one of nine kinds of delay, mean 10 to 100.

    >>> random_problem(np.random.default_rng(1)).n_arms
    7
    """
    n_arms = int(rng.integers(2, 13))
    law = rng.integers(3)
    means = 0.1 * rng.random(n_arms) if law == 2 else _means(int(law), n_arms, rng)
    kind = DELAY_KINDS[rng.integers(len(DELAY_KINDS))]
    return Problem([*map(float, means)], _delay(kind, int(rng.choice(MEAN_DELAYS))))


def wide_problem(rng: np.random.Generator) -> DrawnProblem:
    """A problem from a law that is as wide as policies can be asked to bear.

    2 to 12 arms, with at least one that is harmful; means uniform, Beta(1, 3), rates of 0.002 to
    0.1, within 0.1 of 1, or within 0.05 of each other; nine kinds of delay with means of 1 to 5,000
    rounds; a horizon of 200 to 100,000 mean delays, between 2,000 and 2,000,000 rounds; and a fifth
    of the problems with buckets of up to three mean delays, at least 40 of them.

    >>> case = wide_problem(np.random.default_rng(1))
    >>> case.problem.n_arms, case.horizon, case.bucket
    (7, 21614, 1)
    """
    n_arms = int(rng.integers(2, 13))
    law = int(rng.integers(5))
    means = _means(law, n_arms, rng)
    while max(means) - min(means) < harmful_gap(Problem(means, "constant(0)"), share=HARMFUL_SHARE):
        means = _means(law, n_arms, rng)
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

    Sales come half a day to five days late, effects have an sd of 10%, and half of the markets have
    a history.

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


def _means(law: int, n_arms: int, rng: np.random.Generator) -> list[float]:
    """By one of five laws."""
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
    return [*map(float, means)]


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
        "--given", action="append", help="factor on the mean delay that is given, or 'nothing'"
    )
    parser.add_argument("--law", default="usual", help="usual, wide or markets")
    parser.add_argument("--horizon", type=int, help="the rounds of a run, where a law draws none")
    asked = parser.parse_args()
    factors = asked.given or (["1"] if asked.law == "markets" else ["1", "0.8"])
    with running(asked) as how:
        rows = [
            measure_safety(
                10_000 if asked.replications is None else asked.replications,
                policy=asked.policy,
                given=factor,
                horizon=asked.horizon,
                seed=asked.seed,
                problems=asked.law,
                **how,
            )
            for factor in map(_factor, factors)
        ]
    values = [row._asdict() | {"given": _given(row.given)} for row in rows]
    for each in values:
        del each["found"]
    columns = ["given", "runs", "possibly_stuck", "stuck", "stuck_anew", "upper_limit"]
    cells = [
        [f"{row[name]:.2e}" if name == "upper_limit" else f"{row[name]}" for name in columns]
        + [number_text(row["mean"]), number_text(row["worst"])]
        for row in values
    ]
    title = f"Suboptimal convergence of {asked.policy} on random problems"
    show(title, [name.replace("_", " ") for name in [*columns, "mean", "worst"]], cells)
    keep(asked.out / "safety.csv", values, ("policy", "law", "given", "horizon", "seed"))
    kind = "MarketRunSpec" if asked.law == "markets" else "RunSpec"
    for row in rows:
        for number, data, regret in row.found:
            print(
                f"Run {number} is stuck, with a regret of {regret:,.0f}: "
                f"{kind}.from_json({json.dumps(data)}).run({number})"
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
            f"--given takes a factor on the mean delay, or 'nothing', not {text!r}."
        ) from None


if __name__ == "__main__":
    command(main)
