"""All commands, put together; a command is imported when it is used, and not for `--help`."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from latesum._checks import known_name
from latesum._extras import need


class Command(NamedTuple):
    """Where a command is, what it is for, and which extras it cannot do without."""

    where: str  # module:name of a function, or of a group of commands
    help: str  # as the function's docstring says it
    extras: tuple[str, ...] = ()


_DECIDE = {
    "plan": Command("plan:plan_campaign", "Will it work, for how long, with which policy?"),
    "campaign": Command(
        "campaign:app",
        "Run campaigns: what to show next, from totals that come late.",
        ("campaigns",),
    ),
    "serve": Command(
        "serve:serve",
        "Campaigns over HTTP, and a page that shows what runs and why.",
        ("campaigns", "server"),
    ),
    "delays": Command(
        "describe:delays_command", "How late: a delay as text, or of data with `delays fit FILE`."
    ),
}
_RESEARCH = {
    "policies": Command(
        "describe:list_policies", "The policies there are, and what each must be given."
    ),
    "compare": Command(
        "compare:compare_policies",
        "Run policies on one problem many times and compare their regret.",
    ),
    "sweep": Command(
        "compare:sweep",
        "Run a grid of problems and policies from a file; it can resume.",
        ("experiments",),
    ),
    "paper": Command(
        "paper:paper",
        "The paper's experiments, beside its published curves: a report.",
        ("experiments", "plots"),
    ),
    "bench": Command(
        "bench:bench",
        "Run a policy on the frozen benchmark, with a report to verify.",
        ("experiments",),
    ),
    "demo": Command(
        "paper:demo",
        "The paper's problem with every policy: a table and figures.",
        ("experiments", "plots"),
    ),
}
_ADMINISTER = {
    "token": Command(
        "access:tokens",
        "Tokens for `latesum serve`; only their hashes are kept.",
        ("campaigns",),
    ),
    "warm-up": Command(
        "compare:warm_up", "Compile all kernels now, so that nothing waits for it later."
    ),
}
_GROUPS = {"Decide": _DECIDE, "Research": _RESEARCH, "Administration": _ADMINISTER}
COMMANDS = {**_DECIDE, **_RESEARCH, **_ADMINISTER}
_ABOUT = "Decide from totals that arrive late. Begin with `latesum plan --help`."


@functools.cache
def load(name: str) -> Any:
    """The command of this name with its options, imported at its first use."""
    module, _, attribute = COMMANDS[name].where.partition(":")
    found = getattr(import_module(f"latesum.cli.{module}"), attribute)
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
            need(*COMMANDS[known_name(args[0], COMMANDS, "command")].extras)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """All commands on one screen."""
        lines = [
            "Usage: latesum COMMAND [OPTIONS]; latesum COMMAND --help; latesum --version",
            _ABOUT,
        ]
        for group, commands in _GROUPS.items():
            lines += [f"{group}:", *(f"  {name:9} {each.help}" for name, each in commands.items())]
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
