"""The command line: app, inspect, audit, fit, compare, apply, check, gate, rate, tasks, plan and settings.

Exit status: 0 for success, 1 where the data or a fit are at fault (one sentence each on standard error), 2 where
the command or a setting is, 3 where ``gate`` finds a limit broken and 4 where these rows cannot tell, 130 where it was
stopped (Ctrl-C), 141 where nobody read its output to the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from calib.errors import CalibrationError, DataError, missing_package
from calib.formatting import single_line
from calib.settings import check as check_settings

STOPPED = 130
"""The exit status after Ctrl-C, as shells and Typer have it."""
UNREAD = 141
"""The exit status where what reads the output has ended, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Without a command it prints the help."""
    command_line = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        from typer import TyperException

        from calib.cli import text
        from calib.cli.commands import COMMANDS, commands
    except ModuleNotFoundError as error:
        print(f"error: {missing_package(error)}", file=sys.stderr)
        return 1
    program = "calib" if Path(sys.argv[0]).stem == "calib" else "python -m calib"
    try:
        check_settings()
    except ValueError as error:
        text.say(f"error: {error}", apart=True)
        return 2
    try:
        whole = commands(sys.stdout.isatty(), only=command_line[0])
        status = whole(command_line, prog_name=program, standalone_mode=False)
        sys.stdout.flush()
        if status == UNREAD:
            raise BrokenPipeError
        if status == STOPPED:
            text.say("Stopped.", apart=True)
        return int(status or 0)
    except TyperException as error:  # one line: the whole usage would bury it
        named = f"{program} {command_line[0]}" if command_line[0] in COMMANDS else program
        message = error.format_message().removeprefix("Invalid value: ").rstrip(".")
        text.say(f"error: {message}; see {named} --help.", apart=True)
        return 2
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or Python says so again when it ends
        return UNREAD
    except DataError as error:
        text.say(text.findings(error.findings), apart=True)
    except (CalibrationError, OSError) as error:
        text.say(f"error: {single_line(str(error))}", apart=True)
    except ModuleNotFoundError as error:
        text.say(f"error: {missing_package(error)}", apart=True)
    return 1
