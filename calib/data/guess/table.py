"""Guess the roles of a table's columns, or the question which reading is meant.

Each column has one meaning (:attr:`calib.data.guess.columns.Column.says`). The outcome is the column whose name says so
most surely, the outputs likewise; where two fit as well, it is asked. The data may veto: a reading is taken without a
question only if no other direction, and no other order of its columns, agrees significantly better with the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import class_order
from calib.data import words as w
from calib.data.guess.beside import column_roles, left_as, why_left, with_others
from calib.data.guess.columns import LEAST_DECIDED, Column, columns_of, follows
from calib.data.guess.direction import (
    SIGNIFICANT,
    LabelValues,
    Strength,
    auroc,
    better_order,
    event_of,
    named_value,
    names_event,
    ordered,
    tells_correct,
)
from calib.data.guess.outputs import Candidates, Outputs
from calib.data.guess.problems import Problem, problem_of
from calib.data.names import (
    class_names,
    is_anonymous,
    is_whole,
    plain_name,
    share_a_word,
    tokens,
)
from calib.data.options import Choices
from calib.data.read.base import Array
from calib.data.roles import ColumnRole
from calib.data.spelling import correct_value, same_beginnings, same_names, texts_of

MOST_READINGS = 8
"""Readings that are offered at most."""

MOST_OUTCOMES = 12
"""Columns that are looked at as outcomes: those named so first."""

SURE_OUTCOME, SURE_OUTPUTS = 7, 3
"""Last ranks that are enough where nothing else comes near."""

YES_OR_NO = "two values that say yes and no"
"""Reason that is not enough by itself."""

LEVEL = "_LEVEL_"
"""Column in which SAS writes the label whose probability its scores are."""

ALIKE = 0.9
"""Agreement of another column with the outcome, as a share of that of the named one, from which it is asked."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    outcome : None where the labels lie elsewhere.
    predicted : column of predicted classes, to check by or to tell which answers are correct.
    pairs : whether the outputs are the confidence in an answer that is correct or wrong.
    label_values : labels of the classes, that of which a single column is the probability last.
    strength : how surely names say which label belongs to which column.
    ranks : of the outcome and of the outputs, the surest first; 0 where it was chosen.
    reasons : why both were taken.
    """

    outcome: Column | None
    outputs: Outputs
    predicted: Column | None = None
    pairs: bool = False
    label_values: LabelValues = None
    strength: Strength = "named"
    ranks: tuple[int, int] = (0, 0)
    reasons: tuple[str, str] = ("as chosen", "as chosen")

    @property
    def score(self) -> Column:
        """The column of the outputs, where it is one."""
        return self.outputs.columns[0]

    @property
    def truth(self) -> Column:
        """The outcome, where the labels lie in the table."""
        assert self.outcome is not None
        return self.outcome

    @cached_property
    def support(self) -> float:
        """Agreement of outputs and outcome in standard errors; 0 where it is not measured.

        Of one score and two labels the rank-sum statistic, of two columns that of their difference. Of more columns
        minus infinity where another order of them agrees significantly better, plus infinity where none does.
        """
        return support_of(self)


def support_of(reading: Reading) -> float:
    """Agreement of outputs and outcome, see :attr:`Reading.support`."""
    order = None if reading.outcome is None else label_order(reading)
    if order is None or any(column.numbers is None for column in reading.outputs.columns):
        return 0.0
    place, scores = complete_rows(reading, order)
    if scores.shape[1] <= 2:
        score = scores[:, -1] - (scores[:, 0] if scores.shape[1] == 2 else 0)
        return auroc(score, place == 1)[1]
    if not len(place):
        return 0.0
    better = better_order(place, scores.argmax(axis=1), scores.shape[1])
    return np.inf if better is None else -np.inf


def complete_rows(
    reading: Reading, order: Sequence[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """(m,) number of each row's class and (m, k) outputs, of the rows that have both."""
    scores = np.column_stack([np.asarray(column.numbers) for column in reading.outputs.columns])
    place = places_of(reading, order)
    known = (place >= 0) & np.isfinite(scores).all(axis=1)
    return place[known], scores[known]


