"""The command `latesum` for pages of commands: each runs in a fork of a process that has loaded everything.

A process of its own takes a second and a half to load libraries and kernels, and a page has many commands.
What is on the path is a script that hands its arguments, variables, folder and open files to that process
and ends with the exit code that it is told. That commands start from nothing is tested elsewhere
(tests/root/test_extras.py, and the same pages in the slow tests).

    python tests/warm_command.py SOCKET
"""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CLIENT = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] == ["serve"]:  # it runs until it is killed
    os.execv(sys.executable, [sys.executable, "-m", "latesum.cli", *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    task = dict(arguments=sys.argv[1:], variables=dict(os.environ), folder=os.getcwd())
    socket.send_fds(asked, [json.dumps(task).encode() + b"\\n"], [0, 1, 2])
    said = asked.makefile().readline()
sys.exit(int(said or 99))
"""


@contextlib.contextmanager
def warm_command(folder):
    """Put the command `latesum` into `folder` and serve it until the block ends."""
    address = str(Path(folder) / "socket")
    command = Path(folder) / "latesum"
    command.write_text(CLIENT.format(python=sys.executable, address=address))
    command.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout.readline() == b"ready\n"
        yield command
        server.stdin.close()  # it ends with its reader


def _load_everything():
    """What commands of plans and campaigns import, and the kernels of the policy that they choose."""
    from latesum.campaigns import Campaign
    from latesum.cli.app import load

    for name in ("plan", "campaign"):
        load(name)
    with (
        tempfile.TemporaryDirectory() as folder,
        Campaign.create(
            name="first",
            options=["A", "B"],
            policy="unmix",
            start="2026-01-01",
            expected_rounds=1000,
            parameters={"horizon": 20_000, "mean_delay": 1000},
            time_basis="arrival",
            store=Path(folder) / "first.db",
        ) as campaign,
    ):
        for bucket in range(1, 5):
            campaign.decide(bucket)
            campaign.record(bucket, rounds=1000, total=30)
        campaign.status()._repr_html_()


def _run(connection, task, files):
    """In the fork: the command, and its exit code."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(task["variables"])
    os.chdir(task["folder"])
    sys.argv = ["latesum", *task["arguments"]]
    code = 0
    try:
        from latesum.cli import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(f"{code}\n".encode())
    os._exit(0)


def _serve(address):
    _load_everything()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while listening in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            said, files, _, _ = socket.recv_fds(connection, 1_000_000, 3)
            while not said.endswith(b"\n"):
                said += connection.recv(1_000_000)
            if os.fork() == 0:
                listening.close()
                _run(connection, json.loads(said), files)
            connection.close()
            for file in files:
                os.close(file)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


if __name__ == "__main__":
    _serve(sys.argv[1])
