"""Shared parts of the commands: the types of their arguments, and the data that they name."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Signature, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NoReturn

from typer import Argument, BadParameter, Option

from calib.base import Calibrator
from calib.cli import text
from calib.data import Choices, LoadOptions, Predictions
from calib.data.findings import InvalidUpload
from calib.data.loading import check_choices, load_quietly
from calib.data.options import FILES, FORMATS, OPTION_OF_ROLE, OPTIONS
from calib.data.split import describe_clusters, part_size
from calib.errors import CalibrationError, Finding
from calib.formatting import single_line
from calib.registry import calibrator


def refuse(reason: str) -> NoReturn:
    """Say that the command is at fault; it ends with 2."""
    raise BadParameter(reason)


def part(value: str) -> float | int | str:
    """A part of the rows: a fraction below 1, a count, or ``all``."""
    if value == "all":
        return value
    try:
        number = float(value) if "." in value else int(value)
    except ValueError:
        refuse(f"expected a fraction, a count or 'all', got {value!r}")
    if number <= 0 or (isinstance(number, float) and number >= 1):
        refuse(f"a fraction lies between 0 and 1, a count is at least 1; got {value}")
    return number


def target(value: str) -> Path:
    """A file to write, which is looked at before the work starts."""
    path = Path(value)
    if not path.parent.is_dir():
        refuse(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        refuse(f"{str(path)!r} cannot be written")
    return path


def must_end(path: Path | None, endings: Iterable[str]) -> None:
    """Refuse a file to write whose ending names no format of the command."""
    if path is not None and path.suffix.lower() not in endings:
        refuse(f"{path.name!r} does not end in {' or '.join(endings)}")


def named(option: str) -> tuple[str, str]:
    """``NAME=VALUE`` as both."""
    name, equals, value = option.partition("=")
    if not (name and equals):
        refuse(f"expected NAME=VALUE, got {option!r}")
    return name.strip(), value


def assignment(option: str) -> tuple[str, Any]:
    """``n_inducing=20`` as a name and a number, truth value, None or word."""
    name, value = named(option)
    try:
        return name, ast.literal_eval(
            value.capitalize() if value.lower() in ("true", "false", "none") else value
        )
    except (ValueError, SyntaxError):
        return name, value


def method_with_parameters(option: str) -> tuple[str, dict[str, Any]]:
    """``isotonic:share_classes=False,normalize=False`` as a method's name and its parameters."""
    name, _, parameters = option.partition(":")
    return name.strip(), dict(
        assignment(parameter) for parameter in parameters.split(",") if parameter
    )


def parse_choice(option: str) -> tuple[str, Any]:
    """Name and value; several names stand with commas between, or as a Python list where a name has a comma."""
    name, value = named(option)
    name = OPTION_OF_ROLE.get(name, name)
    if name not in OPTIONS:
        roles = [role for role in OPTION_OF_ROLE if role not in OPTIONS]
        refuse(f"{name!r} is not one of {', '.join((*roles, *OPTIONS))}")
    chosen = OPTIONS[name]["type"].from_text(value)
    try:
        check_choices(Choices(**{name: chosen}))
    except InvalidUpload as invalid:
        refuse(str(invalid))
    return name, chosen


def _file(name: str) -> Any:
    return Option(help=FILES[name], metavar="FILE")


DataFile = Annotated[
    Path, Argument(help=f"A model's outputs with labels: {FORMATS}; - for standard input.")
]
CalibratorFile = Annotated[
    Path, Argument(help="A saved calibrator: .npz, .zip, or a .pkl that you trust.")
]
Labels = Annotated[Path | None, _file("labels")]
Read = Annotated[
    list[str],
    Option(
        metavar="NAME=VALUE",
        help="How to read the file where what was inferred is wrong: roles of columns such as outcome=default and "
        "outputs=pd, or options such as kind=logits; may be repeated.",
    ),
]
Isolate = Annotated[
    bool | None,
    Option(
        "--isolate/--no-isolate",
        help="Read files in a process with limits; without either HDF5 alone, on Linux.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print the answer as JSON and nothing else.")]
