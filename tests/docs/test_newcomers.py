"""What newcomers type first works as it stands on the page: the README and the five-minute pages.

Code and commands are taken from the pages and run in an empty folder, in the order in which they stand
there. CONTRIBUTING.md has tests of its own (tests/experiments/test_contributing.py).
"""

import contextlib
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
PLAN = (
    'latesum plan --options 2 --rate 0.03 --lift 20% --traffic "5000 per day" --late "6 hours" '
    '--run-for "8 weeks" --quick --replications 20 --out plan.json'
)
ROWS = "date,rounds,total\\n2026-03-02,5000,140\\n"


class Page(NamedTuple):
    """How a page is followed."""

    #: What must be among the answers.
    said: tuple[str, ...] = ()
    #: What its reader has already.
    before: str = ""
    #: What the default run makes shorter; the slow tests run everything as it stands.
    quick: Mapping[str, str] = MappingProxyType({})
    #: What is made shorter in all tests.
    shorter: Mapping[str, str] = MappingProxyType({})
    slow: bool = False


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
    "docs/start/engineer.md": Page(
        ('"option": "', '"verdict"', "4980,96"), "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"
    ),
    "docs/how-to/other-libraries.md": Page(),
    "docs/how-to/restated-totals.md": Page(
        ("revised",),
        f"""{NOW}
        latesum campaign new offers --options "red,blue" {SET_UP} && latesum campaign next
        export LATESUM_NOW=2026-03-03T08:00
        printf "date,rounds,total\\n2026-03-02,5000,90\\n" > early.csv
        latesum campaign import early.csv && printf "{ROWS}" > report.csv""",
        slow=True,
    ),
    "docs/how-to/unknown-delay.md": Page(
        ("Delays from 600 single delays",),
        f"cp {ROOT}/src/latesum/delays/data/delays.csv .",
        slow=True,
    ),
    "docs/how-to/regions.md": Page(
        ("offers-south",),
        f"""{NOW}
        {PLAN}
        printf "date,region,rounds,total\\n2026-03-02,north,5000,140\\n" > totals.csv
        printf "{ROWS}" > north.csv""",
        slow=True,
    ),
    "docs/how-to/compare-with-odaaf.md": Page(
        ("mine:MyPolicy",),
        shorter={
            "--replications 200": "--replications 2",
            "--horizon 250000": "--horizon 20000",
            "latesum sweep mine.toml": "sed -i 's/^replications.*/replications = 1/' mine.toml && "
            "latesum sweep mine.toml --workers 1",
        },
        slow=True,
    ),
    "docs/how-to/status-quo.md": Page(
        ("plan.json",),
        f"""{NOW}
        (echo date,rounds,total; for day in $(seq -w 28); do echo 2026-02-$day,5000,150; done) > past.csv""",
        shorter={
            '--history "4 weeks" --out': '--history "4 weeks" --quick --replications 20 --out'
        },
        slow=True,
    ),
}
#: Guides whose commands are run by the tests of what they are about; here they are parsed.
LONG = {"plan", "campaign", "store", "service", "experiments", "benchmark"}
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
    command = commands / "latesum"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m latesum.cli "$@"\n')
    command.chmod(0o755)
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


def _cases():
    for name, page in PAGES.items():
        if page.quick:
            yield name, {**page.shorter, **page.quick}
        marks = [pytest.mark.slow] if page.slow or page.quick else []
        yield pytest.param(name, page.shorter, marks=marks)


@pytest.mark.parametrize(("name", "shorter"), list(_cases()))
def test_what_stands_there_runs(name, shorter, place, capsys):
    page, blocks = PAGES[name], list(_blocks(name))
    assert blocks
    # Commands share one shell, so that what is exported in one block holds in the next.
    commands = "\n".join(block for language, block in blocks if language == "bash")
    for long, short in shorter.items():
        assert long in commands
        commands = commands.replace(long, short)
    commands = commands.replace("8000", str(_free_port())) if "serve" in commands else commands
    if "mine:MyPolicy" in page.said:
        _write_own_policy(Path("mine.py"))
    if commands:
        # In the default run many commands share one process that has loaded everything.
        with warm_command(place.parent / "bin") if page.quick else contextlib.nullcontext():
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", f"{page.before}\n{commands}"],
                capture_output=True,
                text=True,
                check=False,
            )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert all(sentence in done.stdout for sentence in page.said)
    code = "\n".join(block for language, block in blocks if language == "python")
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
    assert guides == {Path(name).stem for name in PAGES if "how-to" in name} | LONG


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
