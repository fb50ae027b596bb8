"""The wheel as users install it: alone, with extras, on every Python that is there, and with the oldest libraries it says it takes.

`make test-release` runs this; it needs the package index.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from latesum._extras import EXTRAS

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
MEGABYTES = 450
#: Kernels are compiled again by each environment, so that what is run there decides how long a test takes.
SHORT = """
from latesum import *
problem = Problem([0.5, 0.6], "uniform(0, 10)")
print(compare(problem, {"ODAAF": "odaaf"}, 500, replications=2, seed=1))
print(delays.fit([1, 3, 4, 8, 9, 9]).mean.value)
"""
CORE = (
    SHORT
    + """
print(simulate(problem, Flow(2, mean_delay=5), 500, seed=1).regret())
print(plan(options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours",
           run_for="8 weeks", replications=20, workers=1, sensitivity=False))
"""
)


def _run(*command, code=0, environment=None, **more):
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **more,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def _uv(*arguments):
    found = [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else [shutil.which("uv")]
    assert found[0], "uv is missing; make test-release installs it"
    return _run(*found, *arguments)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.tar.gz")
    return built


def test_the_long_description_stands_alone(wheel, sdist, environment):
    """No link of it leads nowhere, and the index would take it as it is."""
    environment.install("twine")
    for built in (wheel, sdist):
        said = environment.run("twine", "check", "--strict", built)
        assert "PASSED" in said.stdout
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    with tarfile.open(sdist) as archive:
        (member,) = (each for each in archive.getmembers() if each.name.endswith("/PKG-INFO"))
        assert archive.extractfile(member).read().decode() == text
    description = text.partition("\n\n")[2]
    assert description.startswith("# latesum\n")
    assert re.findall(r"\]\((?!https://)", description) == []
    # There is no address of the project yet: none is invented.
    assert "Project-URL" not in text


def _pythons():
    """Every Python of this machine that pyproject.toml allows, one for each version, by its version."""
    places = [
        sys.executable,
        "/usr/bin/python3",
        *map(str, Path.home().glob(".pyenv/versions/3.*/bin/python3")),
    ]
    places += [shutil.which(f"python3.{minor}") for minor in range(11, 15)]
    found = {}
    for place in filter(None, places):
        said = subprocess.run(
            [place, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=False,
        )
        version = said.stdout.strip()
        if said.returncode == 0 and tuple(map(int, version.split(".")[:2])) >= (3, 11):
            found.setdefault(version, place)
    return found


class Environment:
    """A virtual environment with nothing in it but what is installed here."""

    def __init__(self, folder, python=sys.executable):
        self.folder = folder
        _uv("venv", "--quiet", "--python", python, folder)

    def install(self, *what):
        _uv("pip", "install", "--quiet", "--python", self.folder, *what)

    def run(self, command, *arguments, code=0):
        # Kernels are kept in no user's folder, and not longer than this environment.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        kept["LATESUM_CACHE_DIR"] = str(self.folder / "kernels")
        place = self.folder / "bin" / command
        return _run(place, *arguments, code=code, environment=kept, cwd=self.folder)

    def python(self, code):
        return self.run("python", "-c", code).stdout

    def latesum(self, *arguments, code=0):
        return self.run("latesum", *arguments, code=code)


@pytest.fixture(scope="session")
def disk():
    """A folder beside uv's cache, whose files are then linked and not copied; others of tests are in memory."""
    cache = Path(_uv("cache", "dir").stdout.strip())
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="latesum-release-", dir=cache.parent) as folder:
        yield Path(folder)


@pytest.fixture
def environment(disk):
    made = Environment(disk / "venv")
    yield made
    shutil.rmtree(made.folder)


def test_the_core_alone(wheel, environment):
    environment.install(wheel)
    (packages,) = environment.folder.glob("lib/python*/site-packages")
    there = {path.name.partition("-")[0] for path in packages.glob("*.dist-info")}
    assert there == {"latesum", "llvmlite", "numba", "numpy", "scipy"}
    size = sum(path.lstat().st_blocks * 512 for path in environment.folder.rglob("*"))
    assert size < MEGABYTES * 1e6
    out = environment.python(CORE)
    assert "ends on best" in out
    assert "GO" in out
    refused = environment.latesum("--help", code=2)
    assert refused.stderr == (
        "latesum: this needs typer, rich; install it with: pip install 'latesum[cli]'\n"
    )


def test_every_python_that_is_there(wheel, disk):
    # Looked for here: asking each of them for its version would take seconds of every collection.
    for version, python in sorted(_pythons().items()):
        environment = Environment(disk / version, python)
        environment.install(f"{wheel}[cli,experiments,plots]")
        environment.python(SHORT)
        # Every policy and baseline, built and run: signatures differ between versions of Python.
        environment.run("python", ROOT / "examples" / "demo.py", "out", "1")
        assert (environment.folder / "out" / "regret.png").stat().st_size > 10_000
        shutil.rmtree(environment.folder)


