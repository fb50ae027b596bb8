"""All commands, put together."""

from __future__ import annotations

import typer

from latesum.cli import (
    campaign,
    compare,
    delays_fit,
    demo,
    describe,
    plan,
    serve,
    studies,
    sweep,
    theory,
    tokens,
)

app = typer.Typer(
    help="Decide from totals that arrive late.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(campaign.app, name="campaign")
app.add_typer(tokens.app, name="token")
app.command("compare")(compare.compare_policies)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("paper")(studies.paper)
app.command("sweep")(sweep.sweep)
app.command("league")(studies.league)
app.command("safety")(studies.safety)
app.command("coverage")(studies.coverage)
app.command("schedule")(theory.show_schedule)
app.command("bounds")(theory.show_bounds)
app.command("policies")(describe.list_policies)
app.command("delays")(delays_fit.delays_command)
app.command("plan")(plan.plan_campaign)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Decide from totals that arrive late."""
    if show:
        from latesum import __version__

        print(f"latesum {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    app()
