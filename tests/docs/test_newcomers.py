"""What newcomers type first works as it stands on the page: the README and the five-minute pages.

Code and commands are taken from the pages and run in an empty folder, in the order in which they stand
there. CONTRIBUTING.md has tests of its own (tests/experiments/test_contributing.py).
"""

import contextlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import latesum
from latesum._compile import cache_folder
from warm_command import warm_command

ROOT = Path(__file__).parents[2]
RUN = [
    "README.md",
    "docs/start/researcher.md",
    "docs/start/practitioner.md",
    "docs/how-to/other-libraries.md",
]
#: What the default run makes shorter; everything is run as it stands with the slow tests.
QUICK = {
    "docs/start/practitioner.md": {
        "--quick --replications 40": "--quick --replications 20 --policies 'unmix,half test'"
    }
}
#: What must be among the answers.
SAID = {
    "docs/start/practitioner.md": ("GO", "2026-03-05: ", "All rows were taken in", "offers.html")
}
#: The how-to guides: what their reader has already, and what is made shorter for the test.
NOW = "export LATESUM_DATABASE_URL=shop.db LATESUM_NOW=2026-03-02T08:00"
SET_UP = "--every day --start 2026-03-02 --time-basis arrival --expected-rounds 5000"
PLAN = (
    'latesum plan --options 2 --rate 0.03 --lift 20% --traffic "5000 per day" --late "6 hours" '
    '--run-for "8 weeks" --quick --replications 20 --out plan.json'
)
ROWS = "date,rounds,total\\n2026-03-02,5000,140\\n"
HAD = {
    "restated-totals": f"""{NOW}
        latesum campaign new offers --options "red,blue" {SET_UP} && latesum campaign next
        export LATESUM_NOW=2026-03-03T08:00
        printf "date,rounds,total\\n2026-03-02,5000,90\\n" > early.csv
        latesum campaign import early.csv && printf "{ROWS}" > report.csv""",
    "unknown-delay": f"cp {ROOT}/examples/plan/delays.csv .",
    "regions": f"""{NOW}
        {PLAN}
        printf "date,region,rounds,total\\n2026-03-02,north,5000,140\\n" > totals.csv
        printf "{ROWS}" > north.csv""",
    "compare-with-odaaf": "",
    "status-quo": f"""{NOW}
        python3 -c "print('date,rounds,total'); [print(f'2026-02-{{d:02d}},5000,150') for d in range(1, 29)]" > past.csv""",
}  # fmt: skip
#: Guides whose commands are run by the tests of what they are about; here they are parsed.
LONG = {"plan", "campaign", "service", "experiments", "benchmark"}
SHORTER = {
    "--replications 200": "--replications 2",
    "--horizon 250000": "--horizon 20000",
    "latesum sweep mine.toml": "sed -i 's/^replications.*/replications = 1/' mine.toml && latesum sweep mine.toml --workers 1",
    '--history "4 weeks" --out': '--history "4 weeks" --quick --replications 20 --out',
}
ANSWERS = {
    "restated-totals": "revised",
    "unknown-delay": "Delays from 600 single delays",
    "regions": "offers-south",
    "compare-with-odaaf": "mine:MyPolicy",
    "status-quo": "plan.json",
}
NAMED = [
    *RUN,
    *(f"docs/{page}.md" for page in ("start/install", "concepts/limits", "research/results")),
    *(f"docs/how-to/{path.name}" for path in sorted((ROOT / "docs" / "how-to").glob("*.md"))),
]


def _text(page):
    return (ROOT / page).read_text(encoding="utf-8")


def _blocks(page):
    """The fenced blocks that are code or commands, in order, without what installs."""
    for language, block in re.findall(
        r"^```(python|bash)\n(.*?)^```", _text(page), re.DOTALL | re.MULTILINE
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


@pytest.mark.parametrize(
    ("page", "shorter"),
    [
        *((page, QUICK.get(page, {})) for page in RUN),
        *(pytest.param(page, {}, marks=pytest.mark.slow) for page in QUICK),
    ],
)
def test_what_stands_there_runs(page, shorter, place):
    blocks = list(_blocks(page))
    assert blocks
    # Commands share one shell, so that what is exported in one block holds in the next.
    commands = "\n".join(block for language, block in blocks if language == "bash")
    for long, short in shorter.items():
        assert long in commands
        commands = commands.replace(long, short)
    if commands:
        # In the default run many commands share one process that has loaded everything.
        with warm_command(place.parent / "bin") if shorter else contextlib.nullcontext():
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands],
                capture_output=True,
                text=True,
                check=False,
            )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert all(sentence in done.stdout for sentence in SAID.get(page, ()))
    code = "\n".join(block for language, block in blocks if language == "python")
    exec(compile(code, page, "exec"), {"__name__": "newcomer"})


def test_every_guide_is_run():
    guides = {path.stem for path in (ROOT / "docs" / "how-to").glob("*.md")} - {"index"}
    assert guides == {*HAD, *LONG, "other-libraries"}


@pytest.mark.slow
@pytest.mark.parametrize("guide", HAD)
def test_a_guide_does_what_it_says(guide, place):
    text = re.sub(r"^   ", "", _text(f"docs/how-to/{guide}.md"), flags=re.MULTILINE)
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    commands = "\n".join(blocks)
    for long, short in SHORTER.items():
        commands = commands.replace(long, short)
    if guide == "compare-with-odaaf":
        page = re.findall(r"```python\n(.*?)```", _text("docs/start/researcher.md"), re.DOTALL)
        (own,) = (block for block in page if "class ExploreThenCommit" in block)
        Path("mine.py").write_text(
            "import latesum as ls\n\n"
            + own.partition("\nmine =")[0].replace("ExploreThenCommit", "MyPolicy")
        )
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{HAD[guide]}\n{commands}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert ANSWERS[guide] in done.stdout


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
    caption = whole.index(next(line for line in whole if line.startswith("*Two options")))
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
                yield command.strip()


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
