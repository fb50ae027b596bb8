"""The pages: no dead link, no path that is not there, every public name in the reference, tables as the results have them."""

import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

import latesum
from latesum.experiments.engine import Chunk, run_chunk
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.store import write_summary
from latesum.simulation.market import Market
from market_study import Cell, row_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
        *DOCS.glob("tutorials/*.ipynb"),
        *ROOT.glob("examples/**/README.md"),
    ]
)
#: Made when the site is built.
GENERATED = {DOCS / "reference" / "command-line.md"}
#: A file of the root, shown on a page of the site.
INCLUDED = re.compile(r"```\{include\} (\S+)")
#: Packages without names for users.
INTERNAL = {"cli", "service"}


def _text(path):
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return path.read_text(encoding="utf-8")


def _prose(text):
    """A page without its code."""
    return re.sub(r"^(```+|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)


def _anchors(path):
    """The headings of a page, as links name them."""
    text = _text(path)
    for included in INCLUDED.findall(text):
        text += (path.parent / included).read_text(encoding="utf-8")
    found = set()
    for heading in re.findall(r"^#+ (.*)$", _prose(text), flags=re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(plain.replace(" ", "-"))
    return found


def _links():
    for page in PAGES:
        if page in GENERATED:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", _prose(_text(page))):
            if not re.match(r"[a-z]+:", target):
                yield page, target


@pytest.mark.parametrize(
    ("page", "target"),
    list(_links()),
    ids=lambda each: each if isinstance(each, str) else each.stem,
)
def test_a_link_leads_somewhere(page, target):
    place, _, anchor = target.partition("#")
    found = (page.parent / place).resolve() if place else page
    assert found.exists() or found in GENERATED
    if anchor:
        assert anchor in _anchors(found)


def test_paths_of_the_repository_are_there():
    for page in PAGES:
        for path in re.findall(
            r"`((?:tests|examples|benchmarks|docs|src|requirements)/[\w/.-]+)`", _text(page)
        ):
            assert (ROOT / path).exists() or "_build" in path, f"{page.name} names {path}"


def test_every_page_is_in_the_site():
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}(.*?)```", _text(page), flags=re.DOTALL):
            names = re.findall(r"^(?:[^:<\n]+<)?([\w/-]+)>?$", block, flags=re.MULTILINE)
            listed |= {(page.parent / name).resolve() for name in names}
    pages = {
        page.resolve().with_suffix("")
        for page in PAGES
        if DOCS in page.parents and page not in GENERATED
    }
    assert pages - listed == {DOCS.resolve() / "index"}
    assert listed - pages == {path.resolve().with_suffix("") for path in GENERATED}


def _public():
    """Every public name, by the shortest way to it."""
    top = {name for name in dir(latesum) if not inspect.ismodule(getattr(latesum, name))}
    names = {f"latesum.{name}" for name in top - {"__version__"}}
    for package in pkgutil.iter_modules(latesum.__path__):
        if package.name.startswith("_") or package.name in INTERNAL:
            continue
        module = importlib.import_module(f"latesum.{package.name}")
        for name in dir(module) if package.name == "adapters" else module.__all__:
            if name not in top and not inspect.ismodule(getattr(module, name)):
                names.add(f"latesum.{package.name}.{name}")
    return names


def test_every_public_name_is_in_the_reference_and_nothing_else():
    written = {}
    for page in (DOCS / "reference").glob("*.md"):
        for name in re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)$", _text(page), flags=re.MULTILINE):
            assert name not in written, f"{name} is in {written[name]} and in {page.name}"
            written[name] = page.name
    assert set(written) - _public() == set(), "no longer public: take them out of docs/reference"
    assert _public() - set(written) == set(), "add them to a page of docs/reference"


def test_tables_are_what_the_results_say():
    done = subprocess.run(
        [sys.executable, DOCS / "tables.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_of_markets_are_made_from_what_the_study_writes(tmp_path, monkeypatch):
    """Rows of real runs, through the file that studies/market_study.py writes: every number is where its column says."""
    spec = importlib.util.spec_from_file_location("tables", DOCS / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    market = Market(buckets=21, history=0)
    cells = [Cell("worlds", "A", market), Cell("late options", "A, late", market)]
    runs = [MarketRunSpec(market, cell.policy, seed=1) for cell in cells]
    rows = [
        row_of(cell, run_chunk(Chunk(setting, 0, 2)))
        for cell, setting in zip(cells, runs, strict=True)
    ]
    write_summary(tmp_path / "markets.csv", (row._asdict() for row in rows))
    head, _, line = (
        text.strip("| ").split(" | ") for text in tables.table("market-worlds").splitlines()
    )
    shown = dict(zip(head, line, strict=True))
    assert (shown["runs"], shown["coverage of 90 percent intervals"]) == (
        "2",
        f"{rows[0].coverage:.0%}",
    )
    assert shown["regret"] == f"{rows[0].of_split:.2f} ± {rows[0].error:.2f}"
    assert "| A, late |" in tables.table("market-late")
    assert "A, late" not in tables.table("market-worlds")


def test_the_citation_has_this_version():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited[1] == latesum.__version__
    assert f"version = {{{latesum.__version__}}}" in (DOCS / "research" / "cite.md").read_text(
        encoding="utf-8"
    )


def test_the_extras_are_those_of_pyproject():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "start" / "install.md").read_text(encoding="utf-8")
    for extra in set(declared["optional-dependencies"]) - {"all", "benchmarks"}:
        assert f"`{extra}`" in page


@pytest.mark.parametrize("page", ["attributed", "markets", "odaaf", "unmix"])
def test_the_python_of_research_pages_runs(page):
    text = (DOCS / "research" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    exec("\n".join(blocks), {})
