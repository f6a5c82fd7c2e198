"""The rules by which a table is read, in the order they apply.

A reading is an outcome with outputs. Each is judged by the first rule of its list that holds. A reading is clear where
every other one is beaten by one that has a column in common with it and rules as early for both. Else it is asked.
Nothing is weighed, and how well outputs agree with an outcome is never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from calib.canonical import class_order
from calib.data import words as w
from calib.data.guess.beside import column_roles, left_as, why_left, with_others
from calib.data.guess.columns import Column, columns_of, follows
from calib.data.guess.direction import LabelValues, named_value, names_event, orders, tells_correct
from calib.data.guess.names import class_names, is_anonymous, plain_name, share_a_word, tokens
from calib.data.guess.outputs import Candidates, Outputs, columns_in
from calib.data.guess.problems import Problem, problem_of
from calib.data.options import Choices
from calib.data.read.base import Array
from calib.data.roles import ColumnRole

MOST_READINGS = 8
"""More ways to read a table than these nobody compares."""

MOST_OUTCOMES = 12
"""Columns that are looked at as outcomes: those named so first."""


class Rule(NamedTuple):
    """What makes columns the outputs, or a column the outcome.

    Attributes
    ----------
    rank : rules of the same rank are equally good, and it is asked where both hold.
    says : the reason, for people.
    holds : of a reading.
    is_sure : whether it is enough where nothing else comes near.
    """

    rank: int
    says: str
    holds: Callable[[Reading], bool]
    is_sure: bool = True


CHOSEN = Rule(0, "as chosen", bool)


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    outcome : None where the labels lie elsewhere.
    predicted : column of predicted classes, to check by or to tell what is correct.
    pairs : whether the outputs are the confidence in an answer that is correct or wrong.
    label_values : labels of the two classes, that of which a single column speaks last.
    rules : the first that hold of the outcome and of the outputs.
    """

    outcome: Column | None
    outputs: Outputs
    predicted: Column | None = None
    pairs: bool = False
    label_values: LabelValues = None
    rules: tuple[Rule, Rule] = (CHOSEN, CHOSEN)

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
    def is_sure(self) -> bool:
        """Whether it may be taken where nothing else comes near; of a single score, not beside an outcome of one value
        that was not chosen and is not called the true class.
        """
        varies = (
            self.rules[0] is CHOSEN
            or len(self.truth.values) > 1
            or self.truth.says in ("truth", "label")
        )
        return (varies or self.pairs or not self.outputs.is_single) and all(
            rule.is_sure for rule in self.rules
        )

    @property
    def ranks(self) -> tuple[int, int]:
        """Those of its rules."""
        return self.rules[0].rank, self.rules[1].rank

    def is_beaten_by(self, other: Reading) -> bool:
        """Whether another reading with a column in common is as good in both, and better in one.

        A pair of other columns beats none: ``old`` in both names says that they belong together, not that they are
        meant.
        """
        apart = self.outcome is not other.outcome and not {*self.outputs.names} & {
            *other.outputs.names
        }
        as_good = all(a <= b for a, b in zip(other.ranks, self.ranks, strict=True))
        return as_good and self.ranks != other.ranks and not apart


OUTPUTS = (
    Rule(1, "one column for each class", lambda r: not r.outputs.is_single and _says_scores(r)),
    Rule(
        2,
        "named as a probability",
        lambda r: _is_named(r) and (r.score.is_fraction or bool(r.score.words & w.PROBABILITY)),
    ),
    Rule(3, "named as a score", lambda r: _is_named(r)),
    Rule(
        4,
        "fractions",
        lambda r: r.outputs.is_single and r.score.says not in ("past", "weight"),
        False,
    ),
    Rule(5, "called like the classes", lambda r: not r.outputs.is_single, False),
)
"""What makes columns the outputs, the surest first."""

