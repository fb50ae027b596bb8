"""Results on disk: one Parquet file per chunk of runs, never half written.

A store is a folder:

    store.json                            the version of this layout, and of latesum
    parts/<digest>/000000-000079.parquet  runs 0 to 79 of one setting, one row per run
    <name>/manifest.json                  an experiment: its settings, and which parts are theirs
    <name>/runs.parquet                   merged: one row per run
    <name>/checkpoints.parquet            merged: one row per run and checkpoint

A setting's folder is named by a digest of everything its runs depend on, and a run depends on
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum.lab.results import Results, Rows
from latesum.lab.setting import RUNS_VERSION, Setting

_PART = re.compile(r"(\d+)-(\d+)\.parquet")
_ASIDE = ".aside-"
#: Leftovers of killed processes are removed when no living one can be writing them.
_ABANDONED_AFTER = 3600.0


class RunStore:
    """A folder of results.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> RunStore(folder).folder == Path(folder)
    True
    """

    def __init__(self, folder: str | Path) -> None:
        from latesum._version import __version__

        require("pyarrow", "lab")
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

    def missing(self, setting: Setting, replications: int) -> list[tuple[int, int]]:
        """The runs that are not there yet, as ranges (first, past the last)."""
        wanted = np.ones(replications, dtype=bool)
        for first, end, _ in self._parts(setting):
            wanted[first:end] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
        return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]

    def has(self, setting: Setting, first: int, end: int) -> bool:
        """Whether another process has written exactly this part meanwhile."""
        return self._part(setting, first, end).exists()

    def write_part(self, setting: Setting, first: int, rows: Rows) -> None:
        """Keep runs `first`, `first` + 1, ... of a setting."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        end = first + len(next(iter(rows.values())))
        columns = {"replication": pa.array(range(first, end), pa.int64())}
        for name, values in rows.items():
            columns[name] = pa.array(values if values.ndim == 1 else list(values))
        about = {"setting": json.dumps(setting.to_json(), sort_keys=True)}
        path = self._part(setting, first, end)
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._aside(path) as aside:
            table = pa.table(columns).replace_schema_metadata(about)
            pq.write_table(table, aside, compression="zstd")
            _settle(aside)
            aside.replace(path)

    def read(self, setting: Setting, replications: int) -> Rows:
        """All runs of a setting; they must be there."""
        import pyarrow.parquet as pq

        found = np.zeros(replications, dtype=bool)
        rows: dict[str, Any] = {}
        for first, end, path in self._parts(setting):
            if first >= replications:
                continue
            try:
                table = pq.read_table(path)
            except (OSError, ValueError) as error:
                raise InvalidInput(
                    f"{path} cannot be read ({error}); delete it and run again: only its runs "
                    "are made anew."
                ) from None
            kept = min(end, replications) - first
            for name in setting.measures:
                values = _as_array(table[name].combine_chunks(), end - first)
                if name not in rows:
                    rows[name] = np.zeros((replications, *values.shape[1:]), dtype=values.dtype)
                rows[name][first : first + kept] = values[:kept]
            found[first : first + kept] = True
        if not found.all():
            raise InvalidInput(
                f"{int((~found).sum())} runs of {setting.policy_name} on {setting.problem_name} are "
                f"missing in {self.folder}; run the experiment again to finish it."
            )
        return rows

    def forget(self, setting: Setting) -> None:
        """Throw the runs of a setting away."""
        shutil.rmtree(self.folder / "parts" / setting.digest, ignore_errors=True)

    def claim(self, name: str, settings: Sequence[Setting], about: Mapping[str, Any]) -> Path:
        """Say in a folder `name` what the experiment is; returns the folder.

        `about` is what to write down. If it has a "source", the file that the experiment comes
        from, a folder that holds another experiment from another file is refused.
        """
        folder = self.folder / name
        path = folder / "manifest.json"
        content = {
            "store": RUNS_VERSION,
            **about,
            "settings": [
                {
                    "problem": setting.problem_name,
                    "policy": setting.policy_name,
                    "parts": setting.digest,
                }
                for setting in settings
            ],
        }
        there: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            there = json.loads(path.read_text())
        source = there.get("source", about.get("source"))
        if source != about.get("source") and there.get("settings") != content["settings"]:
            raise AnotherExperiment(folder, source)
        folder.mkdir(parents=True, exist_ok=True)
        self._write_text(path, json.dumps(content, indent=1) + "\n")
        return folder

    def merge(self, name: str, results: Results, about: Mapping[str, Any]) -> dict[str, Path]:
        """Write the two tables of a finished experiment; the same runs give the same bytes."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        paths = {"runs": folder / "runs.parquet", "checkpoints": folder / "checkpoints.parquet"}
        with self._aside(paths["runs"]) as runs, self._aside(paths["checkpoints"]) as checkpoints:
            _write_tables(runs, checkpoints, results, about)
            for aside, path in ((runs, paths["runs"]), (checkpoints, paths["checkpoints"])):
                _settle(aside)
                aside.replace(path)
        return paths

    def _parts(self, setting: Setting) -> list[tuple[int, int, Path]]:
        folder = self.folder / "parts" / setting.digest
        if not folder.is_dir():
            return []
        parts = []
        for path in sorted(folder.iterdir()):
            if match := _PART.fullmatch(path.name):
                parts.append((int(match[1]), int(match[2]) + 1, path))
        return parts

    def _part(self, setting: Setting, first: int, end: int) -> Path:
        return self.folder / "parts" / setting.digest / f"{first:06d}-{end - 1:06d}.parquet"

    @contextlib.contextmanager
    def _aside(self, path: Path) -> Iterator[Path]:
        """A name of its own, beside `path`; nothing is left of it if writing fails."""
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


def _as_array(column: Any, rows: int) -> Any:
    """A column as an array: one entry per run, or a row of them."""
    import pyarrow as pa

    if pa.types.is_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(rows, -1)
    return column.to_numpy(zero_copy_only=False)


class AnotherExperiment(InvalidInput):
    """The folder holds the results of another experiment of the same name."""

    def __init__(self, folder: Path, source: str) -> None:
        super().__init__(
            f"{folder} holds the results of another experiment of this name, from {source}; give "
            "one of them another name, or take another folder with --out."
        )


def _write_tables(
    runs_path: Path, checkpoints_path: Path, results: Results, about: Mapping[str, Any]
) -> None:
    """One row per run, and one per run and checkpoint, a setting at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = {"experiment": json.dumps(about, sort_keys=True)}
    names = pa.dictionary(pa.int32(), pa.string())
    common = [("problem", names), ("policy", names), ("replication", pa.int64())]
    first = next(iter(results.runs.values()))
    other = [name for name in first.measured if name != "regret"]
    kinds = [
        (
            name,
            pa.from_numpy_dtype(values.dtype)
            if values.ndim == 1
            else pa.list_(pa.from_numpy_dtype(values.dtype)),
        )
        for name, values in first.measured.items()
        if name != "regret"
    ]
    runs_schema = pa.schema([*common, ("regret", pa.float64()), *kinds], metadata=metadata)
    at_checkpoints = [("round", pa.int64()), ("regret", pa.float64())]
    checkpoints_schema = pa.schema([*common, *at_checkpoints], metadata=metadata)
    with (
        pq.ParquetWriter(runs_path, runs_schema, compression="zstd") as write_runs,
        pq.ParquetWriter(checkpoints_path, checkpoints_schema, compression="zstd") as write_rounds,
    ):
        for labels, runs in results.runs.items():
            number = np.arange(len(runs))
            columns = [*_labels(labels, len(number)), number, runs.regrets[:, -1]]
            for name in other:
                values = runs.measured[name]
                columns.append(values if values.ndim == 1 else list(values))
            write_runs.write_table(pa.table(columns, schema=runs_schema))
            columns = [
                *_labels(labels, runs.regrets.size),
                np.repeat(number, len(runs.checkpoints)),
            ]
            columns += [np.tile(runs.checkpoints, len(number)), runs.regrets.ravel()]
            write_rounds.write_table(pa.table(columns, schema=checkpoints_schema))


def _labels(labels: tuple[str, str], count: int) -> list[Any]:
    import pyarrow as pa

    indices = pa.array(np.zeros(count, dtype=np.int32))
    return [pa.DictionaryArray.from_arrays(indices, pa.array([label])) for label in labels]
