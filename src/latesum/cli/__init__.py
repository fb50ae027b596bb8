"""The command line: `latesum --help`."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

_FILE_OPTIONS = "--columns, --date-format, --decimal, --sheet, --add-up"


def main() -> None:
    """Run the command line; bad input ends with one sentence and exit code 2."""
    # Imports make many objects that stay; to look for garbage among them every 700 objects, as
    # Python does, costs a short command 0.2 of its seconds.
    gc.set_threshold(100_000)
    from latesum._checks import InvalidInput
    from latesum._extras import MissingExtra, need
    from latesum.errors import BadFile

    # A policy, delay or measure of your own may lie in a file of the folder you are in; last, so
    # that no file there is taken for a library.
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        need("cli")
        from latesum.cli.app import app

        app()
    except (InvalidInput, MissingExtra) as refusal:
        print(f"latesum: {refusal}", file=sys.stderr)
        if isinstance(refusal, BadFile):
            print(f"  How a file is read: {_FILE_OPTIONS}.", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("latesum: interrupted.", file=sys.stderr)
        sys.exit(130)
