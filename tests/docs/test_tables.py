"""docs/tables.py: results of studies go into docs/results and from there into the pages; what is typed over is noticed."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from latesum.experiments.store import read_summary, write_summary

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The script, with a copy of the results."""
    found = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    shutil.copytree(RESULTS, tmp_path / "results")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


def _marked(tables):
    text = "".join(page.read_text(encoding="utf-8") for page in tables.pages())
    return set(re.findall(r"<!-- table: ([\w-]+) -->", text))


def test_every_table_and_every_file_of_results_stands_in_a_page(tables):
    assert _marked(tables) == set(tables.TABLES)
    files = {file for file, _ in tables.TABLES.values()}
    assert files == {path.stem for path in RESULTS.glob("*.csv")} | {"archive"}


def test_no_table_of_measured_figures_is_typed(tables):
    """A table of a page has a mark, or its cells are words; those with figures that are no results are named here."""
    typed = {
        "docs/how-to/benchmark.md": "| suite | problems | runs |",  # what the benchmark has
        "docs/research/markets.md": "| state | prior | moves |",  # the model's priors
        "docs/research/odaaf.md": "| | printed, per arm | corrected |",  # formulas
        "docs/development/testing.md": "| | tests |",  # what the default run costs, here
        "docs/research/unmix.md": "| constant | value | reason |",  # what decisions depend on
    }
    found = {}
    for page in tables.pages():
        text = re.sub(
            r"<!-- table: .*?<!-- end of table -->",
            "",
            page.read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            head, *lines = block.splitlines()
            cells = [cell for line in lines[1:] for cell in line.strip("|").split("|")]
            figures = [cell for cell in cells if re.match(r"\s*[-+−]?\d[\d.,]*(\s|$)", cell)]
            if "±" in block or len(figures) * 4 > len(cells):
                found.setdefault(page.relative_to(ROOT).as_posix(), []).append(head)
    for page, heads in found.items():
        for head in heads:
            assert head.startswith(typed.get(page, "none is")), (page, head)


def test_a_number_that_is_typed_over_is_noticed(tables):
    noticed = set()
    for page in tables.pages():
        text = page.read_text(encoding="utf-8")
        for place in re.finditer(r"<!-- table: ([\w-]+) -->(.*?)<!-- end", text, re.DOTALL):
            *_, digit = re.finditer(r"\d", place[2])
            at = place.start(2) + digit.start()
            typed = text[:at] + str((int(digit[0]) + 1) % 10) + text[at + 1 :]
            assert tables.written(typed) == text
            noticed.add(place[1])
    assert noticed == _marked(tables)


def test_a_new_study_replaces_its_row_and_no_other(tables, tmp_path):
    before = read_summary(RESULTS / "safety.csv")
    row = {
        "policy": "unmix",
        "law": "wide",
        "given": 1.0,
        "horizon": None,
        "seed": 99,
        "runs": 4_000,
        "possibly_stuck": 3,
        "stuck": 2,
        "stuck_if_longer": 1,
        "upper_limit": 0.0016,
        "mean": 3_000.0,
        "worst": 9_000.0,
    }
    for stuck in (2, 0):
        write_summary(tmp_path / "made" / "safety.csv", [{**row, "stuck": stuck}])
        tables.take(tmp_path / "made")
    after = read_summary(tables.RESULTS / "safety.csv")
    assert after[:-1] == before
    cells = "| `unmix` | its mean | 1 to 5,000 rounds | 0 of 4,000 | 0.0016 |"
    assert cells in tables.table("safety")


def test_a_folder_without_results_is_refused(tables, tmp_path):
    with pytest.raises(SystemExit, match="has no results of a study"):
        tables.take(tmp_path)
