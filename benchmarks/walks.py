"""How far a reader has to walk: functions, files and changes of file of four jobs.

    python benchmarks/walks.py [FOLDER]

Functions of latesum are taken in the order in which they are first called, as one who follows the
code would read them; a comprehension or lambda is read with the function around it. "Changes" is
how often the next one is in another file. FOLDER holds another version's `latesum` package, such as
a worktree's `src`, and is walked too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from latesum.experiments.store import write_summary

HERE = Path(__file__).resolve().parents[1] / "src"
#: Jobs as the worker knows them, and in words.
JOBS = {
    "compare": "`latesum compare` of Flow",
    "a live total": "a file of totals over HTTP, then the option for now",
    "plan": "`latesum plan`, quick",
    "paper 3a": "`latesum paper 3a`",
}
_WORKER = """
import contextlib, io, sys, tempfile, threading
from pathlib import Path

job, root = sys.argv[1], str(Path(sys.argv[2]) / "latesum") + "/"
seen, walking = {}, False

def look(frame, event, argument):
    code = frame.f_code
    if walking and event == "call" and code.co_filename.startswith(root):
        if not code.co_name.endswith(">"):
            seen.setdefault((code.co_filename, code.co_qualname))

def command(*words):
    global walking
    from typer.testing import CliRunner
    from latesum.cli.app import app
    for walking in (False, True):  # first without a look, so that imports are no part of the walk
        given = [word.replace("FOLDER", f"{folder}/{walking}") for word in words]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, done.output

threading.setprofile(look)
sys.setprofile(look)
with tempfile.TemporaryDirectory() as folder:
    if job == "compare":
        command("compare", "--arms", "0.5,0.6", "--delay", "uniform(0, 100)", "--policies", "flow",
                "--horizon", "5000", "--replications", "2", "--workers", "1")
    elif job == "plan":
        command("plan", "--options", "2", "--rate", "0.02", "--lift", "20%", "--traffic",
                "24000 per day", "--late", "2 days", "--run-for", "12 weeks", "--quick",
                "--replications", "20", "--workers", "1")
    elif job == "paper 3a":
        command("paper", "3a", "--replications", "2", "--workers", "1", "--out", "FOLDER")
    else:
        from fastapi.testclient import TestClient
        from latesum.campaigns import Store
        from datetime import UTC, datetime
        from latesum.service import Configuration, Tokens
        from latesum.service.app import create_app
        store = Store(Path(folder) / "c.db")
        secret = Tokens(store).new("x", "operate")
        day = 1
        clock = lambda: datetime(2026, 3, day, 12, tzinfo=UTC)
        app = create_app(store, Configuration(clock=clock))
        with TestClient(app, headers={"Authorization": "Bearer " + secret}) as client:
            client.put("/v1/campaigns/b", json={
                "options": ["r", "b"], "policy": "odaaf", "every": "day",
                "parameters": {"horizon": 90000, "mean_delay": 100}, "expected_rounds": 1000,
                "time_basis": "arrival"})
            client.get("/v1/campaigns/b/option")
            for day, walking in ((2, False), (3, True)):
                rows = f"bucket,rounds,total\\n2026-03-0{day - 1},1000,300\\n".encode()
                sent = client.post("/v1/campaigns/b/totals", content=rows,
                                   headers={"content-type": "text/csv"})
                assert sent.status_code == 200, sent.text
                client.get("/v1/campaigns/b/option")
            walking = False
sys.setprofile(None)
files = [file for file, _ in seen]
changes = sum(one != other for one, other in zip(files, files[1:]))
print(len(seen), len(set(files)), changes)
"""


def walk(job: str, source: Path) -> list[int]:
    """Functions, files and changes of file of a job, with the version in `source`."""
    environment = {"PYTHONPATH": str(source), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    command = [sys.executable, "-c", _WORKER, job, str(source)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{job} failed:\n{done.stdout}{done.stderr}")
    return [int(number) for number in done.stdout.split()[-3:]]


def main() -> None:
    """Walk, print, and write down the walks of this version."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="other versions to walk too")
    parser.add_argument("--out", type=Path, default=Path("walks-results"))
    given = parser.parse_args()
    columns = ("functions", "files", "changes")
    rows = []
    for source in (HERE, *(folder.resolve() for folder in given.folders)):
        for job, words in JOBS.items():
            found = dict(zip(columns, walk(job, source), strict=True))
            print(f"{source.parent.name}, {job}: {found}", flush=True)
            if source == HERE:
                rows.append({"job": words, **found})
    print(write_summary(given.out / "walks.csv", rows))


if __name__ == "__main__":
    main()
