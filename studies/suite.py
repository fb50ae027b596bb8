"""Every policy on the development suite, 24 problems that are good and bad for it.

    python studies/suite.py --replications 20

Results are kept in a folder, so that a study that was stopped goes on where it was. The same seed
gives the same table. In every run the order of the arms is drawn at random, for all policies the
same: one that tries arms in a fixed order would otherwise be ranked by where the best one is
listed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Unpack

from latesum._checks import InvalidInput
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.results import Results
from latesum.experiments.spec import USUAL_MEASURES, RunSpec
from latesum.experiments.stats import number_text
from latesum.policies import PolicySpec
from latesum.simulation.market import Market
from report import command, keep, options, running, show
from suite_problems import PROBLEMS, SuiteProblem


class Entrant(NamedTuple):
    """A policy of the suite: its text, and how often it is run."""

    text: str
    replications: int
    #: The policy with the same index and attributed feedback: the price of anonymity is the
    #: ratio of the two mean regrets.
    same_index: str | None = None


#: As many runs as ten minutes on two cores allow: standard errors are then a few percent of the
#: means, which differ by far more than that.
ENTRANTS: dict[str, Entrant] = {
    "unmix": Entrant("unmix", 100, "qpm-d KL-UCB++"),
    "unmix-untold": Entrant("unmix-untold", 30, "qpm-d KL-UCB++"),
    "flow": Entrant("flow", 100, "qpm-d KL-UCB++"),
    "flow, UCB1": Entrant("flow(index='ucb1')", 100, "qpm-d UCB1"),
    "flow, look-ahead": Entrant("flow(lookahead=True)", 100, "qpm-d KL-UCB++"),
    "ars-ucb": Entrant("ars-ucb", 50),
    "odaaf": Entrant("odaaf", 50),
    "odaaf-b": Entrant("odaaf-b", 50),
    "odaaf-v": Entrant("odaaf-v", 50),
    "odaaf-v-tightened": Entrant("odaaf-v-tightened", 50),
    "round-robin": Entrant("round-robin(block=1000)", 5),
    # These play in markets only.
    "switchback": Entrant("switchback", 100),
    "half-time test": Entrant("half-time-test", 100),
    "geo test": Entrant("geo-test", 50),
    "qpm-d UCB1": Entrant("qpm-d", 100),
    "qpm-d KL-UCB++": Entrant("qpm-d(base='kl-ucb++')", 100),
}


def run_suite(
    folder: str | Path,
    *,
    replications: int | None = None,
    seed: int = 1,
    problems: dict[str, SuiteProblem] = PROBLEMS,
    entrants: dict[str, Entrant] = ENTRANTS,
    **how: Unpack[RunOptions],
) -> Results:
    """Run what is missing in `folder`, and return all of it; at most `replications` runs each.

    >>> import tempfile
    >>> few = {"two": SuiteProblem(PROBLEMS["two arms, exponential(50)"].problem, 20_000)}
    >>> some = {name: ENTRANTS[name] for name in ("odaaf", "qpm-d UCB1")}
    >>> run_suite(tempfile.mkdtemp(), replications=3, problems=few, entrants=some).policies
    ['odaaf', 'qpm-d UCB1']
    """
    for name, entrant in entrants.items():
        _refuse_misspelt(name, entrant.text, {**problems, **PROBLEMS})
    specs = []
    for problem, played in problems.items():
        for name, entrant in entrants.items():
            # A policy that needs what a problem does not have stays away from it.
            with suppress(InvalidInput):
                specs.append(_spec(problem, played, name, entrant.text, seed))
    counts = [entrants[spec.policy_name].replications for spec in specs]
    if replications is not None:
        counts = [min(count, replications) for count in counts]
    how["store"] = folder
    return run(specs, counts, what="the suite", **how)


def _refuse_misspelt(name: str, text: str, problems: dict[str, SuiteProblem]) -> None:
    """Refuse an entrant that can play none of the problems, with the first reason."""
    reasons = []
    for problem, played in problems.items():
        try:
            _spec(problem, played, name, text, seed=1)
        except InvalidInput as refusal:
            reasons.append(refusal)
        else:
            return
    raise InvalidInput(f"{name!r} can play none of the problems: {reasons[0]}")


def _spec(
    name: str, played: SuiteProblem, policy_name: str, text: str, seed: int
) -> RunSpec | MarketRunSpec:
    """A policy on a problem; refused where the problem lacks what the policy must know."""
    spec: RunSpec | MarketRunSpec
    if isinstance(played.problem, Market):
        spec = MarketRunSpec(played.problem, text, seed, USUAL_MEASURES)
    else:
        policy = PolicySpec.parse(text)
        may_be_stuck = policy.sees == "totals" and not played.problem.changes
        spec = RunSpec(
            played.problem,
            policy,
            played.horizon,
            seed=seed,
            order="drawn",
            reports=Reports(played.bucket, played.report_lag),
            status_quo=played.status_quo,
            given={} if played.given == 1 else {"mean_delay": played.given},
            measures=(*USUAL_MEASURES, "stuck") if may_be_stuck else USUAL_MEASURES,
        )
    spec = replace(spec, problem_name=name, policy_name=policy_name)
    spec.check()
    return spec


def rows_of(
    results: Results, entrants: dict[str, Entrant] = ENTRANTS
) -> list[dict[str, str | float | None]]:
    """The summary of the suite with runs that are stuck and the price of anonymity.

    Both are None where there is none: baselines, changing rates, no policy with the same index.
    """
    means = {(row.problem, row.policy): row.mean for row in results.summary()}
    rows = []
    for one, row in zip(results, results.summary(), strict=True):
        stuck = one.measured.get("stuck")
        reference = means.get((row.problem, entrants[row.policy].same_index or ""))
        more = {
            "stuck": None if stuck is None else int(stuck.sum()),
            "price": row.mean / reference if reference else None,
        }
        rows.append(row._asdict() | more)
    return rows


def main() -> bool:
    """Read the options and run what is missing."""
    asked = options(__doc__, "suite-results", seed=1).parse_args()
    with running(asked) as how:
        results = run_suite(asked.out, replications=asked.replications, seed=asked.seed, **how)
    rows = rows_of(results)
    columns = ["mean", "standard_error", "percentile_99", "worst", "switches", "stuck", "price"]
    for problem, group in groupby(rows, key=lambda row: row["problem"]):
        cells = [
            [f"{row['policy']}", f"{row['replications']}"]
            + ["" if row[name] is None else number_text(float(row[name] or 0)) for name in columns]
            for row in group
        ]
        show(f"{problem}", ["policy", "runs", *columns], cells)
    print(
        "Stuck: runs that play arms at least 0.02 worse for most of their last half, and again at "
        "ten times the horizon.\nPrice: of anonymity, the mean over that of the policy with the "
        "same index and attributed feedback."
    )
    keep(asked.out / "suite.csv", rows, ("problem", "policy"))
    return True


if __name__ == "__main__":
    command(main)
