"""The light core works alone, and a missing extra names itself before any work is done.

Each test runs in a process in which the libraries of all extras, or of some, cannot be imported:
a finder in front of all others refuses them as if they were not installed.
"""

import pkgutil
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import latesum
from latesum._extras import EXTRAS, need

ROOT = Path(__file__).parents[2]
#: Distributions whose module has another name.
MODULES = {
    "markdown-it-py": "markdown_it",
    "prometheus-client": "prometheus_client",
}
#: What an extra's libraries bring along, blocked with them.
MORE = ("click", "starlette", "anyio", "shellingham", "pandas", "pydantic_core")

BLOCK = """
import sys

class Block:
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Block({names!r}))
"""


def blocked(extras):
    """The modules that are missing without `extras`."""
    names = {module for extra in extras for module in EXTRAS[extra]}
    if set(extras) == set(EXTRAS):
        names |= set(MORE)
    if "cli" not in extras:
        names -= {"pydantic", "markdown_it"}  # typer and rich need them themselves
    return names


def without(extras, code, *, code_expected=0):
    """Run `code` where the libraries of `extras` are missing; returns its output and errors."""
    script = BLOCK.replace("{names!r}", repr(blocked(extras))) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code_expected, done.stderr
    return done.stdout, done.stderr


def test_the_table_of_extras_is_that_of_pyproject_and_all_are_in_the_lock_file():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    assert set(extras) == {*EXTRAS, "all", "benchmarks"}
    for extra, modules in EXTRAS.items():
        names = [re.split(r"[\[><=;, ]", each)[0] for each in extras[extra]]
        found = {MODULES.get(name, name) for name in names if name != "latesum"}
        assert found == set(modules), extra
    locked = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
    pinned = {"latesum", *re.findall(r"^([a-z0-9-]+)==", locked, re.MULTILINE)}
    wanted = [*declared["dependencies"], *(each for extra in EXTRAS for each in extras[extra])]
    assert {re.split(r"[\[><=;, ]", each)[0] for each in wanted} <= pinned
    (everything,) = extras["all"]
    assert set(everything.removeprefix("latesum[").removesuffix("]").split(",")) == set(EXTRAS)


def test_the_core_alone_simulates_compares_plans_and_fits(tmp_path):
    (tmp_path / "late.csv").write_text("delay,censored\n1,no\n3,no\n4,no\n8,no\n9,no\n")
    out, _ = without(
        EXTRAS,
        f"""
        from latesum import *
        problem = Problem([0.5, 0.6], "uniform(0, 10)")
        print("regret", simulate(problem, Flow(2, mean_delay=5), 500, seed=1).regret())
        print(compare(problem, {{"Flow": Flow(2, mean_delay=5)}}, 500, replications=2, seed=1))
        print("fitted", delays.fit([1, 3, 4, 8, 9, 9]).mean.value)
        print("file", delays.fit({str(tmp_path / "late.csv")!r}).mean.value)
        print("bound", theory.__name__, attributed.QPMD("ucb1", 2).name)
        planned = plan(options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours",
                       run_for="8 weeks", replications=20, workers=1, sensitivity=False,
                       policies=["unmix", "half test"])
        assert planned._repr_html_().startswith("<pre>GO")
        print(planned)
        """,
    )
    assert "ends on best" in out
    assert "GO" in out
    assert "file" in out


def test_importing_latesum_imports_no_library():
    code = """
    before = set(sys.modules)
    import latesum
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    print(sorted(new - set(sys.stdlib_module_names) - {"latesum"}))
    """
    assert without([], code)[0].strip() == "[]"


def _modules():
    found = pkgutil.walk_packages(
        [str(Path(latesum.__file__).parent)], "latesum.", onerror=lambda _: None
    )
    # Inside the service, only what is imported from outside must name the extra; commands are
    # imported by `latesum.cli.main`, which looks first.
    outside = ("latesum.service.app", "latesum.service.client")
    return [
        module.name
        for module in found
        if not module.name.startswith(("latesum.campaigns.", "latesum.cli."))
        and (not module.name.startswith("latesum.service.") or module.name in outside)
    ]


