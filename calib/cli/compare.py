"""``compare``: several methods on held-out rows, as a table, a verdict and a report."""

from __future__ import annotations

import argparse
from typing import Any

from calib.base import Calibrator
from calib.cli import text
from calib.cli.arguments import method_with_parameters, target
from calib.cli.cli_studies import study, study_options
from calib.cli.data import (
    data_command,
    files_of,
    load_data,
    made_calibrator,
    refuse,
    split_data,
    split_options,
    warn_of_leak,
)
from calib.csv_cells import safe_table
from calib.data import Predictions
from calib.registry import calibrator, presets, title_of


def compare_command(commands: Any) -> argparse.ArgumentParser:
    """Add the command to a parser's commands."""
    command = data_command(commands, "compare", _compare, "fit several methods and score them on held-out rows")
    command.add_argument("--methods", help="all, fast (default), papers, or names with commas between")
    command.add_argument("--method", action="append", default=[], type=method_with_parameters,
                         metavar="NAME[:PARAMETER=VALUE,...]",
                         help="a method with parameters of its own; may be repeated")  # fmt: skip
    command.add_argument("--csv", type=target(), help="file for the whole table")
    command.add_argument("--report", type=target(".html"), help="report.html to hand over: figures, tables, settings")
    study_options(command)
    split_options(command)
    return command


def _compare(given: argparse.Namespace) -> int:
    from calib.evaluation.compare import BASELINE, compare_evaluations, fit_and_evaluate
    from calib.evaluation.verdict import verdict

    data = load_data(given)
    methods = _methods(given, data)
    calibration, test = split_data(data, given)
    if test is None:
        refuse(given, "a comparison needs rows to test on; --calibration all leaves none")
    found = fit_and_evaluate(methods, calibration, test)
    table = compare_evaluations(found.evaluations, seconds=found.seconds, notes=found.notes)
    print(text.score_table(table))
    print(f"\n{verdict(table)}")
    warn_of_leak(data)
    if given.csv:
        safe_table(table).to_csv(given.csv, index=False)
        print(f"All scores, intervals and differences are in {given.csv}.")
    if given.report:
        from calib.cli.cli_report import write_report

        raw = {BASELINE: calibrator(BASELINE).fit(calibration.logits, calibration.labels)}
        write_report(given, files_of(given), data, (calibration, test), {**raw, **methods}, found, table)
    study(given, methods, data, calibration, test)
    return 0


def _methods(given: argparse.Namespace, data: Predictions) -> dict[str, Calibrator]:
    """What is compared: methods at their defaults by name, and those with parameters by their titles."""
    methods = {name: made_calibrator(given, name, {}) for name in _names(given, data)}
    for name, params in given.method:
        made = made_calibrator(given, name, params)
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
