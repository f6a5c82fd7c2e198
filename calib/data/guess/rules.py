"""The rules by which a table is read, in the order they apply.

A reading is an outcome with outputs. Each is judged by the first rule of its list that holds, and a reading is clear
where no other one has a rule as early for either. Else it is asked. Nothing is weighed, and how well outputs agree with
an outcome is never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calib.data import words as w
from calib.data.guess.beside import column_roles, left_as, why_left, with_others
from calib.data.guess.columns import Column, columns_of, follows, separates
from calib.data.guess.direction import LabelValues, named_value, orders_of_one, orders_of_two, tells_correct
from calib.data.guess.names import about, class_names, plain_name, same_word, tokens
from calib.data.guess.outputs import Candidates, Outputs, chosen_elsewhere
from calib.data.guess.problems import Problem, problem_of
from calib.data.options import Choices, Columns
from calib.data.read.base import Array
from calib.data.roles import ColumnRole

MOST_READINGS = 8
"""More ways to read a table than these nobody compares."""

MOST_OUTCOMES = 12
"""Columns that are looked at as outcomes: those named so first."""

LEAST_RISKS = 10
"""Different values from which fractions may be risks."""


@dataclass(frozen=True)
class Rule:
    """What makes columns the outputs, or a column the outcome.

    Attributes
    ----------
    says : the reason, for people.
    holds : of a reading.
    is_sure : whether it is enough where nothing else comes near.
    beats_next : whether it goes before the next rule; else the two are equally good, and it is asked where both hold.
    """

    says: str
    holds: Callable[[Reading], bool]
    is_sure: bool = True
    beats_next: bool = True


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
    ranks : their places.
    """

    outcome: Column | None
    outputs: Outputs
    predicted: Column | None = None
    pairs: bool = False
    label_values: LabelValues = None
    rules: tuple[Rule, Rule] = (Rule("as chosen", bool), Rule("as chosen", bool))
    ranks: tuple[int, int] = (0, 0)

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
        """Whether it may be taken where nothing else comes near."""
        outcome = self.outcome
        is_constant = outcome is not None and len(outcome.values) < 2 and outcome.says not in ("truth", "label")
        tells = self.pairs or not self.outputs.is_single or not is_constant
        return tells and all(rule.is_sure for rule in self.rules)

    @property
    def reasons(self) -> dict[str, str]:
        """Why its columns are what they are, by option."""
        outcome, outputs = self.rules
        return {"labels": outcome.says, "outputs": outputs.says, "predicted": "the class that the model chose"}

    def is_beaten_by(self, other: Reading) -> bool:
        """Whether another reading is as good in both, and better in one."""
        pairs = list(zip(other.ranks, self.ranks, strict=True))
        return all(a <= b for a, b in pairs) and other.ranks != self.ranks


OUTPUTS = (
    Rule("one column for each class", lambda r: not r.outputs.is_single and _says_scores(r)),
    Rule("named as a probability", lambda r: _is_named(r.outputs) and _is_probability(r.score)),
    Rule("named as a score", lambda r: _is_named(r.outputs)),
    Rule("fractions", lambda r: r.outputs.is_single and _is_fraction(r.score), False),
    Rule("called like the classes", lambda r: not r.outputs.is_single, False),
)
"""What makes columns the outputs, the surest first."""

OUTCOME = (
    Rule("it lists the classes that outputs are named after", lambda r: _lists(r)),
    Rule("it tells which answers are correct", lambda r: r.outputs.is_single and tells_correct(r.truth, r.score)),
    Rule("named as the true class", lambda r: r.truth.says == "truth"),
    Rule("named like what outputs speak of", lambda r: _shares_a_word(r)),
    Rule("named as a label", lambda r: r.truth.says in ("label", "correct")),
    Rule("it holds the classes that were predicted", lambda r: _holds_the_predicted(r)),
    Rule("its values count as the columns do", lambda r: len(r.truth.values) > 2 and _counts_alike(r)),
    Rule("named after an event", lambda r: r.truth.says == "event", beats_next=False),
    Rule("two values that say yes and no", lambda r: r.truth.yes_or_no and not _is_aside(r.truth), False),
    Rule("as many values as columns", lambda r: not r.outputs.is_single and not _is_aside(r.truth), False),
    Rule("two values", lambda r: len(r.truth.values) == 2 and r.truth.says not in ("past", "limit"), False),
)
"""What makes a column the outcome, the surest first."""


def _says_scores(reading: Reading) -> bool:
    """Whether names or sums of rows say that several columns hold scores, or they hold fractions named as classes."""
    outputs, outcome = reading.outputs, reading.outcome
    fractions = outcome is not None and outputs.called(outcome.values) and all(c.is_fraction for c in outputs.columns)
    return outputs.is_named or outputs.total is not None or fractions


