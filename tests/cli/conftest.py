"""Running a command as a person would."""

import pytest

from latesum.cli import main


@pytest.fixture
def latesum(monkeypatch, capsys):
    """Run `latesum ...` and return its exit code, output and errors."""

    def run_command(*arguments):
        monkeypatch.setattr("sys.argv", ["latesum", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_command
