"""Mutation testing with a list of our own: `make mutants`.

Each mutant of `mutants.toml` is a small semantic change of the source. It is made in a copy in `.mutants/copy`, and the
tests that belong to it must fail. Results are kept in `.mutants/results.json`, so that a run that was stopped goes on; a
result is used again only while the mutant, its file and its tests are what they were. Tests that fail without any change
say nothing of their mutants: these are not tried, and the run ends with an error.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import time
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "src" / "latesum"
RESULTS = ROOT / ".mutants" / "results.json"
#: Always the same folder, since kernels are kept compiled by where their sources are.
COPY = ROOT / ".mutants" / "copy"
#: What the copy needs.
_COPIED = ("src", "tests", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")

#: Tests that have not ended after this time, in seconds, never will: the mutant is noticed.
_LONGEST = 1200.0

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


def passes(folder: Path, tests: list[str]) -> bool:
    """Whether the tests pass in the copy: in a fork, which has the libraries loaded already."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(folder)
        # A compiled file is used again if time and size of its source are the same, as those of two mutants may be.
        sys.dont_write_bytecode = True
        os.environ.update(
            PYTHONPATH=str(folder / "src"), OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1"
        )
        sys.path.insert(0, str(folder / "src"))
        output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 99
        try:
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
        finally:
            os._exit(code)
    code = _exit_code(child, time.monotonic() + _LONGEST)
    if code not in (0, 1, 2, None):  # 2: a module cannot be imported any more
        raise SystemExit(f"pytest could not run {' '.join(tests)}:\n{_said(folder)}")
    return code == 0


def _exit_code(child: int, until: float) -> int | None:
    """That of a process, which has a session of its own; None if it had to be ended."""
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _said(folder: Path) -> str:
    return (folder / "output.txt").read_text(encoding="utf-8", errors="replace")


def outcome_of(folder: Path, mutant: dict) -> str:
    """Make the change in the copy, run its tests, and take it back, with the time of the file."""
    file = folder / "src" / "latesum" / mutant["file"]
    before, times = file.read_text(encoding="utf-8"), file.stat()
    file.write_text(before.replace(mutant["old"], mutant["new"]), encoding="utf-8")
    try:
        return "survived" if passes(folder, list(mutant["tests"])) else "killed"
    finally:
        file.write_text(before, encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def run(names: list[str]) -> int:
    """Try all mutants, or those whose name has one of the words.

    Returns the number that survive without a reason or were not tried.
    """
    for library in _LOADED:
        importlib.import_module(library)
    mutants = [m for m in read_mutants() if not names or any(name in m["name"] for name in names)]
    RESULTS.parent.mkdir(exist_ok=True)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    found: dict[str, list[dict]] = {"killed": [], "survived": [], "not tried": []}
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir()
    for each in _COPIED:
        copy = shutil.copytree if (ROOT / each).is_dir() else shutil.copy
        copy(ROOT / each, COPY / each)
    trusted: dict[tuple[str, ...], bool] = {}
    for number, mutant in enumerate(mutants, start=1):
        digest, tests = digest_of(mutant), tuple(mutant["tests"])
        if digest not in known and tests not in trusted:
            trusted[tests] = passes(COPY, list(tests))
            if not trusted[tests]:
                print(f"{' '.join(tests)} fail without any change:\n{_said(COPY)}", flush=True)
        if digest not in known and trusted[tests]:
            known[digest] = outcome_of(COPY, mutant)
            RESULTS.write_text(json.dumps(known, indent=1), encoding="utf-8")
        outcome = known.get(digest, "not tried")
        found[outcome].append(mutant)
        print(f"{number} of {len(mutants)}: {outcome}: {mutant['name']}", flush=True)
    counts = ", ".join(f"{len(those)} {outcome}" for outcome, those in found.items())
    print(f"\n{len(mutants)} mutants: {counts}.")
    for mutant in found["survived"]:
        print(f"- {mutant['name']} ({mutant['file']}): {mutant.get('survives', 'NO REASON')}")
    unexplained = sum("survives" not in mutant for mutant in found["survived"])
    return unexplained + len(found["not tried"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only mutants whose name has one of these words")
    sys.exit(1 if run(parser.parse_args().names) else 0)
