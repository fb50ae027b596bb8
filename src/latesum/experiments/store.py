"""Results on disk: one Parquet file per chunk of runs, and tables as CSV, never half written.

A store is a folder:

    store.json                            the version of this layout, and of latesum
    parts/<digest>/000000-000079.parquet  runs 0 to 79 of one specification, one row per run
    <name>/manifest.json                  an experiment: its specifications and their parts
    <name>/runs.parquet                   merged: one row per run
    <name>/checkpoints.parquet            merged: one row per run and checkpoint

The folder of a specification is named by a digest of everything its runs depend on. So two
experiments share the runs that they have in common, a run made twice is the same twice, and it does
not matter which process renamed its part last.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum._version import __version__
from latesum.experiments.spec import RUNS_VERSION, Spec

#: What was measured in the runs of a specification: by measure, one row per run.
Rows = Mapping[str, NDArray[Any]]
#: How names of unfinished files begin.
UNFINISHED = ".unfinished-"
_PART = re.compile(r"(\d+)-(\d+)\.parquet")
#: Leftovers of killed processes are removed when no living one can be writing them.
_ABANDONED_AFTER = 3600.0


class RunStore:
    """A folder of results; it is made if it is not there.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> RunStore(folder).folder == Path(folder)
    True
    """

    def __init__(self, folder: str | Path) -> None:
        require("pyarrow", "experiments")
        self.folder = Path(folder)
        mark = self.folder / "store.json"
        ours = {"store": RUNS_VERSION, "latesum": __version__}
        if mark.exists():
            try:
                theirs = json.loads(mark.read_text())
            except (OSError, ValueError) as error:
                raise InvalidInput(f"cannot read {mark}: {error}; take another folder.") from None
            if theirs != ours:
                raise InvalidInput(
                    f"{self.folder} was written by latesum {theirs.get('latesum')} (store version "
                    f"{theirs.get('store')}) and this is {__version__} (store version "
                    f"{RUNS_VERSION}), whose runs may differ; take another folder with --out, or "
                    "delete this one."
                )
        try:
            (self.folder / "parts").mkdir(parents=True, exist_ok=True)
            with atomic_write(mark) as unfinished:
                unfinished.write_text(json.dumps(ours) + "\n")
            for path in self.folder.rglob(f"{UNFINISHED}*"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime > _ABANDONED_AFTER:
                        path.unlink()
        except OSError as error:
            raise InvalidInput(
                f"cannot write in {self.folder}: {error.strerror or error}; choose another folder "
                "with --out."
            ) from None

    def missing(self, spec: Spec, replications: int) -> list[tuple[int, int]]:
        """The runs that are not there yet, as ranges (first, past the last)."""
        wanted = np.ones(replications, dtype=bool)
        for first, end, _ in self._parts(spec):
            wanted[first:end] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
        return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]

    def write_part(self, spec: Spec, first: int, rows: Rows) -> None:
        """Keep what was measured in the runs from number `first` on."""
        pa = require("pyarrow", "experiments")
        end = first + len(next(iter(rows.values())))
        columns = {"run": pa.array(range(first, end), pa.int64()), **to_columns(rows)}
        path = self._folder(spec) / f"{first:06d}-{end - 1:06d}.parquet"
        _write(path, pa.table(columns), {"spec": spec.to_json()})

    def read(self, spec: Spec, replications: int) -> Rows:
        """The first `replications` runs of a specification; they must be there."""
        pq = require("pyarrow.parquet", "experiments")
        found = np.zeros(replications, dtype=bool)
        rows: dict[str, Any] = {}
        for first, end, path in self._parts(spec):
            if first >= replications:
                continue
            try:
                table = pq.read_table(path)
            except (OSError, ValueError) as error:
                raise InvalidInput(
                    f"{path} cannot be read ({error}); delete it and run again: only its runs "
                    "are made again."
                ) from None
            kept = min(end, replications) - first
            for name in spec.measures:
                values = table[name].to_numpy()
                values = np.stack(values) if values.dtype == object else values
                if name not in rows:
                    rows[name] = np.zeros((replications, *values.shape[1:]), dtype=values.dtype)
                rows[name][first : first + kept] = values[:kept]
            found[first : first + kept] = True
        if not found.all():
            raise InvalidInput(
                f"{int((~found).sum())} runs of {spec.policy_name} on {spec.problem_name} are "
                f"missing in {self.folder}; run the experiment again to finish it."
            )
        return rows

    def forget(self, spec: Spec) -> None:
        """Throw the runs of a specification away."""
        shutil.rmtree(self._folder(spec), ignore_errors=True)

    def claim(self, name: str, specs: Sequence[Spec], about: Mapping[str, Any]) -> None:
        """Say in the folder `name` what the experiment is that it holds.

        If `about` has a "source", the file that the experiment comes from, a folder that holds
        another experiment from another file is refused.
        """
        path = self.folder / name / "manifest.json"
        parts = [
            {"problem": each.problem_name, "policy": each.policy_name, "parts": each.digest}
            for each in specs
        ]
        there: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            there = json.loads(path.read_text())
        source = there.get("source", about.get("source"))
        if source != about.get("source") and there.get("specs") != parts:
            raise InvalidInput(
                f"{path.parent} holds the results of another experiment of this name, from "
                f"{source}; give one of them another name, or take another folder with --out."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as unfinished:
            content = {"store": RUNS_VERSION, **about, "specs": parts}
            unfinished.write_text(json.dumps(content, indent=1) + "\n")

    def merge(self, name: str, tables: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Write the tables of a finished experiment; the same runs give the same bytes."""
        for table, content in tables.items():
            _write(self.folder / name / f"{table}.parquet", content, {"experiment": about})

    def _folder(self, spec: Spec) -> Path:
        return self.folder / "parts" / spec.digest

    def _parts(self, spec: Spec) -> list[tuple[int, int, Path]]:
        folder = self._folder(spec)
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        names = ((_PART.fullmatch(path.name), path) for path in paths)
        return [(int(match[1]), int(match[2]) + 1, path) for match, path in names if match]


