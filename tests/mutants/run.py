"""Mutation testing with a list of our own: `make mutants`.

Each mutant of `mutants.toml` is a small semantic change of the source. It is made in a copy in `.mutants/`, and one of the
tests that belong to it must fail. A test that fails without the change too says nothing of the mutant, which then counts
as not tried; so the test that failed is run once more in the copy as it was. Results are kept in `.mutants/results.json`,
so that a run that was stopped goes on; a result is used again only while the mutant, its file and its tests are what they
were. `.mutants/mutants.csv` counts them by room:

    make mutants
    python docs/tables.py --take .mutants    # into docs/results and the page on tests
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "src" / "latesum"
RESULTS = ROOT / ".mutants" / "results.json"
#: Counts by room, as `docs/tables.py` takes them.
SUMMARY = ROOT / ".mutants" / "mutants.csv"
#: What the copy needs.
_COPIED = ("src", "tests", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")

#: Tests that have not ended after this time, in seconds, never will: the mutant is noticed.
_LONGEST = 300.0

OUTCOMES = ("killed", "survived", "not tried")

#: Libraries that most tests use; loading them takes longer than most tests do.
_LOADED = ("numpy", "scipy.stats", "scipy.special", "numba", "hypothesis", "sqlalchemy", "pydantic")


def read_mutants() -> list[dict]:
    """The list, checked: every change must still apply to its file, once."""
    mutants = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    problems = [problem for mutant in mutants for problem in problems_of(mutant)]
    names = [mutant["name"] for mutant in mutants]
    problems += [f"{name!r} is there twice." for name in set(names) if names.count(name) > 1]
    if problems:
        raise SystemExit("\n".join(problems))
    return mutants


def problems_of(mutant: dict) -> list[str]:
    """Why a mutant cannot be made."""
    file = SOURCES / mutant["file"]
    if not file.is_file():
        return [f"{mutant['name']!r}: there is no file {mutant['file']}."]
    found = file.read_text(encoding="utf-8").count(mutant["old"])
    problems = [
        f"{mutant['name']!r}: no test {test}."
        for test in mutant["tests"]
        if not path_of(test).exists()
    ]
    if found != 1:
        problems.append(f"{mutant['name']!r}: its old text is {found} times in {mutant['file']}.")
    if mutant["old"] == mutant["new"]:
        problems.append(f"{mutant['name']!r} changes nothing.")
    return problems


def path_of(test: str) -> Path:
    """The file of a test, which may be named with it as pytest does."""
    return ROOT / test.split("::")[0]


def digest_of(mutant: dict) -> str:
    """Names a result: another mutant, source or test is another result."""
    parts = [mutant["old"], mutant["new"], (SOURCES / mutant["file"]).read_text(encoding="utf-8")]
    parts += [f"{test}\n{path_of(test).read_text(encoding='utf-8')}" for test in mutant["tests"]]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def kernels_of(copy: Path) -> Path:
    """Where the kernels of a copy are kept. They are known by where their sources are, and stay for the next run."""
    return copy.with_name(copy.name.replace("copy", "kernels"))


class Said(NamedTuple):
    """What came of some tests: whether all passed, and the first that did not, if it is known which."""

    passed: bool
    test: str | None


class _Notes:
    """A plugin of pytest that writes down which test began last, and so which one failed."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.file.write_text(nodeid, encoding="utf-8")


def said_by(folder: Path, tests: list[str], *options: str) -> Said:
    """What the tests say in a copy, up to the first failure: in a fork, which has the libraries loaded already."""
    begun = folder / "begun.txt"
    begun.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(folder)
        # A compiled file is used again if time and size of its source are the same, as those of two mutants may be.
        sys.dont_write_bytecode = True
        os.environ.update(
            PYTHONPATH=str(folder / "src"), OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1",
            LATESUM_CACHE_DIR=str(kernels_of(folder)),
        )  # fmt: skip
        sys.path.insert(0, str(folder / "src"))
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 99
        try:
            chosen = ["-x", "-q", "-p", "no:cacheprovider", *options, *tests]
            code = int(pytest.main(chosen, plugins=[_Notes(begun)]))
        finally:
            os._exit(code)
    code = _exit_code(child, time.monotonic() + _LONGEST)
    if code not in (0, 1, 2, None):  # 2: a module cannot be imported any more
        output = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"pytest ended with {code} for {' '.join(tests)}:\n{output}")
    test = begun.read_text(encoding="utf-8") if begun.exists() and code != 2 else None
    return Said(code == 0, test)


def _exit_code(child: int, until: float) -> int | None:
    """That of a process, which has a session of its own; None if it had to be ended."""
    try:
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
    except BaseException:  # an interrupt: it has not heard of it
        _end(child)
        raise
    _end(child)
    return None


