"""Numbers of studies, from their results into the pages: none is typed by hand.

    latesum sweep examples/headline.toml
    python studies/safety.py --policy flow
    python docs/tables.py --take headline-results safety-results  # summaries into docs/results
    python docs/tables.py                                         # the tables into the pages
    python docs/tables.py --check                                 # are they what the results say?

A table stands in a page between `<!-- table: NAME -->` and `<!-- end of table -->`, a single number
in a sentence between `<!-- value: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from latesum.experiments.summaries import read_summary, write_summary

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
#: The summaries that studies leave in their folders, and the columns that say what a row is about.
SUMMARIES = {
    "safety.csv": ("policy", "law", "given", "horizon", "seed"),
    "coverage.csv": ("policy", "arms", "delay", "level"),
    "markets.csv": ("table", "world", "policy"),
    "ratios.csv": ("figure", "curve"),
    "speed.csv": ("what",),
    "service.csv": ("buckets",),
    "fits.csv": ("kind", "statistic"),
    "tails.csv": ("years", "triangles"),
    "price.csv": ("arms", "delay"),
    "market-speed.csv": ("what",),
    "walks.csv": ("job",),
}
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_VALUE = re.compile(r"(<!-- value:\s+([\w-]+) -->).*?(<!-- end -->)", re.DOTALL)

#: A row of results: numbers where a cell is one, otherwise text.
Row = dict[str, Any]
Rows = Sequence[Row]
Shown = Callable[[Rows], str]


def take(folder: Path) -> None:
    """Put the summaries of a folder of results into `docs/results`; other rows there stay."""
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

    rows = []
    runs = pq.read_table(path).to_pandas().groupby(["problem", "policy"], sort=False, observed=True)
    for (problem, policy), each in runs:
        regret = each["regret"]
        numbers = {
            "mean": regret.mean(),
            "standard_error": regret.sem(),
            "ended_on_best": each["ended_on_best"].mean(),
            "percentile_99": regret.quantile(0.99),
            "worst": regret.max(),
        }
        about = {"problem": problem, "policy": policy, "runs": len(each)}
        rows.append(about | {name: float(value) for name, value in numbers.items()})
    write_summary(RESULTS / f"{path.parent.name}.csv", rows, same=("problem", "policy"))


def _rows(file: str) -> list[Row]:
    """The rows of a file of results; none where a table is computed."""
    found = read_summary(RESULTS / f"{file}.csv") if file else []
    return [{name: _value(text) for name, text in row.items()} for row in found]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# Kinds of tables.


def _cell(template: str, row: Row | None) -> str:
    """The template filled in from a row; a dash where the row lacks something."""
    try:
        return "–" if row is None else template.format(**row)
    except (KeyError, ValueError):
        return "–"


def _markdown(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table without columns that are empty everywhere; those of numbers are on the right."""
    kept = [
        place
        for place in range(len(columns))
        if not place or any(line[place] not in ("", "–") for line in lines)
    ]
    numbers = re.compile(r"(–|[-+]?[\d.,]+( .*|%|\*\*)?)?|\*\*[\d.].*")
    marks = [
        "---:" if place and all(numbers.fullmatch(line[place]) for line in lines) else "---"
        for place in kept
    ]
    texts = [[row[place] for place in kept] for row in (columns, *lines)]
    shown = ["| " + " | ".join(row) + " |" for row in texts]
    return "\n".join([shown[0], "|" + "|".join(marks) + "|", *shown[1:]]) + "\n"


def listed(where: Callable[[Row], bool] = lambda row: True, **columns: str) -> Shown:
    """One line per row: the heading of each column, with spaces for "_", and its template."""
    return lambda rows: _markdown(
        [name.replace("_", " ") for name in columns],
        [[_cell(each, row) for each in columns.values()] for row in rows if where(row)],
    )


