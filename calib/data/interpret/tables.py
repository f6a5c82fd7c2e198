"""The roles of a table's columns: the reading that is clearly meant, or the question which one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.agreement import auroc
from calib.data.checks.report import InvalidUpload, Report, listed, shortened
from calib.data.event import DID_NOT, Event
from calib.data.interpret.beside import BY_ROW, column_roles, with_others
from calib.data.interpret.direction import event_value
from calib.data.interpret.evidence import Column, columns_of, mask_of, spelled
from calib.data.interpret.families import ENOUGH_OUTPUTS, class_names, output_candidates, plain_name
from calib.data.interpret.predicted import correct_value
from calib.data.interpret.readings import (
    OFFERED_OUTCOME,
    Reading,
    accepted,
    outcome_candidates,
    readings,
    rivals,
)
from calib.data.interpret.roles import ColumnRole, TableReading
from calib.data.interpret.verbal import words_in_sample
from calib.data.interpret.vocabulary import GENERAL, USUAL, tokens
from calib.data.options import Choices, Columns
from calib.data.read.base import Contents
from calib.data.read.table import FIRST_ROWS
from calib.numerics import Floats

MOST_READINGS = 5
"""More ways to read a table than these nobody compares."""


def infer_columns(contents: Contents, report: Report, separate_labels: bool) -> tuple[ColumnRole, ...]:
    """Fill in the columns that are left to be inferred.

    Parameters
    ----------
    separate_labels : whether the labels lie in another file, so that none are looked for here.

    Returns
    -------
    The role of every column, with its reason.

    Raises
    ------
    InvalidUpload
        Where no reading is clearly meant, with the readings in the report; or where there is none.
    """
    columns = columns_of(words_in_sample(contents.sample(), report.choices))
    if not columns:
        raise nothing_to_read(contents, columns, report, separate_labels)
    if not contents.info(contents.names[0]).shape[0]:
        raise InvalidUpload(
            "no_rows", f"{contents.name} has 0 rows.", "Check that saving it ended, and upload it again."
        )
    report.rows = {column.name: tuple(map(in_a_cell, column.cells[:FIRST_ROWS])) for column in columns.values()}
    given = report.choices
    found = readings(columns, given, separate_labels)
    reading = accepted(found)
    if reading is None:
        if found:
            raise ask(contents, columns, found, report)
        reading = clearly_named(columns, report, separate_labels)
        if reading is None:
            raise nothing_to_read(contents, columns, report, separate_labels)
    report.choices = with_others(columns, with_reading(report, reading))
    return tuple(column_roles(columns, reading, given, report.choices))


def with_reading(report: Report, reading: Reading) -> Choices:
    """The choices with the outcome and the outputs of a reading."""
    choices = report.choices
    columns, label_values = in_class_order(reading, choices)
    return replace(
        choices,
        labels=choices.labels or (reading.outcome.name if reading.outcome is not None else None),
        outputs=columns,
        predicted=choices.predicted or (reading.predicted.name if reading.predicted is not None else None),
        kind=choices.kind or ("pairs" if reading.pairs else None),
        label_values=label_values if choices.label_values is None else choices.label_values,
    )


def in_class_order(reading: Reading, choices: Choices) -> tuple[Columns, tuple[Any, ...] | None]:
    """The columns in the order of the classes, and the label of each where their numbers do not follow each other.

    Class names that are the columns' own names in another order say which order that is.
    """
    outputs = reading.outputs
    columns, classes = outputs.columns, outputs.classes
    if len(columns) == 1:
        return choices.outputs or columns, reading.label_values
    own = dict(zip(map(plain_name, classes), zip(columns, classes, strict=True), strict=True))
    order = [plain_name(name) for name in choices.class_names or ()]
    if sorted(order) == sorted(own) and len(own) == len(columns):
        columns, classes = (tuple(names) for names in zip(*(own[name] for name in order), strict=True))
    values = reading.outcome.values if reading.outcome is not None else classes
    if reading.outcome is not None and set(values) == set(classes) != set(class_names(columns)):
        return columns, reading.label_values or tuple(classes)
    numbered = all(name.isdecimal() for name in classes) and set(values) <= set(classes)
    ordered = [int(name) for name in classes] if numbered else []
    usual = ordered in ([], list(range(len(ordered))), list(range(1, len(ordered) + 1)))
    settled = usual or (reading.outcome is None and columns == outputs.columns)
    return columns, reading.label_values if settled else tuple(ordered)


def clearly_named(columns: Mapping[str, Column], report: Report, separate_labels: bool) -> Reading | None:
    """Columns that are called outputs and outcome whatever they hold: what is wrong with them is said later."""
    choices = report.choices
    outcome = None
    if not separate_labels:
        if isinstance(choices.labels, str) and choices.labels:
            outcome = columns[choices.labels]
        else:
            named = [column for column in columns.values() if is_called_outcome(column)]
            outcome = max(named, key=lambda column: column.said["outcome"], default=None)
        if outcome is None:
            return None
    candidates = output_candidates(columns, outcome, choices)
    outputs = max(candidates, key=lambda found: (len(found.columns) > 1, found.evidence), default=None)
    return Reading(outcome, outputs) if outputs is not None and outputs.evidence >= ENOUGH_OUTPUTS else None


def is_called_outcome(column: Column) -> bool:
    """Whether a name speaks of an outcome, and not also of outputs as ``output_LABEL_0`` does."""
    return column.said.get("outcome", 0.0) >= USUAL and column.said.get("outputs", 0.0) <= 0


def nothing_to_read(
    contents: Contents, columns: Mapping[str, Column], report: Report, separate_labels: bool
) -> InvalidUpload:
    """The error for a table without outputs or without an outcome: what was found, and what is missing."""
    choices = report.choices
    outcomes = [] if separate_labels else outcome_candidates(columns, choices)
    outputs = [found for found in output_candidates(columns, None, choices) if found.evidence >= ENOUGH_OUTPUTS]
    predicted = [column.name for column in columns.values() if column.as_predicted > 0]
    outcomes = [column for column in outcomes if column.as_outcome >= OFFERED_OUTCOME]
    has = f"{contents.name} has the columns {listed(contents.names)}"
    if outputs and not outcomes and not separate_labels:
        return InvalidUpload(
            "no_labels",
            f"{has}; {listed(outputs[0].columns)} may be outputs, but none looks like labels, the true class of a row.",
            "Name the column with the outcome, or add a second file that holds it.",
        )
    if predicted and outcomes:
        return InvalidUpload(
            "hard_predictions",
            f"{has}; {shortened(outcomes[0].name)} is the outcome and {listed(predicted)} the predicted class, which "
            "carries no confidence.",
            "Save predict_proba beside predict: one column for each class, or that of the event.",
        )
    several = [column for column in outcomes if len(column.values) > 2]
    if outputs and several == outcomes and outcomes:
        return InvalidUpload(
            "one_score",
            f"{shortened(several[0].name)} of {contents.name} has {len(several[0].values):,} different values "
            f"({listed(several[0].values)}), but {shortened(outputs[0].columns[0])} is one score, which tells only two "
            "apart.",
            "Delete rows that are no cases, such as a line of totals, or choose another column as the outcome.",
        )
    known = f"; {shortened(outcomes[0].name)} may be the outcome" if outcomes else ""
    return InvalidUpload(
        "no_outputs",
        f"{has}{known}; none holds the score of a class or the probability of the event.",
        "Save one column of logits or probabilities for each class, called p_0, p_1, ..., or that of the event.",
    )


def in_a_cell(value: Any) -> str:
    """A value of a table in a few characters; nothing for one that is missing."""
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    return "" if text in ("nan", "NaT") else shortened(text)


def ask(contents: Contents, columns: Mapping[str, Column], found: Sequence[Reading], report: Report) -> InvalidUpload:
    """The error for a table with several readings, or one that is not sure enough; the report keeps the readings."""
    told = [(reading, table_reading(reading, columns, contents)) for reading in found[:MOST_READINGS]]
    found = [*(reading for reading, offered in told if offered.rows), *found[MOST_READINGS:]]
    report.readings = tuple(offered for _, offered in told if offered.rows)
    if not report.readings:
        reason = f"No row of {contents.name} has both an outcome and finite outputs."
        return InvalidUpload("no_rows", reason, "Check that saving it ended, and upload it again.")
    report.models = {name: roles_of(reading, columns) for name, reading in models_of(found).items()}
    first = report.readings[0]
    if len(report.readings) == 1:
        reason = f"{contents.name} can perhaps be read as {first.sentence}, but too little says so."
    else:
        ways = "; ".join(reading.sentence for reading in report.readings)
        reason = f"{contents.name} can be read in {len(found):,} ways: {ways}."
    if report.models:
        reason += " The columns may be several models: calib.load_models reads each."
    each = {reading.sentence: Choices.from_roles(reading.roles).given() for reading in report.readings}
    return InvalidUpload("ambiguous", reason, "Say which one is meant.", readings=each)


def models_of(found: Sequence[Reading]) -> dict[str, Reading]:
    """The readings that are as good as the best but for other outputs, as with columns for each of several models."""
    best = [reading for reading in rivals(found) if reading.pairs == found[0].pairs]
    outputs = {reading.outputs.columns for reading in best}
    outcomes = {reading.outcome.name for reading in best if reading.outcome is not None}
    if not 1 < len(best) == len(outputs) or len(outcomes) not in (0, 1, len(best)):
        return {}
    stems = [reading.outputs.stem or reading.outputs.columns[0] for reading in best]
    names = class_names(stems) if len(set(stems)) == len(stems) else [reading.outputs.columns[0] for reading in best]
    return dict(zip(names, best, strict=True))


def table_reading(reading: Reading, columns: Mapping[str, Column], contents: Contents) -> TableReading:
    """A reading for people: its roles as they are given to load, and what the sample says of it."""
    roles = roles_of(reading, columns)
    keep = (
        mask_of(reading.outcome)
        if reading.outcome is not None
        else np.ones(len(columns[reading.outputs.columns[0]].cells), bool)
    )
    numbers = [columns[name].numbers for name in reading.outputs.columns]
    scores = np.column_stack([np.full(len(keep), np.nan) if values is None else values for values in numbers])
    keep = keep & np.isfinite(scores).all(axis=1)
    n_rows = contents.info(contents.names[0]).shape[0]
    rows = round(n_rows * float(keep.mean())) if len(keep) else 0
    if reading.outcome is None or not keep.any():
        return TableReading(roles, f"outputs in {listed(reading.outputs.columns)}", rows)
    return measured(reading, reading.outcome, scores[keep], keep, roles, rows)


def roles_of(reading: Reading, columns: Mapping[str, Column]) -> dict[str, Any]:
    """The roles of a reading as :func:`calib.load` takes them; with the options that settle what names leave open."""
    outputs = reading.outputs.columns
    roles: dict[str, Any] = {} if reading.outcome is None else {"outcome": reading.outcome.name}
    roles["outputs"] = outputs[0] if len(outputs) == 1 else outputs
    chosen = Choices.from_roles(roles)
    if reading.predicted is not None:
        roles["predicted"] = reading.predicted.name
        chosen = Choices.from_roles(roles)
    others = with_others(columns, chosen)
    roles |= {role: value for option, (role, _) in BY_ROW.items() if (value := getattr(others, option))}
    if reading.pairs:
        roles["kind"] = "pairs"
    elif reading.predicted is not None and len(outputs) == 1:
        roles["kind"] = "binary_probability" if columns[outputs[0]].in_unit else "binary_log_odds"
    if reading.label_values is not None:
        roles["label_values"] = reading.label_values
    return roles


def measured(
    reading: Reading, outcome: Column, scores: Floats, keep: npt.NDArray[np.bool_], roles: dict[str, Any], rows: int
) -> TableReading:
    """The sentence of a reading with its numbers."""
    truth = np.array([spelled(cell) for cell in outcome.cells[keep].tolist()])
    if reading.pairs:
        correct = correct_of(reading, truth, keep)
        rate = float(correct.mean())
        mean = f"mean {scores.mean():.1%}, " if in_unit(scores) else ""
        sentence = f"confidence in an answer ({shortened(reading.outputs.stem)}): {mean}correct {rate:.1%}"
        return TableReading(roles, sentence, rows, rate, rate, auroc(scores[:, 0], correct))
    if scores.shape[1] == 1:
        event = (
            spelled(reading.label_values[-1]) if reading.label_values else event_value(outcome) or outcome.values[-1]
        )
        never = len(outcome.values) == 1 and outcome.values[0].strip().lower() in DID_NOT
        happened = truth == (event.lower() if outcome.cells.dtype.kind == "b" else event)
        happened &= not never
        rate = float(happened.mean())
        named = shortened(outcome.name) if never else event_name(event, outcome)
        what = f"P({named}) in {shortened(reading.outputs.stem)}"
        sentence = (
            f"{what}: mean {scores.mean():.1%}, happened {rate:.1%}"
            if in_unit(scores)
            else f"{what}: happened {rate:.1%}"
        )
        return TableReading(roles, sentence, rows, rate, None, auroc(scores[:, 0], happened))
    accuracy = accuracy_of(reading, outcome, truth, scores)
    n = scores.shape[1]
    shown = listed(reading.outputs.columns, 3)
    sentence = f"{n:,} classes of {shortened(outcome.name)}, one column each ({shown}): accuracy {accuracy:.1%}"
    return TableReading(roles, sentence, rows, None, accuracy)


def event_name(event: str, outcome: Column) -> str:
    """What a probability is of, for a sentence: ``default``, ``bad``, or ``label = 1`` where no name says more."""
    name = Event.chosen((event, event), 1, outcome.name).name
    telling = set(tokens(name)) - GENERAL
    return shortened(
        name if name == event or (telling and event == event_value(outcome)) else f"{outcome.name} = {event}"
    )


def correct_of(reading: Reading, truth: npt.NDArray[np.str_], keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """(n,) whether each answer was right."""
    if reading.predicted is not None:
        return np.array([spelled(cell) for cell in reading.predicted.cells[keep].tolist()]) == truth
    assert reading.outcome is not None
    return truth == correct_value(reading.outcome, None)


def accuracy_of(reading: Reading, outcome: Column, truth: npt.NDArray[np.str_], scores: Floats) -> float:
    """Share of rows whose largest output is that of their class: by name, else by number, else in sorted order."""
    classes = [plain_name(name) for name in reading.outputs.classes]
    values = [plain_name(value) for value in outcome.values]
    if not set(values) <= set(classes):
        numbers = all(value.isdecimal() and int(value) < len(classes) for value in values)
        classes = [str(j) for j in range(len(classes))] if numbers else values
    predicted = scores.argmax(axis=1)
    found = [classes[j] if j < len(classes) else "" for j in predicted.tolist()]
    return float(np.mean([name == plain_name(value) for name, value in zip(found, truth.tolist(), strict=True)]))


def in_unit(scores: Floats) -> bool:
    """Whether all scores may be probabilities."""
    return bool(scores.min() >= -1e-6 and scores.max() <= 1 + 1e-6)
