"""The two tables of an experiment: one row a run, and one row a run and checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum.lab.cells import Cell
from latesum.lab.experiment import Experiment, describe

if TYPE_CHECKING:
    from latesum.lab.store import RunRows


def write_tables(
    runs_path: Path,
    checkpoints_path: Path,
    experiment: Experiment,
    rows_by_cell: Iterable[tuple[Cell, RunRows]],
) -> None:
    """Write both, a cell at a time; nothing is in them that differs from run to run."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = {"experiment": json.dumps(describe(experiment), sort_keys=True)}
    names = pa.dictionary(pa.int32(), pa.string())
    common = [("problem", names), ("policy", names), ("replication", pa.int64())]
    outcome = [("regret", pa.float64()), ("ended_on_best", pa.bool_()), ("switches", pa.int64())]
    runs = pa.schema([*common, *outcome], metadata=about)
    at_checkpoints = [("round", pa.int64()), ("regret", pa.float64())]
    checkpoints = pa.schema([*common, *at_checkpoints], metadata=about)
    with (
        pq.ParquetWriter(runs_path, runs, compression="zstd") as write_runs,
        pq.ParquetWriter(checkpoints_path, checkpoints, compression="zstd") as write_checkpoints,
    ):
        for cell, rows in rows_by_cell:
            number = np.arange(cell.replications)
            columns = [*_labels(cell, len(number)), number, rows.regrets[:, -1]]
            columns += [rows.ended_on_best, rows.switches]
            write_runs.write_table(pa.table(columns, schema=runs))
            columns = [*_labels(cell, rows.regrets.size), np.repeat(number, len(cell.checkpoints))]
            columns += [np.tile(np.array(cell.checkpoints), len(number)), rows.regrets.ravel()]
            write_checkpoints.write_table(pa.table(columns, schema=checkpoints))


def _labels(cell: Cell, count: int) -> list[Any]:
    import pyarrow as pa

    indices = pa.array(np.zeros(count, dtype=np.int32))
    return [
        pa.DictionaryArray.from_arrays(indices, pa.array([label]))
        for label in (cell.problem, cell.policy)
    ]
