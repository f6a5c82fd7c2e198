"""``check``: whether a saved calibrator is still calibrated on new rows, or what to expect of rows without labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from typer import Argument, Option

from calib.apply.predict import sums_of_rows
from calib.cli import text
from calib.cli.arguments import (
    CalibratorFile,
    Features,
    Isolate,
    Json,
    Labels,
    Read,
    choices,
    refuse,
)
from calib.data import Choices, LoadOptions
from calib.data.loading import findings_as_error
from calib.data.options import FORMATS
from calib.diagnostics import shift, shift_data
from calib.diagnostics.new_rows import WithoutLabels, sentences, without_labels
from calib.diagnostics.sequential_tests import SequentialTests, tests_over_time
from calib.diagnostics.shift_data import NewRows
from calib.errors import DataError
from calib.evaluation import SCORES
from calib.evaluation.compare import SAME_DATA
from calib.export import runtime
from calib.export.runtime import ExportedCalibrator
from calib.formatting import plural
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS

Found = TypeVar("Found")

BATCH = (
    "Look after so many rows in the order of the file; else after each week of a column of dates or weeks "
    "(--read time=NAME), where there is one."
)


def saved_calibrator(path: Path, how: Choices) -> ExportedCalibrator:
    """A saved calibrator, which takes outputs on its own scale unless ``--read scale=`` names another."""
    exported = runtime.load(path)
    return exported if how.scale is None else replace(exported, scale=how.scale)


def read_its_columns(
    exported: ExportedCalibrator, how: Choices, read: Callable[[Choices], Found]
) -> Found:
    """Read the columns that the calibrator was fitted on; files without them are read as for any calibrator.

    So it is where these columns alone leave open which one holds the labels.
    """
    if how.outputs is None and exported.columns:
        columns = exported.columns if len(exported.columns) > 1 else exported.columns[0]
        try:
            return read(replace(how, outputs=columns))
        except DataError as error:
            if not {"no_such_array", "ambiguous"} & {finding.code for finding in error.findings}:
                raise
    return read(how)


def read_new_rows(
    exported: ExportedCalibrator, file: Path, options: LoadOptions, labelled: bool | None
) -> NewRows:
    """New rows for a saved calibrator, with labels or without (None: as the file has them).

    Raises
    ------
    DataError
        If they cannot be read.
    """

    def read(how: Choices) -> NewRows:
        new = shift_data.read_new_rows(exported, file, replace(options, choices=how), labelled)
        if new.data is None:
            raise DataError(list(new.inspection.findings))
        return new

    return read_its_columns(exported, options.choices, read)


def check_sums(exported: ExportedCalibrator, outputs: Any, name: str) -> None:
    """Warn of rows of probabilities that do not sum to one; refuse them where most are far off, as loading does."""
    with findings_as_error():
        noticed = sums_of_rows(exported, outputs, name)
    if noticed:
        text.say(text.findings(noticed), apart=True)


def check(
    calibrator: CalibratorFile,
    file: Annotated[
        Path, Argument(help=f"New outputs of the same model, with labels where known: {FORMATS}.")
    ],
    batch: Annotated[int | None, Option(metavar="ROWS", min=1, help=BATCH)] = None,
    unlabelled: Annotated[
        bool, Option("--unlabelled", help="Leave labels aside, whatever the file holds.")
    ] = False,
    labels: Labels = None,
    features: Features = None,
    read: Read = [],  # noqa: B006  # Typer copies it
    isolate: Isolate = None,
    json: Json = False,
) -> int:
    """Say whether a saved calibrator is still calibrated on new data, or what to expect without labels."""
    if unlabelled and batch is not None:
        refuse(
            "--batch looks at the outcomes of rows, and --unlabelled leaves them aside; give one of them"
        )
    options = LoadOptions(labels=labels, features=features, choices=choices(read), isolate=isolate)
    exported = saved_calibrator(calibrator, options.choices)
    new = read_new_rows(exported, file, options, False if unlabelled else None)
    assert new.data is not None
    if new.inspection.predictions is None:  # else reading the labelled rows has looked at them
        check_sums(exported, np.exp(new.data.logits), file.name)
    if new.noticed:
        text.say(text.findings(new.noticed), apart=True)
    raw, now = shift_data.judge(exported, new.data)
    title = METHODS[exported.method].title
    answer = text.Answer(json)
    if not new.labelled:
        expected = without_labels(now)
        said = [text.plain_text(sentence) for sentence in sentences(expected, title)]
        answer.say("\n".join(said), **expectation_fields(expected), verdict=said)
        if batch is not None:
            answer.note(
                "No batch was looked at, as that takes outcomes and these rows have no labels.",
                "note",
            )
        for note in new.notes:
            answer.note(note, "note")
        return answer.end()
    before, n_before = shift.recorded_scores(exported.metadata)
    found = shift.calibration_shift(now, raw, before, n_before=n_before)
    said = [text.plain_text(sentence) for sentence in shift.verdict(found, title)]
    answer.say("\n".join(said), **shift_fields(found), verdict=said)
    for note in new.notes:
        answer.note(note, "note")
    answer.say("\n".join(["", *score_lines(found)]))
    if not found.untold:
        times = new.data.times if batch is None else None
        tests = tests_over_time(*now.pair, times, batch)
        each = (
            "rows in the order of the file"
            if times is None
            else "weeks, days or numbers of the column of times"
        )
        lines = ["", f"Looked at after every batch, of {each}:", text.plain_text(tests.sentence)]
        answer.say("\n".join(lines), sequential=sequential_fields(tests))
    if new.fitted_on(exported.metadata.get("data_sha256", "")):
        answer.note(SAME_DATA, "warning")
    return answer.end()


def score_lines(found: shift.CalibrationShift) -> list[str]:
    """The scores before and now, one a line."""
    of = f"; before on {plural(found.n_before, 'test row')}" if found.n_before else ""
    scores = [
        (SCORES[key].seen(found.view).title, score.before, score.now)
        for key, score in found.scores.items()
    ]
    alone = "with 95 % intervals of each score alone (those above hold together and are wider)"
    return [f"On {plural(found.n, 'new row')}{of}, {alone}:", *text.before_and_after_lines(scores)]


def expectation_fields(expected: WithoutLabels) -> dict[str, Any]:
    """Fields of the JSON for rows without labels."""
    estimates = {"accuracy": expected.accuracy, "rate": expected.rate}
    return {
        "labelled": False,
        "rows": expected.n,
        "view": expected.view.name,
        "expected": estimates,
        "n_judged": expected.n_judged,
        "shift": expected.shift,
    }


def shift_fields(found: shift.CalibrationShift) -> dict[str, Any]:
    """Fields of the JSON for labelled rows, but for the tests after every batch."""
    scores = [
        {"score": key, "before": score.before, "now": score.now, "change": score.change}
        for key, score in found.scores.items()
    ]
    return {
        "labelled": True,
        "rows": found.n,
        "rows_before": found.n_before,
        "view": found.view.name,
        "predicted": found.predicted,
        "observed": found.observed,
        "miscalibrated": shift.off(found),
        "scores": scores,
        "gain": found.gain,
        "skill": found.skill,
    }


def sequential_fields(tests: SequentialTests) -> dict[str, Any]:
    """Fields of the JSON for the test after every batch."""
    alone = ("rows", "observed", "expected", "log_e")
    batches = [
        {
            "batch": name,
            **{field: getattr(tests, field)[t] for field in alone},
            "o_e": Interval(tests.o_e[t], tests.low[t], tests.high[t]),
        }
        for t, name in enumerate(tests.batches)
    ]
    alarm = None if tests.alarm is None else tests.batches[tests.alarm]
    return {"alpha": tests.alpha, "alarm": alarm, "batches": batches}
