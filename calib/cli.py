"""The command line: inspect, fit, compare, apply, check and settings.

Exit status: 0 for success, 1 where the data or a fit are at fault (one sentence each on standard error), 2 where
the command or a setting is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from calib import cli_text as text
from calib import runtime, settings
from calib.base import CalibrationError, Calibrator
from calib.cli_apply import apply_command
from calib.cli_choices import parse_choice
from calib.cli_settings import settings_command
from calib.cli_stream import fit_streamed, is_streamed, stream_option
from calib.cli_studies import study, study_options
from calib.cli_types import assignment, method_with_parameters, part, target
from calib.csv_cells import safe_table
from calib.data import Choices, DataError, Predictions, inspect, load
from calib.data.findings.feature_quality import leak
from calib.extras import missing_package
from calib.registry import METHODS, calibrator, extras_for, presets, title_of
from calib.runtime import ExportedCalibrator

FORMATS = "npz, npy, csv, tsv, parquet or hdf5"


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
    found = inspect(given.file, **_files(given), choices=Choices(**dict(given.read)))
    print(text.inspection(found))
    return 0 if found.predictions is not None else 1


def _fit(given: argparse.Namespace) -> int:
    from calib import export

    start = _made(given, given.method, dict(given.set)) if given.method else _earlier(given)
    if is_streamed(given):
        return fit_streamed(given, start)
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
        _warn_of_leak(data)
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
    from calib.compare import BASELINE, compare_evaluations, fit_and_evaluate, verdict

    data = _load(given)
    methods = _methods(given, data)
    calibration, test = _split(data, given)
    if test is None:
        _refuse(given, "a comparison needs rows to test on; --calibration all leaves none")
    found = fit_and_evaluate(methods, calibration, test)
    table = compare_evaluations(found.evaluations, seconds=found.seconds, notes=found.notes)
    print(text.score_table(table))
    print(f"\n{verdict(table)}")
    _warn_of_leak(data)
    if given.csv:
        safe_table(table).to_csv(given.csv, index=False)
        print(f"All scores, intervals and differences are in {given.csv}.")
    if given.report:
        from calib.cli_report import write_report

        raw = {BASELINE: calibrator(BASELINE).fit(calibration.logits, calibration.labels)}
        write_report(given, _files(given), data, (calibration, test), {**raw, **methods}, found, table)
    study(given, methods, data, calibration, test)
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
    if exported.metadata.get("data_sha256") == fresh.data.sha256:
        print(f"warning: {recheck.NOT_FRESH}")
    return 0


def _load(given: argparse.Namespace) -> Predictions:
    data = load(given.file, **_files(given), choices=Choices(**dict(given.read)))
    noticed = [finding for finding in data.findings if finding.level == "warning"]
    if noticed:
        print(text.findings(noticed), file=sys.stderr)
    return data


def _warn_of_leak(data: Predictions) -> None:
    """Repeat beside the scores what makes them worthless; they are what is copied on."""
    if found := leak(data.findings):
        print(f"warning: {found}")


def _files(given: argparse.Namespace) -> dict[str, Path | None]:
    """The files beside the first one, by what they hold."""
    roles = ("labels", "test", "test_labels", "features", "train_features", "train_labels")
    return {role: getattr(given, role) for role in roles}


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


def _methods(given: argparse.Namespace, data: Predictions) -> dict[str, Calibrator]:
    """What is compared: methods at their defaults by name, and those with parameters by their titles."""
    methods = {name: _made(given, name, {}) for name in _names(given, data)}
    for name, params in given.method:
        made = _made(given, name, params)
        # The command's own seed is that of all methods, and no part of a title.
        methods[title_of(calibrator(name, **params), name) if params else name] = made
    return methods


def _names(given: argparse.Namespace, data: Predictions) -> list[str]:
    """Methods asked for by name or by preset; presets leave out those whose arrays the data do not hold."""
    offered = presets(data)
    if given.methods is None:
        return [] if given.method else offered["Fast"]
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
    stream_option(command)
    _split_options(command)

    command = _data_command(commands, "compare", _compare, "fit several methods and score them on held-out rows")
    command.add_argument("--methods", help="all, fast (default), papers, or names with commas between")
    command.add_argument("--method", action="append", default=[], type=method_with_parameters,
                         metavar="NAME[:PARAMETER=VALUE,...]",
                         help="a method with parameters of its own; may be repeated")  # fmt: skip
    command.add_argument("--csv", type=target(), help="file for the whole table")
    command.add_argument("--report", type=target(".html"), help="report.html to hand over: figures, tables, settings")
    study_options(command)
    _split_options(command)

    _read_option(apply_command(commands, FORMATS))
    command = commands.add_parser("check", help="say whether a saved calibrator still holds on fresh labelled rows")
    command.set_defaults(run=_check)
    command.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    command.add_argument("file", type=Path, help=f"fresh outputs of the same model with labels: {FORMATS}")
    command.add_argument("--labels", type=Path, help="the labels, where they have their own file")
    command.add_argument("--features", type=Path, help="the rows' features, where they have their own file")
    _read_option(command)
    settings_command(commands)
    return parser


def _data_command(commands: Any, name: str, run: Any, help: str) -> argparse.ArgumentParser:
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