def in_better_order(reading: Reading) -> Reading | None:
    """The same columns in the order of labels that agrees best with the outcome; None where theirs does."""
    order = label_order(reading)
    if order is None or reading.outputs.is_single or reading.support > -SIGNIFICANT:
        return None
    place, scores = complete_rows(reading, order)
    column = better_order(place, scores.argmax(axis=1), scores.shape[1]) or (1, 0)
    labels = [order[column.index(k)] for k in range(len(column))]
    if reading.truth.numbers is not None:
        labels = [int(float(label)) for label in labels]
    return replace(reading, label_values=tuple(labels), strength="open")


def label_order(reading: Reading) -> tuple[Any, ...] | None:
    """The label of each class by a reading: as it says, as columns are called, or counted; None where that is open."""
    values = reading.truth.values
    n_classes = max(len(reading.outputs.columns), 2)
    if reading.pairs or reading.label_values is not None:
        return reading.label_values or ()
    classes = reading.outputs.classes
    called = same_names(values, classes)
    if called is not None or reading.truth.numbers is None:
        counted = reading.outputs.counts_up and len(values) == n_classes
        return called or same_beginnings(values, classes) or (values if counted else None)
    low, high = (int(edge([*map(float, values)])) for edge in (min, max))
    if {*values} == {"-1", "1"}:
        return "-1", "1"
    return tuple(range(n_classes)) if low == 0 or high != n_classes else tuple(range(1, high + 1))


def places_of(reading: Reading, order: Sequence[Any]) -> npt.NDArray[np.int64]:
    """(n,) number of each row's class; -1 where there is none."""
    truth = texts_of(reading.truth.cells)
    if not reading.pairs:
        number = {plain_name(str(value)): k for k, value in enumerate(order)}
        values, places = np.unique(truth, return_inverse=True)
        codes = [number.get(plain_name(value), -1) for value in values.tolist()]
        return np.array(codes, dtype=np.int64)[places.reshape(-1)]
    known = reading.truth.known
    right: Any = correct_value(reading.truth.values)
    if reading.predicted is not None:
        right = texts_of(reading.predicted.cells)
        known = known & reading.predicted.known
    return np.where(known, (truth == right).astype(np.int64), -1)


# Readings.


def outcome_rank(r: Reading, others: bool, groups: bool) -> tuple[int, str] | None:
    """How surely a column is the outcome, with the reason; None where it cannot be.

    Parameters
    ----------
    others : whether another column is named as an outcome; one that tells what is correct is then the outcome only of
        a confidence.
    groups : whether columns named as groups may be the outcome.
    """
    truth, outputs = r.truth, r.outputs
    values, single = truth.values, outputs.is_single
    plain = {plain_name(value) for value in values}
    classes = {plain_name(name) for name in outputs.classes}
    listed = outputs.called(values) or (len(plain) > 2 and plain < classes)
    if truth.says == "correct" and others and not (r.pairs and r.score.words & w.CONFIDENCE):
        return 12, "it tells which answers are correct"
    if truth.numbers is None and listed:
        return 1, "it lists the classes that outputs are named after"
    if single and r.pairs and r.predicted is None and tells_correct(truth, r.score):
        return 2, "it tells which answers are correct"
    if truth.says == "truth":
        return 3, "named as the true class"
    if shares_a_word(r):
        return 4, "named like what outputs speak of"
    if truth.says in ("id", "time") and not truth.yes_or_no:
        return None
    if truth.says == "label":
        return 5, "named as a label"
    counted = [[str(first + k) for k in range(len(outputs.columns))] for first in (0, 1)]
    silent = is_anonymous(outputs.names[0]) and sorted(values, key=len) in counted
    if len(values) > 2 and (set(values) <= set(outputs.classes) or silent):
        return 6, "its values count as the columns do"
    if truth.says == "event":
        return 7, "named after an event"
    if truth.yes_or_no and not truth.says:
        return 7, YES_OR_NO
    beside = ("past",) if groups else ("past", "group")
    if not single and truth.says not in beside:
        return 9, "as many values as columns"
    if r.predicted is not None:
        return 10, "values as those that were predicted"
    if len(values) == 2 and truth.says not in beside:
        return 11, "two values"
    return None


def shares_a_word(r: Reading) -> bool:
    """Whether outcome and outputs are named after the same: ``p_default`` beside ``default``, or beside its label."""
    named = r.truth.yes_or_no or r.truth.says in ("label", "event")
    if named and share_a_word(tokens(r.truth.name), tokens(r.outputs.stem)):
        return True
    text = r.truth.numbers is None
    return text and r.outputs.is_single and named_value(r.score, r.truth) is not None