def _is_named(outputs: Outputs) -> bool:
    return outputs.is_single and outputs.columns[0].says == "output"


def _is_probability(column: Column) -> bool:
    fractions = column.is_fraction or column.is_percent
    log_odds = not column.is_whole and bool(column.words & w.PROBABILITY)
    return fractions or log_odds


def _is_fraction(column: Column) -> bool:
    return (column.is_fraction or column.is_percent) and column.says not in ("limit", "past", "weight")


def _lists(reading: Reading) -> bool:
    """The values are what the columns are called, as words."""
    values = reading.truth.values
    labels, classes = {plain_name(value) for value in values}, {plain_name(name) for name in reading.outputs.classes}
    lists = reading.outputs.called(values) or (
        min(len(labels), len(classes)) > 2 and (labels < classes or classes < labels)
    )
    return lists and reading.truth.numbers is None


def _shares_a_word(reading: Reading) -> bool:
    """``p_default`` beside ``default``, or a label of the outcome in the name of the one column."""
    outcome, outputs = reading.truth, reading.outputs
    if len(outcome.values) > 2 or (outputs.is_single and reading.score.says != "output"):
        return False
    named = outcome.yes_or_no or outcome.says in ("label", "event")
    if named and any(same_word(a, b) for a in outcome.about for b in about(outputs.stem)):
        return True
    return outputs.is_single and named_value(reading.score, outcome) is not None


def _holds_the_predicted(reading: Reading) -> bool:
    """As with ``income`` beside ``Scored Labels``."""
    predicted, outcome = reading.predicted, reading.truth
    if predicted is None or _is_aside(outcome) or (outcome.yes_or_no and outcome.numbers is not None):
        return False
    return are_alike(outcome, predicted)


def are_alike(first: Column, second: Column) -> bool:
    """Whether most rows of two columns hold values that both have."""
    same = set(first.values) & set(second.values)
    return len(same) > 1 and all(column.share_of(same) > 0.5 for column in (first, second))


def _counts_alike(reading: Reading) -> bool:
    """As with classes 0 to 9 in the names of the columns and in the values, or 0 to 9 beside ten without a name."""
    outputs, values = reading.outputs, reading.truth.values
    if outputs.is_single:
        return False
    counted = [[str(first + k) for k in range(len(outputs.columns))] for first in (0, 1)]
    nameless = outputs.total is not None and outputs.columns[0].is_anonymous
    return set(values) <= set(outputs.classes) or (nameless and sorted(values, key=len) in counted)


def _is_aside(outcome: Column) -> bool:
    """Whether the name of a column says that it is something else."""
    return outcome.says in ("past", "limit", "split", "time", "weight", "group")


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
    columns: Mapping[str, Array], n_rows: int, chosen: Choices | None = None, *, labels_elsewhere: bool = False
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
    problem = None if labels_elsewhere or chosen.labels or chosen.outputs else problem_of(known, n_rows)
    found = all_readings(known, chosen, labels_elsewhere) if problem is None else []
    best = [reading for reading in found if not any(reading.is_beaten_by(other) for other in found)]
    best = [r for r in best if r.outcome is None or not follows(r.outcome, r.outputs.columns)] or best
    others = [reading for reading in found if reading not in best]
    is_clear = len(best) == 1 and best[0].is_sure
    readings = tuple([_with_prediction(best[0], known, chosen)] if is_clear else [*best, *others][:MOST_READINGS])
    if not readings:
        roles = tuple(ColumnRole(name, left_as(column), why_left(column)) for name, column in known.items())
        return Guess(roles, (), False, known, problem)
    found_choices = with_others(known, with_reading(readings[0], chosen))
    return Guess(column_roles(known, chosen, found_choices, readings[0].reasons, n_rows), readings, is_clear, known)


def all_readings(columns: Mapping[str, Column], chosen: Choices, labels_elsewhere: bool) -> list[Reading]:
    """Every reading that some rules hold for, the most plausible first."""
    outcomes: Sequence[Column | None] = [None] if labels_elsewhere else possible_outcomes(columns, chosen)
    found, candidates = [], Candidates(columns, chosen)
    for outcome in outcomes:
        for outputs in candidates.beside(outcome):
            for reading in _combined(outcome, outputs, columns, chosen):
                of_outcome = None if outcome is None or chosen.labels else _first(OUTCOME, reading)
                of_outputs = None if chosen.outputs else _first(OUTPUTS, reading)
                if NO_RULE not in (of_outcome, of_outputs):
                    found.append(_by_rules(reading, of_outcome, of_outputs))
    distinct: dict[Any, Reading] = {}
    for reading in sorted(found, key=lambda reading: (sum(reading.ranks), reading.ranks, _like_a_prediction(reading))):
        # Pairs compare two columns, whichever of them is the outcome.
        compared = frozenset((reading.outcome, reading.predicted)) if reading.pairs else reading.outcome
        distinct.setdefault((compared, reading.outputs, reading.pairs, reading.label_values), reading)
    return list(distinct.values())


