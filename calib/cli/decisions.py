"""The options of ``fit`` that put a decision and prediction sets into the file, and what they do on test rows."""

from __future__ import annotations

import argparse
from typing import Any

from calib.base import Calibrator
from calib.cli.arguments import assignment, refuse
from calib.data import Predictions
from calib.decisions import EventCut, judged_answers, judged_sets
from calib.formatting import percent, with_interval

WAYS = ("cut", "risk")


def decision_options(command: argparse.ArgumentParser) -> None:
    """Let a decision and prediction sets be chosen."""
    command.add_argument("--decide", type=assignment, metavar="cut=P|risk=R",
                         help="what the file decides: act where the event's probability is at least P (two classes), "
                         "or answer where the error among answers is at most R with confidence 95 %%, tested on half "
                         "of the test rows")  # fmt: skip
    command.add_argument("--sets", type=float, metavar="ALPHA",
                         help="prediction sets that hold the label in 1 - ALPHA of cases; their quantile is of half of "
                         "the test rows")  # fmt: skip


def check_options(given: argparse.Namespace) -> None:
    """Refuse, before the fit, what cannot be decided."""
    name, value = given.decide or ("risk", 0.5)
    if name not in WAYS or isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        refuse(given, "--decide takes cut=P or risk=R with a number between 0 and 1")
    if given.sets is not None and not 0 < given.sets < 1:
        refuse(given, "--sets takes a number between 0 and 1, such as 0.1 for a coverage of 90 %")
    needs_rows = given.sets is not None or (given.decide and name == "risk")
    if given.stream and (given.decide or given.sets is not None):
        refuse(given, "--decide and --sets are for files that are read at once; leave out --stream")
    if needs_rows and given.calibration == "all":
        refuse(given, "--sets and --decide risk=R need test rows; leave out --calibration all")


def decided(
    given: argparse.Namespace, fitted: Calibrator, calibration: Predictions, test: Predictions | None
) -> tuple[dict[str, Any], list[str]]:
    """What the file is to carry, and sentences about it.

    Sets and thresholds are of one half of the test rows, drawn by the command's seed, and judged on the other.
    """
    made: dict[str, Any] = {}
    said: list[str] = []
    name, value = given.decide or ("", 0.0)
    if name == "cut":
        column = 1 if calibration.event is None else calibration.event.column
        made["decision"] = EventCut(cut=value, column=column)
        said.append(made["decision"].said(calibration.class_names))
    if name == "risk" and test is not None:
        answers = judged_answers(fitted, test, calibration, value, random_state=given.seed)
        made["decision"] = answers.made.rule
        said.append(answers.made.said())
        if answers.found is not None:
            error, share = with_interval(answers.found.error), percent(answers.found.coverage.value)
            said.append(f"{answers.said()} There {share} are answered, with an error of {error}.")
        else:
            said.append("warning: the file holds no decision.")
    if given.sets is not None and test is not None:
        sets = judged_sets(fitted, test, given.sets, random_state=given.seed)
        made["sets"] = sets.made
        coverage, size = with_interval(sets.found.coverage), with_interval(sets.found.mean_size)
        empty = percent(sets.found.empty.value)
        said.append(f"Prediction sets: {sets.made.said()}")
        said.append(f"{sets.said()} There the coverage is {coverage}, the mean size {size}, and {empty} are empty.")
    return made, said
