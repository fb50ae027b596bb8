"""Numbers of studies, from their results into the pages: none is typed by hand.

    latesum sweep examples/headline.toml
    python studies/safety.py --policy flow
    LATESUM_RESULTS=fit-results pytest -m slow tests/delays/test_fit_coverage.py
    python docs/tables.py --take headline-results safety-results     # summaries into docs/results
    python docs/tables.py                                            # the tables into the pages
    python docs/tables.py --check                                    # are they what the results say?

A table stands in a page between `<!-- table: NAME -->` and `<!-- end of table -->`, a single number in a
sentence between `<!-- value: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from latesum.experiments.summaries import read_summary, write_summary

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
#: Attributed baselines have a star.
SEES_MORE = ("QPM-D", "qpm-d")
#: The summaries that studies leave in their folders, and the columns that say what a row is about.
SUMMARIES = {
    "league.csv": ("problem", "policy"),
    "safety.csv": ("policy", "law", "told", "horizon", "seed"),
    "coverage.csv": ("policy", "arms", "delay", "level"),
    "markets.csv": ("table", "world", "policy"),
    "field.csv": ("problem", "policy"),
    "ratios.csv": ("figure", "curve"),
    "speed.csv": ("what",),
    "service.csv": ("buckets",),
    "fits.csv": ("kind", "statistic"),
    "tails.csv": ("years", "triangles"),
    "price.csv": ("arms", "delay"),
    "market-speed.csv": ("what",),
    "walks.csv": ("job",),
}
#: What the README shows of safety and of speed; all of it stands in docs/results.md and docs/theory.md.
IN_SHORT_SAFETY = (
    ("flow", "usual", "1"), ("flow", "wide", "1"), ("flow", "wide", "0.5"), ("unmix", "wide", "1"),
    ("unmix", "wide", "0.5"), ("unmix", "wide", "nothing"),
)  # fmt: skip
IN_SHORT_SPEED = {
    "ODAAF-B, a whole run of 250,000 rounds": "odaaf-b, two arms, uniform(0, 100), horizon 250,000, a whole run",
    "QPM-D with UCB1, which plays every round": "QPM-D with UCB1, which plays every round",
    "the paper's experiments, 85,400 runs, two cores": "all of the paper's experiments, 85,400 runs, two cores",
}
#: The kinds of data that delays are fitted to.
DATA = {
    "single": "single delays",
    "histogram": "histograms",
    "triangle": "triangles",
    "totals": "totals around a stop",
}
#: A share above a stated one by more than this many standard errors is in bold.
SURE = 2.0
#: A problem of `examples/theory/flow.toml`.
NEAR_ONE = "0.95 and 0.97, exponential(5000), T = 2·10⁶"
#: What `examples/theory/status_quo.toml` tells Flow: policy, how the names of its problems end, and in words.
GIVEN_STATUS_QUO = (
    ("told that nothing ran", " ran", "nothing"),
    ("told that something ran", " ran", '"other"'),
    ("told what is true", " ran", "the arm that ran"),
    ("told what is true", " of its totals", "that arm, and 28 days of its totals"),
    ("told what is true", " first", "that nothing ran, where nothing did"),
)
#: What a row of `examples/unmix/regret.toml` is told.
TOLD = {
    "unmix": "Unmix told the mean",
    "unmix, delays_differ=0.3": "and `delays_differ=0.3`",
    "unmix, told nothing": "Unmix told nothing",
    "flow": "Flow told the mean",
}
#: What `studies/safety.py` takes where nothing is said.
SAFETY_DEFAULTS = {"law": "usual", "runs": "10000", "seed": "0"}
LAWS = {
    "usual": "mean delays of 10 to 100 rounds",
    "wide": "mean delays of 1 to 5,000 rounds, also means near 0 and 1",
}
NAMES = {"flow": "Flow", "unmix": "Unmix"}
#: Rows of the coverage table, and the columns of arms that it has.
KNOWLEDGE = {"unmix, law known": "the law", "unmix": "the mean", "unmix-untold": "nothing"}
ARMS = {
    "2a": "two arms",
    "10lin": "ten in a line",
    "conv5": "five conversion rates",
    "near one": "near 1",
    "beta": "Beta",
}
DELAYS = {
    "uniform": "uniform(0, 100)",
    "constant": "constant(50)",
    "two points": "half at once, half 100 later",
    "late few": "5% at 500",
    "exponential": "exponential(50)",
    "pareto": "pareto(1.5, 50)",
}
#: Worlds of the study of markets, in words.
WORLDS = {
    "A": "A: one stream, 3 options, 2 days late, 600 sales a day, 90 days",
    "B": "B: as A, 4 regions",
    "D": "D: one stream, 5 options, 4 days late, 120 days",
    "E": "E: 4 regions, 5 options, 4 days late, 30% background, 240 sales a day, 120 days",
    "F": "F: 4 regions, 2 options, half a day late, 120 sales a day, 60 days",
    "G": "G: 4 regions, 3 options, one 10% better, 2 days late, 240 sales a day, 60 days",
}
#: What stands beside the rule of markets in its tables.
BESIDE = {
    "half-time-test": "test of half the time",
    "quarter-time-test": "of a quarter",
    "geo-test": "geo test",
    "equal-split": "equal split",
    "flow": "Flow",
    "unmix": "Unmix",
}
Row = dict[str, str]
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_VALUE = re.compile(r"(<!-- value: ([\w-]+) -->).*?(<!-- end -->)", re.DOTALL)


def take(folder: Path) -> None:
    """Put the summaries of a folder of results into `docs/results`; other rows that are there stay."""
    found = [folder / name for name in SUMMARIES if (folder / name).exists()]
    for path in found:
        write_summary(RESULTS / path.name, read_summary(path), same=SUMMARIES[path.name])
    sweeps = sorted(folder.glob("*/runs.parquet"))
    for path in sweeps:
        _take_sweep(path)
    if not found and not sweeps:
        sys.exit(f"{folder} has no results of a study.")


def _take_sweep(path: Path) -> None:
    import pyarrow.parquet as pq

    runs = pq.read_table(path).to_pandas()
    write_summary(
        RESULTS / f"{path.parent.name}.csv",
        (
            {
                "problem": problem, "policy": policy, "runs": len(each), "mean": float(each["regret"].mean()),
                "standard_error": float(each["regret"].sem()), "ended_on_best": float(each["ended_on_best"].mean()),
                "percentile_99": float(each["regret"].quantile(0.99)), "worst": float(each["regret"].max()),
            }
            for (problem, policy), each in runs.groupby(["problem", "policy"], sort=False, observed=True)
        ),
        same=("problem", "policy"),
    )  # fmt: skip


def prices(rows: Sequence[Row]) -> str:
    """Regret with attributed feedback, and what is lost beyond it in three parts."""
    parts = ("attributed", "anonymity", "visits", "distribution")
    lines = []
    for row in rows:
        cells = [
            f"{float(row[each]):.0f}"
            + (f" ± {float(row[f'{each}_error']):.0f}" if row[f"{each}_error"] else "")
            for each in parts
        ]
        lines.append([f"{row['arms']}, {row['delay']}", f"{float(row['spread']):.0f}", *cells])
    columns = ["attributed feedback", "anonymity", "rule for visits", "unknown distribution"]
    return _markdown(["", "W", *columns], lines)


def flow_policies(rows: Sequence[Row]) -> str:
    """Policies built on the flow balance: mean regret ± standard error, and the 99th percentile."""
    policies = ("Flow", "Flow, look-ahead")
    problems = [each for each in dict.fromkeys(row["problem"] for row in rows) if each != NEAR_ONE]
    lines = []
    for policy in policies:
        found = {row["problem"]: row for row in rows if row["policy"] == policy}
        cells = []
        for problem in problems:
            row = found[problem]
            most, worst = float(row["percentile_99"]), float(row["worst"])
            odd = f"; worst {worst:,.0f}" if worst > 5 * most else ""
            cells.append(f"{_regret(row)} ({most:,.0f}{odd})")
        lines.append([f"`{policy}`", *cells])
    return _markdown(["", *problems], lines)


def ended_wrong(policy: str, problem: str) -> Callable[[Sequence[Row]], str]:
    """How many runs of a policy ended on another arm than the best."""

    def shown(rows: Sequence[Row]) -> str:
        (row,) = (each for each in _of_problem(rows, problem) if each["policy"] == policy)
        runs = int(row["runs"])
        return f"{round(runs * (1 - float(row['ended_on_best'])))} of {runs}"

    return shown


def _of_problem(rows: Sequence[Row], problem: str) -> list[Row]:
    return [row for row in rows if row["problem"] == problem]


def given_status_quo(rows: Sequence[Row]) -> str:
    """What Flow loses by what it is told of what ran before, over three orders of the arms."""
    lines = []
    for policy, ending, words in GIVEN_STATUS_QUO:
        found = [row for row in rows if row["policy"] == policy and row["problem"].endswith(ending)]
        # Orders have the same number of runs. Between them regret differs too, which is no error of the mean.
        mean = sum(float(row["mean"]) for row in found) / len(found)
        error = math.hypot(*(float(row["standard_error"]) for row in found)) / len(found)
        lines.append(
            [words, f"{mean:,.0f} ± {error:,.0f}", f"{sum(int(row['runs']) for row in found):,}"]
        )
    return _markdown(["`Flow` is told", "regret", "runs"], lines)


def parts(rows: Sequence[Row]) -> str:
    """What Unmix loses where parts are cut otherwise than it asks for."""
    found = [row for row in rows if row["policy"] == "unmix"]
    lines = [[row["problem"], _regret(row), row["runs"]] for row in found]
    return _markdown(["parts", "mean regret", "runs"], lines)


def market_speed(rows: Sequence[Row]) -> str:
    """What a fit and a decision in a market cost."""
    lines = [
        [
            row["what"],
            _ms(row["cpu_ms"]),
            f"{row['goal_ms']} ms" if row["goal_ms"] else "",
        ]
        for row in rows
    ]
    return _markdown(["", "CPU time", "asked"], lines)


def walks(rows: Sequence[Row]) -> str:
    """How far a reader has to walk, now and before."""
    columns = ("job", "functions", "files", "changes", "before")
    lines = [[row[name] for name in columns] for row in rows]
    return _markdown(
        ["job", "functions", "files", "changes of file", "before: functions, files, changes"], lines
    )


def _ms(text: str) -> str:
    return f"{float(text):.2g} ms" if float(text) < 100 else f"{float(text):.0f} ms"


def flow_beside(policy: str) -> Callable[[Sequence[Row]], str]:
    """How many times as much another policy of the suite loses as Flow in the paper's setting."""

    def shown(rows: Sequence[Row]) -> str:
        found = {
            row["policy"]: float(row["mean"])
            for row in _of_problem(rows, "two arms, uniform(0, 100)")
        }
        return f"{found[policy] / found['flow']:.0f} times"

    return shown


