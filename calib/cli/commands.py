"""Typer application with every command."""

from __future__ import annotations

import os
from importlib import import_module
from textwrap import wrap
from typing import Annotated, Any

import typer

import calib
from calib.cli import text
from calib.settings import DECLARED

COMMANDS = (
    "app", "inspect", "audit", "fit", "compare", "apply", "check", "gate", "rate", "tasks", "plan", "settings",
)  # fmt: skip
"""Names of the commands, in the order of the help."""


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
        command = settings if name == "settings" else command_of(name)
        streamlits = (
            {"allow_extra_args": True, "ignore_unknown_options": True} if name == "app" else None
        )
        whole.command(name, context_settings=streamlits)(command)
    return typer.main.get_command(whole)


def command_of(name: str) -> Any:
    """Command of this name in the module of this name."""
    return getattr(import_module(f"calib.cli.{name}"), name)


def settings() -> None:
    """Show how an app started here would be configured, or what is wrong with it."""
    for declared in DECLARED:  # every setting is right by now, or the command would not run
        value = os.environ.get(declared.name, "").strip()
        in_force = (
            f"{value}  (from the environment)" if value else declared.default_text.replace("`", "")
        )
        text.say(f"{declared.name} = {in_force}")
        text.say("\n".join(f"    {line}" for line in wrap(declared.meaning.replace("`", ""), 100)))


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"calib {calib.__version__}")
        raise typer.Exit


def _calib(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = (False),
) -> None:
    """Check and correct a classifier's confidence."""
