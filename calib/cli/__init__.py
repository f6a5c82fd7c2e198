"""The command line: inspect, fit, compare, apply, check and settings.

Exit status: 0 for success, 1 where the data or a fit are at fault (one sentence each on standard error), 2 where
the command or a setting is.

What the command line says where a command is not understood.

The ``settings`` command: what an app started here would be configured with.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NoReturn

from calib import settings
from calib.cli import text
from calib.cli.apply import apply_command
from calib.cli.compare import compare_command
from calib.cli.data import FORMATS, data_command, load_options, options_from
from calib.cli.fit import fit_command
from calib.data import DataError, inspect
from calib.errors import CalibrationError, missing_package
from calib.export import runtime
from calib.registry import METHODS
from calib.settings import DECLARED, Setting


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong and where help is; the whole usage would bury it."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command and exit with 2."""
        print(f"error: {message.rstrip('.')}; see {self.prog} --help.", file=sys.stderr)
        raise SystemExit(2)


def settings_command(commands: Any) -> argparse.ArgumentParser:
    """Add the command to a parser's commands."""
    what = "show how an app started here would be configured, or what is wrong with it"
    command: argparse.ArgumentParser = commands.add_parser("settings", help=what, description=what)
    command.set_defaults(run=_settings)
    return command


def _settings(given: argparse.Namespace) -> int:
    variables = settings.environment()  # every setting is right by now, or the command would not run
    for declared in DECLARED:
        print(f"{declared.name} = {_in_force(declared, variables)}")
        print("\n".join(f"    {line}" for line in wrap(declared.meaning.replace("`", ""), 100)))
    return 0


def _in_force(declared: Setting, variables: Any) -> str:
    if given := variables.get(declared.name, "").strip():
        return f"{given}  (from the {'environment' if declared.name in os.environ else 'file'})"
    found = f"{declared.default():.3g}, " if callable(declared.default) else ""
    return found + declared.default_text.replace("`", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status, or exits with 2 where the command is not understood."""
    given = _parser().parse_args(arguments)
    try:
        settings.check()
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        return given.run(given)
    except DataError as error:
        print(text.findings(error.findings), file=sys.stderr)
    except (CalibrationError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"error: {missing_package(error)}", file=sys.stderr)
    return 1


def _inspect(given: argparse.Namespace) -> int:
    found = inspect(given.file, options_from(given))
    print(text.inspection(found))
    return 0 if found.predictions is not None else 1


def _check(given: argparse.Namespace) -> int:
    from calib.diagnostics import shift, shift_data

    exported = runtime.load(given.calibrator)
    fresh = shift_data.read_fresh(exported, given.file, options_from(given))
    if fresh.data is None:
        raise DataError(list(fresh.inspection.findings))
    if fresh.noticed:
        print(text.findings(fresh.noticed), file=sys.stderr)
    raw, now = shift_data.judge(exported, fresh.data)
    before, n_before = shift.recorded_scores(exported.metadata)
    found = shift.recheck(now, raw, before, n_before=n_before)
    print(text.recheck_lines(found, METHODS[exported.method].title, fresh.notes))
    if exported.metadata.get("data_sha256") == fresh.data.sha256:
        print(f"warning: {shift.NOT_FRESH}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m calib", description="Check and mend a classifier's confidence.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    data_command(commands, "inspect", _inspect, "say what a file holds and what is odd about it")
    fit_command(commands)
    compare_command(commands)
    load_options(apply_command(commands, FORMATS), files=("features",))
    command = commands.add_parser("check", help="say whether a saved calibrator still holds on fresh labelled rows")
    command.set_defaults(run=_check)
    command.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    command.add_argument("file", type=Path, help=f"fresh outputs of the same model with labels: {FORMATS}")
    load_options(command, files=("labels", "features"))
    settings_command(commands)
    return parser
