"""All commands, put together; a command is imported when it is used, and not for `--help`."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from latesum._extras import need


class Command(NamedTuple):
    """Where a command is, what it is for, and which extras it cannot do without."""

    where: str  # module:name of a function, or of a group of commands
    help: str  # as the function's docstring says it
    group: str
    extras: tuple[str, ...] = ()


DECIDE, RESEARCH, ADMINISTER = "Decide", "Research", "Administration"
COMMANDS = {
    "plan": Command(
        "plan:plan_campaign",
        "Will it work, for how long, with which policy? Found by simulation.",
        DECIDE,
    ),
    "campaign": Command(
        "campaign:app",
        "Run campaigns: what to show next, from totals that come late.",
        DECIDE,
        ("campaigns",),
    ),
    "serve": Command(
        "serve:serve",
        "Campaigns over HTTP, and a page that shows what runs and why.",
        DECIDE,
        ("campaigns", "server"),
    ),
    "delays": Command(
        "delays_fit:delays_command",
        "How late: a delay as text, or of data with `delays fit FILE`.",
        DECIDE,
    ),
    "policies": Command(
        "describe:list_policies", "The policies there are, and what each must be given.", RESEARCH
    ),
    "compare": Command(
        "compare:compare_policies",
        "Run policies on one problem many times and compare their regret.",
        RESEARCH,
    ),
    "sweep": Command(
        "sweep:sweep",
        "Run a grid of problems and policies from a file; it can resume.",
        RESEARCH,
        ("experiments",),
    ),
    "paper": Command(
        "paper:paper",
        "The paper's experiments, beside its published curves: a report.",
        RESEARCH,
        ("experiments", "plots"),
    ),
    "bench": Command(
        "bench:bench",
        "Run a policy on the frozen benchmark, with a report to verify.",
        RESEARCH,
        ("experiments",),
    ),
    "demo": Command(
        "demo:demo",
        "The paper's problem with every policy: a table and figures.",
        RESEARCH,
        ("experiments", "plots"),
    ),
    "schedule": Command("theory:show_schedule", "The phases of ODAAF and their lengths.", RESEARCH),
    "bounds": Command(
        "theory:show_bounds",
        "What theory says of a problem: regret bounds, and references.",
        RESEARCH,
    ),
    "token": Command(
        "access:tokens",
        "Tokens for `latesum serve`; only their hashes are kept.",
        ADMINISTER,
        ("campaigns",),
    ),
    "webhook": Command(
        "access:webhooks",
        "Where `latesum serve` sends alerts.",
        ADMINISTER,
        ("campaigns", "server"),
    ),
    "warm-up": Command(
        "warm_up:compile_kernels",
        "Compile all kernels now, so that nothing waits for it later.",
        ADMINISTER,
    ),
}


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
    """Stubs for `--help`; the command that is called takes the place of its stub."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name in COMMANDS:
            if "--help" not in args:
                need(*COMMANDS[name].extras)
            self.commands[name] = load(name)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    help="Decide from totals that arrive late. Begin with `latesum plan --help`.",
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _stub() -> None:
    """Stands in the list of commands."""


for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help, rich_help_panel=_command.group)(_stub)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Decide from totals that arrive late. Begin with `latesum plan --help`."""
    if show:
        from latesum import __version__

        print(f"latesum {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    app()
