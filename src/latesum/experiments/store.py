"""Results on disk: one Parquet file per chunk of runs, never half written.

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
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum._version import __version__
from latesum.experiments.results import Results, Rows, to_columns
from latesum.experiments.spec import RUNS_VERSION
from latesum.experiments.summaries import UNFINISHED, atomic_write

if TYPE_CHECKING:
    from latesum.experiments.results import AnySpec

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

    def missing(self, spec: AnySpec, replications: int) -> list[tuple[int, int]]:
        """The runs that are not there yet, as ranges (first, past the last)."""
        wanted = np.ones(replications, dtype=bool)
        for first, end, _ in self._parts(spec):
            wanted[first:end] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
        return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]

    def write_part(self, spec: AnySpec, first: int, rows: Rows) -> None:
        """Keep what was measured in the runs from number `first` on."""
        pa = require("pyarrow", "experiments")
        end = first + len(next(iter(rows.values())))
        columns = {"run": pa.array(range(first, end), pa.int64()), **to_columns(rows)}
        path = self._folder(spec) / f"{first:06d}-{end - 1:06d}.parquet"
        _write(path, pa.table(columns), {"spec": spec.to_json()})

    def read(self, spec: AnySpec, replications: int) -> Rows:
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

    def forget(self, spec: AnySpec) -> None:
        """Throw the runs of a specification away."""
        shutil.rmtree(self._folder(spec), ignore_errors=True)

    def claim(self, name: str, specs: Sequence[AnySpec], about: Mapping[str, Any]) -> None:
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

    def merge(self, name: str, results: Results, about: Mapping[str, Any]) -> None:
        """Write the two tables of a finished experiment; the same runs give the same bytes."""
        for kind in ("run", "checkpoint"):
            table = results.to_frame(per=kind)  # type: ignore[arg-type]
            _write(self.folder / name / f"{kind}s.parquet", table, {"experiment": about})

    def _folder(self, spec: AnySpec) -> Path:
        return self.folder / "parts" / spec.digest

    def _parts(self, spec: AnySpec) -> list[tuple[int, int, Path]]:
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