def outputs_rank(r: Reading) -> tuple[int, str] | None:
    """How surely columns are the outputs, with the reason; None where they cannot be."""
    outputs = r.outputs
    if not outputs.is_single:
        scores = outputs.is_named or outputs.total is not None
        if scores or all(column.is_fraction for column in outputs.columns):
            return 1, "one column for each class"
        return 5, "called like the classes"
    words = r.score.words
    if r.score.says == "output" and words & w.PROBABILITY:
        return 2, "named as a probability"
    if r.score.says == "output":
        return 3, "named as a score"
    return (4, "fractions") if r.score.says not in ("past", "weight") else None


def readings_of(
    columns: Mapping[str, Column], chosen: Choices, labels_elsewhere: bool, groups: bool = False
) -> list[Reading]:
    """Every reading of a table, the likeliest first: by names, and among equals by the agreement of the data.

    Parameters
    ----------
    groups : whether columns named as groups may be the outcome, as where nothing else can.
    """
    outcomes: Sequence[Column | None] = (
        [None] if labels_elsewhere else possible_outcomes(columns, chosen)
    )
    candidates = Candidates(columns, chosen)
    named = {c for c in outcomes if c is not None and c.says in ("truth", "label", "event")}
    found = []
    for outcome in outcomes:
        for outputs in candidates.beside(outcome):
            for reading in directions(outcome, outputs, columns, chosen):
                of_outcome = (
                    (0, "as chosen")
                    if outcome is None or chosen.labels
                    else outcome_rank(reading, bool(named - {outcome}), groups)
                )
                of_outputs = (0, "as chosen") if chosen.outputs else outputs_rank(reading)
                if of_outcome and of_outputs:
                    (first, why), (second, reason) = of_outcome, of_outputs
                    found.append(replace(reading, ranks=(first, second), reasons=(why, reason)))
    distinct: dict[Any, Reading] = {}
    for r in sorted(found, key=lambda r: (sum(r.ranks), r.ranks, not is_called(r))):
        # Pairs compare two columns, whichever of them is the outcome.
        compared = frozenset((r.outcome, r.predicted)) if r.pairs else r.outcome
        distinct.setdefault((compared, r.outputs, r.pairs, r.label_values), r)
    likely = [r for r in distinct.values() if not is_prediction_of(r)] or [*distinct.values()]
    if (
        not groups
        and all(map(is_prediction_of, likely))
        and not (labels_elsewhere or chosen.labels)
    ):
        return readings_of(columns, chosen, labels_elsewhere, groups=True) or likely
    return sorted(likely, key=likeliness)


def likeliness(r: Reading) -> tuple[Any, ...]:
    """Key by which readings are sorted: names first, then fractions, then the agreement of the data."""
    fractions = all(column.is_fraction for column in r.outputs.columns)
    return sum(r.ranks), r.ranks, not is_called(r), not fractions, against(r)


def is_called(r: Reading) -> bool:
    """Whether the columns are called like the values of the outcome."""
    return r.outcome is not None and r.outputs.called(r.outcome.values)


def is_prediction_of(r: Reading) -> bool:
    """Whether the outcome is the class of the largest output in every row, as predictions are."""
    return r.outcome is not None and follows(r.outcome, r.outputs.columns)


def against(r: Reading) -> int:
    """0 where the data agree with a reading, 1 where they are silent, 2 where they speak against it."""
    return 1 if abs(r.support) < SIGNIFICANT else 0 if r.support > 0 else 2


def possible_outcomes(columns: Mapping[str, Column], chosen: Choices) -> list[Column]:
    """Columns that may be the outcome; no constant, time, id or group unless it lists the classes."""
    if isinstance(chosen.labels, str) and chosen.labels:
        return [columns[chosen.labels]]
    taken = chosen.columns(but="labels")
    free = [column for column in columns.values() if column.name not in taken]
    spoken = any(column.says == "predicted" for column in free)
    fit = [
        c
        for c in free
        if c.names_classes or c.says == "label" or (c.says == "truth" and (spoken or c.is_whole))
    ]
    fit = [c for c in fit if c.says not in ("predicted", "output", "split") and not c.is_counter]
    named = ("truth", "correct", "label", "event")
    fit = [c for c in fit if len(c.values) > 1 or c.says in named]
    human = [c for c in fit if not set(tokens(c.name)) & w.JUDGE]
    fit = human or fit
    order = dict(zip(named, (0, 1, 2, 2), strict=True))
    fit.sort(key=lambda c: (order.get(c.says, 3), not c.yes_or_no, len(c.values), c.name))
    return fit[:MOST_OUTCOMES]