OUTCOME = (
    Rule(1, "it lists the classes that outputs are named after", lambda r: _lists(r)),
    Rule(
        2,
        "it tells which answers are correct",
        lambda r: r.outputs.is_single and tells_correct(r.truth, r.score),
    ),
    Rule(3, "named as the true class", lambda r: r.truth.says == "truth"),
    Rule(4, "named like what outputs speak of", lambda r: _shares_a_word(r)),
    Rule(5, "named as a label", lambda r: r.truth.says == "label"),
    Rule(
        6,
        "its values count as the columns do",
        lambda r: len(r.truth.values) > 2 and _counts_alike(r),
    ),
    Rule(7, "named after an event", lambda r: r.truth.says == "event"),
    Rule(
        7, "two values that say yes and no", lambda r: r.truth.yes_or_no and not r.truth.says, False
    ),
    Rule(8, "as many values as columns", lambda r: not r.outputs.is_single, False),
    Rule(9, "values as those that were predicted", lambda r: r.predicted is not None, False),
    Rule(10, "two values", lambda r: len(r.truth.values) == 2 and r.truth.says != "past", False),
)
"""What makes a column the outcome, the surest first."""


def _says_scores(reading: Reading) -> bool:
    """Whether names, sums of rows or fractions say that several columns hold scores."""
    outputs = reading.outputs
    return (
        outputs.is_named
        or outputs.total is not None
        or all(column.is_fraction for column in outputs.columns)
    )


def _is_named(reading: Reading) -> bool:
    return reading.outputs.is_single and reading.score.says == "output"


def _lists(reading: Reading) -> bool:
    """The values are what the columns are called, as words."""
    values = reading.truth.values
    labels = {plain_name(value) for value in values}
    classes = {plain_name(name) for name in reading.outputs.classes}
    return reading.truth.numbers is None and (
        reading.outputs.called(values) or (len(labels) > 2 and labels < classes)
    )


def _shares_a_word(reading: Reading) -> bool:
    """``p_default`` beside ``default``, or a label of the outcome in the name of the one column."""
    outcome, outputs = reading.truth, reading.outputs
    named = outcome.yes_or_no or outcome.says in ("label", "event")
    shared = named and share_a_word(tokens(outcome.name), tokens(outputs.stem))
    return shared or named_value(reading.score, outcome) is not None


def are_alike(first: Column, second: Column) -> bool:
    """Whether two columns have most of their values in common."""
    return 2 * len(set(first.values) & set(second.values)) >= max(
        len(first.values), len(second.values)
    )


def _counts_alike(reading: Reading) -> bool:
    """As with classes 0 to 9 in the names of the columns and in the values, or 0 to 9 beside ten without a name."""
    outputs, values = reading.outputs, reading.truth.values
    counted = [[str(first + k) for k in range(len(outputs.columns))] for first in (0, 1)]
    silent = is_anonymous(outputs.names[0]) and sorted(values, key=len) in counted
    return set(values) <= set(outputs.classes) or silent


@dataclass(frozen=True)
class Guess:
    """What the columns of a table are.

    Attributes
    ----------
    roles : of every column, in the order of the table, with the reason.
    readings : one where it is clear, several where it has to be asked, the most plausible first; or one that is not
        sure enough. None where something is missing.
    is_clear : whether the first reading is meant.
    columns : by name.
    problem : why the table is not read, where it holds predictions in another form.
    """

    roles: tuple[ColumnRole, ...]
    readings: tuple[Reading, ...]
    is_clear: bool
    columns: Mapping[str, Column]
    problem: Problem | None = None

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
    """Tell which column of a table is what.

    Parameters
    ----------
    columns : name to (n,) numbers, booleans, text or dates: some rows of the table.
    n_rows : rows of the table.
    chosen : what was chosen by hand.
    labels_elsewhere : whether the labels lie in another file, so that none are looked for here.
    """
    chosen = chosen or Choices()
    known = columns_of(columns)
    asked = not (labels_elsewhere or chosen.labels or chosen.outputs)
    problem = problem_of([*known.values()], n_rows) if asked else None
    found = all_readings(known, chosen, labels_elsewhere) if problem is None else []
    best = [reading for reading in found if not any(reading.is_beaten_by(other) for other in found)]
    best = [
        r for r in best if r.outcome is None or not follows(r.outcome, r.outputs.columns)
    ] or best
    is_clear = len(best) == 1 and best[0].is_sure
    readings = tuple(
        best if is_clear else [*best, *(r for r in found if r not in best)][:MOST_READINGS]
    )
    if not readings:
        roles = tuple(
            ColumnRole(name, left_as(column), why_left(column)) for name, column in known.items()
        )
        return Guess(roles, (), False, known, problem)
    of_outcome, of_outputs = readings[0].rules
    reasons = {
        "labels": of_outcome.says, "outputs": of_outputs.says, "predicted": "the class that the model chose",
    }  # fmt: skip
    choices = with_others(known, with_reading(readings[0], chosen))
    return Guess(column_roles(known, chosen, choices, reasons, n_rows), readings, is_clear, known)


