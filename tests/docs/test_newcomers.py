"""What newcomers type first works as it stands on the page: the README and the five-minute pages.

Code and commands are taken from the pages and run in an empty folder, in the order in which they stand
there. CONTRIBUTING.md has tests of its own (tests/experiments/test_contributing.py).
"""

import importlib.util
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

import latesum
from latesum._compile import cache_folder
from warm_command import warm_command

ROOT = Path(__file__).parents[2]
NOW = "export LATESUM_DATABASE_URL=shop.db LATESUM_NOW=2026-03-02T08:00"
SET_UP = "--every day --start 2026-03-02 --time-basis arrival --expected-rounds 5000"
ROWS = "date,rounds,total\\n2026-03-02,5000,140\\n"


class Page(NamedTuple):
    """How a page is followed."""

    #: What must be among the answers.
    said: tuple[str, ...] = ()
    #: What its reader has already.
    before: str = ""
    #: What the default run makes shorter; the slow tests run everything as it stands.
    quick: Mapping[str, str] = MappingProxyType({})
    #: What is made shorter in all tests, or is only there to be followed one after another.
    shorter: Mapping[str, str] = MappingProxyType({})
    #: Whether its Python runs after the commands in the same shell.
    in_shell: bool = False


#: Where a plan itself is not what a page is about.
SHORT_PLAN = "latesum plan --quick --replications 20 --policies flow"
SHORT_SWEEP = (
    "sed -i 's/^replications.*/replications = 1/' mine.toml && latesum sweep mine.toml --workers 1"
)
KILLED_AT_THE_END = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"
PAGES = {
    "README.md": Page(
        ("All rows were imported", "a gift"),
        "export LATESUM_DATABASE_URL=shop.db",
    ),
    "docs/start/researcher.md": Page(),
    "docs/start/practitioner.md": Page(
        ("GO", "2026-03-05: ", "All rows were imported", "offers.html"),
        quick={
            "--quick --replications 40": "--quick --replications 20 --policies 'unmix,half test'"
        },
    ),
    "docs/start/engineer.md": Page(('"option": "', '"verdict"', "4980,96"), KILLED_AT_THE_END),
    "docs/how-to/benchmark.md": Page(
        ("ratio", "Verified: 2 runs"),
        shorter={"my_package.mine:Mine": "mine:MyPolicy --suite random-1 --dev-seed 1 --runs 2"},
    ),
    "docs/how-to/campaign.md": Page(
        ("All rows were imported", "Easter leaflet", "offers.html"),
        f"""{NOW}
        (echo date,rounds,total; for day in $(seq -w 2 15); do echo 2026-03-$day,5000,1100; done) > totals.csv""",
        quick={
            "latesum plan": SHORT_PLAN,
            "--policies unmix,flow": "",
            "--policy flow": "--policy unmix",
        },
        shorter={
            'campaign new offers --options "red,blue"': 'campaign --store other.db new offers --options "red,blue"',
            "latesum campaign import totals.csv": "latesum campaign next\n"
            "export LATESUM_NOW=2026-03-16T08:00\nlatesum campaign import totals.csv",
            "latesum campaign finish": 'latesum campaign finish --reason "time is up"\n'
            'latesum campaign reopen --reason "a rehearsal"',
            'latesum campaign reopen --reason "a new season"': 'latesum campaign finish --reason "over"\n'
            'latesum campaign reopen --reason "a new season"',
            "latesum campaign delete": "latesum campaign export copy.json\nlatesum campaign delete",
            'it was a rehearsal"': 'it was a rehearsal"\n'
            "export LATESUM_DATABASE_URL=again.db LATESUM_NOW=2026-03-17T08:00\n"
            "latesum campaign restore copy.json",
        },
        in_shell=True,
    ),
    "docs/how-to/experiments.md": Page(
        shorter={
            "latesum sweep mine.toml --workers 4": SHORT_SWEEP,
            'Client("tcp://scheduler:8786")': "Client(processes=False, dashboard_address=None)",
            "replications=200": "replications=2",
        },
        in_shell=True,
    ),
    "docs/how-to/other-libraries.md": Page(),
    "docs/how-to/plan.md": Page(
        ("Expected gain over an equal split", "plan.html", "ten off"),
        f"""{NOW}
        (echo date,rounds,total; for day in $(seq -w 28); do echo 2026-02-$day,5000,15$((10#$day % 7)); done) > before.csv""",
        quick={
            "latesum plan": SHORT_PLAN,
        },
    ),
    "docs/how-to/restated-totals.md": Page(
        ("revised",),
        f"""{NOW}
        latesum campaign new offers --options "red,blue" {SET_UP} && latesum campaign next
        export LATESUM_NOW=2026-03-03T08:00
        printf "date,rounds,total\\n2026-03-02,5000,90\\n" > early.csv
        latesum campaign import early.csv && printf "{ROWS}" > report.csv""",
    ),
    "docs/how-to/service.md": Page(
        ("dashboard",),
        f"""{KILLED_AT_THE_END}
        {NOW}
        latesum campaign new banner --options "red,blue" --start 2026-03-01 --every day \\
            --time-basis arrival --expected-rounds 5000
        latesum campaign --now 2026-03-01T08:00 next
        export LATESUM_TOKEN=$(latesum token new shop --scope operate)""",
        shorter={
            "latesum serve ": "latesum serve --port 8000 &\n"
            "until curl --silent --fail http://127.0.0.1:8000/livez; do sleep 0.2; done "
        },
        in_shell=True,
    ),
    "docs/how-to/store.md": Page(
        ("offers-again",),
        f"{NOW}\nlatesum campaign new offers --options 'red,blue' {SET_UP}",
    ),
    "docs/how-to/unknown-delay.md": Page(
        ("Delays from 600 single delays",),
        f"cp {ROOT}/src/latesum/delays/data/delays.csv .",
    ),
    "docs/how-to/regions.md": Page(
        ("offers-south",),
        f"""{NOW}
        {SHORT_PLAN} --options 2 --rate 0.03 --lift 20% --traffic "5000 per day" --late "6 hours" \\
            --run-for "8 weeks" --out plan.json
        printf "date,region,rounds,total\\n2026-03-02,north,5000,140\\n" > totals.csv
        printf "{ROWS}" > north.csv""",
    ),
    "docs/how-to/compare-with-odaaf.md": Page(
        ("mine:MyPolicy",),
        shorter={
            "--replications 200": "--replications 2",
            "--horizon 250000": "--horizon 20000",
            "latesum sweep mine.toml": SHORT_SWEEP,
        },
        quick={
            "odaaf,odaaf-b,odaaf-v,flow,unmix,mine:MyPolicy": "odaaf,mine:MyPolicy",
        },
    ),
    "docs/how-to/status-quo.md": Page(
        ("plan.json",),
        f"""{NOW}
        (echo date,rounds,total; for day in $(seq -w 28); do echo 2026-02-$day,5000,150; done) > past.csv""",
        quick={"latesum plan": SHORT_PLAN},
    ),
}
NAMED = sorted(
    {
        "README.md",
        *(
            path.relative_to(ROOT).as_posix()
            for folder in ("start", "how-to", "concepts", "research")
            for path in (ROOT / "docs" / folder).glob("*.md")
        ),
    }
)


