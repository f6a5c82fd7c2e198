"""The data of a command: their files, how these are read, and their split."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from calib.base import Calibrator
from calib.cli import text
from calib.cli.arguments import parse_choice, part
from calib.data import Choices, LoadOptions, Predictions, load
from calib.data.checks.features import leak
from calib.data.options import FILES
from calib.errors import CalibrationError
from calib.registry import calibrator

FORMATS = "npz, npy, csv, tsv, parquet or hdf5"


def data_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], help: str
) -> argparse.ArgumentParser:
    """Add a command that takes a data set, in one file or several."""
    command: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    command.set_defaults(run=run, error=command.error)
    command.add_argument("file", type=Path, help=f"a model's outputs with labels: {FORMATS}")
    load_options(command)
    return command


def load_options(command: argparse.ArgumentParser, files: Iterable[str] = FILES) -> None:
    """Take files beside the first one, and let the reading of all be decided by hand.

    Parameters
    ----------
    files : names of fields of :class:`~calib.data.options.LoadOptions`.
    """
    for name in files:
        help = FILES[name][0].lower() + FILES[name][1:]
        command.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="FILE", help=help)
    command.add_argument("--read", action="append", default=[], type=parse_choice, metavar="NAME=VALUE",
                         help="how to read the file where the guess is wrong, such as kind=logits, labels=y or "
                         "outputs=p_0,p_1; may be repeated")  # fmt: skip


def split_options(command: argparse.ArgumentParser) -> None:
    """Let the split be chosen."""
    command.add_argument("--calibration", type=part, metavar="PART",
                         help="rows to fit on: fraction, count or all; else the file's split, or half")  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="of the split and of the fit")


def load_data(given: argparse.Namespace) -> Predictions:
    """Read the data; warnings go to standard error."""
    data = load(given.file, options_from(given))
    noticed = [finding for finding in data.findings if finding.level == "warning"]
    if noticed:
        print(text.findings(noticed), file=sys.stderr)
    return data


def options_from(given: argparse.Namespace) -> LoadOptions:
    """The files beside the first one that a command was given, and how all are read."""
    files = {name: getattr(given, name) for name in FILES if name in given}
    return LoadOptions(**files, choices=Choices(**dict(given.read)))


def split_data(data: Predictions, given: argparse.Namespace) -> tuple[Predictions, Predictions | None]:
    """Calibration and test part; the test part is None where all rows are for calibration."""
    if given.calibration == "all":
        return data, None
    calibration, test = data.split(given.calibration, random_state=given.seed)
    if len(calibration) < 2:
        raise CalibrationError("The calibration set has 1 row, from which nothing can be learned; give more of them.")
    return calibration, test


def warn_of_leak(data: Predictions) -> None:
    """Repeat beside the scores what makes them worthless; they are what is copied on."""
    if found := leak(data.findings):
        print(f"warning: {found}")


def made_calibrator(given: argparse.Namespace, name: str, params: dict[str, Any]) -> Calibrator:
    """A calibrator with the command's seed; parameters that it does not take are the command's fault."""
    try:
        return calibrator(name, **{"random_state": given.seed, **params})
    except CalibrationError as error:
        refuse(given, str(error))


def refuse(given: argparse.Namespace, reason: str) -> NoReturn:
    """Say that the command is at fault, and exit with 2."""
    given.error(reason)
    raise SystemExit(2)