def _like_a_prediction(reading: Reading) -> tuple[int, int]:
    """Words of the outcome of pairs that the outputs have too, and all: a prediction is called like its confidence."""
    own = tokens(reading.outcome.name) if reading.outcome is not None and reading.pairs else ()
    return len(set(own) & set(tokens(reading.outputs.stem))), len(own)


NO_RULE = -1
"""No rule holds."""


def _first(rules: Sequence[Rule], reading: Reading) -> int:
    return next((j for j, rule in enumerate(rules) if rule.holds(reading)), NO_RULE)


def _by_rules(reading: Reading, of_outcome: int | None, of_outputs: int | None) -> Reading:
    """The reading with its rules; what was chosen, or lies elsewhere, needs none."""
    own, ranks = list(reading.rules), [0, 0]
    for j, (rules, place) in enumerate(((OUTCOME, of_outcome), (OUTPUTS, of_outputs))):
        if place is not None:
            own[j], ranks[j] = rules[place], 1 + sum(rule.beats_next for rule in rules[:place])
    return replace(reading, rules=(own[0], own[1]), ranks=(ranks[0], ranks[1]))


def possible_outcomes(columns: Mapping[str, Column], chosen: Choices) -> list[Column]:
    """Columns that may be the outcome."""
    if isinstance(chosen.labels, str) and chosen.labels:
        return [columns[chosen.labels]]
    taken = chosen_elsewhere(chosen, "labels")
    free = [column for column in columns.values() if column.name not in taken]
    spoken = any(column.says == "predicted" for column in free)  # words that were read and words that were there
    fit = [c for c in free if c.names_classes or c.says == "label" or (c.says == "truth" and (spoken or c.is_whole))]
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
    scores = outputs.columns
    reading = Reading(outcome, outputs, predicted_column(columns, outcome, outputs, chosen))
    if outputs.is_single:
        yield from _of_one_column(reading, outcome, scores[0], chosen)
        return
    if outcome.says == "correct" and not outputs.called(outcome.values) and not chosen.labels:
        return
    classes = {plain_name(name) for name in outputs.classes}
    named = {plain_name(value) for value in outcome.values} <= classes or outputs.counts_up
    if len(scores) != 2 or len(outcome.values) != 2 or named or chosen.label_values or chosen.class_names:
        for values in _orders_of_several(outputs, outcome, chosen):
            yield replace(reading, label_values=values)
        return
    for values in orders_of_two(scores, outcome):
        yield replace(reading, label_values=values)


def _orders_of_several(outputs: Outputs, outcome: Column, chosen: Choices) -> Sequence[LabelValues]:
    """The usual order; and where labels are numbers and columns have names, that of the names."""
    names = [name.lower() for name in outputs.classes]
    numbered = outcome.numbers is not None and not any(map(str.isdecimal, names)) and len(names) > 2
    if not numbered or names == sorted(names) or chosen.outputs or chosen.label_values or chosen.class_names:
        return [None]
    first = min(int(value) for value in outcome.values)
    as_they_stand = tuple(range(first, first + len(names)))
    return [as_they_stand, tuple(first + sorted(names).index(name) for name in names)]


def _of_one_column(reading: Reading, outcome: Column, score: Column, chosen: Choices) -> Iterator[Reading]:
    """What one column says beside an outcome: P(event), or the confidence in an answer."""
    if chosen.kind is not None:
        as_pairs = chosen.kind == "pairs"
        yield from [replace(reading, pairs=True)] if as_pairs else _of_class(reading, outcome, score, chosen)
        return
    if tells_correct(outcome, score):
        yield replace(reading, pairs=True, predicted=None)
        return
    predicted = reading.predicted
    if len(outcome.values) > 2:
        if predicted is not None and not score.has_both_signs:
            yield replace(reading, pairs=True)
        return
    above_half = score.low >= 0.5
    if predicted is None:
        # A column of which no value is below a half may be the confidence in what was predicted, which is not there.
        if above_half and score.in_unit and len(score.values) >= LEAST_RISKS and not _shares_a_word(reading):
            yield replace(reading, pairs=True)
        yield from _of_class(reading, outcome, score, chosen)
        return
    value = next((value for value in outcome.values if separates(score, predicted, value)), None)
    if value is not None:
        yield from _of_class(reading, outcome, score, chosen, value)
        return
    if above_half or score.words & w.CONFIDENCE:
        yield replace(reading, pairs=True)
    if not above_half:
        yield from _of_class(reading, outcome, score, chosen)