def _text(page):
    return (ROOT / page).read_text(encoding="utf-8")


def _blocks(page):
    """The fenced blocks that are code or commands, in order, without what installs."""
    text = re.sub(r"^   (?! )", "", _text(page), flags=re.MULTILINE)
    for language, block in re.findall(
        r"^```(python|bash)\n(.*?)^```", text, re.DOTALL | re.MULTILINE
    ):
        kept = "\n".join(line for line in block.splitlines() if not line.startswith("pip install"))
        if kept.strip():
            yield language, kept


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder, a home that is empty too, and the command `latesum` of the code that is tested."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for command, started in (("latesum", "-m latesum.cli "), ("python", "")):
        script = f'#!/bin/sh\nexec "{sys.executable}" {started}"$@"\n'
        (commands / command).write_text(script)
        (commands / command).chmod(0o755)
    source = str(Path(latesum.__file__).parents[1])
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", source)
    # Compiled code is taken from where it is: compiling it again in an empty home takes a minute.
    if (compiled := cache_folder()) is not None:
        monkeypatch.setenv("LATESUM_CACHE_DIR", str(compiled.parents[1]))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LATESUM_DATABASE_URL", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """The command of the default run: it shares one process that has loaded everything."""
    with warm_command(tmp_path_factory.mktemp("warm")) as command:
        yield command


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs(name, place, warm, capsys):
    (place.parent / "bin" / "latesum").unlink()
    (place.parent / "bin" / "latesum").symlink_to(warm)
    _follow(name, {**PAGES[name].shorter, **PAGES[name].quick}, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_what_stands_there_runs(name, place, capsys):
    _follow(name, PAGES[name].shorter, capsys)


def _follow(name, shorter, capsys):
    """Run the commands of a page in one shell, and its Python."""
    page, blocks = PAGES[name], list(_blocks(name))
    commands = "\n".join(block for language, block in blocks if language == "bash")
    code = "\n".join(block for language, block in blocks if language == "python")
    for long, short in shorter.items():
        assert long in commands + code
        commands, code = commands.replace(long, short), code.replace(long, short)
    if page.in_shell:
        commands, code = f"{commands}\npython - <<'END'\n{code}\nEND\n", ""
    commands = commands.replace("8000", str(_free_port())) if "serve" in commands else commands
    if "mine:MyPolicy" in commands:
        _write_own_policy(Path("mine.py"))
    assert commands or code
    if commands:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{page.before}\n{commands}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert [each for each in page.said if each not in done.stdout] == []
    exec(compile(code, name, "exec"), {"__name__": "newcomer"})
    printed = capsys.readouterr().out
    for shown in re.findall(r"^```text\n(.*?)^```", _text(name), re.DOTALL | re.MULTILINE):
        assert shown.strip() in printed


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _write_own_policy(path):
    """The policy of the researcher's page, as a file of its author."""
    page = re.findall(r"```python\n(.*?)```", _text("docs/start/researcher.md"), re.DOTALL)
    (own,) = (block for block in page if "class ExploreThenCommit" in block)
    own = own.partition("\nmine =")[0].replace("ExploreThenCommit", "MyPolicy")
    path.write_text("import latesum as ls\n\n" + own)


