"""Tables of the pages, made from the results of studies: no measured number is typed by hand.

    latesum sweep examples/headline.toml
    python docs/tables.py --take headline-results   # its summary into docs/results
    python docs/tables.py                           # the tables into the pages
    python docs/tables.py --check                   # are they what the results say?

Tables of the benchmark come from the archive that is shipped with the package
(`python studies/archive.py`). A table stands in a page between `<!-- table: NAME -->` and
`<!-- end of table -->`.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from latesum.benchmark import archive
from latesum.experiments.store import read_summary, write_summary

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
#: The summaries that studies leave in their folders, and the columns that identify a row.
SUMMARIES = {
    "safety.csv": ("policy", "law", "given", "horizon", "seed"),
    "markets.csv": ("table", "world", "policy"),
    "ratios.csv": ("figure", "curve"),
    "speed.csv": ("what",),
    "price.csv": ("arms", "delay"),
    "sensitivity.csv": ("constant", "factor", "case"),
}
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

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
    """The rows of a CSV file in `docs/results`, or the cards of the benchmark's archive."""
    if file == "archive":
        return archive()
    found = read_summary(RESULTS / f"{file}.csv")
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
    """A table; columns of numbers are on the right."""
    numbers = re.compile(r"(–|[-+]?[\d.,]+( .*|%|\*\*)?)?|\*\*[\d.].*")
    marks = [
        "---:"
        if index and all(numbers.fullmatch(line[index]) and len(line[index]) < 25 for line in lines)
        else "---"
        for index in range(len(columns))
    ]
    shown = ["| " + " | ".join(row) + " |" for row in (columns, *lines)]
    return "\n".join([shown[0], "|" + "|".join(marks) + "|", *shown[1:]]) + "\n"


def listed(where: Callable[[Row], bool] = lambda row: True, **columns: str) -> Shown:
    """One line per row: the heading of each column, with spaces for "_", and its template."""
    return lambda rows: _markdown(
        [name.replace("_", " ") for name in columns],
        [[_cell(each, row) for each in columns.values()] for row in rows if where(row)],
    )


def regrets(
    template: str = "{mean:,.0f} ± {standard_error:,.0f}",
    heading: str = "mean regret ± standard error",
    columns: Mapping[str, str] | None = None,
) -> Shown:
    """One line per problem, one column per policy: all, or those named."""

    def shown(rows: Rows) -> str:
        found = {(row["problem"], row["policy"]): row for row in rows}
        across = columns or {policy: policy for _, policy in found}
        return _markdown(
            [heading, *across.values()],
            [
                [problem, *(_cell(template, found.get((problem, each))) for each in across)]
                for problem in dict.fromkeys(problem for problem, _ in found)
            ],
        )

    return shown


# The tables.

#: Constants of ARS-UCB (growth, exploration), beside Flow with an index of the same kind.
_ARS = ("ARS (2, 4)", "ARS (2, 2)", "ARS (3, 4)", "ARS (3, 2)", "Flow, UCB1")
#: What a policy is given of the delay, by track of the benchmark.
_TRACKS = {
    "nothing": "nothing",
    "mean": "its mean",
    "bound": "mean and bound",
    "variance": "mean and variance",
    "distribution": "its distribution",
}
_FRONT = {name: name for name in ("Unmix", "Flow", "ODAAF")} | {
    "QPM-D, KL-UCB++": "QPM-D, KL-UCB++ \\*"
}
_GIVEN = {1: "its mean", 0.5: "half of its mean", 2: "twice its mean", "nothing": "nothing"}
_LAWS = {
    "usual": "10 to 100 rounds",
    "wide": "1 to 5,000 rounds",
    "late": "10 to 100 rounds, the best arm's 1.5 to 3 times that",
    "mixed": "70% at once, 30% within 20 mean delays",
}
#: Worlds of the study of markets.
_WORLDS = {
    "A": "A: one stream, 3 options, 2 days late, 600 sales a day, 90 days",
    "B": "B: as A, 4 regions",
    "D": "D: one stream, 5 options, 4 days late, 120 days",
    "E": "E: 4 regions, 5 options, 4 days late, 30% background, 240 sales a day, 120 days",
    "F": "F: 4 regions, 2 options, half a day late, 120 sales a day, 60 days",
    "G": "G: 4 regions, 3 options, one 10% better, 2 days late, 240 sales a day, 60 days",
}


def stuck(rows: Rows) -> str:
    """Runs that converged to a worse arm, by policy, prior knowledge and mean delays."""
    for row in rows:
        row["words"] = _GIVEN.get(row["given"], f"{row['given']} times its mean")
        row["law"] = _LAWS[row["law"]]
    return listed(
        policy="`{policy}`",
        given_of_the_delay="{words}",
        delays="{law}",
        stuck="{stuck:,} of {runs:,}",
        upper_limit_of_the_rate="{upper_limit:.2g}",
    )(rows)


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
    return _markdown(["problem", "W", *columns], lines)


def sensitivity(rows: Rows) -> str:
    """Change of Unmix's mean regret where a constant is halved; doubled."""
    found = {(row["constant"], row["factor"], row["case"]): row for row in rows}
    usual = {case: row["mean"] for (name, _, case), row in found.items() if not name}

    def change(name: str, factor: float, case: str) -> str:
        row = found[name, factor, case]
        percent = (row["mean"] - usual[case]) / usual[case]
        return f"{percent:+.0%} ± {row['error'] / usual[case]:.0%}"

    columns = [f"{case} ({mean:.0f})" for case, mean in usual.items()]
    lines = [
        [f"`{name}`", *(f"{change(name, 0.5, case)}; {change(name, 2, case)}" for case in usual)]
        for name in dict.fromkeys(row["constant"] for row in rows if row["constant"])
    ]
    return _markdown(["halved; doubled", *columns], lines)


