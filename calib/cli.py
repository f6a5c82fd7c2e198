"""The command line: inspect, fit, compare, apply and check.

Exit status: 0 for success, 1 where the data or a fit are at fault (one sentence each on standard error), 2 where
the command is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from calib import cli_text as text
from calib import runtime
from calib.base import CalibrationError, Calibrator
from calib.cli_choices import parse_choice
from calib.cli_studies import study, study_options
from calib.cli_types import assignment, part, target
from calib.data import Choices, DataError, Predictions, inspect, load, read_features, read_outputs
from calib.extras import missing_package
from calib.registry import METHODS, calibrator, extras_for, presets
from calib.runtime import ExportedCalibrator

FORMATS = "npz, npy, csv, tsv, parquet or hdf5"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status, or exits with 2 where the command is not understood."""
    given = _parser().parse_args(arguments)
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
    found = inspect(given.file, **_files(given), choices=Choices(**dict(given.read)))
    print(text.inspection(found))
    return 0 if found.predictions is not None else 1


def _fit(given: argparse.Namespace) -> int:
    from calib import export

    start = _made(given, given.method, dict(given.set)) if given.method else _earlier(given)
    data = _load(given)
    calibration, test = _split(data, given)
    if isinstance(start, ExportedCalibrator):
        record = export.resume(start, calibration, callback=text.progress())
    else:
        extras = extras_for(start, calibration)
        start.fit(calibration.logits, calibration.labels, callback=text.progress(), **extras)
        record = export.exported(start, {**export.describe(data), "n_rows": len(calibration)})
    fitted = record.calibrator
    scores = text.before_and_after(fitted, test) if test is not None else {}
    export.save(replace(record, metadata={**record.metadata, "scores": scores}), given.out)
    print(f"{METHODS[record.method].title} fitted on {record.metadata['n_rows']:,} rows.")
    print("\n".join(f"note: {note}" for note in fitted.notes()), end="\n" if fitted.notes() else "")
    if test is not None:
        print(text.score_lines(scores, len(test)))
    print(f"Saved to {given.out}.")
    return 0


def _earlier(given: argparse.Namespace) -> ExportedCalibrator:
    """The calibrator to go on with; zeros in the new data become its floor."""
    if given.set:
        _refuse(given, "--set goes with --method; a calibrator that goes on keeps its parameters")
    earlier = runtime.load(given.earlier)
    if earlier.floor is not None:
        given.read = [("floor", earlier.floor), *given.read]
    return earlier


def _compare(given: argparse.Namespace) -> int:
    from calib.compare import compare, verdict

    data = _load(given)
    methods = {name: _made(given, name, {}) for name in _names(given, data)}
    calibration, test = _split(data, given)
    if test is None:
        _refuse(given, "a comparison needs rows to test on; --calibration all leaves none")
    table = compare(methods, calibration, test)
    print(text.score_table(table))
    print(f"\n{verdict(table)}")
    if given.csv:
        table.to_csv(given.csv, index=False)
        print(f"All scores, intervals and differences are in {given.csv}.")
    study(given, methods, data, calibration, test)
    return 0


def _apply(given: argparse.Namespace) -> int:
    from calib import predict_file

    exported = runtime.load(given.calibrator)
    features = None
    if given.file.suffix.lower() == ".csv" and not given.read and find_spec("pyarrow") is None:
        outputs = predict_file.read_outputs(given.file)  # an installation for prediction has NumPy alone
        features = predict_file.features_for(exported, given.file, given.features)
    else:
        choices = Choices(**{"outputs": given.key, **dict(given.read)})
        outputs = read_outputs(given.file, choices)
        if exported.needs_features and given.features:
            features = read_features(given.features, beside_outputs=False)
        elif exported.needs_features:
            features = read_features(given.file, choices)
    logits = exported.to_logits(outputs)
    predict_file.write_predictions(given.out, exported, logits, features)
    print(predict_file.written(given.out, exported, len(logits)))
    return 0


def _check(given: argparse.Namespace) -> int:
    from calib import recheck

    exported = runtime.load(given.calibrator)
    files = {role: getattr(given, role) for role in ("labels", "features") if getattr(given, role)}
    fresh = recheck.read_fresh(exported, given.file, choices=Choices(**dict(given.read)), **files)
    if fresh.data is None:
        raise DataError(list(fresh.inspection.findings))
    if fresh.noticed:
        print(text.findings(fresh.noticed), file=sys.stderr)
    raw, now = recheck.judge(exported, fresh.data)
    before, n_before = recheck.recorded_scores(exported.metadata)
    found = recheck.recheck(now, raw, before, n_before=n_before)
    print(text.recheck_lines(found, METHODS[exported.method].title, fresh.notes))
    return 0


def _load(given: argparse.Namespace) -> Predictions:
    data = load(given.file, **_files(given), choices=Choices(**dict(given.read)))
    noticed = [finding for finding in data.findings if finding.level == "warning"]
    if noticed:
        print(text.findings(noticed), file=sys.stderr)
    return data


