"""The options of ``fit`` that put a decision and prediction sets into the file, and what they do on test rows."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

from calib.base import Calibrator
from calib.cli.arguments import assignment, refuse
from calib.data import Predictions
from calib.decisions import EventCut, Guarantee, PredictionSets, judged_answers, judged_sets
from calib.decisions.judgement import AnswerScores, Judged
from calib.decisions.set_scores import SetScores
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


@dataclass
class Decided:
    """What a file is to carry beside the calibrator, and what is said of it.

    Attributes
    ----------
    parts : "decision" and "sets" of the file, those that were asked for; None where nothing could be certified.
    sentences : about both, with what they do on rows that they are not of.
    fields : the same numbers for JSON, "decision" and "sets".
    """

    parts: dict[str, Any] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)


def decided(
    given: argparse.Namespace, fitted: Calibrator, calibration: Predictions, test: Predictions | None
) -> Decided:
    """What was asked for; sets and thresholds are of one half of the test rows, drawn by the command's seed."""
    made = Decided()
    name, value = given.decide or ("", 0.0)
    if name == "cut":
        column = 1 if calibration.event is None else calibration.event.column
        made.parts["decision"] = EventCut(cut=value, column=column)
        made.sentences.append(made.parts["decision"].said(calibration.class_names))
        made.fields["decision"] = {"rule": "cut", "cut": value, "class": calibration.class_names[column]}
    if name == "risk" and test is not None:
        _certify(made, judged_answers(fitted, test, calibration, value, random_state=given.seed))
    if given.sets is not None and test is not None:
        _hold_sets(made, judged_sets(fitted, test, given.sets, random_state=given.seed))
    return made


def _certify(made: Decided, judged: Judged[Guarantee, AnswerScores | None]) -> None:
    """A threshold of the confidence, where one is certified."""
    found, rule = judged.found, judged.made.rule
    made.parts["decision"] = rule
    made.sentences.append(judged.made.said())
    made.fields["decision"] = {"rule": "risk", "risk": judged.made.risk, "delta": judged.made.delta, "threshold": None}
    if found is None or rule is None:
        made.sentences.append("warning: the file holds no decision.")
        return
    error, share = with_interval(found.error), percent(found.coverage.value)
    made.sentences.append(f"{judged.said()} There {share} are answered, with an error of {error}.")
    scores = {"rows": found.n, "answered": found.coverage, "error": found.error}
    made.fields["decision"] |= {"threshold": rule.threshold, **scores}


def _hold_sets(made: Decided, judged: Judged[PredictionSets, SetScores]) -> None:
    """Prediction sets."""
    found, made.parts["sets"] = judged.found, judged.made
    coverage, size, empty = with_interval(found.coverage), with_interval(found.mean_size), percent(found.empty.value)
    made.sentences.append(f"Prediction sets: {judged.made.said()}")
    made.sentences.append(
        f"{judged.said()} There the coverage is {coverage}, the mean size {size}, and {empty} are empty."
    )
    scores = {"coverage": found.coverage, "mean_size": found.mean_size, "empty": found.empty}
    quantiles = judged.made.quantiles
    made.fields["sets"] = {"alpha": judged.made.alpha, "quantiles": quantiles, "rows": len(found.size), **scores}
