"""What the commands share: their parser, the types of their arguments, and the data that they name."""

from __future__ import annotations

import argparse
import ast
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from calib.base import Calibrator
from calib.cli import text
from calib.data import Choices, LoadOptions, Predictions, load
from calib.data.assemble.features import leak
from calib.data.findings import InvalidUpload
from calib.data.load import check_choices
from calib.data.options import FILES, FORMATS, OPTION_OF_ROLE, OPTIONS
from calib.data.split import part_size, said_of_clusters
from calib.errors import CalibrationError
from calib.formatting import one_line
from calib.registry import calibrator

DESCRIPTION = "Check and correct a classifier's confidence."


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong and where help is; the whole usage would bury it."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command and exit with 2."""
        text.say(f"error: {message.rstrip('.')}; see {self.prog} --help.", apart=True)
        raise SystemExit(2)


def program() -> str:
    """What was typed before the command's name: ``calib`` where it is installed so, ``python -m calib`` elsewhere."""
    return "calib" if Path(sys.argv[0]).stem == "calib" else "python -m calib"


def command_parser(name: str, what: str, epilog: str | None = None, *, answers: bool = False) -> Parser:
    """The parser of one command.

    Parameters
    ----------
    answers : whether it takes ``--json``, as all do that find something out.
    """
    parser = Parser(prog=f"{program()} {name}", description=what, epilog=epilog)
    parser.set_defaults(error=parser.error)
    if answers:
        parser.add_argument("--json", action="store_true",
                            help="print the answer as JSON and nothing else; notes go to standard error")  # fmt: skip
    return parser


def data_parser(name: str, what: str) -> Parser:
    """The parser of a command that takes a data set, in one file or several."""
    parser = command_parser(name, what, answers=True)
    parser.add_argument("file", type=Path, help=f"a model's outputs with labels: {FORMATS}")
    load_options(parser)
    return parser


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
                         help="how to read the file where what was inferred is wrong: roles of columns such as "
                         "outcome=default and outputs=pd, or options such as kind=logits; may be repeated")  # fmt: skip
    command.add_argument("--isolate", action="store_true",
                         help="read files in a process of its own with limits of memory and time; for files of "
                         "strangers")  # fmt: skip


def split_options(command: argparse.ArgumentParser) -> None:
    """Let the split be chosen."""
    command.add_argument("--calibration", type=part, metavar="PART",
                         help="rows to fit on: fraction, count or all; else the file's split, or half")  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="of the split and of the fit")


def load_data(given: argparse.Namespace) -> Predictions:
    """Read the data; warnings go to standard error."""
    data = load(given.file, options_from(given))
    say_warnings(data)
    return data


def say_warnings(data: Predictions) -> None:
    """Say what was noticed while the data were read."""
    noticed = [finding for finding in data.findings if finding.level == "warning"]
    if noticed:
        text.say(text.findings(noticed), apart=True)


def options_from(given: argparse.Namespace) -> LoadOptions:
    """The files beside the first one that a command was given, and how all are read."""
    files = {name: getattr(given, name) for name in FILES if name in given}
    return LoadOptions(**files, choices=Choices(**dict(given.read)), isolate=given.isolate)


def split_data(data: Predictions, given: argparse.Namespace) -> tuple[Predictions, Predictions | None]:
    """Calibration and test part; the test part is None where all rows are for calibration."""
    if given.calibration == "all":
        return data, None
    calibration, test = data.split(given.calibration, random_state=given.seed)
    if len(calibration) < 2:
        raise CalibrationError("The calibration set has 1 row, from which nothing can be learned; give more of them.")
    drawn = given.calibration is not None or data.given_split is None
    asked = part_size(given.calibration or 0.5, len(data)) if drawn else None
    if said := said_of_clusters(calibration.clusters, test.clusters, asked):
        text.say(f"note: {said}", apart=True)
    return calibration, test


def warn_of_leak(data: Predictions, answer: text.Answer) -> None:
    """Repeat beside the scores what makes them worthless; they are what is copied on."""
    answer.note(leak(data.findings), "warning")


