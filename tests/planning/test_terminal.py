"""`latesum plan` on a real (pseudo-)terminal: the table that is replaced while the verdict gets surer."""

from __future__ import annotations

import os
import re
import struct
import sys

import pytest

COLUMNS, LINES = 80, 24
COMMAND = [
    "plan", "--options", "2", "--rate", "10%", "--lift", "50%", "--traffic", "500 per day", "--late", "4 hours",
    "--run-for", "8 weeks", "--policies", "odaaf,half test,quarter test,equal split", "--replications", "150", "--quick",
    "--workers", "1",
]  # fmt: skip


class Screen:
    """As much of a terminal as Rich's live display uses: lines, returns, up, and erasing a line."""

    def __init__(self) -> None:
        self.lines: list[str] = [""]
        self._row = self._column = 0

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip()

    def feed(self, text: str):
        """Take in all that a program wrote; what is on the screen after each line of progress."""
        for found in re.finditer(r"\x1b\[([?\d;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+", text):
            number, code = found[1], found[2]
            if found[0] == "\r":
                self._column = 0
            elif found[0] == "\n":
                self._row += 1
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif code == "A":
                self._row = max(0, self._row - int(number or 1))
            elif code == "K":
                self.lines[self._row] = ""
            elif code in ("m", "h", "l"):  # colours, and whether the cursor is shown
                continue
            elif code is not None:
                raise AssertionError(f"an escape that is not expected: {found[0]!r}")
            else:
                line = self.lines[self._row].ljust(self._column)
                self.lines[self._row] = (
                    line[: self._column] + found[0] + line[self._column + len(found[0]) :]
                )
                self._column += len(found[0])
                if "more runs" in found[0]:
                    yield str(self)


def on_terminal(arguments):
    """Run the command as its own process on a terminal of 80 columns; all that it wrote, and its exit code."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    child, terminal = pty.fork()
    if child == 0:  # the new process: nothing of pytest may run in it
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(LINES))
        start = "import sys; from latesum.cli import main; sys.exit(main())"
        os.execv(sys.executable, [sys.executable, "-c", start, *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        written += part
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return written.decode(), os.waitstatus_to_exitcode(status)


def test_a_terminal_shows_the_verdict_getting_surer_and_then_the_plan_alone():
    written, code = on_terminal(COMMAND)
    assert code == 0, written
    screen = Screen()
    shown = list(screen.feed(written))
    stages, runs = [], []
    for each in shown:
        lines = each.splitlines()
        if "policy " not in each:  # before the first look
            continue
        title = each.partition("\n\n")[0].replace("\n", " ")
        lines = lines[lines.index("") + 1 :]
        found = re.fullmatch(
            r"(\w+ \w+): (.+); (.+) finds the best option in \d+% \(\d+-\d+\) of (\d+) runs", title
        )
        assert found, title
        if not stages or stages[-1] != found[1]:
            stages.append(found[1])
            runs.append(int(found[4]))
        # One table at a time, whole: a row for each policy, none cut off, and progress below it.
        assert each.count("finds the best option in") == 1
        assert "…" not in each
        assert re.fullmatch(r" policy +gain +at 5% +finds best +runs", lines[0])
        labels = [line.split("  ")[0].strip().removesuffix(" <") for line in lines[2:6]]
        assert labels == ["quarter test", "half test", "equal split", "odaaf"]
        assert sum(" < " in line for line in lines[2:6]) == 1
        assert re.fullmatch(r"\w[\w ]*: \d+% of [\d,]+ more runs", lines[-1])
        assert max(map(len, each.splitlines())) <= COLUMNS
    assert stages[0] == "Stage 1"
    assert runs[0] == 12
    assert stages == sorted(set(stages), key=["Stage 1", "Stage 2", "Stage 3"].index)
    # Nothing of it is left when the plan is printed.
    left = str(screen)
    assert "more runs" not in left
    assert left.startswith(("GO", "NO-GO"))
    assert "simulated runs; regret and gain in conversions; ± and brackets" in left.replace(
        "\n", " "
    )
    # The plan fits the terminal, and says which columns did not.
    assert max(map(len, left.splitlines())) <= COLUMNS
    assert re.search(r"^ policy +gain +at 5% +finds best +decided after +runs$", left, re.MULTILINE)
    assert "No room for: switches, regret, winner named." in left


def test_without_a_terminal_each_look_is_a_line(latesum):
    """Lines go to standard error, so that the plan can be read from standard output."""
    code, out, err = latesum(*COMMAND)
    assert code == 0
    looks = [line.split(":")[0] for line in err.splitlines() if "finds the best option in" in line]
    assert looks[0] == "Stage 1"
    assert looks[-1] == "Stage 3"
    assert "\x1b" not in out + err