def _of_class(
    reading: Reading, outcome: Column, score: Column, chosen: Choices, separated: str | None = None
) -> Iterator[Reading]:
    """P(class) of either class where names cannot tell of which, else of the one they tell."""
    if chosen.label_values is not None or len(outcome.values) != 2:
        yield reading
        return
    for values in orders_of_one(score, outcome, separated):
        yield replace(reading, label_values=values)


def predicted_column(
    columns: Mapping[str, Column], outcome: Column, outputs: Outputs, chosen: Choices
) -> Column | None:
    """The column of predicted classes: chosen, or named so with labels in common, or the only one with these labels."""
    if chosen.predicted:
        return columns[chosen.predicted]
    if chosen.predicted == "":
        return None
    taken = {outcome.name, *outputs.names, *chosen_elsewhere(chosen, "predicted")}
    labels = set(outcome.values)
    free = [column for column in columns.values() if column.name not in taken and not labels.isdisjoint(column.values)]
    free = [column for column in free if column.numbers is None or column.is_whole]
    found = [column for column in free if column.says == "predicted"]
    if not found and outputs.is_single and len(labels) > 2 and outcome.numbers is None:
        found = [c for c in free if are_alike(c, outcome) or (outcome.says == "truth" and labels <= set(c.values))]
        found = found if len(found) == 1 and found[0].says not in ("truth", "past") else []
    if not found and outcome.says == "truth":  # what is only called a label or an answer beside the true one
        answers = w.CLASS | w.RESPONSES
        found = [c for c in free if set(tokens(c.name)) <= answers and set(c.values) <= labels]
    words = set(tokens(outputs.stem))
    return max(found, key=lambda c: (len(words & set(tokens(c.name))), c.says == "predicted", c.name), default=None)


def _with_prediction(reading: Reading, columns: Mapping[str, Column], chosen: Choices) -> Reading:
    """A clear reading with the column that holds the class of the largest output, where none is named so."""
    taken = {reading.outcome.name if reading.outcome else None, *chosen_elsewhere(chosen, "predicted")}
    if reading.outcome is None or reading.predicted is not None or chosen.predicted is not None:
        return reading
    scores, labels = reading.outputs.columns, set(reading.outcome.values)
    free = [c for c in columns.values() if c.name not in taken and c not in scores and labels & set(c.values)]
    return replace(reading, predicted=next((column for column in free if follows(column, scores)), None))


def with_reading(reading: Reading, chosen: Choices) -> Choices:
    """The choices with outcome, outputs and prediction of a reading."""
    columns, label_values = in_class_order(reading, chosen)
    return replace(
        chosen,
        labels=chosen.labels or (reading.outcome.name if reading.outcome is not None else None),
        outputs=columns,
        predicted=chosen.predicted or (reading.predicted.name if reading.predicted is not None else None),
        kind=chosen.kind or ("pairs" if reading.pairs else None),
        label_values=label_values if chosen.label_values is None else chosen.label_values,
    )


def in_class_order(reading: Reading, chosen: Choices) -> tuple[Columns, tuple[Any, ...] | None]:
    """The columns in the order of the classes, and the label of each where their numbers do not follow each other.

    Class names that are the columns' own names in another order say which order that is.
    """
    columns, classes = reading.outputs.names, reading.outputs.classes
    if len(columns) == 1:
        return chosen.outputs or columns, reading.label_values
    own = dict(zip(map(plain_name, classes), zip(columns, classes, strict=True), strict=True))
    order = [plain_name(name) for name in chosen.class_names or ()]
    if sorted(order) == sorted(own) and len(own) == len(columns):
        columns, classes = (tuple(names) for names in zip(*(own[name] for name in order), strict=True))
    values = reading.outcome.values if reading.outcome is not None else classes
    if reading.outcome is not None and set(values) == set(classes) != set(class_names(columns)):
        return columns, reading.label_values or tuple(classes)
    numbered = all(name.isdecimal() for name in classes) and set(values) <= set(classes)
    ordered = [int(name) for name in classes] if numbered else []
    usual = ordered in ([], list(range(len(ordered))), list(range(1, len(ordered) + 1)))
    settled = usual or (reading.outcome is None and columns == reading.outputs.names)
    return columns, reading.label_values if settled else tuple(ordered)