def all_readings(
    columns: Mapping[str, Column], chosen: Choices, labels_elsewhere: bool
) -> list[Reading]:
    """Every reading that some rules hold for, the most plausible first."""
    outcomes: Sequence[Column | None] = (
        [None] if labels_elsewhere else possible_outcomes(columns, chosen)
    )
    found = []
    candidates = Candidates(columns, chosen)
    for outcome in outcomes:
        for outputs in candidates.beside(outcome):
            for reading in _combined(outcome, outputs, columns, chosen):
                of_outcome = (
                    CHOSEN if outcome is None or chosen.labels else _first(OUTCOME, reading)
                )
                of_outputs = CHOSEN if chosen.outputs else _first(OUTPUTS, reading)
                if of_outcome and of_outputs:
                    found.append(replace(reading, rules=(of_outcome, of_outputs)))
    distinct: dict[Any, Reading] = {}
    for reading in sorted(found, key=lambda r: (sum(r.ranks), r.ranks, not _is_called_so(r))):
        # Pairs compare two columns, whichever of them is the outcome.
        compared = (
            frozenset((reading.outcome, reading.predicted)) if reading.pairs else reading.outcome
        )
        distinct.setdefault(
            (compared, reading.outputs, reading.pairs, reading.label_values), reading
        )
    return list(distinct.values())


def _is_called_so(reading: Reading) -> bool:
    return reading.outcome is not None and reading.outputs.called(reading.outcome.values)


def _first(rules: Sequence[Rule], reading: Reading) -> Rule | None:
    return next((rule for rule in rules if rule.holds(reading)), None)


def possible_outcomes(columns: Mapping[str, Column], chosen: Choices) -> list[Column]:
    """Columns that may be the outcome."""
    if isinstance(chosen.labels, str) and chosen.labels:
        return [columns[chosen.labels]]
    taken = columns_in(chosen, "labels")
    free = [column for column in columns.values() if column.name not in taken]
    spoken = any(
        column.says == "predicted" for column in free
    )  # words that were read and words that were there
    fit = [
        c
        for c in free
        if c.names_classes or c.says == "label" or (c.says == "truth" and (spoken or c.is_whole))
    ]
    fit = [c for c in fit if c.says not in ("predicted", "output")]
    named = {"truth": 0, "correct": 1, "label": 2, "event": 2}
    fit.sort(key=lambda c: (named.get(c.says, 3), not c.yes_or_no, len(c.values), c.name))
    return fit[:MOST_OUTCOMES]


def _combined(
    outcome: Column | None, outputs: Outputs, columns: Mapping[str, Column], chosen: Choices
) -> Iterator[Reading]:
    """The readings of one outcome with one candidate for the outputs."""
    if outcome is None:
        yield Reading(None, outputs)
        return
    reading = Reading(outcome, outputs, predicted_column(columns, outcome, outputs, chosen))
    settled = chosen.label_values is not None
    label_values: Sequence[LabelValues] = [None]
    if outputs.is_single:
        as_pairs = _as_pairs(reading, chosen)
        if True in as_pairs:
            compared = not tells_correct(outcome, reading.score)
            yield replace(reading, pairs=True, predicted=reading.predicted if compared else None)
        if False not in as_pairs or (len(outcome.values) > 2 and chosen.kind is None):
            return
        if len(outcome.values) == 2 and not settled:
            label_values = orders(outcome, reading.score)
    elif not (settled or chosen.class_names):
        label_values = _orders_of_several(outputs, outcome, bool(chosen.outputs))
    yield from (replace(reading, label_values=values) for values in label_values)


