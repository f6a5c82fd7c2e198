"""One way to read a table: outcome, outputs, the label of each column, and how surely names say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calib.data import words as w
from calib.data.guess.columns import Column, follows
from calib.data.guess.direction import (
    SIGNIFICANT,
    LabelValues,
    Strength,
    auroc,
    better_order,
    marks_correct,
    named_value,
)
from calib.data.guess.outputs import Outputs
from calib.data.names import (
    correct_value,
    is_anonymous,
    plain_name,
    same_beginnings,
    same_names,
    share_a_word,
    texts_of,
    tokens,
)
from calib.numerics import Floats, Ints

SURE_OUTCOME, SURE_OUTPUTS = 6, 3
"""Last ranks that are enough where nothing else comes near."""

AS_CHOSEN = (0, "as chosen")
"""Rank and reason of a column that was chosen by hand."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    outcome : None where the labels lie elsewhere.
    predicted : column of predicted classes, which tells of pairs which answers are correct.
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

    @property
    def columns(self) -> list[Column]:
        """Outcome, prediction and outputs."""
        return [c for c in (self.outcome, self.predicted, *self.outputs.columns) if c is not None]

    def with_columns(self, columns: Mapping[str, Column]) -> Reading:
        """Return the same reading of columns with other rows."""
        outputs = tuple(columns[name] for name in self.outputs.names)
        return replace(
            self,
            outcome=self.outcome and columns[self.outcome.name],
            predicted=self.predicted and columns[self.predicted.name],
            outputs=replace(self.outputs, columns=outputs),
        )

    @property
    def is_prediction(self) -> bool:
        """Return whether the outcome is the class of the largest output in every row, as predictions are."""
        return self.outcome is not None and follows(self.outcome, self.outputs.columns)

    @cached_property
    def order(self) -> tuple[str, ...] | None:
        """The label of each class: as chosen, as columns are called, or counted; None where that is open."""
        if self.label_values is not None:
            return tuple(map(str, self.label_values))
        values, classes = self.truth.values, self.outputs.classes
        n_classes = max(len(classes), 2)
        if names := same_names(values, classes):
            return names
        if self.truth.numbers is None:
            counted = self.outputs.counts_up and len(values) == n_classes
            return same_beginnings(values, classes) or (values if counted else None)
        if {*values} == {"-1", "1"}:
            return "-1", "1"
        numbers = [*map(float, values)]
        low = 1 if min(numbers) != 0 and max(numbers) == n_classes else 0
        return tuple(str(low + k) for k in range(n_classes))

    @cached_property
    def labels(self) -> Ints | None:
        """(n,) class of each row, of pairs 1 where it is correct; -1 where there is none; None where that is open."""
        truth = texts_of(self.truth.cells)
        if self.pairs and self.predicted is not None:
            filled = self.truth.filled & self.predicted.filled
            return np.where(filled, truth == texts_of(self.predicted.cells), -1)
        if self.pairs:
            return np.where(self.truth.filled, truth == str(correct_value(self.truth.values)), -1)
        if self.order is None:
            return None
        number = {plain_name(label): k for k, label in enumerate(self.order)}
        values, places = np.unique(truth, return_inverse=True)
        # "<=50K" and ">50K" differ in signs.
        exact = {label: k for k, label in enumerate(self.order)}
        codes = [exact.get(v, number.get(plain_name(v), -1)) for v in values.tolist()]
        return np.array(codes, dtype=np.int64)[places.reshape(-1)]

    @cached_property
    def complete_rows(self) -> tuple[Ints, Floats] | None:
        """(m,) class and (m, k) outputs of the rows that have both; None where these cannot be compared."""
        numbers = [column.numbers for column in self.outputs.columns if column.numbers is not None]
        if self.outcome is None or self.labels is None or len(numbers) < len(self.outputs.columns):
            return None
        scores = np.column_stack(numbers)
        complete = (self.labels >= 0) & np.isfinite(scores).all(axis=1)
        return self.labels[complete], scores[complete]

    @cached_property
    def support(self) -> float:
        """Agreement of outputs and outcome in standard errors; 0 where it is not measured.

        Of one score and two labels the rank-sum statistic, of two columns that of their difference. Of more columns
        minus infinity where another order of them agrees significantly better, plus infinity where none does.
        """
        if self.complete_rows is None or not len(self.complete_rows[0]):
            return 0.0
        labels, scores = self.complete_rows
        if scores.shape[1] <= 2:
            return auroc(scores[:, -1] - scores[:, 0] * (scores.shape[1] - 1), labels == 1)[1]
        better = better_order(labels, scores.argmax(axis=1), scores.shape[1])
        return np.inf if better is None else -np.inf

    @property
    def area(self) -> float:
        """AUROC of a single column; NaN where it is not defined."""
        if self.complete_rows is None:
            return np.nan
        labels, scores = self.complete_rows
        return auroc(scores[:, 0], labels == 1)[0]


