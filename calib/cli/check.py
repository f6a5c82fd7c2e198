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
    read: Read = [],  # noqa: B006  # Typer copies it
    isolate: Isolate = None,
    json: Json = False,
) -> int:
    """Say whether a saved calibrator is still calibrated on new data, or what to expect without labels."""
    if unlabelled and batch is not None:
        refuse(
            "--batch looks at the outcomes of rows, and --unlabelled leaves them aside; give one of them"
        )
    options = LoadOptions(labels=labels, choices=choices(read), isolate=isolate)
    exported = saved_calibrator(calibrator, options.choices)
    new = read_new_rows(exported, file, options, False if unlabelled else None)
    assert new.data is not None
    if new.inspection.predictions is None:  # else reading the labelled rows has looked at them
        check_sums(exported, np.exp(new.data.logits), file.name)
    if new.noticed:
        text.say(text.findings(new.noticed), apart=True)
    raw, now = shift_data.judge(exported, new.data)
    title = METHODS[exported.method].title
    output = text.Output(json)
    if not new.labelled:
        expected = without_labels(now)
        verdict = [text.plain_text(sentence) for sentence in sentences(expected, title)]
        output.say("\n".join(verdict), **expectation_fields(expected), verdict=verdict)
        if batch is not None:
            output.note(
                "No batch was looked at, as that takes outcomes and these rows have no labels.",
                "note",
            )
        for note in new.notes:
            output.note(note, "note")
        return output.end()
    before, n_before = shift.recorded_scores(exported.metadata)
    change = shift.calibration_shift(now, raw, before, n_before=n_before)
    verdict = [text.plain_text(sentence) for sentence in shift.verdict(change, title)]
    output.say("\n".join(verdict), **shift_fields(change), verdict=verdict)
    for note in new.notes:
        output.note(note, "note")
    output.say("\n".join(["", *score_lines(change)]))
    if not change.untold:
        times = new.data.times if batch is None else None
        tests = tests_over_time(*now.pair, times, batch)
        unit = (
            "rows in the order of the file"
            if times is None
            else "weeks, days or numbers of the column of times"
        )
        lines = ["", f"Looked at after every batch, of {unit}:", text.plain_text(tests.sentence)]
        output.say("\n".join(lines), sequential=sequential_fields(tests))
    if new.fitted_on(exported.metadata.get("data_sha256", "")):
        output.note(SAME_DATA, "warning")
    return output.end()


def score_lines(change: shift.CalibrationShift) -> list[str]:
    """The scores before and now, one a line."""
    of = f"; before on {plural(change.n_before, 'test row')}" if change.n_before else ""
    scores = [
        (SCORES[key].seen(change.view).title, score.before, score.now)
        for key, score in change.scores.items()
    ]
    alone = "with 95 % intervals of each score alone (those above hold together and are wider)"
    return [f"On {plural(change.n, 'new row')}{of}, {alone}:", *text.before_and_after_lines(scores)]


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


def shift_fields(change: shift.CalibrationShift) -> dict[str, Any]:
    """Fields of the JSON for labelled rows, but for the tests after every batch."""
    scores = [
        {"score": key, "before": score.before, "now": score.now, "change": score.change}
        for key, score in change.scores.items()
    ]
    return {
        "labelled": True,
        "rows": change.n,
        "rows_before": change.n_before,
        "view": change.view.name,
        "predicted": change.predicted,
        "observed": change.observed,
        "miscalibrated": shift.off(change),
        "scores": scores,
        "gain": change.gain,
        "skill": change.skill,
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