def test_every_guide_is_run():
    guides = {path.stem for path in (ROOT / "docs" / "how-to").glob("*.md")} - {"index"}
    assert guides == {Path(name).stem for name in PAGES if "how-to" in name}


def test_two_commands_are_targets_of_make():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(
        re.findall(
            r"^    make ([\w-]+)",
            _text("README.md") + _text("docs/start/install.md"),
            flags=re.MULTILINE,
        )
    )
    assert named
    assert named <= targets


def test_the_long_description_says_what_the_readme_says_without_links():
    """A release has no repository around it (hatch_build.py); the built wheel is looked at in test_release.py."""
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(found)
    found.loader.exec_module(hook)
    made = hook.long_description(_text("README.md"))
    assert not re.search(r"\]\(|<!--|docs/", made)
    whole = [line for line in _text("README.md").splitlines() if not re.search(r"\]\(|<!--", line)]
    caption = whole.index(next(line for line in whole if line.startswith("*Two arms")))
    kept = [*whole[:caption], *whole[caption + 2 :]]
    assert [line for line in kept if line not in made] == []
    some = hook.long_description(
        "See [it](https://a.b/c) and [this](docs/x.md). [Nothing else](y.md)."
    )
    assert some == "See [it](https://a.b/c) and this."


def _named_commands():
    """Whole commands in the text, in tables and in indented blocks; those with dots are sketches."""
    for page in NAMED:
        text = re.sub(r"\\\n\s*", " ", _text(page))
        fenced = "\n".join(re.findall(r"^ *```bash\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE))
        found = re.findall(r"`(?:time )?(latesum [^`\n]+)`", text)
        found += re.findall(r"^ *(latesum [^#\n]+)", fenced, re.MULTILINE)
        found += re.findall(r"^    (latesum [^#\n]+)", text, re.MULTILINE)
        for command in dict.fromkeys(found):
            if "..." not in command and not re.search(r"[\[\]{}]", command):
                yield command.strip().removesuffix(" &")


@pytest.mark.parametrize("command", sorted(set(_named_commands())))
def test_a_command_that_is_named_is_understood(command):
    from latesum.cli.app import COMMANDS, load

    name, *arguments = shlex.split(command)[1:]
    if name.startswith("--"):
        assert name in ("--install-completion", "--show-completion", "--version")
        return
    assert name in COMMANDS
    loaded = load(name)
    while hasattr(loaded, "commands") and arguments and not arguments[0].startswith("-"):
        loaded = loaded.commands[arguments.pop(0)]
    if hasattr(loaded, "commands") or not arguments:
        return  # it is named, and not called
    loaded.make_context(name, arguments)
