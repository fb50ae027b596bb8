"""Suboptimal convergence on random problems, counted.

    python studies/safety.py --law wide --policy unmix --given 1 --replications 2000

A run is stuck if it plays arms with a gap of at least 0.02 for more than half of its last half, and
does so again when it is continued to ten times the horizon. (The first alone may be honest
exploration: with a dozen close arms there is a lot to find out.) A policy that knows the horizon
settles by it; so it is also counted how many runs are stuck when they are made again with a policy
that is given ten times the horizon.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name
from latesum.delays import Delay, parse
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.run import harmful_gap
from latesum.experiments.spec import PROBLEM, RunSpec
from latesum.experiments.stats import number_text, rate_upper_limit
from latesum.policies import PolicySpec
from latesum.simulation import Problem
from report import command, keep, options, running, show

HORIZON, WIDE_HORIZON = 200_000, 2_000_000

#: Kinds of delay with mean {e}; {twice} and the others are multiples of it, as whole numbers.
DELAY_KINDS = (
    "constant({e})",
    "uniform(0, {twice})",
    "exponential({e})",
    "poisson({e})",
    "negative_binomial({e}, {tenfold})",
    "mixture((0.5, constant(0)), (0.5, constant({twice})))",
    "mixture((0.05, constant({tenfold})), (0.95, uniform(0, {e})))",
    "pareto(2.5, {e})",
    "pareto(1.5, {e})",
)
#: The laws of problems by their names on the command line.
LAWS = {
    "usual": "safety:random_problem",
    "wide": "safety:wide_problem",
    "late": "safety:late_problem",
    "mixed": "safety:mixed_problem",
}
#: Of the wide law: an arm is harmful from a gap of 0.02 on, or of this share of the best mean.
HARMFUL_SHARE = 0.2


class Safety(NamedTuple):
    """How a policy fared over many runs, each on its own problem."""

    policy: str
    law: str
    given: str  # a factor on the mean delay, or "nothing"
    horizon: int | None
    seed: int
    runs: int
    possibly_stuck: int  # harmful for more than half of the last half
    stuck: int  # and again at ten times the horizon
    stuck_if_longer: int  # or again when given ten times the horizon
    upper_limit: float  # of the rate of stuck runs, at 95%
    mean: float
    worst: float
    #: The stuck runs: `RunSpec.from_json(data).run(number)` is that run, of this regret.
    found: tuple[tuple[int, dict[str, object], float], ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether at most one run was stuck, or one in 10,000."""
        return self.stuck <= max(1, self.runs // 10_000)


def measure_safety(
    replications: int = 10_000,
    *,
    policy: str = "flow",
    given: str = "1",
    horizon: int | None = None,
    seed: int = 0,
    law: str = "usual",
    **how: Unpack[RunOptions],
) -> Safety:
    """Count the stuck runs of a policy over random problems, another one in every run.

    Args:
        policy: The policy as text; it is given the mean delay and nothing more of the delay.
        given: A factor on the mean delay that it is given; or "nothing".
        horizon: The rounds of a run, 200,000 without; the wide law draws its own.
        law: One of `LAWS`, or a function that draws a problem, as "package.module:function".

    >>> measure_safety(4, horizon=20_000).stuck
    0
    """
    drawn_by = law if ":" in law else LAWS[known_name(law, LAWS, "law of problems")]
    if horizon is not None and law == "wide":
        raise InvalidInput(f"the law {law!r} draws the horizon of every run; leave it out.")
    share = HARMFUL_SHARE if law == "wide" else None
    stuck = f"stuck({share=}"
    spec = (WideSpec if law == "wide" else RunSpec)(
        drawn_by,
        _hiding(PolicySpec.parse(policy), given == "nothing"),
        horizon or (WIDE_HORIZON if law == "wide" else HORIZON),
        seed=seed,
        measures=("regret", f"possibly_{stuck})", f"{stuck})", f"{stuck}, anew=True)"),
        given=_factor(given),
        policy_name=policy,
    )
    runs = run([spec], replications, what=f"{policy}, given {given}", **how)
    final = runs.regrets[:, -1]
    possibly, stuck_runs, anew = (runs.measured[name] for name in spec.measures[1:])
    numbers = np.flatnonzero(stuck_runs).tolist()
    return Safety(
        policy,
        law,
        given,
        horizon,
        seed,
        runs.replications,
        int(possibly.sum()),
        len(numbers),
        int(anew.sum()),
        rate_upper_limit(len(numbers), runs.replications),
        float(final.mean()),
        float(final.max()),
        tuple((each, spec.drawn(each).to_json(), float(final[each])) for each in numbers),
    )


def _hiding(spec: PolicySpec, mean_too: bool) -> PolicySpec:
    """The policy without prior knowledge of the delay beyond its mean, or of its mean too."""
    if spec.sees != "totals":
        raise InvalidInput(f"{spec.name} has attributed feedback; other policies are counted.")
    if mean_too and "mean_delay" in spec.accepted and "mean_delay" not in spec.optional:
        raise InvalidInput(f"{spec.name} must be given the mean delay, such as 1 times of it.")
    hidden = ["delay_bound", "delay_variance", "delay"] + ["mean_delay"] * mean_too
    unknown = [key for key in spec.optional if key in hidden]
    return PolicySpec(spec.name, {**dict.fromkeys(unknown), **spec.parameters})


def _factor(given: str) -> dict[str, float]:
    if given in ("nothing", "1"):
        return {}
    try:
        return {"mean_delay": finite_number(float(given), "the factor on the mean delay", above=0)}
    except ValueError:
        raise InvalidInput(
            f"--given takes a factor on the mean delay, or 'nothing', not {given!r}."
        ) from None


def random_problem(rng: np.random.Generator) -> Problem:
    """2 to 12 arms, means from one of three laws, one of nine kinds of delay, mean 10 to 100.

    >>> random_problem(np.random.default_rng(1)).n_arms
    7
    """
    means, kind, mean = _usual(rng)
    return Problem(means, _delay(kind, mean))


def _usual(rng: np.random.Generator) -> tuple[list[float], str, int]:
    """Means, a kind of delay and its mean."""
    n_arms = int(rng.integers(2, 13))
    law = int(rng.integers(3))
    means = (0.1 * rng.random(n_arms)).tolist() if law == 2 else _means(law, n_arms, rng)
    return means, DELAY_KINDS[rng.integers(len(DELAY_KINDS))], int(rng.choice((10, 25, 50, 100)))


def late_problem(rng: np.random.Generator) -> Problem:
    """The same, where the rewards of the best arm come 1.5 to 3 times as late as all others'.

    >>> sorted({delay.text for delay in late_problem(np.random.default_rng(1)).delays})
    ['uniform(0, 200)', 'uniform(0, 584)']
    """
    means, kind, mean = _usual(rng)
    later = round(mean * _log_uniform(1.5, 3.0, rng))
    return Problem(means, [_delay(kind, later if m == max(means) else mean) for m in means])


def mixed_problem(rng: np.random.Generator) -> Problem:
    """The same, where 70% of the rewards come at once and the rest up to 20 mean delays later.

    >>> mixed_problem(np.random.default_rng(1)).delays[0].text
    'mixture((0.7, constant(0)), (0.3, uniform(0, 1000)))'
    """
    means, longest = random_problem(rng).means, 20 * int(rng.choice((10, 25, 50, 100)))
    return Problem(means, f"mixture((0.7, constant(0)), (0.3, uniform(0, {longest})))")


class WideSpec(RunSpec):
    """Runs of the wide law, which draws a horizon and a bucket with every problem."""

    def drawn(self, number: int) -> RunSpec:
        """The specification of one run, with its problem written out."""
        if isinstance(self.problem, Problem):
            return self
        rng = np.random.default_rng(self.seeds(number, PROBLEM))
        problem, horizon, bucket = wide_problem(rng)
        more: dict[str, Any] = {"reports": Reports(bucket), "checkpoints": (), "problem_name": ""}
        return replace(self, problem=problem, horizon=horizon, **more)


def wide_problem(rng: np.random.Generator) -> tuple[Problem, int, int]:
    """A problem from a law that is as wide as policies can be asked to bear, horizon and bucket.

    2 to 12 arms, with at least one that is harmful; means uniform, Beta(1, 3), rates of 0.002 to
    0.1, within 0.1 of 1, or within 0.05 of each other; nine kinds of delay with means of 1 to 5,000
    rounds; a horizon of 200 to 100,000 mean delays, between 2,000 and 2,000,000 rounds; and a fifth
    of the problems with buckets of up to three mean delays, at least 40 of them.

    >>> problem, horizon, bucket = wide_problem(np.random.default_rng(1))
    >>> problem.n_arms, horizon, bucket
    (7, 21614, 1)
    """
    n_arms = int(rng.integers(2, 13))
    law = int(rng.integers(5))
    means = _means(law, n_arms, rng)
    while max(means) - min(means) < harmful_gap(Problem(means, "constant(0)"), share=HARMFUL_SHARE):
        means = _means(law, n_arms, rng)
    kind = DELAY_KINDS[rng.integers(len(DELAY_KINDS))]
    mean = round(_log_uniform(1, 5_000, rng))
    horizon = min(max(round(mean * _log_uniform(200, 100_000, rng)), 2_000), WIDE_HORIZON)
    bucket = 1
    if rng.random() < 0.2:
        bucket = round(_log_uniform(2, max(2, min(3 * mean, horizon // 40)), rng))
        horizon = horizon // bucket * bucket
    return Problem(means, _delay(kind, mean)), horizon, bucket


def _means(law: int, n_arms: int, rng: np.random.Generator) -> list[float]:
    means: Any
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
    return parse(kind.format(e=mean, twice=2 * mean, tenfold=10 * mean))


def main() -> bool:
    """Read the options, count, and say how to replay what was found; whether it is safe."""
    parser = options(__doc__, "safety-results")
    parser.add_argument("--policy", default="unmix", help="a policy, or package.module:Class")
    parser.add_argument(
        "--given", action="append", help="factor on the mean delay that is given, or 'nothing'"
    )
    parser.add_argument("--law", default="usual", help="usual, wide, late or mixed")
    parser.add_argument("--horizon", type=int, help="the rounds of a run, where a law draws none")
    asked = parser.parse_args()
    runs = 10_000 if asked.replications is None else asked.replications
    about = {"policy": asked.policy, "law": asked.law, "horizon": asked.horizon, "seed": asked.seed}
    rows = []
    with running(asked) as how:
        for given in asked.given or ["1", "0.8"]:
            rows.append(measure_safety(runs, given=given, **about, **how))
    columns = ["given", "runs", "possibly_stuck", "stuck", "stuck_if_longer"]
    cells = [
        [f"{getattr(row, name)}" for name in columns]
        + [f"{row.upper_limit:.2e}", number_text(row.mean), number_text(row.worst)]
        for row in rows
    ]
    title = f"Suboptimal convergence of {asked.policy} on random problems"
    show(title, [name.replace("_", " ") for name in columns] + ["limit", "mean", "worst"], cells)
    values = [dict(list(row._asdict().items())[:-1]) for row in rows]
    keep(asked.out / "safety.csv", values, ("policy", "law", "given", "horizon", "seed"))
    for row in rows:
        for number, data, regret in row.found:
            print(
                f"Run {number} is stuck, with a regret of {regret:,.0f}: "
                f"RunSpec.from_json({json.dumps(data)}).run({number})"
            )
    return all(row.is_safe for row in rows)


if __name__ == "__main__":
    command(main)