def directions(
    outcome: Column | None, outputs: Outputs, columns: Mapping[str, Column], chosen: Choices
) -> Iterator[Reading]:
    """The readings of one outcome with one candidate for the outputs."""
    if outcome is None:
        yield Reading(None, outputs)
        return
    predicted = predicted_column(columns, outcome, outputs, chosen)
    reading = Reading(outcome, outputs, predicted)
    settled = chosen.label_values is not None
    if not outputs.is_single:
        if settled or chosen.class_names:
            yield reading
        else:
            yield from orders_of_columns(reading, bool(chosen.outputs))
        return
    ways = ways_of_one_column(reading, chosen)
    if True in ways:
        compared = not tells_correct(outcome, reading.score)
        yield replace(reading, pairs=True, predicted=predicted if compared else None)
    if False not in ways or (len(outcome.values) > 2 and chosen.kind is None):
        return
    if len(outcome.values) != 2 or settled:
        yield reading
        return
    event, strength = event_of(outcome, reading.score)
    level = columns.get(LEVEL)
    if level is not None and len(level.values) == 1 and level.values[0] in outcome.values:
        event, strength = level.values[0], "named"
    if strength == "likely" and chosen.labels and chosen.outputs:
        strength = "named"
    for value in (event, *(value for value in outcome.values if value != event)):
        yield replace(
            reading,
            label_values=ordered(outcome, value),
            strength=strength if value == event else "open",
        )


def orders_of_columns(reading: Reading, chosen: bool) -> Iterator[Reading]:
    """The usual order of the classes where names or numbers say it, else both that are plausible."""
    outcome, outputs = reading.truth, reading.outputs
    names = [name.lower() for name in outputs.classes]
    in_order = names == sorted(names)
    if len(names) == len(outcome.values) == 2:
        named = {plain_name(value) for value in outcome.values} <= {
            plain_name(name) for name in outputs.classes
        }
        # Encoders number classes in the order of their names, people the one that happens as 1.
        agree = in_order and [*map(names_event, names)] == [False, True]
        first = share_a_word(tokens(outcome.name), tokens(names[0]))
        by_place = agree and outcome.numbers is not None and not first
        if named or outputs.counts_up or by_place:
            yield replace(reading, strength="named" if named else "likely" if by_place else "named")
            return
        event = event_of(outcome, reading.outputs.columns[-1])[0]
        for value in (event, *(value for value in outcome.values if value != event)):
            yield replace(reading, label_values=ordered(outcome, value), strength="open")
        return
    numbered = outcome.numbers is not None and not any(map(str.isdecimal, names))
    if chosen or in_order or not numbered:
        yield reading
        return
    low = min(int(value) for value in outcome.values)
    as_they_stand = tuple(range(low, low + len(names)))
    by_letters = tuple(low + sorted(names).index(name) for name in names)
    for values in (as_they_stand, by_letters):
        yield replace(reading, label_values=values, strength="open")


def ways_of_one_column(reading: Reading, chosen: Choices) -> Sequence[bool]:
    """Whether one column is the confidence in an answer, the probability of a class, or either."""
    score, outcome, predicted = reading.score, reading.truth, reading.predicted
    if chosen.kind is not None:
        return [chosen.kind == "pairs"]
    if tells_correct(outcome, score):
        return [True]
    if len(outcome.values) > 2:
        return [predicted is not None] if not score.low < 0 < score.high else []
    if predicted is not None:
        sure = score.low >= 0.5
        return [True] if sure else [True, False] if score.words & w.CONFIDENCE else [False]
    # Where no value is below a half it may be the confidence in what was predicted, which is not there.
    return [True, False] if score.low >= 0.5 and score.in_unit else [False]


