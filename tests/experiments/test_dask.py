"""The same sweep on a Dask cluster, also when a worker is killed midway."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments import sweep_to_kill
from experiments.sweep_to_kill import tables
from latesum._checks import InvalidInput
from latesum.experiments import runners
from latesum.experiments.runners import chosen_runner
from latesum.experiments.sweep import run_sweep

EXPERIMENT = sweep_to_kill.EXPERIMENT.model_copy(update={"replications": 40})


@pytest.fixture(scope="module")
def distributed() -> Any:
    return pytest.importorskip("distributed")  # a second, which is not for every collection


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def cluster(request: pytest.FixtureRequest, distributed: Any) -> Iterator[Any]:
    """One worker in the default run, which the cluster starts again when it is killed."""
    with distributed.LocalCluster(
        n_workers=request.param,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
    ) as started:
        yield started


def test_a_worker_killed_midway_changes_nothing(
    tmp_path: Path, cluster: Any, distributed: Any
) -> None:
    run_sweep(EXPERIMENT, tmp_path / "alone")
    import dask

    # So long are results asked for that a killed worker had; usually it is half a minute.
    short = {"distributed.comm.timeouts.connect": "3s"}
    killed: list[int] = []
    with chosen_runner(dask=cluster.scheduler_address) as runner:
        client = distributed.Client(cluster)
        workers = client.run(os.getpid)

        def kill_one_midway(done: int, total: int, what: str) -> None:
            if not killed and done > total / 4:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

        with dask.config.set(short):
            run_sweep(EXPERIMENT, tmp_path / "dask", runner=runner, progress=kill_one_midway)
        client.close()
    assert killed
    assert tables(tmp_path / "dask") == tables(tmp_path / "alone")


@pytest.mark.usefixtures("distributed")
def test_a_wrong_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "_CONNECT_SECONDS", 1)
    with (
        pytest.raises(InvalidInput, match="no Dask scheduler at"),
        chosen_runner(dask="tcp://127.0.0.1:9"),
    ):
        pass
