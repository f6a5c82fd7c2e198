"""``fit``: one method on one data set, saved; of very many rows a random sample is fitted on, which is said.

``--decide`` and ``--sets`` put a decision and prediction sets into the file, and say what they do on test rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from calib.apply import fewer_rows, sample_rows
from calib.apply.parts import has_blocks
from calib.apply.sample import MANY_ROWS, SAMPLED_ROWS
from calib.base import Calibrator
from calib.canonical import Kind
from calib.cli import text
from calib.cli.arguments import (
    Parser,
    Target,
    assignment,
    data_parser,
    keep_inputs,
    load_data,
    made_calibrator,
    method_with_parameters,
    refuse,
    say_warnings,
    split_data,
    split_options,
    warn_of_leak,
)
from calib.data import Choices, Predictions
from calib.data.limits import MAX_BYTES
from calib.data.options import FILES
from calib.data.scales import Scale
from calib.decisions import EventCut, Guarantee, PredictionSets, judged_answers, judged_sets
from calib.decisions.judgement import AnswerScores, Judged
from calib.decisions.set_scores import SetScores
from calib.export import provenance, runtime, writer
from calib.export.runtime import ExportedCalibrator
from calib.export.sql import check_sql
from calib.formatting import percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS, extras_for, registry_name
from calib.top_k import fit_top_k, said_of_labels

WHAT = "fit one method and save it"


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    given = parser().parse_args(arguments)
    keep_inputs(given, "out")
    check_decisions(given)
    if given.out.suffix.lower() in (".onnx", ".py", ".sql") and (given.sets is not None or given.decide is not None):
        refuse(
            given, f"a {given.out.suffix} holds probabilities alone; write --sets and --decide to a .zip, .npz or .pkl"
        )
    _check_onnx(given)
    start = _new(given) if given.method else _earlier(given)
    answer = text.Answer(given.json)
    data = _sampled_data(given, answer) if _is_large(given) else load_data(given)
    _check_outputs(given, start, data.kind, data.n_classes, data.scale)
    calibration, test = split_data(data, given)
    calibration, said = fewer_rows(calibration, len(calibration) if given.rows == "all" else given.rows, given.seed)
    answer.note(said and f"{said} Another number: --rows N; every row: --rows all.", "note")
    with text.progress(text.steps) as show:
        if isinstance(start, ExportedCalibrator):
            record = provenance.resume(start, calibration, progress=show)
        else:
            extras = extras_for(start, calibration)
            fit_top_k(start, calibration.logits, calibration.labels, progress=show, **extras)
            record = provenance.exported(start, {**provenance.describe(data), "n_rows": len(calibration)})
    fitted = record.calibrator
    scores = text.before_and_after(fitted, test) if test is not None else {}
    limits = _limits(given, len(calibration), 0 if test is None else len(test))
    decisions = decided(given, fitted, calibration, test)
    metadata = {**record.metadata, **limits, "scores": scores}
    writer.save(replace(record, metadata=metadata, **decisions.parts), given.out)
    _say_fit(answer, record.method, fitted, record.metadata["n_rows"], scores, test)
    if test is not None:
        answer.note(said_of_labels(test))
        warn_of_leak(data, answer)
    answer.say("\n".join(decisions.sentences), **decisions.fields)
    answer.say(f"Saved to {given.out}.", file=given.out)
    return answer.end()


def parser() -> Parser:
    """Of this command's arguments."""
    methods = "; ".join(f"{name}: {method.summary}" for name, method in METHODS.items())
    methods = methods.replace("%", "%%")  # argparse formats help texts
    parser = data_parser("fit", WHAT)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--method", type=method_with_parameters, metavar="NAME[:PARAMETER=VALUE,...]", help=methods)
    what.add_argument("--continue", dest="earlier", type=Path, metavar="CALIBRATOR",
                      help="go on with the .pkl of a calibrator (gpcalib): it learns from these rows too")  # fmt: skip
    parser.add_argument("--set", action="append", default=[], type=assignment, metavar="NAME=VALUE",
                        help="a parameter of the method; may be repeated")  # fmt: skip
    parser.add_argument("--out", required=True, type=Target(writer.SUFFIXES),
                        help="calibrator.npz, .zip or .pkl to write; .onnx is an ONNX model, .py a "
                        "PyTorch module, and .sql an expression of one score")  # fmt: skip
    parser.add_argument("--rows", type=_rows, metavar="N|all",
                        help="rows to fit on, drawn from those for calibration "
                        f"(default: {SAMPLED_ROWS:,} of more than {MANY_ROWS:,}, else all)")  # fmt: skip
    decision_options(parser)
    split_options(parser)
    return parser


def _check_onnx(given: argparse.Namespace) -> None:
    """Refuse, before the fit, a method that has no ONNX form."""
    if given.out.suffix.lower() == ".onnx":
        writer.check_onnx(given.method[0] if given.method else "gpcalib")


