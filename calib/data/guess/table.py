"""Guess the roles of a table's columns, or the question which reading is meant.

Each column has one meaning (:attr:`calib.data.guess.columns.Column.meaning`). The outcome is the column whose name
says so most surely, the outputs likewise; where two fit as well, it is asked. The data may veto: a reading is taken
without a question only if no other direction, and no other order of its columns, agrees significantly better with the
outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.canonical import class_order
from calib.data import words as w
from calib.data.guess.columns import LEAST_DECIDED, Column, columns_of
from calib.data.guess.direction import (
    SIGNIFICANT,
    LabelValues,
    Strength,
    event_of,
    marks_correct,
    ordered,
)
from calib.data.guess.metadata import column_roles, unused_reason, unused_role, with_others
from calib.data.guess.outputs import Outputs, by_pattern, candidates
from calib.data.guess.problems import Problem, problem_of
from calib.data.guess.reading import (
    AS_CHOSEN,
    SURE_OUTCOME,
    SURE_OUTPUTS,
    Reading,
    in_better_order,
    likeliness,
    outcome_rank,
    outputs_rank,
)
from calib.data.names import class_names, is_whole, plain_name, tokens
from calib.data.options import Choices, columns_in_use, names_in
from calib.data.read.base import Array
from calib.data.roles import ColumnRole

MOST_READINGS = 8
"""Readings that are offered at most."""

MOST_OUTCOMES = 12
"""Columns that are looked at as outcomes: those named so first."""

LEVEL = "_LEVEL_"
"""Column in which SAS writes the label whose probability its scores are."""

ALIKE = 0.9
"""Agreement of another column with the outcome, as a share of that of the named one, from which it is asked."""


@dataclass(frozen=True)
class Guess:
    """Meaning of the columns of a table.

    Attributes
    ----------
    roles : of every column, in the order of the table, with the reason.
    readings : one where it is clear, several where it has to be asked, the likeliest first; none where something lacks.
    doubt : why it is asked; empty where the first reading is taken.
    columns : by name.
    problem : why the table is not read, where it holds predictions in another form.
    """

    roles: tuple[ColumnRole, ...]
    readings: tuple[Reading, ...]
    doubt: str
    columns: Mapping[str, Column]
    problem: Problem | None = None

    @property
    def is_clear(self) -> bool:
        """Return whether the first reading is taken."""
        return bool(self.readings) and not self.doubt

    def choices(self, chosen: Choices) -> Choices:
        """Return the choices with what was guessed."""
        return with_others(self.columns, with_reading(self.readings[0], chosen))


def guess(
    columns: Mapping[str, Array],
    n_rows: int,
    chosen: Choices | None = None,
    *,
    labels_elsewhere: bool = False,
) -> Guess:
    """Return the role of each column of a table.

    Parameters
    ----------
    columns : name to (n,) numbers, booleans, text or dates: some rows of the table.
    n_rows : rows of the table.
    chosen : what was chosen by hand.
    labels_elsewhere : whether the labels lie in another file, so that none are looked for here.
    """
    chosen = chosen or Choices()
    by_name = columns_of(columns)
    by_hand = labels_elsewhere or chosen.labels or chosen.outputs
    problem = None if by_hand else problem_of([*by_name.values()], n_rows)
    ranked = readings_of(by_name, chosen, labels_elsewhere) if problem is None else []
    if not ranked:
        unused = [
            ColumnRole(name, unused_role(column), unused_reason(column))
            for name, column in by_name.items()
        ]
        return Guess(tuple(unused), (), "", by_name, problem)
    first = ranked[0]
    doubt = doubt_about(first, ranked[1:], chosen)
    better = in_better_order(first) if doubt else None
    clear = replace(first, label_values=unless_usual(first.label_values))
    # What is only perhaps an outcome is not offered beside one that is named so.
    likely = [r for r in ranked if r.ranks[0] <= max(first.ranks[0], SURE_OUTCOME)]
    offered = [*([better] if better else []), *likely][:MOST_READINGS]
    readings = offered if doubt else [clear]
    reasons = dict(zip(("labels", "outputs"), first.reasons, strict=True))
    reasons["predicted"] = "the class that the model chose"
    choices = with_others(by_name, with_reading(readings[0], chosen))
    roles = column_roles(by_name, chosen, choices, reasons, n_rows)
    return Guess(roles, tuple(readings), doubt, by_name)


# Readings.


def readings_of(
    columns: Mapping[str, Column], chosen: Choices, labels_elsewhere: bool
) -> list[Reading]:
    """Return every reading of a table, the likeliest first: by names, and among equals by the agreement of the data."""
    outcomes: Sequence[Column | None] = (
        [None] if labels_elsewhere else possible_outcomes(columns, chosen)
    )
    selected = [columns[name] for name in names_in(chosen.outputs)]
    used = columns_in_use(chosen, but="outputs")
    free = [column for name, column in columns.items() if name not in used]
    families = [] if selected else by_pattern(free)
    named = {c for c in outcomes if c is not None and c.meaning in ("truth", "label", "event")}
    ranked = []
    for outcome in outcomes:
        likely = [Outputs.from_columns(selected)] if selected else []
        likely = likely or candidates(free, families, outcome, chosen)
        for reading in (r for o in likely for r in directions(outcome, o, columns, chosen)):
            by_hand = outcome is None or chosen.labels
            of_outcome = AS_CHOSEN if by_hand else outcome_rank(reading, bool(named - {outcome}))
            of_outputs = AS_CHOSEN if selected else outputs_rank(reading)
            if of_outcome and of_outputs:
                ranks, reasons = (of_outcome[0], of_outputs[0]), (of_outcome[1], of_outputs[1])
                ranked.append(replace(reading, ranks=ranks, reasons=reasons))
    distinct: dict[Any, Reading] = {}
    for r in sorted(ranked, key=lambda r: (sum(r.ranks), r.ranks)):
        # Pairs compare two columns, whichever of them is the outcome.
        compared = frozenset((r.outcome, r.predicted)) if r.pairs else r.outcome
        distinct.setdefault((compared, r.outputs, r.pairs, r.label_values), r)
    outcomes_alone = [r for r in distinct.values() if not r.is_prediction]
    return sorted(outcomes_alone or distinct.values(), key=likeliness)


def possible_outcomes(columns: Mapping[str, Column], chosen: Choices) -> list[Column]:
    """Return columns that may be the outcome; no constant, time or id."""
    if isinstance(chosen.labels, str) and chosen.labels:
        return [columns[chosen.labels]]
    used = columns_in_use(chosen, but="labels")
    free = [column for column in columns.values() if column.name not in used]
    spoken = any(column.meaning == "predicted" for column in free)
    named = ("truth", "correct", "label", "event")
    fit = [
        c
        for c in free
        if (
            c.names_classes
            or c.meaning == "label"
            or (c.meaning == "truth" and (spoken or c.is_whole))
        )
        and c.meaning not in ("predicted", "output", "split")
        and not c.is_counter
        and (len(c.values) > 1 or c.meaning in named)
    ]
    fit = [c for c in fit if not set(tokens(c.name)) & w.JUDGE] or fit
    order = dict(zip(named, (0, 1, 2, 2), strict=True))
    fit.sort(key=lambda c: (order.get(c.meaning, 3), not c.yes_or_no, len(c.values), c.name))
    return fit[:MOST_OUTCOMES]


def directions(
    outcome: Column | None, outputs: Outputs, columns: Mapping[str, Column], chosen: Choices
) -> list[Reading]:
    """Return the readings of one outcome with one candidate for the outputs."""
    if outcome is None:
        return [Reading(None, outputs)]
    predicted = predicted_column(columns, outcome, outputs, chosen)
    reading = Reading(outcome, outputs, predicted)
    settled = chosen.label_values is not None
    if not outputs.is_single:
        ordered_by_hand = settled or chosen.class_names
        return [reading] if ordered_by_hand else orders_of_columns(reading, bool(chosen.outputs))
    as_pairs, of_class = column_uses(reading, chosen)
    readings = []
    if as_pairs:
        compared = not marks_correct(outcome, reading.score)
        readings.append(replace(reading, pairs=True, predicted=predicted if compared else None))
    if not of_class or (len(outcome.values) > 2 and chosen.kind is None):
        return readings
    if len(outcome.values) != 2 or settled:
        return [*readings, reading]
    event, strength = event_of(outcome, reading.score)
    level = columns.get(LEVEL)
    if level is not None and len(level.values) == 1 and level.values[0] in outcome.values:
        event, strength = level.values[0], "named"
    if strength == "likely" and chosen.labels and chosen.outputs:
        strength = "named"
    return [*readings, *both_directions(reading, event, strength)]


def both_directions(reading: Reading, event: str, strength: Strength) -> list[Reading]:
    """Return a reading with each of two labels as the event, the likelier first."""
    other = next(value for value in reading.truth.values if value != event)
    first = replace(reading, label_values=ordered(reading.truth, event), strength=strength)
    return [first, replace(reading, label_values=ordered(reading.truth, other), strength="open")]


def orders_of_columns(reading: Reading, chosen: bool) -> list[Reading]:
    """Return the usual order of the classes where names or numbers say it, else both that are plausible."""
    outcome, outputs = reading.truth, reading.outputs
    names = [name.lower() for name in outputs.classes]
    by_letters = sorted(names)
    numbered = outcome.numbers is not None
    if len(names) == len(outcome.values) == 2:
        if outputs.counts_up or {*map(plain_name, outcome.values)} <= outputs.plain:
            return [reading]
        return both_directions(reading, event_of(outcome, outputs.columns[-1])[0], "open")
    if chosen or names == by_letters or not numbered or any(map(str.isdecimal, names)):
        return [reading]
    low = min(map(int, outcome.values))
    orders = (range(len(names)), map(by_letters.index, names))
    return [
        replace(reading, label_values=tuple(low + k for k in order), strength="open")
        for order in orders
    ]


def column_uses(reading: Reading, chosen: Choices) -> tuple[bool, bool]:
    """Return whether one column may be the confidence in an answer, and the probability of a class."""
    score, outcome, predicted = reading.score, reading.truth, reading.predicted
    if chosen.kind is not None:
        return chosen.kind == "pairs", chosen.kind != "pairs"
    if marks_correct(outcome, score):
        return True, False
    if len(outcome.values) > 2:
        either = not score.low < 0 < score.high
        return either and predicted is not None, either and predicted is None
    if predicted is not None:
        sure = score.low >= 0.5
        return sure or bool(score.terms & w.CONFIDENCE), not sure
    # Where no value is below a half it may be the confidence in what was predicted, which is not there.
    return score.low >= 0.5 and score.in_unit, True


def predicted_column(
    columns: Mapping[str, Column], outcome: Column, outputs: Outputs, chosen: Choices
) -> Column | None:
    """Return the column of predicted classes: chosen, or named so with labels in common, or the only one with these."""
    if chosen.predicted is not None:
        return columns.get(chosen.predicted)
    used = {outcome.name, *outputs.names, *columns_in_use(chosen, but="predicted")}
    free = [c for c in columns.values() if c.name not in used and {*c.values} & {*outcome.values}]
    predictions = [column for column in free if column.meaning == "predicted"]
    if (
        not predictions
        and outputs.is_single
        and len(outcome.values) > 2
        and outcome.numbers is None
    ):
        predictions = [c for c in free if have_same_values(c, outcome)]
        predictions = (
            predictions if len(predictions) == 1 and predictions[0].meaning != "truth" else []
        )
    if not predictions and outcome.meaning == "truth":
        # What is only called a label or an answer beside the true one.
        predictions = [c for c in free if set(tokens(c.name)) <= w.CLASS | w.RESPONSES]
    stem = set(tokens(outputs.stem))
    return max(
        predictions,
        key=lambda c: (len(stem & set(tokens(c.name))), c.meaning == "predicted", c.name),
        default=None,
    )


def have_same_values(first: Column, second: Column) -> bool:
    """Return whether two columns have most of their values in common."""
    most = max(len(first.values), len(second.values))
    return 2 * len(set(first.values) & set(second.values)) >= most


# Doubts.


def doubt_about(first: Reading, others: Sequence[Reading], chosen: Choices) -> str:
    """Return why the likeliest reading is asked about; empty where names give it and the data do not veto."""
    doubt = other_columns(first, others, chosen) or odd_columns(first)
    if doubt:
        return doubt
    if any(
        r.pairs != first.pairs and r.outputs == first.outputs and sum(r.ranks) <= sum(first.ranks)
        for r in others
    ):
        return "the score may be a confidence or the probability of a class"
    if first.ranks[0] > SURE_OUTCOME or first.ranks[1] > SURE_OUTPUTS:
        return "the names do not decide"
    if first.outcome is None:
        return ""
    single = first.outputs.is_single and not first.pairs
    varies = len(first.truth.values) > 1 or first.truth.meaning in ("truth", "label")
    if single and first.ranks[0] and not varies:
        return "the names do not decide"
    if chosen.label_values is not None or chosen.event is not None:
        return ""
    directions = [
        first,
        *(r for r in others if r.outcome is first.outcome and r.strength != "open"),
    ]
    if any(r.support <= -SIGNIFICANT for r in directions):
        return "the data contradict the names"
    if first.strength == "open" or (first.strength == "likely" and first.support < SIGNIFICANT):
        return "names do not say which class is meant"
    return ""


def other_columns(first: Reading, others: Sequence[Reading], chosen: Choices) -> str:
    """Return why other columns may be meant as well."""
    single = first.outputs.is_single
    # The name of an event says little more than values of yes and no.
    last = SURE_OUTCOME + 1 if first.ranks[0] == SURE_OUTCOME else first.ranks[0]
    if any(r.outcome is not first.outcome and r.ranks[0] <= last for r in others):
        return "several columns may be the outcome"
    rivals = [r for r in others if {*r.outputs.names} != {*first.outputs.names}]
    if any(r.ranks[1] <= first.ranks[1] for r in rivals):
        return "several columns may be the outputs"
    sure = (SURE_OUTCOME, SURE_OUTPUTS) if single else (4, 2)
    if any(
        r.outcome is not first.outcome
        and not {*r.outputs.names} & {*first.outputs.names}
        and r.ranks[0] <= sure[0]
        and r.ranks[1] <= sure[1]
        and (single or not r.pairs)
        for r in rivals
    ):
        return "two outcomes have a score each"
    least = max(ALIKE * abs(first.support), SIGNIFICANT)
    if (
        single
        and first.outcome is not None
        and not chosen.outputs
        and any(
            r.outcome is first.outcome
            and r.outputs.is_single
            and r.score.is_fraction
            and r.support >= least
            for r in rivals
        )
    ):
        return "another column agrees with the outcome as well"
    return ""


def odd_columns(reading: Reading) -> str:
    """Return why columns of outputs, or the outcome, are perhaps something else."""
    if reading.is_prediction:
        name = reading.truth.name
        return f"{name} is the class of the largest output in every row, as a prediction is"
    numbers = [column.numbers for column in reading.outputs.columns if column.numbers is not None]
    if len(numbers) < max(3, len(reading.outputs.columns)) or len(numbers[0]) < LEAST_DECIDED:
        return ""
    steps = np.diff(np.column_stack(numbers), axis=1)
    if (steps <= 0).all() and (steps < 0).any():  # as lists of the likeliest classes are
        return "its columns are sorted by size in every row, so that their places name no class"
    return ""


# Choices.


def with_reading(reading: Reading, chosen: Choices) -> Choices:
    """Return the choices with outcome, outputs and prediction of a reading."""
    columns, label_values = in_class_order(reading, chosen)
    outcome = None if reading.outcome is None else reading.outcome.name
    predicted = None if reading.predicted is None else reading.predicted.name
    return replace(
        chosen,
        labels=chosen.labels or outcome,
        outputs=columns,
        predicted=chosen.predicted or predicted,
        kind=chosen.kind or ("pairs" if reading.pairs else None),
        label_values=label_values if chosen.label_values is None else chosen.label_values,
    )


def unless_usual(values: LabelValues) -> LabelValues:
    """Return the labels of the classes; None where these are the usual ones, no before yes and small before large."""
    ascending = (
        values is not None and isinstance(values[0], int) and [*values] == sorted(map(int, values))
    )
    return None if ascending or values == ("False", "True") else values


def in_class_order(reading: Reading, chosen: Choices) -> tuple[Any, tuple[Any, ...] | None]:
    """Return the columns in the order of the classes, and the label of each where their names alone do not say it.

    Class names that are the columns' own names in another order say which order that is.
    """
    columns, classes = reading.outputs.names, reading.outputs.classes
    if len(columns) == 1:
        return chosen.outputs or columns, reading.label_values
    order = class_order([*map(plain_name, columns)], [*map(plain_name, chosen.class_names or ())])
    columns, classes = (tuple(names[place] for place in order) for names in (columns, classes))
    values = classes if reading.outcome is None else reading.outcome.values
    if reading.outcome is not None and {*values} == {*classes} != {*class_names(columns)}:
        return columns, reading.label_values or classes
    moved = reading.outcome is not None or columns != reading.outputs.names
    if moved and all(map(is_whole, classes)) and {*values} <= {*classes}:
        numbers = tuple(map(int, classes))
        usual = numbers in (tuple(range(len(numbers))), tuple(range(1, len(numbers) + 1)))
        return columns, reading.label_values if usual else numbers
    return columns, reading.label_values