def _end(child: int) -> None:
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def outcome_of(folder: Path, mutant: dict) -> str:
    """Make the change in a copy, run its tests, and take it back, with the time of the file."""
    file = folder / "src" / "latesum" / mutant["file"]
    before, times = file.read_text(encoding="utf-8"), file.stat()
    kernels = set(kernels_of(folder).glob("latesum/*"))
    file.write_text(before.replace(mutant["old"], mutant["new"]), encoding="utf-8")
    try:
        said = said_by(folder, list(mutant["tests"]))
    finally:
        file.write_text(before, encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        if file.name.endswith("kernels.py"):  # kernels are kept by a digest of all their sources
            for made in set(kernels_of(folder).glob("latesum/*")) - kernels:
                shutil.rmtree(made, ignore_errors=True)
    if said.passed:
        return "survived"
    if said.test is None:  # something could not be imported, or no test had begun
        return (
            "killed" if said_by(folder, mutant["tests"], "--collect-only").passed else "not tried"
        )
    return "killed" if said_by(folder, [said.test]).passed else "not tried"


_folder: Path


def _prepare(numbers: multiprocessing.Queue) -> None:
    """A worker makes a copy of its own."""
    global _folder
    _folder = ROOT / ".mutants" / f"copy-{numbers.get()}"
    shutil.rmtree(_folder, ignore_errors=True)
    _folder.mkdir(parents=True)
    for each in _COPIED:
        copy = shutil.copytree if (ROOT / each).is_dir() else shutil.copy2
        copy(ROOT / each, _folder / each)


def _try(mutant: dict) -> tuple[str, float]:
    began = time.monotonic()
    try:
        outcome = outcome_of(_folder, mutant)
    except RuntimeError as error:  # the others are tried all the same; the run ends with an error
        print(error, file=sys.stderr)
        outcome = "not tried"
    return outcome, time.monotonic() - began


def _tried(mutants: list[dict], workers: int) -> Iterator[tuple[dict, str, float]]:
    """Each mutant, what became of it, and how long that took, in seconds."""
    forking = multiprocessing.get_context("fork")
    numbers = forking.Queue()
    for number in range(workers):
        numbers.put(number)
    with ProcessPoolExecutor(workers, forking, _prepare, (numbers,)) as pool:
        waiting = {pool.submit(_try, mutant): mutant for mutant in mutants}
        try:
            for done in as_completed(waiting):
                yield waiting[done], *done.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def run(names: list[str], workers: int) -> int:
    """Try all mutants, or those whose name has one of the words.

    Returns the number that survive without a reason or were not tried.
    """
    for library in _LOADED:
        importlib.import_module(library)
    mutants = [m for m in read_mutants() if not names or any(name in m["name"] for name in names)]
    RESULTS.parent.mkdir(exist_ok=True)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    digests = {mutant["name"]: digest_of(mutant) for mutant in mutants}
    found = {name: known[digest]["outcome"] for name, digest in digests.items() if digest in known}
    # How long a mutant of this name took before; the longest first, so that no worker ends long after the others.
    took = {each["name"]: each["seconds"] for each in known.values()}
    new = [mutant for mutant in mutants if mutant["name"] not in found]
    new.sort(key=lambda mutant: -took.get(mutant["name"], 0.0))
    if found:
        print(f"{len(found)} of {len(mutants)} were tried before.", flush=True)
    spent, began, left = [], time.monotonic(), list(new)
    for mutant, outcome, seconds in _tried(new, max(1, min(workers, len(new)))) if new else ():
        name = mutant["name"]
        found[name] = outcome
        left.remove(mutant)
        spent.append(seconds)
        if outcome != "not tried":
            known[digests[name]] = {"name": name, "outcome": outcome, "seconds": round(seconds, 1)}
            _write(RESULTS, json.dumps(known, indent=1))
        usual = sum(spent) / len(spent)
        to_go = sum(took.get(each["name"], usual) for each in left) / workers
        print(
            f"{len(found)} of {len(mutants)}: {outcome}: {name} ({seconds:.0f} s); "
            f"{(time.monotonic() - began) / 60:.0f} min so far, about {to_go / 60:.0f} min left",
            flush=True,
        )
    if not names:
        # Not before: what is imported here, forks would take for the copy's.
        from latesum.lab.summaries import write_summary

        write_summary(SUMMARY, summary(mutants, found))
    counts = {each: list(found.values()).count(each) for each in OUTCOMES}
    print(f"\n{len(mutants)} mutants: {', '.join(f'{n} {each}' for each, n in counts.items())}.")
    survivors = [mutant for mutant in mutants if found[mutant["name"]] == "survived"]
    for mutant in survivors:
        print(f"- {mutant['name']} ({mutant['file']}): {mutant.get('survives', 'NO REASON')}")
    for name in (name for name, outcome in found.items() if outcome == "not tried"):
        print(f"- {name}: a test of it fails without any change")
    return sum("survives" not in mutant for mutant in survivors) + counts["not tried"]


def summary(mutants: list[dict], found: dict[str, str]) -> list[dict[str, object]]:
    """How many mutants of each room were killed, survived, or were not tried."""
    rooms = sorted({mutant["file"].split("/")[0] for mutant in mutants})
    rows: list[dict[str, object]] = []
    for room in rooms:
        those = [each["name"] for each in mutants if each["file"].split("/")[0] == room]
        outcomes = [found[name] for name in those]
        rows.append(
            {
                "room": room,
                "mutants": len(those),
                **{each: outcomes.count(each) for each in OUTCOMES},
            }
        )
    return rows


def _write(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only mutants whose name has one of these words")
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="the number of copies in which mutants are tried",
    )
    given = parser.parse_args()
    sys.exit(1 if run(given.names, given.workers) else 0)