def _orders_of_several(outputs: Outputs, outcome: Column, chosen: bool) -> Sequence[LabelValues]:
    """The usual order where names or numbers say it, else both that are plausible."""
    names = [name.lower() for name in outputs.classes]
    in_order = names == sorted(names)
    if len(names) == len(outcome.values) == 2:
        named = {plain_name(value) for value in outcome.values} <= {
            plain_name(name) for name in outputs.classes
        }
        # Encoders number classes in the order of their names, people the one that happens as 1: both have to agree, and
        # an outcome that is called like the first column says otherwise.
        agree = in_order and [*map(names_event, names)] == [False, True]
        by_place = (
            agree
            and outcome.numbers is not None
            and not share_a_word(tokens(outcome.name), tokens(names[0]))
        )
        usual = named or outputs.counts_up or by_place
        return [None] if usual else orders(outcome)
    numbered = outcome.numbers is not None and not any(map(str.isdecimal, names))
    if chosen or in_order or not numbered:
        return [None]
    first = min(int(value) for value in outcome.values)
    as_they_stand = tuple(range(first, first + len(names)))
    return [as_they_stand, tuple(first + sorted(names).index(name) for name in names)]


def _as_pairs(reading: Reading, chosen: Choices) -> Sequence[bool]:
    """Whether one column is the confidence in an answer, P(class), or either."""
    score = reading.score
    outcome = reading.truth
    predicted = reading.predicted
    if chosen.kind is not None:
        return [chosen.kind == "pairs"]
    if tells_correct(outcome, score):
        return [True]
    if len(outcome.values) > 2:
        return [predicted is not None] if not score.low < 0 < score.high else []
    if predicted is not None:
        return (
            [True] if score.low >= 0.5 else [True, False] if score.words & w.CONFIDENCE else [False]
        )
    # A column of which no value is below a half may be the confidence in what was predicted, which is not there.
    return [True, False] if score.low >= 0.5 and score.in_unit else [False]


def predicted_column(
    columns: Mapping[str, Column], outcome: Column, outputs: Outputs, chosen: Choices
) -> Column | None:
    """The column of predicted classes: chosen, or named so with labels in common, or the only one with these labels."""
    if chosen.predicted is not None:
        return columns.get(chosen.predicted)
    taken = {outcome.name, *outputs.names, *columns_in(chosen, "predicted")}
    free = [c for c in columns.values() if c.name not in taken and {*c.values} & {*outcome.values}]
    found = [column for column in free if column.says == "predicted"]
    if not found and outputs.is_single and len(outcome.values) > 2 and outcome.numbers is None:
        found = [c for c in free if are_alike(c, outcome)]
        found = found if len(found) == 1 and found[0].says != "truth" else []
    if (
        not found and outcome.says == "truth"
    ):  # what is only called a label or an answer beside the true one
        found = [c for c in free if set(tokens(c.name)) <= w.CLASS | w.RESPONSES]
    words = set(tokens(outputs.stem))
    return max(
        found,
        key=lambda c: (len(words & set(tokens(c.name))), c.says == "predicted", c.name),
        default=None,
    )


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
    numbered = all(name.isdecimal() for name in classes) and set(values) <= set(classes)
    ordered = [int(name) for name in classes] if numbered else []
    usual = ordered in ([], list(range(len(ordered))), list(range(1, len(ordered) + 1)))
    settled = usual or (reading.outcome is None and columns == reading.outputs.names)
    return columns, reading.label_values if settled else tuple(ordered)
