"""What an entry reached: card.json, results.parquet, report.html, and a zip file with all of it."""

from __future__ import annotations

import importlib
import json
import math
import platform
import random
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum._extras import require
from latesum._version import __version__
from latesum.benchmark.entries import Entry
from latesum.benchmark.page import page
from latesum.benchmark.running import Outcome, rerun
from latesum.benchmark.suites import suite
from latesum.delays.curves import Uncertain
from latesum.experiments.stats import rate_upper_limit, standard_error
from latesum.experiments.store import atomic_write

Floats = NDArray[np.float64]

#: An entry is safe if the one-sided 95% limit of its rate of stuck runs on `random-1` is at most
#: this: with none in 1,000 runs, and not with one.
SAFE_RATE = 1 / 300
_RESAMPLES = 2_000


def log_ratios(regrets: Floats, reference: Floats) -> Floats:
    """By cell, the logarithm of the ratio of the mean regrets; rows are runs, columns cells.

    >>> log_ratios(np.array([[2.0], [4.0]]), np.array([[3.0], [3.0]])).tolist()
    [0.0]
    """
    ratios: Floats = np.log(np.maximum(regrets.mean(axis=0), 1e-9) / reference.mean(axis=0))
    return ratios


def score(regrets: Floats, reference: Floats, *, seed: int = 0) -> Uncertain:
    """The mean log ratio over cells, with bootstrap limits.

    Runs of one number share their seeds in all cells, so that run numbers are resampled.

    >>> score(np.full((4, 2), 2.0), np.full((4, 2), 1.0))
    Uncertain(value=0.6931471805599453, low=0.6931471805599453, high=0.6931471805599453)
    """
    runs = len(regrets)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(runs, np.full(runs, 1 / runs), size=_RESAMPLES) / runs
    means = np.maximum(weights @ regrets, 1e-9), np.maximum(weights @ reference, 1e-9)
    resampled = np.log(means[0] / means[1]).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Uncertain(float(log_ratios(regrets, reference).mean()), float(low), float(high))


def rate(count: int, runs: int) -> dict[str, float]:
    """How often something was seen, with Clopper and Pearson's 95% limits, as a card has it.

    >>> found = rate(0, 1_000)
    >>> found["low"], round(found["high"], 5)
    (0.0, 0.00368)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(count, runs - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, runs - count, 0.975)) if count < runs else 1.0
    return {"seen": count, "runs": runs, "low": low, "high": high}


def card(
    entry: Entry,
    outcomes: Sequence[Outcome],
    *,
    robustness: Mapping[float, Outcome] | None = None,
    microseconds: float = math.nan,
    development: bool = False,
) -> dict[str, Any]:
    """What an entry reached, as JSON values; `cells` has one row per cell of `core-1`."""
    found: dict[str, Any] = {
        "entry": str(entry.policy),
        "track": entry.track,
        "index": entry.index,
        "attributed": entry.policy.sees == "attributed",
        "digest": entry.digest,
        "development": development,
        "microseconds_per_decision": round(microseconds, 1),
        "versions": {
            "latesum": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "suites": {
            each.suite.name: {
                "digest": each.suite.digest,
                "seed": each.seed,
                "runs": len(each.regret),
            }
            for each in outcomes
        },
        "failures": [error for each in outcomes for error in each.failures],
    }
    for outcome in outcomes:
        part = found["suites"][outcome.suite.name]
        fixed = np.array([not cell.problem.changes for cell in outcome.cells])
        stuck = int(outcome.stuck.sum()), int(outcome.stuck[:, fixed].size)
        part["stuck"] = rate(*stuck)
        if outcome.suite.runs == 1:
            part["safe"] = rate_upper_limit(*stuck) <= SAFE_RATE
            missed, looked_at = outcome.intervals
            part["coverage"] = 1 - missed / looked_at if looked_at else None
            part["ratio"] = _total_ratio(outcome)
            part["robustness"] = {
                f"{factor:g}": {
                    "ratio": _total_ratio(each),
                    "stuck": rate(int(each.stuck.sum()), each.stuck.size),
                }
                for factor, each in (robustness or {}).items()
            }
        else:
            compared = outcome.regret[:, fixed], outcome.reference[:, fixed]
            part["score"] = score(*compared)._asdict()
            found["cells"] = _cells(outcome)
    return found


def _total_ratio(outcome: Outcome) -> float:
    """The mean over problems of log(regret / regret with attributed feedback), one run each."""
    ratios = np.log((1 + outcome.regret[0]) / (1 + outcome.reference[0]))
    return float(ratios.mean())


def _cells(outcome: Outcome) -> list[dict[str, Any]]:
    ratios = log_ratios(outcome.regret, outcome.reference)
    errors = standard_error(outcome.regret)
    rows = []
    for column, cell in enumerate(outcome.cells):
        ratio = float(ratios[column])
        rows.append(
            {
                "problem": cell.name,
                "horizon": cell.horizon,
                "mean": float(outcome.regret[:, column].mean()),
                "standard_error": float(errors[column]),
                "percentile_99": float(np.quantile(outcome.regret[:, column], 0.99)),
                "log_ratio": None if math.isnan(ratio) else ratio,
                "stuck": int(outcome.stuck[:, column].sum()),
            }
        )
    return rows


def archive() -> list[dict[str, Any]]:
    """The cards of latesum's own policies, as they are shipped."""
    pq = require("pyarrow.parquet", "experiments")
    file = files(__package__).joinpath("archive.parquet")
    if not file.is_file():
        return []
    with file.open("rb") as opened:
        rows: list[dict[str, Any]] = pq.read_table(opened).to_pylist()
    return [json.loads(row["card"]) | {"cells": row["cells"]} for row in rows]