def predicted_column(
    columns: Mapping[str, Column], outcome: Column, outputs: Outputs, chosen: Choices
) -> Column | None:
    """The column of predicted classes: chosen, or named so with labels in common, or the only one with these labels."""
    if chosen.predicted is not None:
        return columns.get(chosen.predicted)
    taken = {outcome.name, *outputs.names, *chosen.columns(but="predicted")}
    free = [c for c in columns.values() if c.name not in taken and {*c.values} & {*outcome.values}]
    found = [column for column in free if column.says == "predicted"]
    if not found and outputs.is_single and len(outcome.values) > 2 and outcome.numbers is None:
        found = [c for c in free if are_alike(c, outcome)]
        found = found if len(found) == 1 and found[0].says != "truth" else []
    if not found and outcome.says == "truth":
        # What is only called a label or an answer beside the true one.
        found = [c for c in free if set(tokens(c.name)) <= w.CLASS | w.RESPONSES]
    words = set(tokens(outputs.stem))
    return max(
        found,
        key=lambda c: (len(words & set(tokens(c.name))), c.says == "predicted", c.name),
        default=None,
    )


def are_alike(first: Column, second: Column) -> bool:
    """Whether two columns have most of their values in common."""
    most = max(len(first.values), len(second.values))
    return 2 * len(set(first.values) & set(second.values)) >= most


# The guess.