def over_flow_everywhere(policy: str) -> Callable[[Sequence[Row]], str]:
    """The least and the most that a policy of the suite loses over Flow."""

    def shown(rows: Sequence[Row]) -> str:
        lost = {(row["problem"], row["policy"]): float(row["mean"]) for row in rows}
        found = [
            mean / lost[problem, "flow"] for (problem, name), mean in lost.items() if name == policy
        ]
        return f"{min(found):.2g} to {max(found):.2g} times"

    return shown


def league_lock_ins(rows: Sequence[Row]) -> str:
    """Which policies of the suite locked in, and where; what plays all arms alike is left out."""
    lines = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy and policy != "round-robin"]
        where = [row for row in own if int(row["lock_ins"] or 0)]
        if where:
            lines.append([
                f"`{policy}`", f"{sum(int(row['lock_ins']) for row in where):,}",
                f"{sum(int(row['replications']) for row in own):,}",
                "; ".join(f"{row['problem']} {row['lock_ins']} of {row['replications']}" for row in where),
            ])  # fmt: skip
    columns = ["policy", "lock-ins", "runs", "where"]
    return _markdown(columns, lines, right=columns[1:3])


def price_of_anonymity(*problems: str) -> Callable[[Sequence[Row]], str]:
    """What Flow loses over QPM-D with the same index."""

    def shown(rows: Sequence[Row]) -> str:
        found = []
        for problem in problems:
            by = {row["policy"]: float(row["mean"]) for row in _of_problem(rows, problem)}
            found.append(by["flow"] / by["qpm-d KL-UCB++"])
        least, most = f"{min(found):.1f}", f"{max(found):.1f}"
        return least if least == most else f"{least} to {most}"

    return shown


