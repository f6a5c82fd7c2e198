"""All commands as one Typer application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

import calib
from calib.cli.app import app
from calib.cli.apply import apply
from calib.cli.audit import audit
from calib.cli.check import check
from calib.cli.compare import compare
from calib.cli.fit import fit
from calib.cli.gate import gate
from calib.cli.inspect import inspect
from calib.cli.plan import plan
from calib.cli.settings import settings

COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command
    for command in (app, inspect, audit, fit, compare, apply, check, gate, plan, settings)
}


def commands(framed: bool = True) -> Any:
    """The application, whose help is framed and coloured by rich on a terminal and plain text elsewhere."""
    whole = typer.Typer(rich_markup_mode="rich" if framed else None)
    whole.callback()(_calib)
    for name, command in COMMANDS.items():
        streamlits = (
            {"allow_extra_args": True, "ignore_unknown_options": True} if name == "app" else None
        )
        whole.command(name, context_settings=streamlits)(command)
    return typer.main.get_command(whole)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"calib {calib.__version__}")
        raise typer.Exit


def _calib(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = (False),
) -> None:
    """Check and correct a classifier's confidence."""