@dataclass(frozen=True)
class Guess:
    """What the columns of a table are.

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
        """Whether the first reading is taken."""
        return bool(self.readings) and not self.doubt

    def choices(self, given: Choices) -> Choices:
        """The choices with what was guessed."""
        return with_others(self.columns, with_reading(self.readings[0], given))


def guess(
    columns: Mapping[str, Array],
    n_rows: int,
    chosen: Choices | None = None,
    *,
    labels_elsewhere: bool = False,
) -> Guess:
    """Return what each column of a table is.

    Parameters
    ----------
    columns : name to (n,) numbers, booleans, text or dates: some rows of the table.
    n_rows : rows of the table.
    chosen : what was chosen by hand.
    labels_elsewhere : whether the labels lie in another file, so that none are looked for here.
    """
    chosen = chosen or Choices()
    known = columns_of(columns)
    by_hand = labels_elsewhere or chosen.labels or chosen.outputs
    problem = None if by_hand else problem_of([*known.values()], n_rows)
    found = readings_of(known, chosen, labels_elsewhere) if problem is None else []
    if not found:
        roles = tuple(
            ColumnRole(name, left_as(column), why_left(column)) for name, column in known.items()
        )
        return Guess(roles, (), "", known, problem)
    first = found[0]
    doubt = doubt_about(first, found, chosen)
    better = in_better_order(first) if doubt and first.outcome is not None else None
    found = found if better is None else [better, *found]
    if first.ranks[0] <= SURE_OUTCOME and first.reasons[0] != YES_OR_NO:
        found = [r for r in found if r.ranks[0] <= SURE_OUTCOME]  # no groups beside a named outcome
    readings = tuple(found[:MOST_READINGS]) if doubt else (first,)
    reasons = {
        "labels": first.reasons[0],
        "outputs": first.reasons[1],
        "predicted": "the class that the model chose",
    }
    if not doubt:
        readings = (replace(first, label_values=unless_usual(first.label_values)),)
    choices = with_others(known, with_reading(readings[0], chosen))
    return Guess(column_roles(known, chosen, choices, reasons, n_rows), readings, doubt, known)


def unless_usual(values: LabelValues) -> LabelValues:
    """The labels of the classes; None where these are the usual ones, no before yes and small before large."""
    ascending = (
        values is not None and isinstance(values[0], int) and [*values] == sorted(map(int, values))
    )
    return None if ascending or values == ("False", "True") else values


def doubt_about(first: Reading, found: Sequence[Reading], chosen: Choices) -> str:
    """Why the likeliest reading is asked about; empty where names give it and the data do not speak against it."""
    others = [r for r in found if r is not first and not is_same(r, first)]
    if any(r.outcome is not first.outcome and r.ranks[0] <= first.ranks[0] for r in others):
        return "several columns may be the outcome"
    names = {*first.outputs.names}
    if any({*r.outputs.names} != names and r.ranks[1] <= first.ranks[1] for r in others):
        return "several columns may be the outputs"
    most = (SURE_OUTCOME, SURE_OUTPUTS) if first.outputs.is_single else (4, 2)
    if any(
        is_apart(r, first) and r.ranks[0] <= most[0] and r.ranks[1] <= most[1]
        for r in others
        if first.outputs.is_single or not r.pairs
    ):
        return "two outcomes have a score each"
    if any(
        r.outcome is first.outcome
        and r.outputs != first.outputs
        and r.outputs.is_single
        and r.score.is_fraction
        and r.support >= max(ALIKE * abs(first.support), SIGNIFICANT)
        for r in others
        if first.outputs.is_single and first.outcome is not None and not chosen.outputs
    ):
        return "another column agrees with the outcome as well"
    if are_sorted(first.outputs):
        return "its columns are sorted by size in every row, so that their places name no class"
    if is_prediction_of(first):
        return f"{first.truth.name} is the class of the largest output in every row, as a prediction is"
    if any(
        r.pairs != first.pairs and r.outputs == first.outputs and sum(r.ranks) <= sum(first.ranks)
        for r in others
    ):
        return "the score may be a confidence or the probability of a class"
    if first.outcome is None:
        return "" if first.ranks[1] <= SURE_OUTPUTS else "too little says so"
    varies = (
        not first.ranks[0] or len(first.truth.values) > 1 or first.truth.says in ("truth", "label")
    )
    sure = first.ranks[0] <= SURE_OUTCOME and first.ranks[1] <= SURE_OUTPUTS
    sure = sure and first.reasons[0] != YES_OR_NO
    if not sure or not (varies or first.pairs or not first.outputs.is_single):
        return "too little says so"
    if chosen.label_values is not None or chosen.event is not None:
        return ""
    if first.support <= -SIGNIFICANT:
        return "the data speak against it"
    if any(
        r.outcome is first.outcome and r.strength != "open" and r.support <= -SIGNIFICANT
        for r in others
    ):
        return "the data speak against what names say"
    weak = first.strength == "likely" and first.support < SIGNIFICANT
    if first.strength == "open" or weak:
        return "names do not say which class is meant"
    return ""


def is_same(first: Reading, second: Reading) -> bool:
    """Whether two outcomes beside the same outputs tell the rows apart alike, as a number and the name of a class."""
    if first.outcome is None or second.outcome is None or first.outcome is second.outcome:
        return False
    orders = label_order(first), label_order(second)
    if None in orders or first.outputs.names != second.outputs.names:
        return False
    return np.array_equal(places_of(first, orders[0] or ()), places_of(second, orders[1] or ()))


def are_sorted(outputs: Outputs) -> bool:
    """Whether each of at least 20 rows has its outputs in descending order, as lists of the likeliest classes do."""
    numbers = [column.numbers for column in outputs.columns if column.numbers is not None]
    if len(numbers) < max(3, len(outputs.columns)) or len(numbers[0]) < LEAST_DECIDED:
        return False
    steps = np.diff(np.column_stack(numbers), axis=1)
    return bool((steps <= 0).all() and (steps < 0).any())


def is_apart(first: Reading, second: Reading) -> bool:
    """Whether two readings have neither outcome nor outputs in common."""
    shared = {*first.outputs.names} & {*second.outputs.names}
    return first.outcome is not second.outcome and not shared


def with_reading(reading: Reading, chosen: Choices) -> Choices:
    """The choices with outcome, outputs and prediction of a reading."""
    columns, label_values = in_class_order(reading, chosen)
    return replace(
        chosen,
        labels=chosen.labels or (reading.outcome.name if reading.outcome is not None else None),
        outputs=columns,
        predicted=chosen.predicted
        or (reading.predicted.name if reading.predicted is not None else None),
        kind=chosen.kind or ("pairs" if reading.pairs else None),
        label_values=label_values if chosen.label_values is None else chosen.label_values,
    )


def in_class_order(reading: Reading, chosen: Choices) -> tuple[Any, tuple[Any, ...] | None]:
    """The columns in the order of the classes, and the label of each where their numbers do not follow each other.

    Class names that are the columns' own names in another order say which order that is.
    """
    columns, classes = reading.outputs.names, reading.outputs.classes
    if len(columns) == 1:
        return chosen.outputs or columns, reading.label_values
    order = class_order([*map(plain_name, columns)], [*map(plain_name, chosen.class_names or ())])
    columns, classes = (tuple(names[place] for place in order) for names in (columns, classes))
    values = reading.outcome.values if reading.outcome is not None else classes
    if reading.outcome is not None and set(values) == set(classes) != set(class_names(columns)):
        return columns, reading.label_values or tuple(classes)
    numbered = all(map(is_whole, classes)) and set(values) <= set(classes)
    ordered = [int(name) for name in classes] if numbered else []
    usual = ordered in ([], list(range(len(ordered))), list(range(1, len(ordered) + 1)))
    settled = usual or (reading.outcome is None and columns == reading.outputs.names)
    return columns, reading.label_values if settled else tuple(ordered)
