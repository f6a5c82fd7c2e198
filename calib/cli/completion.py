"""``completion``: a script by which a shell completes commands, options, methods and files."""

from __future__ import annotations

from argparse import Action
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calib.cli import text
from calib.cli.arguments import DESCRIPTION, Parser, Target, command_parser
from calib.registry import METHODS

WHAT = "print a script that completes commands, options and methods in a shell"
SHELLS = ("bash", "zsh", "fish")
PROGRAM = "calib"
"""What is completed: the command that an installation brings. No shell completes what follows ``python -m``."""
_NAMES_METHODS = ("method", "methods")
_HELP = 60
"""Characters of an option's help that a shell shows beside it."""


def parser() -> Parser:
    """Of this command's arguments."""
    parser = command_parser("completion", WHAT, epilog="bash: put  eval \"$(calib completion bash)\"  into ~/.bashrc; "
                            "zsh: calib completion zsh > FOLDER/_calib, with a FOLDER of $fpath; "
                            "fish: calib completion fish > ~/.config/fish/completions/calib.fish")  # fmt: skip
    parser.add_argument("shell", choices=SHELLS)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status.

    Raises
    ------
    ModuleNotFoundError
        If shtab is not installed.
    """
    given = parser().parse_args(arguments)
    text.say(script(given.shell))
    return 0


def script(shell: str) -> str:
    """The script for a shell, from the commands' own parsers: it starts no Python while somebody types."""
    import shtab

    from calib.cli import COMMANDS

    whole = Parser(prog=PROGRAM, description=DESCRIPTION)
    commands = whole.add_subparsers(dest="command")
    for name, command in COMMANDS.items():
        own = command.parser()
        for action in own._actions:
            _complete(action, shtab.FILE)
        commands.add_parser(name, help=command.WHAT, parents=[own], add_help=False)
    return str(shtab.complete(whole, shell)).rstrip()


def _complete(action: Action, file: Any) -> None:
    """Say what an argument can be, as shtab wants it, and cut its help to what fits beside it."""
    if action.type is Path or isinstance(action.type, Target):
        action.complete = file  # type: ignore[attr-defined]
    elif action.dest in _NAMES_METHODS:
        action.choices = [*METHODS]
    if action.help and len(action.help) > _HELP:
        action.help = action.help[:_HELP].rsplit(" ", 1)[0].rstrip(";,:(") + " …"
