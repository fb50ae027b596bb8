"""Numbers of studies, from their results into the pages: none is typed by hand.

    latesum sweep examples/headline.toml
    python docs/tables.py --take headline-results     # its summary into docs/results/headline.csv
    python docs/tables.py                             # the tables into the pages
    python docs/tables.py --check                     # are they what the results say?

A table stands in a page between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
#: Policies that see which arm paid have a star.
SEES_MORE = ("QPM-D",)
_COLUMNS = ("problem", "policy", "runs", "mean", "standard_error", "ended_on_best")
_PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def take(folder: Path) -> None:
    """Put the summaries of all experiments in a folder of results into `docs/results`."""
    import pyarrow.parquet as pq

    found = sorted(folder.glob("*/runs.parquet"))
    if not found:
        sys.exit(f"{folder} has no results of a sweep.")
    RESULTS.mkdir(exist_ok=True)
    for path in found:
        runs = pq.read_table(path).to_pandas()
        rows = [
            (problem, policy, len(each), each["regret"].mean(), each["regret"].sem(), each["ended_on_best"].mean())
            for (problem, policy), each in runs.groupby(["problem", "policy"], sort=False, observed=True)
        ]  # fmt: skip
        with (RESULTS / f"{path.parent.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_COLUMNS)
            writer.writerows([*row[:3], *(f"{value:.6g}" for value in row[3:])] for row in rows)


def table(name: str) -> str:
    """One row per problem, one column per policy: mean regret ± standard error."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    shown = [f"{each} \\*" if each.startswith(SEES_MORE) else each for each in policies]
    lines = [
        f"| mean regret ± standard error | {' | '.join(shown)} |",
        "|---" + "|---:" * len(policies) + "|",
    ]
    for problem in dict.fromkeys(row["problem"] for row in rows):
        cells = {row["policy"]: row for row in rows if row["problem"] == problem}
        lines.append(f"| {problem} | {' | '.join(_cell(cells.get(each)) for each in policies)} |")
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, str] | None) -> str:
    return (
        "–" if row is None else f"{float(row['mean']):,.0f} ± {float(row['standard_error']):,.0f}"
    )


def written(text: str) -> str:
    """A page with its tables as the results have them."""
    return _PLACE.sub(lambda place: place[1] + "\n" + table(place[2]) + "\n" + place[3], text)


def main() -> None:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--take", type=Path, metavar="FOLDER", help="results of `latesum sweep`")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if a page is old")
    arguments = parser.parse_args()
    if arguments.take:
        take(arguments.take)
    old = [
        page
        for page in PAGES
        if written(page.read_text(encoding="utf-8")) != page.read_text(encoding="utf-8")
    ]
    if arguments.check:
        sys.exit(
            f"old tables: {', '.join(page.name for page in old)}; run docs/tables.py" if old else 0
        )
    for page in old:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"new tables: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
