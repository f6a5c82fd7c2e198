"""The command line: app, inspect, fit, compare, apply, check, gate, plan and settings.

Exit status: 0 for success, 1 where the data or a fit are at fault (one sentence each on standard error), 2 where
the command or a setting is, 3 where ``gate`` finds a limit broken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from calib.cli import app, apply, check, compare, fit, gate, inspect, plan, settings, text
from calib.cli.arguments import Parser
from calib.data import DataError
from calib.errors import CalibrationError, missing_package
from calib.formatting import one_line
from calib.settings import check as check_settings

_MODULES = (app, inspect, fit, compare, apply, check, gate, plan, settings)
COMMANDS: dict[str, tuple[str, Callable[[Sequence[str]], int]]] = {
    module.__name__.rpartition(".")[2]: (module.WHAT, module.run) for module in _MODULES
}
"""Name of a command -> what it does in a few words, and the function that runs it on its arguments."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status, or exits with 2 where the command is not understood."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    name = _parser().parse_args(given[:1]).command
    try:
        check_settings()
    except ValueError as error:
        text.say(f"error: {error}", apart=True)
        return 2
    try:
        return COMMANDS[name][1](given[1:])
    except DataError as error:
        text.say(text.findings(error.findings), apart=True)
    except (CalibrationError, OSError) as error:
        text.say(f"error: {one_line(str(error))}", apart=True)
    except ModuleNotFoundError as error:
        text.say(f"error: {missing_package(error)}", apart=True)
    return 1


def _parser() -> Parser:
    """Of the command's name alone; each command reads its own arguments."""
    parser = Parser(prog="python -m calib", description="Check and correct a classifier's confidence.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, (what, _) in COMMANDS.items():
        commands.add_parser(name, help=what, add_help=False)
    return parser