def regrets(rows: Sequence[Row]) -> str:
    """One row per problem, one column per policy: mean regret ± standard error."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    shown = [f"{each} \\*" if each.startswith(SEES_MORE) else each for each in policies]
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        cells = {row["policy"]: row for row in rows if row["problem"] == problem}
        lines.append([problem, *(_regret(cells.get(each)) for each in policies)])
    return _markdown(["mean regret ± standard error", *shown], lines)


def _regret(row: Row | None, error: str = "standard_error") -> str:
    if row is None:
        return "–"
    return f"{float(row['mean']):,.0f}" + (f" ± {float(row[error]):,.0f}" if row[error] else "")


def regrets_by_told(rows: Sequence[Row]) -> str:
    """The same with the number of runs of each cell, and a star where the row has a note."""
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        found = {row["policy"]: row for row in rows if row["problem"] == problem}
        cells = []
        for policy in TOLD:
            row = found.get(policy)
            text = _regret(row)
            if row is not None:
                text += f" ({int(row['runs']):,})" + (" \\*" if row.get("note") else "")
            cells.append(text)
        lines.append([problem, *cells])
    return _markdown(["mean regret ± standard error (runs)", *TOLD.values()], lines)


def lock_ins(rows: Sequence[Row]) -> str:
    """The studies of lock-ins that come first: of each the newest, with the command that made it."""
    newest = _newest(rows)
    lines = []
    for row in (newest[key] for key in IN_SHORT_SAFETY):
        line = [NAMES[row["policy"]], _told(row["told"]), LAWS[row["law"]], _stuck(row)]
        lines.append([*line, f"`{_command(row)}`"])
    columns = ["policy", "told of the delay", "random problems with", "stuck", "command"]
    return _markdown(columns, lines, right=("stuck",))


def lock_ins_in_short(rows: Sequence[Row]) -> str:
    """The same with the policies beside each other, and without commands."""
    newest = _newest(rows)
    lines = []
    for law, told in dict.fromkeys((law, told) for _, law, told in IN_SHORT_SAFETY):
        found = [newest.get((policy, law, told)) for policy in NAMES]
        lines.append(
            [_told(told), LAWS[law], *("–" if row is None else _stuck(row) for row in found)]
        )
    stuck = [f"{name} stuck" for name in NAMES.values()]
    return _markdown(["told of the delay", "random problems with", *stuck], lines, right=stuck)


def _newest(rows: Sequence[Row]) -> dict[tuple[str, str, str], Row]:
    return {(row["policy"], row["law"], row["told"]): row for row in rows}


def regrets_of(*policies: str) -> Callable[[Sequence[Row]], str]:
    """`regrets` of some policies."""
    return lambda rows: regrets([row for row in rows if row["policy"] in policies])


def all_lock_ins(law: str, policies: Sequence[str] = ()) -> Callable[[Sequence[Row]], str]:
    """Every study of lock-ins on a law, of all policies or of some; what has a note was made by an earlier rule."""

    def shown(rows: Sequence[Row]) -> str:
        chosen = [
            row for row in rows
            if row["law"] == law and (row["policy"] in policies or not policies)
        ]  # fmt: skip
        columns: dict[str, Callable[[Row], str]] = {
            "policy": lambda row: f"`{row['policy']}`",
            "told": lambda row: _told(row["told"]),
            "seed": lambda row: row["seed"],
            "runs": lambda row: f"{int(row['runs']):,}",
            "lock-ins": lambda row: row["lock_ins"],
        }
        if any(row.get("told_longer") for row in chosen):
            columns["lock-ins, told ten times the horizon"] = lambda row: row["told_longer"]
        columns["95% upper limit of the rate"] = lambda row: f"{float(row['upper_limit']):.2g}"
        right = tuple(columns)[2:]
        if any(row["mean"] for row in chosen):
            columns["mean regret"] = lambda row: f"{float(row['mean']):,.0f}" if row["mean"] else ""
            right += ("mean regret",)
        if any(row.get("note") for row in chosen):
            columns["rule"] = lambda row: row.get("note") or "the present one"
        lines = [[cell(row) for cell in columns.values()] for row in chosen]
        return _markdown(list(columns), lines, right=right)

    return shown


def _stuck(row: Row) -> str:
    return f"{int(row['lock_ins']):,} of {int(row['runs']):,}"


def _told(text: str) -> str:
    words = {
        "nothing": "nothing",
        "1": "its mean",
        "0.5": "half of its mean",
        "2": "twice its mean",
    }
    return words.get(text) or f"{text} times its mean"


def _command(row: Row) -> str:
    given = {"law": row["law"], "policy": row["policy"], "told": row["told"]}
    given |= {"replications": row["runs"], "seed": row["seed"]}
    usual = {"law": SAFETY_DEFAULTS["law"], "replications": SAFETY_DEFAULTS["runs"]}
    usual |= {"seed": SAFETY_DEFAULTS["seed"]}
    said = [f"--{name} {value}" for name, value in given.items() if usual.get(name) != value]
    return " ".join(["python studies/safety.py", *said])


def misses(rows: Sequence[Row]) -> str:
    """How often Unmix's 95% intervals miss, in per cent: one row per delay and what is told of it."""
    found = {
        (row["policy"], row["delay"], row["arms"]): row for row in rows if row["level"] == "0.95"
    }
    lines = []
    for policy, told in KNOWLEDGE.items():
        for delay, law in DELAYS.items():
            cells = [found.get((policy, delay, arms)) for arms in ARMS]
            if any(cells):
                texts = [f"{100 * float(cell['missed']):.1f}" if cell else "–" for cell in cells]
                runs = sorted({int(cell["runs"]) for cell in cells if cell})
                lines.append([told, law, *texts, " to ".join(str(each) for each in runs)])
    return _markdown(
        ["told", "delay", *ARMS.values(), "runs"], lines, right=(*ARMS.values(), "runs")
    )