def end_ratios(rows: Rows) -> str:
    """How many of the paper's end ratios agree, by figure."""
    lines = []
    for figure in dict.fromkeys(row["figure"] for row in rows):
        own = [row for row in rows if row["figure"] == figure]
        furthest = max(own, key=lambda row: abs(float(row["errors_apart"])))
        agree = f"{sum(row['verdict'] == 'agrees' for row in own)} of {len(own)}"
        apart = f"{furthest['errors_apart']:+.2f}"
        lines.append([f"{figure}", agree, apart, f"{furthest['curve']}"])
    columns = ["figure", "end ratios that agree", "largest difference in standard errors", "curve"]
    return _markdown(columns, lines)


def market(name: str) -> Shown:
    """Rows of the market model in a table of the study of markets."""
    shown = listed(
        lambda row: row["table"] == name and row["policy"] == "switchback",
        world="{world}",
        regret="{of_split:.2f} ± {error:.2f}",
        ends_on_the_best="{ends_best:.0%}",
        coverage_of_90_percent_intervals="{coverage:.0%}",
        wrong_winners="{named_wrongly:.1%}",
        runs="{runs}",
    )
    return lambda rows: shown(
        [row | {"world": _WORLDS.get(row["world"], row["world"])} for row in rows]
    )


def _limits(part: Mapping[str, Any]) -> tuple[str, str]:
    """Score and interval of `core-1` as ratios."""
    value, low, high = (math.exp(part["score"][key]) for key in ("value", "low", "high"))
    return f"{value:.2f}", f"{low:.2f} to {high:.2f}"


def _stuck(rate: Mapping[str, Any]) -> str:
    return f"{rate['seen']} of {rate['runs']:,} ({rate['low']:.1%} to {rate['high']:.1%})"


def _ranked(cards: Rows) -> list[Row]:
    return sorted(cards, key=lambda card: card["suites"]["core-1"]["score"]["value"])


def ranking(cards: Rows) -> str:
    """All policies for totals by their score, with stuck runs."""
    lines = []
    for card in _ranked([each for each in cards if not each["attributed"]]):
        core, drawn = card["suites"]["core-1"], card["suites"]["random-1"]
        cells = sum(row["log_ratio"] is not None for row in card["cells"])
        about = [f"`{card['entry']}`", _TRACKS[card["track"]], *_limits(core)]
        lines.append([*about, f"{cells} × {core['runs']}", _stuck(drawn["stuck"])])
    columns = ["policy", "given of the delay", "ratio", "95% interval", "cells × runs"]
    return _markdown([*columns, "stuck on `random-1` (95% limits)"], lines)


def wrong_means(cards: Rows) -> str:
    """Ratio and stuck runs on `random-1` where the mean delay that is given is wrong."""
    lines = []
    for card in _ranked([each for each in cards if each["suites"]["random-1"]["robustness"]]):
        drawn = card["suites"]["random-1"]
        parts = [drawn["robustness"]["0.5"], drawn, drawn["robustness"]["2"]]
        shown = [
            f"{math.exp(each['ratio']):.2f}; {each['stuck']['seen']} of {each['stuck']['runs']:,}"
            for each in parts
        ]
        lines.append([f"`{card['entry']}`", *shown])
    return _markdown(["ratio; stuck runs", "half the mean", "the mean", "twice"], lines)


def same_index(cards: Rows) -> str:
    """Policies with the same index, beside the attributed ones."""
    lines = []
    reference = {
        card["index"]: card["suites"]["core-1"]["score"]["value"]
        for card in cards
        if card["entry"].startswith("qpm-d")
    } | {"kl-ucb++": 0.0}
    for index in ("kl-ucb++", "ucb1"):
        for card in _ranked([each for each in cards if each["index"] == index]):
            star = " \\*" if card["attributed"] else ""
            own = math.exp(card["suites"]["core-1"]["score"]["value"] - reference[index])
            about = [index, f"`{card['entry']}`{star}", _TRACKS[card["track"]]]
            lines.append([*about, *_limits(card["suites"]["core-1"]), f"{own:.2f}"])
    columns = ["index", "policy", "given of the delay", "ratio", "95% interval"]
    return _markdown([*columns, "ratio to QPM-D with this index"], lines)


#: The file of each table, and what makes it.
TABLES: dict[str, tuple[str, Shown]] = {
    "headline": ("headline", regrets("{mean:,.0f}", "problem", _FRONT)),
    "ranking": ("archive", ranking),
    "wrong-means": ("archive", wrong_means),
    "same-index": ("archive", same_index),
    "regret": (
        "regret",
        regrets(
            "{mean:,.0f} ± {standard_error:,.0f} ({runs:,})", "mean regret ± standard error (runs)"
        ),
    ),
    "ars-constants": ("ars", regrets(columns={name: name for name in _ARS})),
    "price": ("price", prices),
    "sensitivity": ("sensitivity", sensitivity),
    "safety": ("safety", stuck),
    "end-ratios": ("ratios", end_ratios),
    "speed": (
        "speed",
        listed(lambda row: not row["what"].startswith("Flow, "), what="{what}", figure="{figure}"),
    ),
    "market-worlds": ("markets", market("worlds")),
    "market-late": ("markets", market("late options")),
    "market-real": ("markets", market("real demand")),
}


def table(name: str) -> str:
    """One table, as Markdown."""
    file, shown = TABLES[name]
    return shown(_rows(file))


def written(text: str) -> str:
    """A page with its tables as the results have them."""
    return _TABLE.sub(lambda mark: mark[1] + "\n" + table(mark[2]) + "\n" + mark[3], text)


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