def test_every_module_imports_with_the_core_alone_or_names_its_extra():
    out, _ = without(
        EXTRAS,
        f"""
        import importlib
        from latesum.errors import MissingExtra
        for name in {_modules()!r}:
            try:
                importlib.import_module(name)
            except MissingExtra as missing:
                assert "pip install 'latesum[" in str(missing)
                print(name)
        """,
    )
    needing = set(out.split())
    assert "latesum.campaigns" in needing
    assert "latesum.experiments" not in needing
    assert "latesum.planning" not in needing
    assert {name for name in needing if "adapters" in name} == {"latesum.adapters.environments"}
    assert {name.partition(".")[2].partition(".")[0] for name in needing} <= {
        "adapters",
        "experiments",
        "campaigns",
        "service",
        "sweeps",
    }


def slow(*case):
    """A case whose extras another one of the default run has."""
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        (["campaigns"], "from latesum import Campaign", "campaigns"),
        slow(["campaigns"], "from latesum.service import Tokens", "campaigns"),
        slow(["server"], "import latesum.service.app", "server"),
        (["server"], "import latesum; latesum.Client('http://127.0.0.1:1', token='x')", "server"),
        (
            ["experiments"],
            "from latesum.experiments import RunStore; RunStore('kept')",
            "experiments",
        ),
        slow(["experiments"], "from latesum.experiments.sweep import load", "experiments"),
        (["parquet"], "import latesum; latesum.delays.fit('x.parquet')", "parquet"),
        (["excel"], "import latesum; latesum.delays.fit('x.xlsx')", "excel"),
        (["plots"], "import latesum; latesum.delays.fit([1, 2, 3]).plot()", "plots"),
    ],
)
def test_what_needs_an_extra_names_it(missing, code, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04")
    _, errors = without(missing, code, code_expected=1)
    assert "MissingExtra" in errors.splitlines()[-1]
    assert f"pip install 'latesum[{extra}]'" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.parquet", "x.xlsx"]


COMPARE = [
    "compare",
    "--arms",
    "0.3,0.6",
    "--delay",
    "uniform(0,10)",
    "--policies",
    "flow",
    "--horizon",
    "100",
    "--replications",
    "1",
]
PLAN = [
    "plan",
    "--options",
    "2",
    "--rate",
    "0.1",
    "--lift",
    "50%",
    "--traffic",
    "1000 per day",
    "--late",
    "4 hours",
    "--run-for",
    "8 weeks",
]


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        (["cli"], ["--help"], "cli"),
        (["campaigns"], ["campaign", "list"], "campaigns"),
        slow(["campaigns"], ["token", "list"], "campaigns"),
        (["server"], ["serve"], "server"),
        (["campaigns", "server"], ["serve"], "campaigns,server"),
        (["experiments"], ["sweep", "file.toml"], "experiments"),
        (["cluster"], ["sweep", "file.toml", "--dask", "local"], "cluster"),
        slow(["plots"], ["paper", "3a"], "plots"),
        (["experiments", "plots"], ["paper"], "experiments,plots"),
        (["plots"], [*COMPARE, "--plot", "x.png"], "plots"),
        slow(["experiments"], [*COMPARE, "--out", "x.parquet"], "experiments"),
        slow(["experiments"], [*PLAN, "--out", "x.html"], "experiments"),
        slow(["plots"], ["delays", "fit", "late.csv", "--plot", "x.png"], "plots"),
        (["parquet"], ["campaign", "--store", "c.db", "buckets", "--out", "b.pq"], "parquet"),
    ],
)
def test_a_command_names_the_missing_extra_and_exits_2(
    missing, arguments, extra, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code = f"""
    sys.argv = ["latesum", *{arguments!r}]
    from latesum.cli import main
    main()
    """
    out, errors = without(missing, code, code_expected=2)
    assert out == ""
    assert errors.startswith("latesum: this needs ")
    assert len(errors.splitlines()) == 1
    assert f"pip install 'latesum[{extra}]'" in errors
    assert list(tmp_path.iterdir()) == []


def test_help_of_a_command_needs_only_the_command_line():
    code = """
    sys.argv = ["latesum", "plan", "--help"]
    from latesum.cli import main
    main()
    """
    assert "--options" in without([*(set(EXTRAS) - {"cli"})], code)[0]


def test_an_extra_that_is_there_is_not_refused():
    need(*EXTRAS)