def misses_of_worst(policies: Sequence[str]) -> Callable[[Sequence[Row]], str]:
    """How often 95% and 99.75% intervals miss: one row per policy and delay, of the worst problem."""

    def shown(rows: Sequence[Row]) -> str:
        lines = []
        for policy in policies:
            for delay, law in DELAYS.items():
                found = [row for row in rows if (row["policy"], row["delay"]) == (policy, delay)]
                if not found:
                    continue
                texts = []
                for level in (0.95, 0.9975):
                    cells = [row for row in found if float(row["level"]) == level]
                    worst = max(cells, key=lambda row: float(row["missed"]))
                    single = max(float(row["worst"]) for row in cells)
                    above = (
                        single
                        > 1 - level + SURE * (level * (1 - level) / int(worst["runs"])) ** 0.5
                    )
                    mark = "**" if above else ""
                    texts += [
                        f"{float(worst['missed']):.4f} ({worst['arms']})",
                        f"{mark}{single:.3f}{mark}",
                    ]
                lines.append([f"`{policy}`, {law}", found[0]["runs"], *texts])
        of_one = "worst arm and time"
        columns = [
            "policy, delay",
            "runs",
            "missed at 95%, the worst problem",
            of_one,
            "missed at 99.75%",
            of_one,
        ]
        return _markdown(columns, lines)

    return shown