def _check_outputs(
    given: argparse.Namespace, start: Calibrator | ExportedCalibrator, kind: Kind, n_classes: int, scale: Scale | None
) -> None:
    """Refuse, before the fit, outputs of which no file of the wanted ending can be written."""
    suffix = given.out.suffix.lower()
    made = start.calibrator if isinstance(start, ExportedCalibrator) else start
    if suffix == ".sql":
        check_sql(made, kind, n_classes, scale)
    elif suffix == ".onnx":
        writer.check_onnx(registry_name(made) or "identity", kind)


def _limits(given: argparse.Namespace, n_calibration: int, n_test: int) -> dict[str, object]:
    """What an export records of the split; a calibrator that goes on was fitted on more rows than these."""
    part = "as given" if given.calibration is None else given.calibration
    fitted = {} if given.earlier else {"n_calibration": n_calibration}
    return {**fitted, "n_test": n_test, "split": {"part": part, "random_state": given.seed}}


def _new(given: argparse.Namespace) -> Calibrator:
    name, params = given.method
    return made_calibrator(given, name, {**params, **dict(given.set)})


def _earlier(given: argparse.Namespace) -> ExportedCalibrator:
    """The calibrator to go on with; zeros in the new data become its floor, on its scale."""
    if given.set:
        refuse(given, "--set goes with --method; a calibrator that goes on keeps its parameters")
    earlier = runtime.load(given.earlier)
    if earlier.floor is not None:
        given.read = [("floor", earlier.floor), *given.read]
    if earlier.scale is not None:
        given.read = [("scale", earlier.scale), *given.read]
    return earlier


def _rows(given: str) -> int | str:
    """A number of rows, or ``all``."""
    if given == "all" or (given.isdecimal() and int(given) > 1):
        return given if given == "all" else int(given)
    raise argparse.ArgumentTypeError(f"expected a number of rows from 2 upwards, or 'all', got {given!r}")


def _is_large(given: argparse.Namespace) -> bool:
    """Whether rows are drawn from the file instead of reading it at once: it is too large for that, or a folder."""
    return given.file.is_dir() or (has_blocks(given.file) and given.file.stat().st_size > MAX_BYTES)


def _sampled_data(given: argparse.Namespace, answer: text.Answer) -> Predictions:
    """Rows of a large file: as many to fit on as are asked for, and without ``--calibration`` as many to test on."""
    only_once = [name for name in ("isolate", *FILES) if name != "labels" and getattr(given, name)]
    if given.rows == "all" or only_once:
        option = "--rows all" if given.rows == "all" else f"--{only_once[0].replace('_', '-')}"
        refuse(given, f"{option} needs {given.file.name} to be read at once; rows are drawn from it, so leave it out")
    wanted = (given.rows or SAMPLED_ROWS) * (1 if given.calibration == "all" else 2)
    with text.progress(text.rows_done) as show:
        choices = Choices(**dict(given.read))
        data = sample_rows(
            given.file, wanted, labels=given.labels, choices=choices, random_state=given.seed, progress=show
        )
    say_warnings(data)
    for finding in data.findings:
        if finding.code == "sampled":
            answer.note(f"{finding.message} Another number to fit on: --rows N.", "note")
    return data


def _say_fit(
    answer: text.Answer,
    method: str,
    fitted: Calibrator,
    n_rows: int,
    scores: Mapping[str, Mapping[str, list[float]]],
    test: Predictions | None,
) -> None:
    """What was fitted, how that went, and what it does on test rows."""
    n_test = 0 if test is None else len(test)
    answer.say(f"{METHODS[method].title} fitted on {n_rows:,} rows.", method=method, rows=n_rows, test_rows=n_test)
    for note in fitted.notes():
        answer.note(note, "note")
    each = [{"score": key, **{when: Interval(*at) for when, at in of.items()}} for key, of in scores.items()]
    answer.say(text.score_lines(scores, n_test) if n_test else "", scores=each)


# -- what the file decides ---------------------------------------------------------------------------------------------

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


def check_decisions(given: argparse.Namespace) -> None:
    """Refuse, before the fit, what cannot be decided."""
    name, value = given.decide or ("risk", 0.5)
    if name not in WAYS or isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        refuse(given, "--decide takes cut=P or risk=R with a number between 0 and 1")
    if given.sets is not None and not 0 < given.sets < 1:
        refuse(given, "--sets takes a number between 0 and 1, such as 0.1 for a coverage of 90 %")
    needs_rows = given.sets is not None or (given.decide and name == "risk")
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
    coverage, size = with_interval(found.coverage), with_interval(found.mean_size)
    made.sentences.append(f"Prediction sets: {judged.made.said()}")
    made.sentences.append(f"{judged.said()} There the coverage is {coverage} and the mean size {size}.")
    scores = {"coverage": found.coverage, "mean_size": found.mean_size}
    quantiles = judged.made.quantiles
    made.fields["sets"] = {"alpha": judged.made.alpha, "quantiles": quantiles, "rows": len(found.size), **scores}
