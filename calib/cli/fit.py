"""``fit``: one method on one data set, saved; of very many rows a random sample is fitted on, which is said.

``--decide`` and ``--sets`` put a decision and prediction sets into the file, and say what they do on test rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from calib.apply import fewer_rows, sample_rows
from calib.apply.parts import has_blocks
from calib.apply.sample import MANY_ROWS, SAMPLED_ROWS
from calib.base import Calibrator
from calib.cli import arguments, text
from calib.data import Choices, Predictions
from calib.data.limits import MAX_BYTES
from calib.decisions import EventCut, judged_answers, judged_sets
from calib.export import provenance, runtime, writer
from calib.export.runtime import ExportedCalibrator
from calib.export.sql import check_sql
from calib.formatting import percent, plural, with_interval
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS, extras_for, registry_name
from calib.top_k import fit_top_k, said_of_labels

BARE = (".onnx", ".py", ".sql")
"""Files that hold probabilities alone."""
DRAWN = f"default: {SAMPLED_ROWS:,} of more than {MANY_ROWS:,}, else all"
DECIDE = (
    "What the file decides: act where the event's probability is at least P (two classes), or answer where the error "
    "among answers is at most R with confidence 95 %, tested on half of the test rows."
)
SETS = "Prediction sets that hold the label in 1 - ALPHA of cases; their quantile is of half of the test rows."


def _rows(given: str) -> int | str:
    """A number of rows, or ``all``."""
    if given == "all":
        return given
    if given.isdecimal() and int(given) > 1:
        return int(given)
    arguments.refuse(f"expected a number of rows from 2 upwards, or 'all', got {given!r}")


@arguments.on_data
def fit(
    given: arguments.Given,
    answer: text.Answer,
    out: Annotated[
        Path, Option(parser=arguments.target, metavar="FILE", help=f"What to write: {', '.join(writer.SUFFIXES)}.")
    ],
    method: Annotated[str | None, Option(metavar=arguments.NAMED, help=f"One of {', '.join(METHODS)}.")] = None,
    earlier: Annotated[
        Path | None, Option("--continue", help="Go on with the .pkl of a calibrator (gpcalib) in place of --method.")
    ] = None,
    rows: Annotated[
        Any, Option(parser=_rows, metavar="N|all", help=f"Rows to fit on, drawn at random ({DRAWN}).")
    ] = None,
    decide: Annotated[Any, Option(parser=arguments.assignment, metavar="cut=P|risk=R", help=DECIDE)] = None,
    sets: Annotated[float | None, Option(metavar="ALPHA", help=SETS)] = None,
    calibration: arguments.Part = None,
    seed: arguments.Seed = 0,
) -> int:
    """Fit one method and save it."""
    if (method is None) == (earlier is None):
        arguments.refuse("give either --method or --continue")
    arguments.must_end(out, writer.SUFFIXES)
    arguments.keep_inputs(given.paths, out=out)
    _check_decisions(decide, sets, calibration, out)
    if method is not None:
        name, params = arguments.method_with_parameters(method)
        start: Calibrator | ExportedCalibrator = arguments.made_calibrator(name, params, seed)
    else:
        assert earlier is not None
        start = runtime.load(earlier)
        given = _on_its_scale(given, start)
    data = _sampled_data(given, answer, rows, calibration, seed) if _is_large(given.file) else given.load()
    _check_outputs(start, data, out.suffix.lower())
    learned, test = arguments.split_data(data, calibration, seed)
    learned, said = fewer_rows(learned, len(learned) if rows == "all" else rows, seed)
    answer.note(said and f"{said} Another number: --rows N; every row: --rows all.", "note")
    with text.progress("steps") as show:
        if isinstance(start, ExportedCalibrator):
            record = provenance.resume(start, learned, progress=show)
        else:
            fit_top_k(start, learned.logits, learned.labels, progress=show, **extras_for(start, learned))
            record = provenance.exported(start, {**provenance.describe(data), "n_rows": len(learned)})
    fitted = record.calibrator
    scores = text.before_and_after(fitted, test) if test is not None else {}
    _say_fit(answer, record, scores, test)
    if test is not None:
        answer.note(said_of_labels(test))
        arguments.warn_of_leak(data, answer)
    parts = _decisions(answer, fitted, learned, test, decide, sets, seed)
    split: dict[str, Any] = {"part": "as given" if calibration is None else calibration, "random_state": seed}
    # A calibrator that goes on was fitted on more rows than these.
    counts = {} if earlier else {"n_calibration": len(learned)}
    metadata = {**record.metadata, **counts, "n_test": 0 if test is None else len(test), "split": split}
    writer.save(replace(record, metadata={**metadata, "scores": scores}, **parts), out)
    answer.say(f"Saved to {out}.", file=out)
    return answer.end()


def _on_its_scale(given: arguments.Given, earlier: ExportedCalibrator) -> arguments.Given:
    """The data as the earlier ones were read: on their scale, with their floor for zeros."""
    own = {name: value for name in ("floor", "scale") if (value := getattr(earlier, name)) is not None}
    asked = given.options.choices.given()
    return replace(given, options=replace(given.options, choices=Choices(**{**own, **asked})))


def _check_outputs(start: Calibrator | ExportedCalibrator, data: Predictions, suffix: str) -> None:
    """Refuse, before the fit, outputs of which no file of the wanted ending can be written."""
    made = start.calibrator if isinstance(start, ExportedCalibrator) else start
    writer.check_method(suffix[1:], registry_name(made) or "identity")
    if suffix == ".sql":
        check_sql(made, data.kind, data.n_classes, data.scale)


def _is_large(path: Path) -> bool:
    """Whether rows are drawn from the file instead of reading it at once: it is too large for that, or a folder."""
    return path.is_dir() or (has_blocks(path) and path.stat().st_size > MAX_BYTES)


def _sampled_data(given: arguments.Given, answer: text.Answer, rows: Any, calibration: Any, seed: int) -> Predictions:
    """Rows of a large file: as many to fit on as are asked for, and without ``--calibration`` as many to test on."""
    files = [name.replace("_", "-") for name, path in given.options.files.items() if path and name != "labels"]
    only_once = [*["rows all"] * (rows == "all"), *["isolate"] * given.options.isolate, *files]
    if only_once:
        arguments.refuse(
            f"--{only_once[0]} needs {given.file.name} to be read at once; rows are drawn from it, so leave it out"
        )
    with text.progress("rows") as show:
        data = sample_rows(
            given.file,
            (rows or SAMPLED_ROWS) * (1 if calibration == "all" else 2),
            labels=given.options.labels,
            choices=given.options.choices,
            random_state=seed,
            progress=show,
        )
    arguments.say_warnings(data)
    for finding in data.findings:
        if finding.code == "sampled":
            answer.note(f"{finding.message} Another number to fit on: --rows N.", "note")
    return data


def _say_fit(
    answer: text.Answer,
    record: ExportedCalibrator,
    scores: Mapping[str, Mapping[str, list[float]]],
    test: Predictions | None,
) -> None:
    """What was fitted, how that went, and what it does on test rows."""
    n_rows, method = record.metadata["n_rows"], record.method
    said = f"{METHODS[method].title} fitted on {plural(n_rows, 'row')}."
    answer.say(said, method=method, rows=n_rows, test_rows=0 if test is None else len(test))
    for note in record.calibrator.notes():
        answer.note(note, "note")
    each = [{"score": key, **{when: Interval(*at) for when, at in of.items()}} for key, of in scores.items()]
    answer.say("" if test is None else text.score_lines(scores, test), scores=each)


# -- what the file decides ---------------------------------------------------------------------------------------------


def _check_decisions(decide: Any, sets: float | None, calibration: Any, out: Path) -> None:
    """Refuse, before the fit, what cannot be decided."""
    name, value = decide or ("risk", 0.5)
    if name not in ("cut", "risk") or not isinstance(value, float) or not 0 < value < 1:
        arguments.refuse("--decide takes cut=P or risk=R with a number between 0 and 1")
    if sets is not None and not 0 < sets < 1:
        arguments.refuse("--sets takes a number between 0 and 1, such as 0.1 for a coverage of 90 %")
    if (sets is not None or (decide and name == "risk")) and calibration == "all":
        arguments.refuse("--sets and --decide risk=R need test rows; leave out --calibration all")
    if out.suffix.lower() in BARE and (sets is not None or decide):
        arguments.refuse(f"a {out.suffix} holds probabilities alone; write --sets and --decide to a .zip, .npz or .pkl")


def _decisions(
    answer: text.Answer,
    fitted: Calibrator,
    calibration: Predictions,
    test: Predictions | None,
    decide: Any,
    sets: float | None,
    seed: int,
) -> dict[str, Any]:
    """The "decision" and the "sets" of the file, as asked for, and the answer says what they do.

    Sets and thresholds are of one half of the test rows, drawn by the command's seed, and judged on the other.
    """
    parts: dict[str, Any] = {}
    name, value = decide or ("", 0.0)
    if name == "cut":
        column = 1 if calibration.event is None else calibration.event.column
        parts["decision"] = cut = EventCut(cut=value, column=column)
        names = calibration.class_names
        answer.say(cut.said(names), decision={"rule": "cut", "cut": value, "class": names[column]})
    if name == "risk" and test is not None:
        answered = judged_answers(fitted, test, calibration, value, random_state=seed)
        found, parts["decision"] = answered.found, answered.made.rule
        fields = {"rule": "risk", "risk": answered.made.risk, "delta": answered.made.delta, "threshold": None}
        if found is None or answered.made.rule is None:
            answer.say(f"{answered.made.said()}\nwarning: the file holds no decision.", decision=fields)
        else:
            error, share = with_interval(found.error), percent(found.coverage.value)
            fields |= {"threshold": answered.made.rule.threshold, "rows": found.n}
            answer.say(
                f"{answered.made.said()}\n{answered.said()} There {share} are answered, with an error of {error}.",
                decision={**fields, "answered": found.coverage, "error": found.error},
            )
    if sets is not None and test is not None:
        covered = judged_sets(fitted, test, sets, random_state=seed)
        sizes, parts["sets"] = covered.found, covered.made
        fields = {"alpha": sets, "quantiles": covered.made.quantiles, "rows": len(sizes.size)}
        coverage, size = with_interval(sizes.coverage), with_interval(sizes.mean_size)
        answer.say(
            f"Prediction sets: {covered.made.said()}\n{covered.said()} There the coverage is {coverage} and the mean "
            f"size {size}.",
            sets={**fields, "coverage": sizes.coverage, "mean_size": sizes.mean_size},
        )
    return parts