def _files(given: argparse.Namespace) -> dict[str, Path | None]:
    """The files beside the first one, by what they hold."""
    return {role: getattr(given, role) for role in ("labels", "test", "features", "train_features", "train_labels")}


def _split(data: Predictions, given: argparse.Namespace) -> tuple[Predictions, Predictions | None]:
    """Calibration and test part; the test part is None where all rows are for calibration."""
    if given.calibration == "all":
        return data, None
    calibration, test = data.split(given.calibration, random_state=given.seed)
    if len(calibration) < 2:
        raise CalibrationError("The calibration set has 1 row, from which nothing can be learned; give more of them.")
    return calibration, test


def _made(given: argparse.Namespace, name: str, params: dict[str, Any]) -> Calibrator:
    try:
        return calibrator(name, **{"random_state": given.seed, **params})
    except CalibrationError as error:
        _refuse(given, str(error))


def _refuse(given: argparse.Namespace, reason: str) -> NoReturn:
    """Say that the command is at fault, with its usage, and exit with 2."""
    given.error(reason)
    raise SystemExit(2)


def _names(given: argparse.Namespace, data: Predictions) -> list[str]:
    """Methods asked for by name or by preset; presets leave out those whose arrays the data do not hold."""
    offered = presets(data)
    chosen = {"fast": offered["Fast"], "papers": offered["From the papers"], "all": offered["All"]}
    return chosen.get(given.methods) or [name.strip() for name in given.methods.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m calib", description="Check and mend a classifier's confidence.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    methods = "; ".join(f"{name}: {method.summary}" for name, method in METHODS.items())
    methods = methods.replace("%", "%%")  # argparse formats help texts

    command = _data_command(commands, "inspect", _inspect, "say what a file holds and what is odd about it")

    command = _data_command(commands, "fit", _fit, "fit one method and save it")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--method", choices=list(METHODS), metavar="NAME", help=methods)
    what.add_argument("--continue", dest="earlier", type=Path, metavar="CALIBRATOR",
                      help="go on with a saved calibrator (gpcalib): it learns from these rows too")  # fmt: skip
    command.add_argument("--set", action="append", default=[], type=assignment, metavar="NAME=VALUE",
                         help="a parameter of the method; may be repeated")  # fmt: skip
    command.add_argument("--out", required=True, type=target(".pkl", ".npz", ".zip"),
                         help="calibrator.pkl, .npz (with .json) or .zip to write")  # fmt: skip
    _split_options(command)

    command = _data_command(commands, "compare", _compare, "fit several methods and score them on held-out rows")
    command.add_argument("--methods", default="fast", help="all, fast (default), papers, or names with commas between")
    command.add_argument("--csv", type=target(), help="file for the whole table")
    study_options(command)
    _split_options(command)

    command = commands.add_parser("apply", help="calibrate new outputs with a saved calibrator")
    command.set_defaults(run=_apply)
    command.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    command.add_argument(
        "file",
        type=Path,
        help=f"a model's outputs: {FORMATS}; labels are not needed, features where the calibrator predicts from them",
    )
    command.add_argument("--features", type=Path, help="the rows' features, where they have their own file")
    command.add_argument("--key", help="name of the array with the outputs; the same as --read outputs=NAME")
    _read_option(command)
    command.add_argument("--out", type=target(".npz", ".npy", ".csv"), default=Path("calibrated.npz"),
                         help=".npz, .npy or .csv to write")  # fmt: skip

    command = commands.add_parser("check", help="say whether a saved calibrator still holds on fresh labelled rows")
    command.set_defaults(run=_check)
    command.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    command.add_argument("file", type=Path, help=f"fresh outputs of the same model with labels: {FORMATS}")
    command.add_argument("--labels", type=Path, help="the labels, where they have their own file")
    command.add_argument("--features", type=Path, help="the rows' features, where they have their own file")
    _read_option(command)
    return parser


def _data_command(commands: Any, name: str, run: Any, help: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help)
    command.set_defaults(run=run, error=command.error)
    command.add_argument("file", type=Path, help=f"a model's outputs with labels: {FORMATS}")
    command.add_argument("--labels", type=Path, help="the labels, where they have their own file")
    command.add_argument("--test", type=Path, help="a second file to test on; the first is then for calibration")
    command.add_argument("--features", type=Path, metavar="FILE",
                         help="features of all rows, in their own file, perhaps with the training set")  # fmt: skip
    command.add_argument("--train-features", type=Path, metavar="FILE",
                         help="features of the training set, where they have their own file")  # fmt: skip
    command.add_argument("--train-labels", type=Path, metavar="FILE",
                         help="labels of the training set, where they have their own file")  # fmt: skip
    _read_option(command)
    return command


def _read_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--read", action="append", default=[], type=parse_choice, metavar="NAME=VALUE",
                         help="how to read the file where the guess is wrong, such as kind=logits, labels=y or "
                         "outputs=p_0,p_1; may be repeated")  # fmt: skip


def _split_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--calibration", type=part, metavar="PART",
                         help="rows to fit on: fraction, count or all; else the file's split, or half")  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="of the split and of the fit")
