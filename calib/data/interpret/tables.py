"""The roles of a table's columns: the reading that is clearly meant, or the question which one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib.data.checks.report import InvalidUpload, Report, listed, shortened
from calib.data.formats.base import Contents
from calib.data.formats.table import FIRST_ROWS
from calib.data.interpret.asking import ask
from calib.data.interpret.beside import column_roles, with_others
from calib.data.interpret.evidence import Column, columns_of
from calib.data.interpret.families import ENOUGH_OUTPUTS, class_names, output_candidates, plain_name
from calib.data.interpret.readings import (
    OFFERED_OUTCOME,
    Reading,
    accepted,
    outcome_candidates,
    readings,
)
from calib.data.interpret.roles import ColumnRole
from calib.data.interpret.verbal import words_in_sample
from calib.data.interpret.vocabulary import USUAL
from calib.data.options import Choices, Columns


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