def _installed(environment):
    """All files of the installed package, without those that Python makes when it runs."""
    (package,) = environment.folder.glob("lib/python*/site-packages/latesum")
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_the_source_archive_installs_as_the_wheel_does_and_has_what_its_tests_need(
    wheel, sdist, environment
):
    environment.install(sdist)
    from_source = _installed(environment)
    environment.python(SHORT)
    environment.install("--reinstall-package", "latesum", wheel)
    assert from_source == _installed(environment)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "LICENSE", "Makefile", "tests/conftest.py", "docs/index.md"} <= names


def test_without_a_compiler_a_home_a_locale_or_a_path(wheel, environment):
    environment.install(f"{wheel}[cli]")
    # No folder for kernels is named either, so that they are compiled here.
    bare = {"PATH": "/nonexistent"}
    python = environment.folder / "bin" / "python"
    said = _run(python, "-c", SHORT, environment=bare, cwd=environment.folder).stdout
    assert "ends on best" in said
    command = [environment.folder / "bin" / "latesum", "compare", "--arms", "0.3,0.6"]
    command += [
        "--delay",
        "uniform(0,10)",
        "--horizon",
        "500",
        "--replications",
        "2",
        "--policies",
        "odaaf",
    ]
    said = _run(*command, environment=bare, cwd=environment.folder)
    assert "± s.e." in said.stdout


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_brings_what_it_says(wheel, environment, extra):
    environment.install(f"{wheel}[{extra}]")
    environment.python(f"from latesum._extras import need; need({extra!r})")
    if extra in ("campaigns", "server", "postgres"):
        environment.python("import latesum; latesum.Campaign")


def _lowest():
    """Every requirement of the core and the extras, at the lower bound that pyproject.toml says."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    wanted = [*declared["dependencies"]]
    wanted += [each for extra in extras if extra != "benchmarks" for each in extras[extra]]
    return sorted({each for each in wanted if not re.match(r"latesum|tzdata", each)})


def test_the_oldest_libraries_that_are_allowed(wheel, environment):
    environment.install("--resolution", "lowest-direct", *_lowest(), wheel)
    environment.python(CORE)
    assert "campaign" in environment.latesum("--help").stdout
    assert "--arms" in environment.latesum("compare", "--help").stdout
    shared = ["--arms", "0.3,0.6", "--delay", "uniform(0,10)", "--horizon", "500"]
    environment.latesum(
        "compare",
        *shared,
        "--policies",
        "flow",
        "--replications",
        "2",
        "--plot",
        "x.png",
        "--out",
        "x.parquet",
    )
    (environment.folder / "sweep.toml").write_text(
        "horizon = 500\nreplications = 2\nseed = 1\n[[problems]]\narms = [0.3, 0.6]\n"
        'delay = "uniform(0, 10)"\n[[policies]]\npolicy = "flow"\n'
    )
    environment.latesum("sweep", "sweep.toml", "--workers", "1", "--dask", "local")
    store = ["campaign", "--store", "campaigns.db"]
    environment.latesum(
        *store,
        "new",
        "banners",
        "--options",
        "red,blue",
        "--expected-rounds",
        "1000",
        "--time-basis",
        "arrival",
        "--policy",
        "odaaf-b",
        "--parameter",
        "horizon=90 days",
        "--parameter",
        "mean_delay=12 hours",
        "--parameter",
        "delay_bound=1 day",
    )
    environment.latesum(*store, "next")
    environment.latesum(*store, "status", "--html", "page.html")
    environment.python("import latesum.service.app")


@pytest.mark.parametrize("page", ["start/researcher", "start/practitioner"])
def test_a_five_minute_page_works_with_what_it_says_to_install(wheel, environment, page):
    """Its code and commands, in order and in an empty folder: the default run has all extras and more."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (language, first), *blocks = blocks
    assert language == "bash"
    said = shlex.split(first.removeprefix("pip install "))
    environment.install(*(each.replace("latesum", str(wheel), 1) for each in said))
    code = "\n".join(block for language, block in blocks if language == "python")
    commands = "\n".join(block for language, block in blocks if language == "bash")
    if code:
        environment.python(code)
    bash = f"set -e\nPATH={environment.folder}/bin:$PATH\n{commands}"
    (environment.folder / "page.sh").write_text(bash, encoding="utf-8")
    (environment.folder / "bin" / "bash").symlink_to(shutil.which("bash"))
    environment.run("bash", "page.sh")


def test_a_policy_of_ones_own_is_entered_and_verified(wheel, environment):
    """In one file, with one command each; the file itself is not needed to verify the entry."""
    environment.install(f"{wheel}[cli,experiments]")
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    file = environment.folder / "play_the_winner.py"
    file.write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], encoding="utf-8")
    entry = ["play_the_winner:PlayTheWinner", "--track", "nothing", "--out", "mine"]
    environment.latesum("bench", *entry, "--suite", "random-1", "--runs", "5", "--dev-seed", "1")
    assert (environment.folder / "mine" / "report.html").exists()
    file.unlink()
    said = environment.latesum("bench", "verify", "mine/entry.zip", "--sample", "5").stdout
    assert "Verified: 5 runs made again" in said
