"""What each reading of a table would mean, in a sentence with its numbers, for people to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, Report, listed, shortened
from calib.data.event import DID_NOT, Event
from calib.data.formats.base import Contents
from calib.data.interpret.answers import correct_value
from calib.data.interpret.beside import BY_ROW, with_others
from calib.data.interpret.direction import event_value
from calib.data.interpret.evidence import Column, mask_of, spelled
from calib.data.interpret.families import class_names, plain_name
from calib.data.interpret.readings import Reading, rivals
from calib.data.interpret.roles import TableReading
from calib.data.interpret.vocabulary import GENERAL, tokens
from calib.data.options import Choices
from calib.numerics import Floats

MOST_READINGS = 5
"""More ways to read a table than these nobody compares."""


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
    each = {reading.sentence: options_of(reading.roles) for reading in report.readings}
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


def options_of(roles: Mapping[str, Any]) -> dict[str, Any]:
    """Roles as options of :class:`calib.data.Choices`."""
    return Choices.from_roles(roles).given()


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


def auroc(scores: Floats, happened: npt.NDArray[np.bool_]) -> float | None:
    """Area under the ROC curve: the share of pairs in order, ties counting half; None without both outcomes."""
    n_yes, n = int(happened.sum()), len(happened)
    if n_yes in (0, n):
        return None
    _, position, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position.reshape(-1)]
    return float((ranks[happened].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * (n - n_yes)))