def _write(path: Path, table: Any, about: Mapping[str, Any]) -> None:
    pq = require("pyarrow.parquet", "experiments")
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {name: json.dumps(value, sort_keys=True) for name, value in about.items()}
    with atomic_write(path) as unfinished:
        table = table.replace_schema_metadata(metadata)
        pq.write_table(table, unfinished, compression="zstd")


def to_columns(measured: Rows) -> dict[str, Any]:
    """What was measured as columns of an Arrow table; an array per run is a list there."""
    pa = require("pyarrow", "parquet")
    return {
        name: pa.array(values if values.ndim == 1 else list(values))
        for name, values in measured.items()
    }


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; the file replaces `path` at the end, and only then.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kept.txt"
    >>> with atomic_write(path) as unfinished:
    ...     _ = unfinished.write_text("whole")
    >>> [each.name for each in path.parent.iterdir()]
    ['kept.txt']
    """
    unfinished = path.with_name(f"{UNFINISHED}{os.getpid()}-{os.urandom(6).hex()}")
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())  # what is renamed is on the disk, not only on its way there
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_summary(
    path: str | Path, rows: Iterable[Mapping[str, object]], *, same: Sequence[str] = ()
) -> Path:
    """Write rows as CSV; None is an empty cell, and the folder is made where there is none.

    Rows of the file that are about something else, by the columns `same`, stay; without any of
    these none stays.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "safety.csv"
    >>> for given, stuck in ((1, 0), (0.5, 3), (0.5, 2)):
    ...     _ = write_summary(path, [{"given": given, "stuck": stuck}], same=["given"])
    >>> read_summary(path)
    [{'given': '1', 'stuck': '0'}, {'given': '0.5', 'stuck': '2'}]
    """
    path = Path(path)
    new: list[dict[str, object]] = [
        {name: f"{each:.6g}" if isinstance(each, float) else each for name, each in row.items()}
        for row in rows
    ]
    about = {tuple("" if row[name] is None else str(row[name]) for name in same) for row in new}
    old = read_summary(path) if same and path.exists() else []
    kept = [row for row in old if tuple(row.get(name, "") for name in same) not in about]
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        atomic_write(path) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as file,
    ):
        everything: list[Any] = [*kept, *new]
        columns = list(dict.fromkeys(name for row in everything for name in row))
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(everything)
    return path


def read_summary(path: str | Path) -> list[dict[str, str]]:
    """The rows of such a file, as text."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
