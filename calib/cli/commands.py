"""Typer application with every command."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

import calib

COMMANDS = (
    "app", "inspect", "audit", "fit", "compare", "apply", "check", "gate", "rate", "tasks", "plan", "settings",
)  # fmt: skip
"""Each is the function of this name in the module of this name."""


def commands(framed: bool = True, only: str = "") -> Any:
    """The application, whose help is framed and coloured by rich on a terminal and plain text elsewhere.

    Parameters
    ----------
    framed : whether on a terminal.
    only : the one command that is to run, which alone is imported; all for the help and for a name that is none.
    """
    whole = typer.Typer(rich_markup_mode="rich" if framed else None)
    whole.callback()(_calib)
    for name in [only] if only in COMMANDS else COMMANDS:
        command = getattr(import_module(f"calib.cli.{name}"), name)
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