def fit_limits(rows: Sequence[Row]) -> str:
    """How often the limits of fits cover: all cells together, and the least one."""
    statistics = list(dict.fromkeys(row["statistic"] for row in rows))
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        found = {row["statistic"]: row for row in rows if row["kind"] == kind}
        texts = [
            f"{float(found[each]['covered']):.3f} / {float(found[each]['least']):.3f}"
            for each in statistics
        ]
        lines.append([DATA[kind], *texts, found[statistics[0]]["samples"]])
    return _markdown(["kind of data", *statistics, "samples per cell"], lines)


def tail_errors(rows: Sequence[Row]) -> str:
    """How far tails were from what came, ours and chainladder's."""
    lines = [
        [
            row["years"],
            row["triangles"],
            f"{float(row['latesum']):.4f}",
            f"{float(row['chainladder']):.4f}",
        ]
        for row in rows
    ]
    columns = ["years", "triangles", "latesum", "chainladder's exponential tail"]
    return _markdown(columns, lines, right=columns[2:])


def end_ratios(rows: Sequence[Row]) -> str:
    """Where the curves of the paper's figures end, published and ours."""
    lines = []
    for row in rows:
        apart = float(row["errors_apart"])
        numbers = [f"{float(row[name]):#.4g}" for name in ("published", "ours")]
        error = f"{float(row['standard_error']):#.2g}"
        lines.append(
            [f"{row['figure']} {row['curve']}", *numbers, error, f"{apart:+.2f}", row["verdict"]]
        )
    right = ("published", "ours", "standard error", "difference in errors")
    return _markdown(["curve", *right, "verdict"], lines, right=right)


