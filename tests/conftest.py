"""What tests of several packages share: steady property tests, a PostgreSQL of our own, a clock."""

import gc
import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

# Before NumPy is loaded, here and in every process that a test starts: with as many workers as there are cores,
# more threads of linear algebra wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from latesum._compile import cache_folder

sys.path[:0] = [str(Path(__file__).parent / "campaigns"), str(Path(__file__).parent)]

# A store waits until the disk has what it wrote, and tests write thousands of times: files of tests are in memory
# where there is room for them, also those of the processes that tests start.
_MEMORY = Path("/dev/shm")
if (
    "TMPDIR" not in os.environ
    and os.access(_MEMORY, os.W_OK | os.X_OK)
    and not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC  # commands are among the files
    and shutil.disk_usage(_MEMORY).free > 4e9
):
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None

# The same cases are drawn every time, and a kernel may have to be compiled first.
_STEADY = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow],  # that is the machine's business
}
settings.register_profile("steady", max_examples=25, **_STEADY)
settings.register_profile("complete", max_examples=400, **_STEADY)
settings.load_profile("steady")
cache_folder()  # says here, and in no test, that kernels will be compiled

# What is made while tests are collected stays: looking through it for garbage again and again takes
# a quarter of that time.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Doctests are in the sources: looking for some in every file of tests takes a second of each worker."""
    found = yield
    return [each for each in found if not isinstance(each, DoctestModule)]


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres():
    from postgres_server import NoPostgres, running_server

    try:
        with running_server() as server:
            yield server
    except NoPostgres as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["sqlite", "postgresql"])
def store_address(request, tmp_path):
    """The address of a new store of each kind, without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campaigns.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture(scope="session")
def tables_file(tmp_path_factory):
    """A file with the tables of a store and nothing in them: making these takes longer than most tests."""
    from latesum.campaigns import Store

    path = tmp_path_factory.mktemp("tables") / "empty.db"
    Store(path).close()
    return path


@pytest.fixture(scope="session")
def tables_database(postgres):
    """The same as a database of PostgreSQL: its name."""
    from latesum.campaigns import Store

    address = postgres.new_database()
    Store(address).close()
    return address.split("?")[0].rpartition("/")[2]


@pytest.fixture
def store_file(tables_file, tmp_path):
    """Make the file of an empty store, by its name."""

    def make(name="campaigns.db"):
        return Path(shutil.copyfile(tables_file, tmp_path / name))

    return make


class SetClock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.now = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)  # a Monday

    def __call__(self):
        return self.now

    def pass_by(self, **span):
        self.now += timedelta(**span)


@pytest.fixture
def clock():
    return SetClock()


class Answer(NamedTuple):
    """What a command answered: its exit code, output and errors."""

    code: int
    out: str
    err: str

    def done(self):
        """The output of a command that has to succeed."""
        assert self.code == 0, self.err
        return self.out

    def refused(self, *words):
        """The input has to be refused, with these words."""
        said = " ".join(self.err.split())
        assert self.code == 2, self.out
        assert [each for each in (*words, "Traceback") if each in said] == [*words], said


@pytest.fixture
def latesum(monkeypatch, capsys):
    """Run `latesum ...` and return its answer."""

    from latesum.cli import main

    def run_command(*arguments):
        monkeypatch.setattr("sys.argv", ["latesum", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run_command
