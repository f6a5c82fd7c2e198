"""All commands as one Typer application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import takewhile
from typing import Annotated, Any

import typer

import calib
from calib.cli.app import app
from calib.cli.apply import apply
from calib.cli.arguments import refuse
from calib.cli.check import check
from calib.cli.compare import compare
from calib.cli.fit import fit
from calib.cli.gate import gate
from calib.cli.inspect import inspect
from calib.cli.plan import plan
from calib.cli.settings import settings

COMMANDS: dict[str, Callable[..., Any]] = {
    command.__name__: command for command in (app, inspect, fit, compare, apply, check, gate, plan, settings)
}


class Command(typer.core.TyperCommand):
    """A command that refuses an option given twice, of which the last would count, unless it may be repeated."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command's arguments."""
        once = {name for each in self.params if not getattr(each, "multiple", True) for name in each.opts}
        times = Counter(given.partition("=")[0] for given in takewhile(lambda given: given != "--", args))
        if not ctx.resilient_parsing and (twice := [name for name in times if name in once and times[name] > 1]):
            refuse(f"{twice[0]} is given more than once; give it once")
        return super().parse_args(ctx, args)


def commands(framed: bool = True) -> Any:
    """The application, whose help is framed and coloured by rich on a terminal and plain text elsewhere."""
    whole = typer.Typer(rich_markup_mode="rich" if framed else None)
    whole.callback()(_calib)
    for name, command in COMMANDS.items():
        streamlits = {"allow_extra_args": True, "ignore_unknown_options": True} if name == "app" else None
        whole.command(name, cls=Command, context_settings=streamlits)(command)
    return typer.main.get_command(whole)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"calib {calib.__version__}")
        raise typer.Exit


def _calib(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")] = (
        False
    ),
) -> None:
    """Check and correct a classifier's confidence."""