PART = "Rows to fit on: fraction, count or all; else the file's split, or half."
Part = Annotated[Any, Option(parser=part, metavar="PART", help=PART)]
Seed = Annotated[int, Option(help="Of the split and of the fit.")]
NAMED = "NAME[:PARAMETER=VALUE,...]"
"""A method with its parameters, in help."""


def choices(read: Iterable[str]) -> Choices:
    """Options of reading, from the values of ``--read``."""
    return Choices(**dict(map(parse_choice, read)))


@dataclass(frozen=True)
class Inputs:
    """The data set that a command was given, in one file or several, and how it is read."""

    file: Path
    options: LoadOptions

    def load(self, silent: bool = False) -> Predictions:
        """Read the data; warnings go to standard error, unless the command has its own way with them."""
        data = load_quietly(self.file, self.options)
        if not silent:
            say_warnings(data.findings)
        return data

    @property
    def paths(self) -> list[Path]:
        """Every file that is read."""
        return [
            self.file,
            *(path for path in self.options.files.values() if isinstance(path, Path)),
        ]


@contextmanager
def standard_input(file: Path) -> Iterator[Path]:
    """The file itself; for ``-`` what comes from standard input, in a file of its own until the command ends."""
    if str(file) != "-":
        yield file
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "standard input")
        path.write_bytes(sys.stdin.buffer.read())
        yield path


def on_data(command: Callable[..., int]) -> Callable[..., int]:
    """Make a command of a function of a :class:`Inputs`, an :class:`~calib.cli.text.Output` and its own options.

    The command takes a file, the function's own options, and the options that all commands on data share.
    """

    def run(
        file: DataFile,
        labels: Labels = None,
        test: Annotated[Path | None, _file("test")] = None,
        test_labels: Annotated[Path | None, _file("test_labels")] = None,
        read: Read = [],  # noqa: B006  # Typer copies it
        isolate: Isolate = None,
        json: Json = False,
        **arguments: Any,
    ) -> int:
        options = LoadOptions(
            labels=labels,
            test=test,
            test_labels=test_labels,
            choices=choices(read),
            isolate=isolate,
        )
        with standard_input(file) as path:
            return command(Inputs(path, options), text.Output(json), **arguments)

    file, *shared, _ = signature(run, eval_str=True).parameters.values()
    _, _, *specific = signature(command, eval_str=True).parameters.values()
    parameters = [file, *specific, *shared]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def say_warnings(findings: Iterable[Finding]) -> None:
    """Say what was noticed while the data were read."""
    noticed = [finding for finding in findings if finding.level == "warning"]
    if noticed:
        text.say(text.findings(noticed), apart=True)


def split_data(
    data: Predictions, calibration: Any, seed: int
) -> tuple[Predictions, Predictions | None]:
    """Calibration and test part; the test part is None where all rows are for calibration."""
    if calibration == "all":
        return data, None
    first, second = data.split(calibration, random_state=seed)
    if len(first) < 2:
        raise CalibrationError(
            "The calibration set has 1 row, from which nothing can be learned; give more of them."
        )
    drawn = calibration is not None or data.given_split is None
    size = part_size(calibration or 0.5, len(data)) if drawn else None
    if sentence := describe_clusters(first.clusters, second.clusters, size):
        text.say(f"note: {sentence}", apart=True)
    return first, second


def unfitted_calibrator(name: str, params: Mapping[str, Any], seed: int) -> Calibrator:
    """A calibrator with the command's seed; parameters that it does not take are the command's fault."""
    try:
        return calibrator(name, **{"random_state": seed, **params})
    except CalibrationError as error:
        refuse(str(error))


def keep_inputs(inputs: Iterable[Path], **outputs: Path | None) -> None:
    """Refuse, before the work starts, to write over a file that the command reads, or two answers to one file."""
    reasons = {path.resolve(): "is read too and would be overwritten" for path in inputs}
    for name, path in outputs.items():
        if path is not None:
            if why := reasons.get(path.resolve()):
                refuse(f"{single_line(path.name)} {why}; give --{name} another name")
            reasons[path.resolve()] = "is to be written twice"