def speeds(rows: Sequence[Row]) -> str:
    """What was measured of speed, and by which command."""
    columns = ("what", "figure", "command")
    return _markdown(columns, [[row[name] for name in columns] for row in rows], right=())


def in_short(rows: Sequence[Row]) -> str:
    """What the README says of speed and of the paper's figures."""
    found = {row["what"]: row for row in rows}
    lines = [
        [shown, found[what]["figure"], found[what]["command"]]
        for shown, what in IN_SHORT_SPEED.items()
    ]
    lines.append([
        "published end ratios that agree within 3 standard errors", agreeing(_rows("ratios")),
        "`latesum paper`",
    ])  # fmt: skip
    speed = [float(row["options_per_second"]) for row in _rows("service")]
    lines.append([
        "the service: the option for now, 16 connections, two cores",
        f"{min(speed):,.0f} to {max(speed):,.0f} per second", "`python benchmarks/service.py`",
    ])  # fmt: skip
    return _markdown(["what", "figure", "command"], lines, right=())


def service_speeds(rows: Sequence[Row]) -> str:
    """Requests per second by the length of a campaign's log."""
    lines = [
        [
            f"{int(row['buckets']):,} buckets",
            f"{float(row['options_per_second']):,.0f} per second", f"{float(row['options_p99_ms']):.1f} ms",
            f"{float(row['records_per_second']):,.0f} per second", f"{float(row['records_p99_ms']):.1f} ms",
        ]
        for row in sorted(rows, key=lambda row: int(row["buckets"]))
    ]  # fmt: skip
    percentile = "99th percentile"
    return _markdown(
        ["a log of", "option for now", percentile, "durable records", percentile], lines
    )


def over_optuna(rows: Sequence[Row]) -> str:
    """The slowest of the durable records over Optuna's ask/tell."""
    least = min(float(row["records_per_second"]) / float(row["optuna_per_second"]) for row in rows)
    return f"{least:.0f} times"


def market_worlds(rows: Sequence[Row]) -> str:
    """What switchback loses in the worlds of the study of markets, as a share of a split's loss."""
    found = _by_world(rows, "worlds")
    lines = [
        [WORLDS[world], *_of_rule(cells["switchback"])] for world, cells in sorted(found.items())
    ]
    return _filled(["world", *_RULE], lines)


def market_beside(rows: Sequence[Row]) -> str:
    """The same beside what others lose."""
    lines = []
    for world, cells in sorted(_by_world(rows, "worlds").items()):
        half = cells.get("half-time-test")
        others = [_of_split(cells.get(policy), error=False) for policy in BESIDE]
        others[1:1] = [_held(half, "covered90")]
        fewest = [int(row["runs"]) for policy, row in cells.items() if policy in BESIDE]
        ours = _of_split(cells["switchback"], error=False)
        lines.append([world, ours, *others, f"{min(fewest)}" if fewest else "–"])
    half_time, *further = BESIDE.values()
    columns = ["world", "switchback", half_time, "its 90% hold", *further, "their runs"]
    return _filled(columns, lines)


def market_demand(rows: Sequence[Row]) -> str:
    """The same on real demand."""
    lines = []
    for series, cells in _by_world(rows, "real demand").items():
        half = cells.get("half-time-test")
        others = [
            _of_split(half), _held(half, "covered90"), _of_split(cells.get("flow, told the history")),
            _of_split(cells.get("rounds known to 10%")),
        ]  # fmt: skip
        lines.append([series, *_of_rule(cells["switchback"]), *others])
    further = ["test of half the time", "its 90% hold", "Flow told the history", "visitors known to 10%"]  # fmt: skip
    return _filled(["series", *_RULE, *further], lines)


