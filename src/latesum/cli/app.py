"""All commands, put together; a command is imported when it is used, and not for `--help`."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from latesum._checks import known_name
from latesum._extras import need

#: The commands and what they are for, as the docstring of each says it.
_GROUPS = {
    "Decide": {
        "plan": "Will it work, for how long, with which policy?",
        "campaign": "Run campaigns: what to show next, from totals that come late.",
        "serve": "Campaigns over HTTP, and a page that shows what runs and why.",
        "delays": "How late: a delay as text, or of data with `delays fit FILE`.",
    },
    "Research": {
        "policies": "The policies there are, and what each must be given.",
        "compare": "Run policies on one problem many times and compare their regret.",
        "sweep": "Run a grid of problems and policies from a file; it can resume.",
        "paper": "The paper's experiments, beside its published curves: a report.",
        "bench": "Run a policy on the frozen benchmark, with a report to verify.",
    },
    "Administration": {
        "token": "Tokens for `latesum serve`; only their hashes are kept.",
        "warm-up": "Compile all kernels now, so that nothing waits for it later.",
    },
}
COMMANDS = {name: about for group in _GROUPS.values() for name, about in group.items()}
#: The modules of those commands that have none of their own.
_MODULES = {
    "delays": "describe",
    "policies": "describe",
    "sweep": "compare",
    "warm-up": "compare",
}
#: The extras that a command cannot do without.
_EXTRAS = {
    "campaign": ["campaigns"],
    "serve": ["campaigns", "server"],
    "sweep": ["experiments"],
    "paper": ["experiments", "plots"],
    "bench": ["experiments"],
    "token": ["campaigns"],
}
_ABOUT = "Decide from totals that arrive late. Begin with `latesum plan --help`."


@functools.cache
def load(name: str) -> Any:
    """The command of this name with its options, imported at its first use."""
    module = import_module(f"latesum.cli.{_MODULES.get(name, name)}")
    found = getattr(module, name.replace("-", "_"))
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    return get_command(found)


class _Commands(TyperGroup):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and "--help" not in args:
            need(*_EXTRAS.get(known_name(args[0], COMMANDS, "command"), []))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """All commands on one screen."""
        lines = [
            "Usage: latesum COMMAND [OPTIONS]; latesum COMMAND --help; latesum --version",
            _ABOUT,
        ]
        for group, commands in _GROUPS.items():
            lines += [f"{group}:", *(f"  {name:9} {about}" for name, about in commands.items())]
        formatter.write("\n".join(lines) + "\n")


app = typer.Typer(
    help=_ABOUT,
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True, help=_ABOUT)
def _version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if show:
        from latesum import __version__

        print(f"latesum {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    app()