def made_calibrator(given: argparse.Namespace, name: str, params: dict[str, Any]) -> Calibrator:
    """A calibrator with the command's seed; parameters that it does not take are the command's fault."""
    try:
        return calibrator(name, **{"random_state": given.seed, **params})
    except CalibrationError as error:
        refuse(given, str(error))


def keep_inputs(given: argparse.Namespace, *outputs: str) -> None:
    """Refuse, before the work starts, to write over a file that the command reads, or two answers to one file.

    Parameters
    ----------
    outputs : names of the arguments to write to; all other paths are read.
    """
    paths = {name: path.resolve() for name, path in vars(given).items() if isinstance(path, Path)}
    for name in outputs:
        out = paths.pop(name, None)
        # What ``fit --continue`` goes on with may be replaced by what comes of it.
        if out is not None and out in (path for other, path in paths.items() if other != "earlier"):
            why = "is to be written twice" if out in map(paths.get, outputs) else "is read too and would be overwritten"
            refuse(given, f"{one_line(out.name)} {why}; give --{name} another name")


def refuse(given: argparse.Namespace, reason: str) -> NoReturn:
    """Say that the command is at fault, and exit with 2."""
    given.error(reason)
    raise SystemExit(2)


def assignment(given: str) -> tuple[str, Any]:
    """``n_inducing=20`` as a name and a number, truth value, None or word."""
    name, equals, value = given.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {given!r}")
    word = value.capitalize() if value.lower() in ("true", "false", "none") else value
    try:
        return name.strip(), ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return name.strip(), value


def method_with_parameters(given: str) -> tuple[str, dict[str, Any]]:
    """``isotonic:share_classes=False,normalize=False`` as a method's name and its parameters."""
    name, _, parameters = given.partition(":")
    return name.strip(), dict(assignment(part) for part in parameters.split(",") if part)


@dataclass(frozen=True)
class Target:
    """A type of files to write, which looks before the work starts whether they can be written."""

    endings: tuple[str, ...] = ()

    def __call__(self, given: str) -> Path:
        """The path, or an error of argparse."""
        path = Path(given)
        if self.endings and path.suffix.lower() not in self.endings:
            raise argparse.ArgumentTypeError(f"{path.name!r} does not end in {' or '.join(self.endings)}")
        if not path.parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise argparse.ArgumentTypeError(f"{str(path)!r} cannot be written")
        return path


def part(given: str) -> float | int | str:
    """A part of the rows: a fraction below 1, a count, or ``all``."""
    if given == "all":
        return given
    try:
        number = float(given) if "." in given else int(given)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a fraction, a count or 'all', got {given!r}") from None
    if number <= 0 or (isinstance(number, float) and number >= 1):
        raise argparse.ArgumentTypeError(f"a fraction lies between 0 and 1, a count is at least 1; got {given}")
    return number


def number_between(low: float, high: float, given: str) -> float:
    """A number strictly between two others."""
    try:
        number = float(given)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {given!r}") from None
    if not low < number < high:
        where = f"above {low:g}" if math.isinf(high) else f"strictly between {low:g} and {high:g}"
        raise argparse.ArgumentTypeError(f"a number {where} is needed; got {given}")
    return number


def parse_choice(given: str) -> tuple[str, Any]:
    """Name and value; several names stand with commas between, or as a Python list where a name has a comma.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such field, or the value cannot be meant.
    """
    name, equals, text = given.partition("=")
    name = OPTION_OF_ROLE.get(name.strip(), name.strip())
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {given!r}")
    if name not in OPTIONS:
        roles = [role for role in OPTION_OF_ROLE if role not in OPTIONS]
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join((*roles, *OPTIONS))}")
    value = OPTIONS[name]["type"].from_text(text)
    try:
        check_choices(Choices(**{name: value}))
    except InvalidUpload as invalid:
        raise argparse.ArgumentTypeError(str(invalid)) from None
    return name, value
