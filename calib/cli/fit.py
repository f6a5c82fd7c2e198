"""``fit``: one method on one data set, saved."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from calib.base import Calibrator
from calib.cli import text
from calib.cli.arguments import assignment, method_with_parameters, target
from calib.cli.cli_stream import fit_streamed, is_streamed, stream_option
from calib.cli.data import data_command, load_data, made_calibrator, refuse, split_data, split_options, warn_of_leak
from calib.export import runtime
from calib.export.runtime import ExportedCalibrator
from calib.registry import METHODS, extras_for


def fit_command(commands: Any) -> argparse.ArgumentParser:
    """Add the command to a parser's commands."""
    methods = "; ".join(f"{name}: {method.summary}" for name, method in METHODS.items())
    methods = methods.replace("%", "%%")  # argparse formats help texts
    command = data_command(commands, "fit", _fit, "fit one method and save it")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--method", type=method_with_parameters, metavar="NAME[:PARAMETER=VALUE,...]", help=methods)
    what.add_argument("--continue", dest="earlier", type=Path, metavar="CALIBRATOR",
                      help="go on with a saved calibrator (gpcalib): it learns from these rows too")  # fmt: skip
    command.add_argument("--set", action="append", default=[], type=assignment, metavar="NAME=VALUE",
                         help="a parameter of the method; may be repeated")  # fmt: skip
    command.add_argument("--out", required=True, type=target(".pkl", ".npz", ".zip"),
                         help="calibrator.pkl, .npz (with .json) or .zip to write")  # fmt: skip
    stream_option(command)
    split_options(command)
    return command


def _fit(given: argparse.Namespace) -> int:
    from calib.export import writer

    start = _new(given) if given.method else _earlier(given)
    if is_streamed(given):
        return fit_streamed(given, start)
    data = load_data(given)
    calibration, test = split_data(data, given)
    if isinstance(start, ExportedCalibrator):
        record = writer.resume(start, calibration, callback=text.progress())
    else:
        extras = extras_for(start, calibration)
        start.fit(calibration.logits, calibration.labels, callback=text.progress(), **extras)
        record = writer.exported(start, {**writer.describe(data), "n_rows": len(calibration)})
    fitted = record.calibrator
    scores = text.before_and_after(fitted, test) if test is not None else {}
    writer.save(replace(record, metadata={**record.metadata, "scores": scores}), given.out)
    print(f"{METHODS[record.method].title} fitted on {record.metadata['n_rows']:,} rows.")
    print("\n".join(f"note: {note}" for note in fitted.notes()), end="\n" if fitted.notes() else "")
    if test is not None:
        print(text.score_lines(scores, len(test)))
        warn_of_leak(data)
    print(f"Saved to {given.out}.")
    return 0


def _new(given: argparse.Namespace) -> Calibrator:
    name, params = given.method
    return made_calibrator(given, name, {**params, **dict(given.set)})


def _earlier(given: argparse.Namespace) -> ExportedCalibrator:
    """The calibrator to go on with; zeros in the new data become its floor."""
    if given.set:
        refuse(given, "--set goes with --method; a calibrator that goes on keeps its parameters")
    earlier = runtime.load(given.earlier)
    if earlier.floor is not None:
        given.read = [("floor", earlier.floor), *given.read]
    return earlier
