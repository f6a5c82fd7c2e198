"""The command line: app, inspect, fit, compare, apply, check, gate, plan, settings and completion.

Exit status: 0 for success, 1 where the data or a fit are at fault (one sentence each on standard error), 2 where
the command or a setting is, 3 where ``gate`` finds a limit broken, 130 where it was stopped (Ctrl-C), 141 where nobody
read its output to the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import calib
from calib.cli import app, apply, check, compare, completion, fit, gate, inspect, plan, settings, text
from calib.cli.arguments import DESCRIPTION, Parser, program
from calib.data import DataError
from calib.errors import CalibrationError, missing_package
from calib.formatting import one_line
from calib.settings import check as check_settings

_MODULES: tuple[Any, ...] = (app, inspect, fit, compare, apply, check, gate, plan, settings, completion)
COMMANDS: dict[str, Any] = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
"""Name of a command -> its module: ``WHAT`` it does in a few words, its ``parser()``, and ``run(arguments)``."""
STOPPED = 130
"""The exit status after Ctrl-C, as shells have it."""
UNREAD = 141
"""The exit status where what reads the output has ended, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status, or exits with 2 where the command is not understood."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        _parser().print_help()
        return 0
    name = _parser().parse_args(given[:1]).command
    try:
        check_settings()
    except ValueError as error:
        text.say(f"error: {error}", apart=True)
        return 2
    try:
        status: int = COMMANDS[name].run(given[1:])
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python says so again when it ends
        return UNREAD
    except KeyboardInterrupt:
        text.say("Stopped.", apart=True)
        return STOPPED
    except DataError as error:
        text.say(text.findings(error.findings), apart=True)
    except (CalibrationError, OSError) as error:
        text.say(f"error: {one_line(str(error))}", apart=True)
    except ModuleNotFoundError as error:
        text.say(f"error: {missing_package(error)}", apart=True)
    return 1


def _parser() -> Parser:
    """Of the command's name alone; each command reads its own arguments."""
    parser = Parser(prog=program(), description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"calib {calib.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, module in COMMANDS.items():
        commands.add_parser(name, help=module.WHAT, add_help=False)
    return parser