_RULE = ("switchback", "asked", "worst 1%", "90% hold", "95% hold", "wrong signs", "runs", "by")


def _filled(columns: Sequence[str], lines: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table without the columns that are empty everywhere; the first ones are words."""
    kept = [
        place for place, name in enumerate(columns)
        if place < words or any(line[place] not in ("", "–") for line in lines)
    ]  # fmt: skip
    shown = [columns[place] for place in kept]
    right = [name for name in shown[words:] if name != "by"]
    return _markdown(shown, [[line[place] for place in kept] for line in lines], right=right)


def _model(row: Row) -> str:
    """Which version of the model made a row, where it was not the present one."""
    return row.get("note", "")


def _of_rule(row: Row) -> list[str]:
    goal = f"{float(row['goal']):.2f}" if row["goal"] else ""
    held = [_held(row, name) for name in ("worst", "covered90", "covered95", "wrong_signs")]
    return [_of_split(row), goal, *held, row["runs"], _model(row)]


def market_cells(*tables: str) -> Callable[[Sequence[Row]], str]:
    """A table of some tables of the study of markets, one row per world and what was told."""

    def shown(rows: Sequence[Row]) -> str:
        lines = []
        for row in rows:
            if row["table"] in tables:
                goal = f"{float(row['goal']):.2f}" if row["goal"] else ""
                held = [_held(row, name) for name in ("covered90", "covered95", "wrong_signs")]
                lines.append(
                    [
                        row["world"],
                        row["policy"],
                        _of_split(row),
                        goal,
                        *held,
                        row["runs"],
                        _model(row),
                    ]
                )
        right = ("of a split's loss", "asked", "90% hold", "95% hold", "wrong signs", "runs", "by")
        return _filled(["world", "", *right], lines, words=2)

    return shown


def market_winners(rows: Sequence[Row]) -> str:
    """How often a winner was named, and wrongly."""
    lines = [
        [WORLDS[row["world"]], f"{float(row['named']):.0%}", f"{float(row['named_wrongly']):.1%}", row["runs"], _model(row)]
        for row in rows
        if row["table"] == "winner"
    ]  # fmt: skip
    return _filled(["world", "a winner is named", "a wrong one", "runs", "by"], lines)


def market_field(rows: Sequence[Row]) -> str:
    """Mean regret on problems of the suite that have daily totals."""
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        cells = {row["policy"]: row for row in rows if row["problem"] == problem}
        ours = cells["switchback"]
        goal = f"{float(ours['goal']):,.0f}" if ours["goal"] else ""
        best = f"{float(ours['ended_on_best']):.0%}" if ours["ended_on_best"] else "–"
        flow = _regret(cells.get("flow"), "error")
        lines.append(
            [problem, _regret(ours, "error"), goal, best, flow, ours["runs"], _model(ours)]
        )
    columns = ["problem", "switchback", "asked", "ends on the best", "Flow", "runs", "by"]
    return _filled(columns, lines)


def _by_world(rows: Sequence[Row], table: str) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["table"] == table:
            found.setdefault(row["world"], {})[row["policy"]] = row
    return {world: cells for world, cells in found.items() if "switchback" in cells}


def _of_split(row: Row | None, *, error: bool = True) -> str:
    if row is None:
        return "–"
    known = error and row["error"]
    return f"{float(row['of_split']):.2f}" + (f" ± {float(row['error']):.2f}" if known else "")


def _held(row: Row | None, name: str) -> str:
    if row is None or row[name] in ("", "nan"):
        return "–"
    return (
        f"{float(row[name]):.1%}" if name in ("wrong_signs", "worst") else f"{float(row[name]):.0%}"
    )


def _markdown(
    columns: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[str] | None = None
) -> str:
    """A table; numbers are on the right: all columns but the first, or those named."""
    marks = [
        "---:" if (name in right if right is not None else place > 0) else "---"
        for place, name in enumerate(columns)
    ]
    rows = [columns, *lines]
    texts = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([texts[0], "|" + "|".join(marks) + "|", *texts[1:]]) + "\n"


def agreeing(rows: Sequence[Row]) -> str:
    """How many of the paper's end ratios agree."""
    return f"{sum(row['verdict'] == 'agrees' for row in rows)} of {len(rows)}"


#: The file of each table and single number, and what makes it from its rows; a table that is not here is a sweep's.
TABLES: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {
    "league": ("league", regrets),
    "league-lock-ins": ("league", league_lock_ins),
    "regret": ("regret", regrets_by_told),
    "headline-short": (
        "headline",
        regrets_of("Unmix", "Flow", "ODAAF", "QPM-D, UCB1", "QPM-D, KL-UCB++"),
    ),
    "safety": ("safety", lock_ins),
    "safety-short": ("safety", lock_ins_in_short),
    "safety-unmix": ("safety", all_lock_ins("wide", ("unmix",))),
    "coverage": ("coverage", misses),
    "coverage-flow": ("coverage", misses_of_worst(("flow, look-ahead", "flow"))),
    "fit-limits": ("fits", fit_limits),
    "tail-errors": ("tails", tail_errors),
    "end-ratios": ("ratios", end_ratios),
    "speed": ("speed", speeds),
    "market-worlds": ("markets", market_worlds),
    "market-beside": ("markets", market_beside),
    "market-demand": ("markets", market_demand),
    "market-delays": ("markets", market_cells("delay told wrong")),
    "market-limits": (
        "markets",
        market_cells("best option later", "what ran before", "poor reports"),
    ),
    "market-breaks": ("markets", market_cells("what breaks it")),
    "market-winners": ("markets", market_winners),
    "market-field": ("field", market_field),
    "market-speed": ("market-speed", market_speed),
    "in-short": ("speed", in_short),
    "service": ("service", service_speeds),
    "price": ("price", prices),
    "flow-policies": ("flow", flow_policies),
    "given-status-quo": ("status_quo", given_status_quo),
    "parts": ("parts", parts),
    "walks": ("walks", walks),
}
VALUES: dict[str, tuple[str, Callable[[Sequence[Row]], str]]] = {
    "agreeing": ("ratios", agreeing),
    "over-optuna": ("service", over_optuna),
    "odaaf-over-flow": ("league", flow_beside("odaaf")),
    "odaaf-b-over-flow": ("league", flow_beside("odaaf-b")),
    "ars-over-flow": ("league", over_flow_everywhere("ars-ucb")),
    "price-two-arms": (
        "league",
        price_of_anonymity("two arms, exponential(50)", "two arms, uniform(0, 100)"),
    ),
    "flow-wrong": ("flow", ended_wrong("Flow", NEAR_ONE)),
    "price-line": ("league", price_of_anonymity("ten arms in a line")),
}


def table(name: str) -> str:
    """One table, as Markdown."""
    file, shown = TABLES.get(name, (name, regrets))
    return shown(_rows(file))


def value(name: str) -> str:
    """One number, as text."""
    file, shown = VALUES[name]
    return shown(_rows(file))


def _rows(file: str) -> list[Row]:
    if not file:  # computed, not measured
        return []
    return read_summary(RESULTS / f"{file}.csv")


def written(text: str) -> str:
    """A page with its tables and numbers as the results have them."""
    text = _TABLE.sub(lambda place: place[1] + "\n" + table(place[2]) + "\n" + place[3], text)
    return _VALUE.sub(lambda place: place[1] + value(place[2]) + place[3], text)


def pages() -> list[Path]:
    """All pages that may have a table."""
    own = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
    return [ROOT / "README.md", *sorted(own)]


def main() -> None:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--take", type=Path, nargs="+", metavar="FOLDER", help="results of studies")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if a page is old")
    arguments = parser.parse_args()
    for folder in arguments.take or []:
        take(folder)
    new = {page: written(page.read_text(encoding="utf-8")) for page in pages()}
    old = [page for page, text in new.items() if text != page.read_text(encoding="utf-8")]
    if arguments.check:
        sys.exit(
            f"old tables: {', '.join(page.name for page in old)}; run docs/tables.py" if old else 0
        )
    for page in old:
        page.write_text(new[page], encoding="utf-8")
        print(f"new tables: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