def in_better_order(reading: Reading) -> Reading | None:
    """Return the same columns in the order of labels that agrees best with the outcome; None where theirs does."""
    rows, order = reading.complete_rows, reading.order if reading.outcome is not None else None
    if reading.outputs.is_single or rows is None or not order or reading.support > -SIGNIFICANT:
        return None
    column = better_order(rows[0], rows[1].argmax(axis=1), rows[1].shape[1]) or (1, 0)
    labels = tuple(order[column.index(k)] for k in range(len(column)))
    numbered = reading.truth.numbers is not None
    values: LabelValues = tuple(int(float(label)) for label in labels) if numbered else labels
    return replace(reading, label_values=values, strength="open")


# Ranks.


def outcome_rank(r: Reading, others: bool) -> tuple[int, str] | None:
    """Return how surely names say that a column is the outcome, with the reason; None where it cannot be.

    Parameters
    ----------
    others : whether another column is named as an outcome; one that tells what is correct is then the outcome only of
        a confidence.
    """
    truth, outputs = r.truth, r.outputs
    plain = {plain_name(value) for value in truth.values}
    listed = outputs.called(truth.values) or (len(plain) > 2 and plain < outputs.plain)
    if truth.meaning == "correct" and others and not (r.pairs and r.score.terms & w.CONFIDENCE):
        return 10, "it tells which answers are correct"
    if truth.numbers is None and listed:
        return 1, "it lists the classes that outputs are named after"
    if outputs.is_single and r.pairs and r.predicted is None and marks_correct(truth, r.score):
        return 2, "it tells which answers are correct"
    if truth.meaning == "truth":
        return 3, "named as the true class"
    if shares_a_word(r):
        return 4, "named like what outputs speak of"
    if truth.meaning == "label":
        return 5, "named as a label"
    if truth.meaning == "past" or (truth.meaning in ("id", "time") and not truth.yes_or_no):
        return None
    if len(truth.values) > 2 and counts_as_columns(truth.values, outputs):
        return 6, "its values count as the columns do"
    if truth.meaning == "event":
        return 6, "named after an event"
    if truth.meaning == "group":
        return 9, "nothing else can be the outcome"
    if truth.yes_or_no and not truth.meaning:
        return 7, "two values that say yes and no"
    if not outputs.is_single:
        return 8, "as many values as columns"
    if r.predicted is not None:
        return 8, "values as those that were predicted"
    return (8, "two values") if len(truth.values) == 2 else None


def shares_a_word(r: Reading) -> bool:
    """Return whether outcome and outputs are named after the same: ``p_default`` beside ``default``, or its label."""
    named = r.truth.yes_or_no or r.truth.meaning in ("label", "event")
    if named and share_a_word(tokens(r.truth.name), tokens(r.outputs.stem)):
        return True
    text = r.truth.numbers is None
    return text and r.outputs.is_single and named_value(r.score, r.truth) is not None


def counts_as_columns(values: Sequence[str], outputs: Outputs) -> bool:
    """Return whether values are numbers of the columns, or 0, 1, 2, ... beside columns without names."""
    counted = [[str(first + k) for k in range(len(outputs.columns))] for first in (0, 1)]
    silent = is_anonymous(outputs.names[0]) and sorted(values, key=len) in counted
    return silent or {*values} <= {*outputs.classes}


def outputs_rank(r: Reading) -> tuple[int, str] | None:
    """Return how surely columns are the outputs, with the reason; None where they cannot be."""
    outputs = r.outputs
    if not outputs.is_single:
        scores = outputs.is_named or outputs.total is not None
        if scores or all(column.is_fraction for column in outputs.columns):
            return 1, "one column for each class"
        return 4, "called like the classes"
    if r.score.meaning == "output":
        likely = bool(r.score.terms & w.PROBABILITY)
        return (2, "named as a probability") if likely else (3, "named as a score")
    return (4, "fractions") if r.score.meaning not in ("past", "weight") else None


def likeliness(r: Reading) -> tuple[object, ...]:
    """Key by which readings are sorted: names first, then fractions, then the agreement of the data."""
    fractions = all(column.is_fraction for column in r.outputs.columns)
    agrees = 1 if abs(r.support) < SIGNIFICANT else 0 if r.support > 0 else 2
    unrelated = r.outcome is not None and not shares_a_word(r)
    return sum(r.ranks), r.ranks, unrelated, not fractions, agrees
