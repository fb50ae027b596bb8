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
from latesum.experiments.results import Summary
from latesum.experiments.spec import USUAL_MEASURES, RunSpec
from latesum.experiments.stats import number_text
from latesum.policies import PolicySpec
from latesum.simulation import Problem
from latesum.simulation.market import Market
from report import command, keep, options, running, show
from suite_problems import PROBLEMS, SuiteProblem


class Entrant(NamedTuple):
    """A policy of the study: its text, how often it is run, and who has the same index."""

    text: str
    replications: int
    #: The policy with the same index and attributed feedback: the price of anonymity is the
    #: ratio of the two mean regrets.
    same_index: str | None = None


#: As many runs as ten minutes on two cores allow: standard errors are then a few percent of the
#: means, which differ by far
#: more than that.
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


class SuiteRow(NamedTuple):
    """How one policy did on one problem."""

    summary: Summary
    lock_ins: int | None  # None where they are not counted: baselines, changing rates
    price_of_anonymity: float | None


def run_suite(
    folder: str | Path,
    *,
    replications: int | None = None,
    seed: int = 1,
    problems: dict[str, SuiteProblem] = PROBLEMS,
    entrants: dict[str, Entrant] = ENTRANTS,
    **how: Unpack[RunOptions],
) -> list[SuiteRow]:
    """Run what is missing in `folder`, and return all rows; at most `replications` runs each.

    >>> import tempfile
    >>> few = {"two": SuiteProblem(PROBLEMS["two arms, exponential(50)"].problem, 20_000)}
    >>> some = {name: ENTRANTS[name] for name in ("odaaf", "qpm-d UCB1")}
    >>> rows = run_suite(tempfile.mkdtemp(), replications=3, problems=few, entrants=some)
    >>> [row.summary.policy for row in rows]
    ['odaaf', 'qpm-d UCB1']
    """
    for name, entrant in entrants.items():
        _refuse_misspelt(name, entrant.text, {**problems, **PROBLEMS})
    settings = []
    for problem, played in problems.items():
        for name, entrant in entrants.items():
            # A policy that needs what a problem does not have stays away from it.
            with suppress(InvalidInput):
                settings.append(_setting(problem, played, name, entrant.text, seed))
    counts = [entrants[setting.policy_name].replications for setting in settings]
    if replications is not None:
        counts = [min(count, replications) for count in counts]
    how["store"] = folder
    results = run(settings, counts, what="the suite", **how)
    rows = results.summary()
    means = {(row.problem, row.policy): row.mean for row in rows}
    made = []
    for row in rows:
        lock_ins = results[row.problem, row.policy].measured.get("stuck")
        yardstick = means.get((row.problem, entrants[row.policy].same_index or ""))
        price = row.mean / yardstick if yardstick else None
        made.append(SuiteRow(row, None if lock_ins is None else int(lock_ins.sum()), price))
    return made


def _refuse_misspelt(name: str, text: str, problems: dict[str, SuiteProblem]) -> None:
    """Refuse an entrant that can play none of the problems, with the first reason."""
    reasons = []
    for problem, played in problems.items():
        try:
            _setting(problem, played, name, text, seed=1)
        except InvalidInput as refusal:
            reasons.append(refusal)
        else:
            return
    raise InvalidInput(f"{name!r} can play none of the problems: {reasons[0]}")


def _setting(
    problem: str, played: SuiteProblem, name: str, text: str, seed: int
) -> RunSpec | MarketRunSpec:
    """A policy on a problem; refused where the problem lacks what the policy must know."""
    setting = (
        _in_market(played.problem, text, seed)
        if isinstance(played.problem, Market)
        else _on_problem(played, played.problem, text, seed)
    )
    setting = replace(setting, problem_name=problem, policy_name=name)
    setting.check()
    return setting


def _in_market(market: Market, text: str, seed: int) -> MarketRunSpec:
    return MarketRunSpec(market, text, seed, USUAL_MEASURES)


def _on_problem(played: SuiteProblem, problem: Problem, text: str, seed: int) -> RunSpec:
    spec = PolicySpec.parse(text)
    counts_lock_ins = spec.sees == "totals" and not problem.changes
    return RunSpec(
        problem,
        spec,
        played.horizon,
        seed=seed,
        order="drawn",
        reports=Reports(played.bucket, played.report_lag),
        status_quo=played.status_quo,
        given={} if played.told == 1 else {"mean_delay": played.told},
        measures=(*USUAL_MEASURES, "stuck") if counts_lock_ins else USUAL_MEASURES,
    )


def cells_of(row: SuiteRow) -> list[str]:
    """A row for a table: policy, mean, error, 99%, worst, lock-ins, switches, price, runs."""
    found = row.summary
    return [
        found.policy,
        *map(number_text, (found.mean, found.standard_error, found.percentile_99, found.worst)),
        "" if row.lock_ins is None else f"{row.lock_ins / found.replications:.1%}",
        number_text(found.switches),
        "" if row.price_of_anonymity is None else f"{row.price_of_anonymity:.1f}",
        f"{found.replications}",
    ]


def as_values(row: SuiteRow) -> dict[str, object]:
    """A row for a file of values.

    Args:
        row: The row.
    """
    return row.summary._asdict() | {"lock_ins": row.lock_ins, "price": row.price_of_anonymity}


def as_markdown(rows: list[SuiteRow]) -> str:
    """Mean ± standard error (99th percentile), one row per problem, one column per policy."""
    found = {(row.summary.problem, row.summary.policy): row.summary for row in rows}
    policies = list(dict.fromkeys(policy for _, policy in found))
    lines = ["| problem | " + " | ".join(policies) + " |", "|---" * (len(policies) + 1) + "|"]
    for problem in dict.fromkeys(problem for problem, _ in found):
        cells = []
        for policy in policies:
            row = found.get((problem, policy))
            cells.append(
                f"{row.mean:,.0f} ± {number_text(row.standard_error, 0)} ({row.percentile_99:,.0f})"
                if row
                else "–"
            )
        lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> bool:
    """Read the options and run what is missing."""
    asked = options(__doc__, "suite-results", seed=1).parse_args()
    with running(asked) as how:
        rows = run_suite(asked.out, replications=asked.replications, seed=asked.seed, **how)
    columns = ["policy", "mean", "± s.e.", "99%", "worst", "stuck", "switches", "price", "runs"]
    for problem, group in groupby(rows, key=lambda row: row.summary.problem):
        show(problem, columns, map(cells_of, group))
    print(
        "Stuck: runs that play arms at least 0.02 worse for most of their last half, and again at "
        "ten times the horizon.\nPrice: of anonymity, the mean over that of the policy with the "
        "same index and attributed feedback."
    )
    (asked.out / "league.md").write_text(as_markdown(rows), encoding="utf-8")
    keep(asked.out / "league.csv", map(as_values, rows), ("problem", "policy"))
    return True


if __name__ == "__main__":
    command(main)