def write(folder: Path, entry: Entry, found: dict[str, Any], outcomes: Sequence[Outcome]) -> Path:
    """Write what an entry reached, and return the zip file that others can verify."""
    pa, pq = require("pyarrow", "experiments"), require("pyarrow.parquet", "experiments")
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(_runs(outcomes)), folder / "results.parquet")
    (folder / "card.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    (folder / "report.html").write_text(page(found, archive()), "utf-8")
    target = folder / "entry.zip"
    with (
        atomic_write(target) as unfinished,
        zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as zipped,
    ):
        for name in ("card.json", "results.parquet", "report.html"):
            zipped.write(folder / name, name)
        for name, text in entry.source.items():
            zipped.writestr(f"source/{name}", text)
    return target


def _runs(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """One row per run: its suite, cell and number, and what was measured in it."""
    columns: dict[str, list[Any]] = {}
    for outcome in outcomes:
        runs, cells = outcome.regret.shape
        places = {cell.name: place for place, cell in enumerate(outcome.suite.cells)}
        numbers = [*range(runs)] * cells
        if outcome.suite.runs == 1:
            numbers = [places[cell.name] for cell in outcome.cells]
        about: dict[str, list[Any]] = {
            "suite": [outcome.suite.name] * (runs * cells),
            "problem": [cell.name for cell in outcome.cells for _ in range(runs)],
            "horizon": [cell.horizon for cell in outcome.cells for _ in range(runs)],
            "run": numbers,
            "regret": outcome.regret.T.ravel().tolist(),
            "reference": outcome.reference.T.ravel().tolist(),
            "stuck": outcome.stuck.T.ravel().tolist(),
            "failed": outcome.failed.T.ravel().tolist(),
        }
        for name, values in about.items():
            columns.setdefault(name, []).extend(values)
    return columns


def verify(path: Path, sample: int, *, seed: int = 0) -> tuple[int, list[str]]:
    """Make a sample of an entry's runs again, from the source in its zip file.

    This runs the code in the file. Returns how many runs were made, and what differs.
    """
    pq = require("pyarrow.parquet", "experiments")
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with zipfile.ZipFile(path) as zipped:
                zipped.extractall(scratch)
            found = json.loads(Path(scratch, "card.json").read_text("utf-8"))
            rows = pq.read_table(Path(scratch, "results.parquet")).to_pylist()
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InvalidInput(f"{path} is no entry of the benchmark: {error}.") from None
        root = Path(scratch, "source")
        texts = [each for each in root.rglob("*") if each.is_file()]
        source = {each.relative_to(root).as_posix(): each.read_text("utf-8") for each in texts}
        if not (root / "latesum").exists():
            sys.path.insert(0, str(root))
            importlib.invalidate_caches()
        try:
            entry = Entry.read(found["entry"], found["track"])
            differing = _claims(entry, found, source)
            return (0, differing) if differing else _rerun(entry, found, rows, sample, seed)
        finally:
            if str(root) in sys.path:
                sys.path.remove(str(root))


def _claims(entry: Entry, found: Mapping[str, Any], source: dict[str, str]) -> list[str]:
    """What a card says of the source, the problems and the seeds, and is not so."""
    wrong = []
    if entry.source != source:
        wrong.append("the source that is installed is not the one in the file")
    if entry.digest != found["digest"]:
        wrong.append("the digest of the source is not the one on the card")
    for name, part in found["suites"].items():
        if part["digest"] != suite(name).digest:
            wrong.append(f"the problems of {name} are not those of this version")
        elif not found["development"] and part["seed"] != entry.test_seed(suite(name)):
            wrong.append(f"the seed of {name} does not follow from the source")
    return wrong


def _rerun(
    entry: Entry, found: Mapping[str, Any], rows: list[dict[str, Any]], sample: int, seed: int
) -> tuple[int, list[str]]:
    """Make a sample of the runs again; how many, and which of them differ."""
    suites = found["suites"]
    cells = {(name, each.name, each.horizon): each for name in suites for each in suite(name).cells}
    chosen = random.Random(seed).sample(rows, min(sample, len(rows)))
    differing = []
    for row in chosen:
        name, problem, horizon, number = (row[key] for key in list(row)[:4])
        regret = rerun(entry, cells[name, problem, horizon], number, suites[name]["seed"])
        if regret != row["regret"]:
            differing.append(
                f"{name}, {problem} at {horizon:,}, run {number}: regret {regret!r}, not "
                f"{row['regret']!r}"
            )
    return len(chosen), differing
