"""The store: parts that are whole or not there, and tables that are the same byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from experiments import sweep_to_kill
from experiments.sweep_to_kill import tables
from latesum._checks import InvalidInput
from latesum.experiments import RunSpec, RunStore
from latesum.experiments.engine import Chunk, run_chunk
from latesum.experiments.sweep import Experiment, expand, run_sweep

EXPERIMENT = sweep_to_kill.EXPERIMENT.model_copy(
    update={"horizon": 2000, "replications": 12, "checkpoints": 5}
)


def one_setting() -> RunSpec:
    return expand(EXPERIMENT)[0][1]


def test_what_is_missing_follows_from_the_parts(tmp_path: Path) -> None:
    store, setting = RunStore(tmp_path), one_setting()
    assert store.missing(setting, 12) == [(0, 12)]
    store.write_part(setting, 3, run_chunk(Chunk(setting, 3, 5)))
    store.write_part(setting, 8, run_chunk(Chunk(setting, 8, 12)))
    assert store.missing(setting, 12) == [(0, 3), (5, 8)]


def test_parts_may_overlap_and_be_written_twice(tmp_path: Path) -> None:
    store, setting = RunStore(tmp_path), one_setting()
    for first, end in [(0, 8), (4, 12), (0, 8)]:
        store.write_part(setting, first, run_chunk(Chunk(setting, first, end)))
    whole = run_chunk(Chunk(setting, 0, 12))
    assert np.array_equal(store.read(setting, 12)["regret"], whole["regret"])
    assert np.array_equal(store.read(setting, 12)["switches"], whole["switches"])


def test_the_bytes_do_not_depend_on_workers_or_on_the_parts(tmp_path: Path) -> None:
    run_sweep(EXPERIMENT, tmp_path / "one")
    run_sweep(EXPERIMENT, tmp_path / "two", workers=2)
    store = RunStore(tmp_path / "odd")
    for setting in expand(EXPERIMENT)[0]:
        for first in (10, 0, 5):
            end = min(first + 5, 12)
            store.write_part(setting, first, run_chunk(Chunk(setting, first, end)))
    run_sweep(EXPERIMENT, tmp_path / "odd")
    assert tables(tmp_path / "one") == tables(tmp_path / "two") == tables(tmp_path / "odd")


def test_more_replications_add_to_what_is_there(tmp_path: Path) -> None:
    run_sweep(EXPERIMENT.with_replications(5), tmp_path / "grown")
    made = []
    grown = run_sweep(
        EXPERIMENT, tmp_path / "grown", announce=lambda missing, _: made.append(missing)
    )
    assert made == [14]
    run_sweep(EXPERIMENT, tmp_path / "whole")
    assert tables(tmp_path / "grown") == tables(tmp_path / "whole")
    assert grown["p", "odaaf"].regrets.shape[0] == 12


def test_a_finished_experiment_is_not_run_again_unless_asked(tmp_path: Path) -> None:
    left: list[int] = []
    for again in (False, False, True):
        run_sweep(
            EXPERIMENT, tmp_path, again=again, announce=lambda missing, _: left.append(missing)
        )
    assert left == [24, 0, 24]


def test_leftovers_of_killed_processes_are_swept_away_when_old(tmp_path: Path) -> None:
    RunStore(tmp_path)
    old, new = tmp_path / "parts/.unfinished-1-a", tmp_path / "parts/.unfinished-2-b"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    RunStore(tmp_path)
    assert not old.exists()
    assert new.exists()


def test_the_manifest_says_what_the_experiment_is(tmp_path: Path) -> None:
    run_sweep(EXPERIMENT, tmp_path)
    manifest = json.loads((tmp_path / "kill/manifest.json").read_text())
    assert Experiment.model_validate(manifest["experiment"]) == EXPERIMENT
    parts = {path.name for path in (tmp_path / "parts").iterdir()}
    assert {spec["parts"] for spec in manifest["specs"]} == parts


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    RunStore(tmp_path)
    (tmp_path / "store.json").write_text('{"store": 99, "latesum": "9.9"}')
    with pytest.raises(InvalidInput, match=r"latesum 9\.9 .*take another folder"):
        RunStore(tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot write in .*--out"):
        RunStore(tmp_path / "file")
    with pytest.raises(InvalidInput, match="cannot write in"):
        RunStore("/proc/latesum-results")


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    run_sweep(EXPERIMENT, tmp_path)
    part = next((tmp_path / "parts").rglob("*.parquet"))
    part.write_bytes(b"not a table")
    with pytest.raises(InvalidInput, match=f"{part.name} cannot be read .*delete it"):
        run_sweep(EXPERIMENT, tmp_path)