def pivot(
    template: str,
    *,
    line: str = "problem",
    column: str = "policy",
    heading: str = "",
    where: Callable[[Row], bool] = lambda row: True,
    lines: Mapping[Any, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Shown:
    """A line per value of one column, a column per value of another: all, or those named."""

    def shown(rows: Rows) -> str:
        found = {(row[line], row[column]): row for row in rows if where(row)}
        down = lines or {each: each for each, _ in found}
        across = columns or {each: each for _, each in found}
        return _markdown(
            [heading, *across.values()],
            [
                [words, *(_cell(template, found.get((key, each))) for each in across)]
                for key, words in down.items()
            ],
        )

    return shown


# Regret.

REGRET = "{mean:,.0f} ± {standard_error:,.0f}"
_HEADING = "mean regret ± standard error"
_STARRED = {"QPM-D, UCB1": "QPM-D, UCB1 \\*", "QPM-D, KL-UCB++": "QPM-D, KL-UCB++ \\*"}
_HEADLINE = {name: name for name in ("Unmix", "Flow", "ODAAF")} | _STARRED


def _of(rows: Rows, **about: object) -> Row:
    """The row that is about this."""
    return next(row for row in rows if all(row[name] == each for name, each in about.items()))


def given_status_quo(rows: Rows) -> str:
    """What Flow loses by what it is given of the status quo, over three orders of the arms."""
    lines = []
    for policy, ending, words in (
        ("given that nothing ran", " ran", "nothing"),
        ("given that something ran", " ran", '"other"'),
        ("given what is true", " ran", "the arm that ran"),
        ("given what is true", " of its totals", "that arm, and 28 days of its totals"),
        ("given what is true", " first", "that nothing ran, where nothing did"),
    ):
        found = [row for row in rows if row["policy"] == policy and row["problem"].endswith(ending)]
        # Between orders regret differs too, which is no error of the mean.
        mean = sum(row["mean"] for row in found) / len(found)
        error = math.hypot(*(row["standard_error"] for row in found)) / len(found)
        runs = sum(row["runs"] for row in found)
        lines.append([words, f"{mean:,.0f} ± {error:,.0f}", f"{runs:,}"])
    return _markdown(["`Flow` is given", "regret", "runs"], lines)


NEAR_ONE = "0.95 and 0.97, exponential(5000), T = 2·10⁶"


def prices(rows: Rows) -> str:
    """Regret with attributed feedback, and what is lost beyond it in three parts."""
    names = ("attributed", "anonymity", "visits", "distribution")
    lines = []
    for row in rows:
        cells = [_cell(f"{{{name}:.0f}} ± {{{name}_error:.0f}}", row) for name in names]
        plain = [_cell(f"{{{name}:.0f}}", row) for name in names]
        cells = [each if each != "–" else other for each, other in zip(cells, plain, strict=True)]
        lines.append([f"{row['arms']}, {row['delay']}", f"{row['spread']:.0f}", *cells])
    columns = ["attributed feedback", "anonymity", "rule for visits", "unknown distribution"]
    return _markdown(["", "W", *columns], lines)


def flow_wrong(rows: Rows) -> str:
    """How many runs of Flow ended on another arm than the best, with means near 1."""
    row = _of(rows, problem=NEAR_ONE, policy="Flow")
    return f"{round(row['runs'] * (1 - row['ended_on_best']))} of {row['runs']}"


# Safety and coverage.

GIVEN = {1: "its mean", 0.5: "half of its mean", 2: "twice its mean", "nothing": "nothing"}
LAWS = {"usual": "mean delays of 10 to 100 rounds", "wide": "mean delays of 1 to 5,000 rounds"}
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


def stuck(*policies: str, laws: Sequence[str] = tuple(LAWS)) -> Shown:
    """Runs that converged to a worse arm, by policy, prior knowledge and law of problems."""

    def shown(rows: Rows) -> str:
        chosen = [row for row in rows if row["law"] in laws and row["policy"] in policies]
        for row in chosen:
            row["words"] = GIVEN.get(row["given"], f"{row['given']} times its mean")
            row["law"] = LAWS[row["law"]]
        return listed(
            policy="`{policy}`",
            given_of_the_delay="{words}",
            random_problems_with="{law}",
            stuck="{stuck:,} of {runs:,}",
            upper_limit_of_the_rate="{upper_limit:.2g}",
        )(chosen)

    return shown


def worst_misses(rows: Rows) -> str:
    """How often Flow's 95% intervals miss, by delay, on the worst of the problems."""
    lines = []
    for delay, law in DELAYS.items():
        cells = [law]
        for policy in ("flow", "flow, look-ahead"):
            here = [
                row
                for row in rows
                if (row["policy"], row["delay"], row["level"]) == (policy, delay, 0.95)
            ]
            for name in ("missed", "worst"):
                most = max((row[name] for row in here), default=math.nan)
                cells.append("–" if math.isnan(most) else f"{most:.1%}")
        lines.append(cells)
    one = "worst arm and time"
    return _markdown(["delay", "Flow misses", one, "with look-ahead", one], lines)


def misses(rows: Rows) -> str:
    """How often Unmix's 95% intervals miss, in percent, by prior knowledge, delay and arms."""
    knowledge = {"unmix, law known": "the law", "unmix": "the mean", "unmix-untold": "nothing"}
    at_95 = [
        row | {"case": (row["policy"], row["delay"]), "percent": 100 * row["missed"]}
        for row in rows
        if row["level"] == 0.95
    ]
    cases = {
        (policy, delay): f"{words}, {law}"
        for policy, words in knowledge.items()
        for delay, law in DELAYS.items()
    }
    lines = {case: words for case, words in cases.items() if any(case == r["case"] for r in at_95)}
    table = pivot("{percent:.1f}", line="case", column="arms", lines=lines, columns=ARMS)
    return table(at_95).replace("|  |", "| given, delay |", 1)


# The paper, speed and markets.


def end_ratios(rows: Rows) -> str:
    """How many of the paper's end ratios agree, by figure."""
    lines = []
    for figure in dict.fromkeys(row["figure"] for row in rows):
        own = [row for row in rows if row["figure"] == figure]
        furthest = max(own, key=lambda row: abs(float(row["errors_apart"])))
        lines.append([f"{figure}", agreeing(own), f"{furthest['errors_apart']:+.2f}"])
        lines[-1].append(f"{furthest['curve']}")
    columns = ["figure", "end ratios that agree", "largest difference in standard errors", "of"]
    return _markdown(columns, lines)


def agreeing(rows: Rows) -> str:
    """How many of the paper's end ratios agree."""
    return f"{sum(row['verdict'] == 'agrees' for row in rows)} of {len(rows)}"


def over_optuna(rows: Rows) -> str:
    """The slowest of the durable records over Optuna's ask/tell."""
    return f"{min(row['records_per_second'] / row['optuna_per_second'] for row in rows):.0f} times"


def in_short(row: Row) -> bool:
    """Whether the README shows this of speed."""
    return bool(row["what"].startswith(("odaaf-b", "flow,", "unmix", "QPM-D with UCB1")))


#: Worlds of the study of markets, in words.
WORLDS = {
    "A": "A: one stream, 3 options, 2 days late, 600 sales a day, 90 days",
    "B": "B: as A, 4 regions",
    "D": "D: one stream, 5 options, 4 days late, 120 days",
    "E": "E: 4 regions, 5 options, 4 days late, 30% background, 240 sales a day, 120 days",
    "F": "F: 4 regions, 2 options, half a day late, 120 sales a day, 60 days",
    "G": "G: 4 regions, 3 options, one 10% better, 2 days late, 240 sales a day, 60 days",
}


def market(table: str) -> Shown:
    """Rows of the market model in a table of the study of markets."""
    shown = listed(
        lambda row: row["table"] == table and row["policy"] == "switchback",
        world="{world}",
        regret="{of_split:.2f} ± {error:.2f}",
        ends_on_the_best="{ends_best:.0%}",
        coverage_of_90_percent_intervals="{coverage:.0%}",
        wrong_signs="{wrong_signs:.1%}",
        runs="{runs}",
    )
    return lambda rows: shown(
        [row | {"world": WORLDS.get(row["world"], row["world"])} for row in rows]
    )


speeds = listed(what="{what}", figure="{figure}", command="{command}")
_FLOW = pivot(
    REGRET + " ({percentile_99:,.0f})",
    line="policy",
    column="problem",
    lines={name: f"`{name}`" for name in ("Flow", "Flow, look-ahead")},
    where=lambda row: row["problem"] != NEAR_ONE,
)
_SERVICE = listed(
    log="{buckets:,} buckets",
    option_for_now="{options_per_second:,} per second",
    its_99th_percentile="{options_p99_ms:.1f} ms",
    durable_records="{records_per_second:,} per second",
    their_99th_percentile="{records_p99_ms:.1f} ms",
)
_TAILS = listed(
    years="{years}",
    triangles="{triangles}",
    latesum="{latesum:.4f}",
    chainladder="{chainladder:.4f}",
)
#: The file of each table and number, and what makes it; a table that is not here is a sweep's.
TABLES: dict[str, tuple[str, Shown]] = {
    "headline": ("headline", pivot(REGRET, heading=_HEADING, columns=_HEADLINE)),
    "regret": ("regret", pivot(REGRET + " ({runs:,})", heading=_HEADING + " (runs)")),
    "ars-constants": ("ars", pivot(REGRET, heading=_HEADING)),
    "flow-policies": ("flow", _FLOW),
    "given-status-quo": ("status_quo", given_status_quo),
    "price": ("price", prices),
    "safety": ("safety", stuck("flow", "unmix")),
    "safety-unmix": ("safety", stuck("unmix", laws=["wide"])),
    "coverage": ("coverage", misses),
    "coverage-flow": ("coverage", worst_misses),
    "fit-limits": (
        "fits",
        pivot("{covered:.3f} / {least:.3f}", line="kind", column="statistic", heading="data"),
    ),
    "tail-errors": ("tails", _TAILS),
    "end-ratios": ("ratios", end_ratios),
    "speed": ("speed", speeds),
    "in-short": ("speed", lambda rows: speeds([row for row in rows if in_short(row)])),
    "service": ("service", _SERVICE),
    "walks": (
        "walks",
        listed(job="{job}", functions="{functions}", files="{files}", changes_of_file="{changes}"),
    ),
    "market-worlds": ("markets", market("worlds")),
    "market-late": ("markets", market("late options")),
    "market-speed": ("market-speed", listed(work="{what}", CPU_time="{cpu_ms:.1f} ms")),
}
VALUES: dict[str, tuple[str, Shown]] = {
    "agreeing": ("ratios", agreeing),
    "over-optuna": ("service", over_optuna),
    "flow-wrong": ("flow", flow_wrong),
}


def table(name: str) -> str:
    """One table, as Markdown."""
    file, shown = TABLES.get(name, (name, pivot(REGRET, heading=_HEADING)))
    return shown(_rows(file))


def value(name: str) -> str:
    """One number, as text."""
    file, shown = VALUES[name]
    return shown(_rows(file))


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
        names = ", ".join(page.name for page in old)
        sys.exit(f"old tables: {names}; run docs/tables.py" if old else 0)
    for page in old:
        page.write_text(new[page], encoding="utf-8")
        print(f"new tables: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
