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
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum.experiments.results import Results, Rows, from_column, to_columns
from latesum.experiments.spec import RUNS_VERSION, AnySetting
from latesum.experiments.summaries import ASIDE, written_aside

_PART = re.compile(r"(\d+)-(\d+)\.parquet")
#: Leftovers of killed processes are removed when no living one can be writing them.
_ABANDONED_AFTER = 3600.0


class RunStore:
    """A folder of results.

    Args:
        folder: Where; it is made if it is not there.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> RunStore(folder).folder == Path(folder)
    True
    """

    def __init__(self, folder: str | Path) -> None:
        from latesum._version import __version__

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
            if not mark.exists():
                self._write_text(mark, json.dumps(ours) + "\n")
            with written_aside(self.folder / "probe") as aside:
                aside.touch()
            self._sweep()
        except OSError as error:
            raise InvalidInput(
                f"cannot write in {self.folder}: {error.strerror or error}; choose another folder "
                "with --out."
            ) from None

    def missing(self, setting: AnySetting, replications: int) -> list[tuple[int, int]]:
        """The runs that are not there yet, as ranges (first, past the last).

        Args:
            setting: Whose runs.
            replications: How many are wanted.
        """
        wanted = np.ones(replications, dtype=bool)
        for first, end, _ in self._parts(setting):
            wanted[first:end] = False
        edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
        return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]

    def has(self, setting: AnySetting, first: int, end: int) -> bool:
        """Whether another process has written exactly this part meanwhile.

        Args:
            setting: Whose runs.
            first: The first run of the part.
            end: The run after its last.
        """
        return self._part(setting, first, end).exists()

    def write_part(self, setting: AnySetting, first: int, rows: Rows) -> None:
        """Keep runs of a setting.

        Args:
            setting: Whose runs.
            first: The number of the first.
            rows: What was measured.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        end = first + len(next(iter(rows.values())))
        columns = {"run": pa.array(range(first, end), pa.int64()), **to_columns(rows)}
        about = {"setting": json.dumps(setting.to_json(), sort_keys=True)}
        path = self._part(setting, first, end)
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_aside(path) as aside:
            table = pa.table(columns).replace_schema_metadata(about)
            pq.write_table(table, aside, compression="zstd")
            _settle(aside)
            aside.replace(path)

    def read(self, setting: AnySetting, replications: int) -> Rows:
        """All runs of a setting; they must be there.

        Args:
            setting: Whose runs.
            replications: How many.
        """
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
                values = from_column(table[name])
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

    def forget(self, setting: AnySetting) -> None:
        """Throw runs away.

        Args:
            setting: Whose runs.
        """
        import shutil

        shutil.rmtree(self.folder / "parts" / setting.digest, ignore_errors=True)

    def claim(self, name: str, settings: Sequence[AnySetting], about: Mapping[str, Any]) -> Path:
        """Say in a folder `name` what the experiment is; returns the folder.

        Args:
            name: The folder, within that of the store.
            settings: What is run.
            about: What to write down. If it has a "source", the file that the experiment comes from,
                a folder that holds another experiment from another file is refused.
        """
        folder = self.folder / name
        path = folder / "manifest.json"
        content = {
            "store": RUNS_VERSION,
            **about,
            "settings": [
                {"problem": each.problem_name, "policy": each.policy_name, "parts": each.digest}
                for each in settings
            ],
        }
        there: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            there = json.loads(path.read_text())
        source = there.get("source", about.get("source"))
        if source != about.get("source") and there.get("settings") != content["settings"]:
            raise InvalidInput(
                f"{folder} holds the results of another experiment of this name, from {source}; give "
                "one of them another name, or take another folder with --out."
            )
        folder.mkdir(parents=True, exist_ok=True)
        self._write_text(path, json.dumps(content, indent=1) + "\n")
        return folder

    def merge(self, name: str, results: Results, about: Mapping[str, Any]) -> dict[str, Path]:
        """Write the two tables of a finished experiment; the same runs give the same bytes.

        Args:
            name: The folder for them, within that of the store.
            results: All runs.
            about: What to write down in both.
        """
        import pyarrow.parquet as pq

        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        paths = {"runs": folder / "runs.parquet", "checkpoints": folder / "checkpoints.parquet"}
        tables = {
            "runs": results.to_frame(per="run"),
            "checkpoints": results.to_frame(per="checkpoint"),
        }
        metadata = {"experiment": json.dumps(about, sort_keys=True)}
        for kind, path in paths.items():
            with written_aside(path) as aside:
                table = tables[kind].replace_schema_metadata(metadata)
                pq.write_table(table, aside, compression="zstd")
                _settle(aside)
                aside.replace(path)
        return paths

    def _parts(self, setting: AnySetting) -> list[tuple[int, int, Path]]:
        folder = self.folder / "parts" / setting.digest
        if not folder.is_dir():
            return []
        parts = []
        for path in sorted(folder.iterdir()):
            if match := _PART.fullmatch(path.name):
                parts.append((int(match[1]), int(match[2]) + 1, path))
        return parts

    def _part(self, setting: AnySetting, first: int, end: int) -> Path:
        return self.folder / "parts" / setting.digest / f"{first:06d}-{end - 1:06d}.parquet"

    def _write_text(self, path: Path, text: str) -> None:
        with written_aside(path) as aside:
            aside.write_text(text)
            aside.replace(path)

    def _sweep(self) -> None:
        for path in self.folder.rglob(f"{ASIDE}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_AFTER:
                    path.unlink()


def _settle(path: Path) -> None:
    """Make sure that what is renamed is on the disk, not only on its way there."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
