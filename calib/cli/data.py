"""The data of a command: their files, how these are read, and their split."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from calib.base import Calibrator
from calib.cli import text
from calib.cli.arguments import parse_choice, part
from calib.data import Choices, Predictions, load
from calib.data.checks.features import leak
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
    command.add_argument("--labels", type=Path, help="the labels, where they have their own file")
    command.add_argument("--test", type=Path, help="a second file to test on; the first is then for calibration")
    command.add_argument("--test-labels", type=Path, metavar="FILE", help="the labels of the second file")
    command.add_argument("--features", type=Path, metavar="FILE",
                         help="features of all rows, in their own file, perhaps with the training set")  # fmt: skip
    command.add_argument("--train-features", type=Path, metavar="FILE",
                         help="features of the training set, where they have their own file")  # fmt: skip
    command.add_argument("--train-labels", type=Path, metavar="FILE",
                         help="labels of the training set, where they have their own file")  # fmt: skip
    read_option(command)
    return command


def read_option(command: argparse.ArgumentParser) -> None:
    """Let the reading of files be decided by hand."""
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
    data = load(given.file, **files_of(given), choices=Choices(**dict(given.read)))
    noticed = [finding for finding in data.findings if finding.level == "warning"]
    if noticed:
        print(text.findings(noticed), file=sys.stderr)
    return data


def files_of(given: argparse.Namespace) -> dict[str, Path | None]:
    """The files beside the first one, by what they hold."""
    roles = ("labels", "test", "test_labels", "features", "train_features", "train_labels")
    return {role: getattr(given, role) for role in roles}


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
