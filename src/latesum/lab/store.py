"""Results on disk: one Parquet file per chunk of runs, never half written.

A store is a folder:

    store.json                        the version of this layout, and of latesum
    parts/<cell>/000000-000079.parquet    runs 0 to 79 of one cell, one row a run
    <experiment>/manifest.json        the experiment, its digest and its cells
    <experiment>/runs.parquet         merged: one row a run
    <experiment>/checkpoints.parquet  merged: one row a run and checkpoint

A cell's folder is named by a digest of everything its runs depend on, and a run depends on
nothing else. So two experiments share the runs that they have in common, a run made twice is the
same twice, and it does not matter which process renamed its part last.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.lab.cells import Cell
from latesum.lab.experiment import STORE_VERSION, Experiment, describe

_PART = re.compile(r"(\d+)-(\d+)\.parquet")
_ASIDE = ".aside-"
#: Leftovers of killed processes are swept away when no living one can be writing them.
_ABANDONED_AFTER = 3600.0


class RunRows(NamedTuple):
    """Runs of one cell, in the order of their numbers."""

    regrets: NDArray[np.float64]  # one row a run, one column a checkpoint
    ended_on_best: NDArray[np.bool_]
    switches: NDArray[np.int64]


class Store:
    """A folder of results.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> Store(folder).folder == Path(folder)
    True
    """

    def __init__(self, folder: str | Path) -> None:
        from latesum._version import __version__

        self.folder = Path(folder)
        mark = self.folder / "store.json"
        ours = {"store": STORE_VERSION, "latesum": __version__}
        if mark.exists():
            try:
                theirs = json.loads(mark.read_text())
            except (OSError, ValueError) as error:
                raise InvalidInput(f"cannot read {mark}: {error}; take another folder.") from None
            if theirs != ours:
                raise InvalidInput(
                    f"{self.folder} was written by latesum {theirs.get('latesum')} (store version "
                    f"{theirs.get('store')}) and this is {__version__} (store version "
                    f"{STORE_VERSION}), whose runs may differ; take another folder with --out, or "
                    "delete this one."
                )
        try:
            (self.folder / "parts").mkdir(parents=True, exist_ok=True)
            if not mark.exists():
                self._write_text(mark, json.dumps(ours) + "\n")
            with self._aside(self.folder / "probe") as aside:
                aside.touch()
            self._sweep()
        except OSError as error:
            raise InvalidInput(
                f"cannot write in {self.folder}: {error.strerror or error}; choose another folder "
                "with --out."
            ) from None

    def missing(self, cell: Cell) -> list[tuple[int, int]]:
        """The runs of a cell that are not there yet, as ranges (first, past the last)."""
        wanted = np.ones(cell.replications, dtype=bool)
        for first, end, _ in self._parts(cell):
            wanted[first:end] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
        return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]

    def has(self, cell: Cell, first: int, end: int) -> bool:
        """Whether another process has written exactly this part meanwhile."""
        return self._part(cell, first, end).exists()

    def write_part(self, cell: Cell, first: int, rows: RunRows) -> None:
        """Keep runs `first`, `first` + 1, ... of a cell."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        end = first + len(rows.regrets)
        table = pa.table(
            {
                "replication": pa.array(range(first, end), pa.int64()),
                "ended_on_best": pa.array(rows.ended_on_best, pa.bool_()),
                "switches": pa.array(rows.switches, pa.int64()),
                "regret_at_checkpoints": pa.array(list(rows.regrets), pa.list_(pa.float64())),
            }
        ).replace_schema_metadata({"cell": json.dumps(cell.setting, sort_keys=True)})
        path = self._part(cell, first, end)
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._aside(path) as aside:
            pq.write_table(table, aside, compression="zstd")
            _settle(aside)
            aside.replace(path)

    def read(self, cell: Cell) -> RunRows:
        """All runs of a cell; they must be there."""
        import pyarrow.parquet as pq

        regrets = np.empty((cell.replications, len(cell.checkpoints)))
        ended = np.zeros(cell.replications, dtype=bool)
        switches = np.zeros(cell.replications, dtype=np.int64)
        found = np.zeros(cell.replications, dtype=bool)
        for first, end, path in self._parts(cell):
            if first >= cell.replications:
                continue
            try:
                table = pq.read_table(path)
            except (OSError, ValueError) as error:
                raise InvalidInput(
                    f"{path} cannot be read ({error}); delete it and run again: only its runs "
                    "are made anew."
                ) from None
            kept = min(end, cell.replications) - first
            values = table["regret_at_checkpoints"].combine_chunks().flatten().to_numpy()
            regrets[first : first + kept] = values.reshape(end - first, -1)[:kept]
            ended[first : first + kept] = table["ended_on_best"].to_numpy()[:kept]
            switches[first : first + kept] = table["switches"].to_numpy()[:kept]
            found[first : first + kept] = True
        if not found.all():
            raise InvalidInput(
                f"{int((~found).sum())} runs of {cell.policy} on {cell.problem} are missing in "
                f"{self.folder}; run the experiment again to finish it."
            )
        return RunRows(regrets, ended, switches)

    def forget(self, cell: Cell) -> None:
        """Throw the runs of a cell away."""
        shutil.rmtree(self.folder / "parts" / cell.digest, ignore_errors=True)

    def write_manifest(self, experiment: Experiment, cells: list[Cell]) -> None:
        """Say what the experiment is, for readers and for whoever finds the folder."""
        content = {
            "store": STORE_VERSION,
            "digest": experiment.digest,
            "experiment": describe(experiment),
            "cells": [
                {"problem": cell.problem, "policy": cell.policy, "parts": cell.digest}
                for cell in cells
            ],
        }
        folder = self.folder / experiment.name
        folder.mkdir(exist_ok=True)
        self._write_text(folder / "manifest.json", json.dumps(content, indent=1) + "\n")

    def merge(self, experiment: Experiment, cells: list[Cell]) -> dict[str, Path]:
        """Write the two tables of a finished experiment; the same runs give the same bytes."""
        from latesum.lab.merging import write_tables

        folder = self.folder / experiment.name
        folder.mkdir(exist_ok=True)
        paths = {"runs": folder / "runs.parquet", "checkpoints": folder / "checkpoints.parquet"}
        with self._aside(paths["runs"]) as runs, self._aside(paths["checkpoints"]) as checkpoints:
            write_tables(runs, checkpoints, experiment, ((cell, self.read(cell)) for cell in cells))
            for aside, path in ((runs, paths["runs"]), (checkpoints, paths["checkpoints"])):
                _settle(aside)
                aside.replace(path)
        return paths

    def _parts(self, cell: Cell) -> list[tuple[int, int, Path]]:
        folder = self.folder / "parts" / cell.digest
        if not folder.is_dir():
            return []
        parts = []
        for path in sorted(folder.iterdir()):
            if match := _PART.fullmatch(path.name):
                parts.append((int(match[1]), int(match[2]) + 1, path))
        return parts

    def _part(self, cell: Cell, first: int, end: int) -> Path:
        return self.folder / "parts" / cell.digest / f"{first:06d}-{end - 1:06d}.parquet"

    @contextlib.contextmanager
    def _aside(self, path: Path) -> Iterator[Path]:
        """A name nobody else uses, beside `path`; nothing is left of it if writing fails."""
        aside = path.with_name(f"{_ASIDE}{os.getpid()}-{secrets.token_hex(6)}")
        try:
            yield aside
        finally:
            aside.unlink(missing_ok=True)

    def _write_text(self, path: Path, text: str) -> None:
        with self._aside(path) as aside:
            aside.write_text(text)
            aside.replace(path)

    def _sweep(self) -> None:
        for path in self.folder.rglob(f"{_ASIDE}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_AFTER:
                    path.unlink()


def _settle(path: Path) -> None:
    """Make sure that what is renamed is on the disk, not only on its way there."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
