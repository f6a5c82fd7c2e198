"""The ways to read a table: which column is the outcome, which are the outputs, and what these speak of.

Each reading has the evidence of its columns and of how they fit together. One is accepted where it has enough and beats
every other one clearly; else people are asked. How well outputs and outcome agree decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from calib.data.interpret.direction import (
    LEAST_RISKS,
    bears_the_name,
    is_beside_event,
    named_value,
    same_word,
    spoken_pair,
    spoken_values,
    tells_correct,
)
from calib.data.interpret.evidence import (
    IMPOSSIBLE,
    Column,
    one_to_one,
    row_sums,
    same_order,
    says_yes_or_no,
)
from calib.data.interpret.families import (
    BY_HAND,
    ENOUGH_OUTPUTS,
    NAMED_AFTER,
    OFFERED_OUTPUTS,
    Outputs,
    chosen_elsewhere,
    class_fit,
    counts_up,
    output_candidates,
    plain_name,
)
from calib.data.interpret.predicted import are_answers, decides, predicted_column, separates
from calib.data.interpret.vocabulary import (
    CONFIDENCE,
    has_word,
    is_prediction,
    tokens,
)
from calib.data.options import Choices

CLEARLY = 1.0
"""By how much the best reading has to beat the next: one step in the strength of a word."""

OTHER_OUTPUTS = 2.5
"""By how much where the next has other outputs: several models' columns differ by such a step too."""

OTHER_OUTCOME = 2.5
"""By how much where the next says yes or no too: beside one risk, stroke and bleeding differ by a likely word alone."""

ENOUGH_OUTCOME = 1.0
"""Evidence of a column from which a reading is accepted."""

OFFERED_OUTCOME = 0.0
"""Evidence of a column from which a reading is worth a question."""

CALLED_OTHERWISE = -2.0
"""A name for another role counts no more against an outcome whose values are the names of all classes."""

PREDICTED_BESIDE = 1.0
"""Where a predicted class stands beside the outcome, a score of it is near."""

ANSWERED = 3.0
"""A column of text with the same words in many rows stands beside the outcome."""

DECIDED = -4.0
"""A column that is the class of the largest output in every row is the prediction, not the outcome."""

UNSURE = -2.0
"""Something speaks against a reading, without saying which one is right."""

LEAST_OUTCOME = -3.5
"""Evidence of a column alone from which it may be an outcome after which the outputs are named."""

MOST_OUTCOMES = 8
"""Candidates that are combined, the most likely first."""


@dataclass(frozen=True)
class Reading:
    """One way to read a table.

    Attributes
    ----------
    outcome : None where the labels lie elsewhere.
    predicted : column of predicted classes, to check by or to tell what is correct.
    pairs : whether the outputs are the confidence in an answer that is correct or wrong.
    label_values : labels of the two classes, that of which a single column speaks last; None where the usual order
        holds.
    of_outcome, of_outputs : evidence.
    """

    outcome: Column | None
    outputs: Outputs
    predicted: Column | None = None
    pairs: bool = False
    label_values: tuple[str, ...] | tuple[int, ...] | None = None
    of_outcome: float = 0.0
    of_outputs: float = 0.0

    @property
    def evidence(self) -> float:
        """All that speaks for it."""
        return self.of_outcome + self.of_outputs

    @property
    def is_enough(self) -> bool:
        """Whether it may be accepted where nothing else comes near."""
        return self.of_outputs >= ENOUGH_OUTPUTS and (self.outcome is None or self.of_outcome >= ENOUGH_OUTCOME)

    @property
    def is_offered(self) -> bool:
        """Whether it is worth a question."""
        return self.of_outputs >= OFFERED_OUTPUTS and (self.outcome is None or self.of_outcome >= OFFERED_OUTCOME)

    @property
    def may_be_meant(self) -> bool:
        """Whether outputs are clear and a column says yes or no, or counts classes, though it is called otherwise."""
        values = self.outcome.values if self.outcome is not None else ()
        return self.of_outputs >= ENOUGH_OUTPUTS and (says_yes_or_no(values) or (bool(values) and counts_up(values)))

    def with_evidence(self, of_outcome: float, of_outputs: float) -> Reading:
        """The same reading with more to be said for or against it."""
        return replace(self, of_outcome=self.of_outcome + of_outcome, of_outputs=self.of_outputs + of_outputs)

    def says_the_same(self, other: Reading, columns: Mapping[str, Column]) -> bool:
        """Whether another reading gives the same data: the same answers in other words, the same scores on other
        scales.
        """
        if self.pairs != other.pairs or self.label_values != other.label_values:
            return False
        if self.outcome is not other.outcome and not (
            self.outcome and other.outcome and one_to_one(self.outcome, other.outcome)
        ):
            return False
        a, b = self.outputs.columns, other.outputs.columns
        if a == b:
            return True
        return len(a) == len(b) == 1 and same_order(columns[a[0]], columns[b[0]])


def readings(columns: Mapping[str, Column], choices: Choices, separate_labels: bool) -> list[Reading]:
    """All readings worth a question, with the most evidence first; those that say the same once.

    Parameters
    ----------
    columns : of a sample of the table.
    choices : what was chosen by hand.
    separate_labels : whether the labels lie in another file.
    """
    outcomes: Sequence[Column | None] = [None] if separate_labels else outcome_candidates(columns, choices)
    found = [
        reading
        for outcome in outcomes
        for outputs in output_candidates(columns, outcome, choices)
        for reading in combined(outcome, outputs, columns, choices)
    ]
    found.sort(key=lambda reading: -reading.evidence)
    worth_it = [r for r in found if r.is_offered] or [r for r in found if r.may_be_meant]
    distinct: list[Reading] = []
    for reading in worth_it:
        if not any(reading.says_the_same(better, columns) for better in distinct):
            distinct.append(reading)
    return distinct


def accepted(found: Sequence[Reading]) -> Reading | None:
    """The best reading where it has enough evidence and beats the next one clearly."""
    if not found or not found[0].is_enough:
        return None
    return found[0] if len(rivals(found)) == 1 else None


def rivals(found: Sequence[Reading]) -> list[Reading]:
    """The best reading and those that it does not beat clearly."""
    best = found[0]
    return [r for r in found if r is best or best.evidence - r.evidence < margin(best, r)]


def margin(best: Reading, other: Reading) -> float:
    """By how much a reading has to beat another one."""
    if best.outputs.columns != other.outputs.columns:
        return OTHER_OUTPUTS
    outcomes = {reading.outcome.name: reading.outcome.values for reading in (best, other) if reading.outcome}
    return OTHER_OUTCOME if len(outcomes) == 2 and all(map(says_yes_or_no, outcomes.values())) else CLEARLY


def outcome_candidates(columns: Mapping[str, Column], choices: Choices) -> list[Column]:
    """Columns that may be the outcome, the most likely first."""
    if isinstance(choices.labels, str) and choices.labels:
        return [columns[choices.labels]]
    taken = chosen_elsewhere(choices, "labels")
    free = [column for column in columns.values() if column.name not in taken and column.as_outcome > IMPOSSIBLE]
    likely = [column for column in free if column.as_outcome >= LEAST_OUTCOME]
    return sorted(likely, key=lambda column: -column.as_outcome)[:MOST_OUTCOMES]


def combined(
    outcome: Column | None, outputs: Outputs, columns: Mapping[str, Column], choices: Choices
) -> Iterator[Reading]:
    """The readings of one outcome with one candidate for the outputs."""
    if outcome is None:
        yield Reading(None, outputs, of_outputs=outputs.evidence)
        return
    scores = [columns[name] for name in outputs.columns]
    of_outcome = BY_HAND if choices.labels == outcome.name else outcome.as_outcome
    decided = decides(scores, outcome)
    if decided and outcome.said.get("predicted", 0.0) > 0 and choices.labels != outcome.name:
        return  # called the prediction, and it is the prediction
    of_outcome += DECIDED if decided else 0.0
    predicted = predicted_column(columns, outcome, outputs, choices, chosen_elsewhere(choices, "predicted"))
    if predicted is None and len(scores) == 1 and not choices.labels and is_beside_event(outcome, columns):
        return
    reading = Reading(outcome, outputs, predicted, of_outcome=of_outcome, of_outputs=outputs.evidence)
    if predicted is not None and len(scores) == 1 and scores[0].is_share and are_answers(outcome, predicted):
        reading = replace(reading.with_evidence(0.0, PREDICTED_BESIDE), of_outcome=max(of_outcome, 0.0) + ANSWERED)
    elif not decided and named_after(outcome, outputs, scores):
        reading = reading.with_evidence(NAMED_AFTER, NAMED_AFTER)
    elif not decided and is_alone(outputs, scores) and bears_the_name(scores[0], outcome):
        reading = replace(reading, of_outputs=max(outputs.evidence, ENOUGH_OUTPUTS))
    if len(outputs.columns) > 1:
        if len(outcome.values) < len(scores) and not choices.outputs and are_several_risks(scores):
            return
        fit = class_fit(outputs, outcome.values)
        if not decided and is_list_of_labels(outcome, outputs, scores):
            reading = replace(reading, of_outcome=max(of_outcome, CALLED_OTHERWISE))
        yield from of_columns(reading.with_evidence(max(fit, 0.0), fit), outcome, scores, choices)
    else:
        yield from of_one_column(reading, outcome, scores[0], choices)


def of_columns(reading: Reading, outcome: Column, scores: Sequence[Column], choices: Choices) -> Iterator[Reading]:
    """One column for each class; of two whose names are no labels, in the order that names say."""
    classes = {plain_name(name) for name in reading.outputs.classes}
    named = {plain_name(value) for value in outcome.values} <= classes or all(name.isdecimal() for name in classes)
    if len(scores) != 2 or len(outcome.values) != 2 or named or choices.label_values or choices.class_names:
        yield reading
        return
    for values in spoken_pair(scores, outcome):
        yield replace(reading, label_values=values)


def is_alone(outputs: Outputs, scores: Sequence[Column]) -> bool:
    """Whether there is one column, which belongs to no family of outputs."""
    return len(scores) == 1 and outputs.evidence >= scores[0].as_score


def are_several_risks(scores: Sequence[Column]) -> bool:
    """Whether columns hold probabilities whose rows sum to nothing in common: of several models, not of classes."""
    return all(score.in_unit for score in scores) and row_sums(scores) is None


def is_list_of_labels(outcome: Column, outputs: Outputs, scores: Sequence[Column]) -> bool:
    """Whether the probabilities of all classes are called exactly like the values of a column."""
    called = {plain_name(name) for name in outputs.classes} == {plain_name(value) for value in outcome.values}
    return called and not is_prediction(outcome.name) and row_sums(scores) in (1, 100)


def named_after(outcome: Column, outputs: Outputs, scores: Sequence[Column]) -> bool:
    """Whether outputs are called after what may happen, as ``p_default`` beside ``default``, or after a label of it."""
    if not any(score.said.get("outputs", 0.0) > 0 for score in scores):
        return False
    words = set.intersection(*(set(tokens(name)) for name in outputs.columns))
    shared = any(same_word(a, b) for a in tokens(outcome.name) for b in words)
    return shared or (len(scores) == 1 and named_value(scores[0], outcome) is not None)


def of_one_column(reading: Reading, outcome: Column, score: Column, choices: Choices) -> Iterator[Reading]:
    """What one column says beside an outcome: P(event), or the confidence in an answer."""
    if choices.kind is not None:
        as_pairs = choices.kind == "pairs"
        yield from [replace(reading, pairs=True)] if as_pairs else of_classes(reading, outcome, score, choices)
        return
    if tells_correct(outcome, score) and not score.has_both_signs:
        tells = (score.in_unit and score.is_silent) or score.is_percent
        reading = reading.with_evidence(0.0, PREDICTED_BESIDE if tells else 0.0)
        yield replace(reading, pairs=True, predicted=None)
        return
    predicted = reading.predicted
    if predicted is not None:
        reading = reading.with_evidence(0.0, PREDICTED_BESIDE)
    if len(outcome.values) > 2:
        if predicted is not None:
            yield replace(reading, pairs=True)
        return
    called_confidence = has_word(score.name, CONFIDENCE)
    above_half = score.numbers is not None and len(score.present) > 0 and float(score.present.min()) >= 0.5
    if predicted is None:
        # A column of which no value is below a half may be the confidence in what was predicted, which is not there.
        may_be_confidence = above_half and score.in_unit and len(score.values) >= LEAST_RISKS
        if may_be_confidence and not named_after(outcome, reading.outputs, [score]):
            yield replace(reading, pairs=True)
        yield from of_classes(reading, outcome, score, choices)
        return
    value = next((value for value in outcome.values if separates(score, predicted, value)), None)
    if value is not None:
        yield from of_classes(reading, outcome, score, choices, value)
        return
    if above_half or called_confidence:
        yield replace(reading, pairs=True)
    if not above_half:
        unsure = UNSURE / 2 if called_confidence else 0.0
        yield from of_classes(reading.with_evidence(0.0, unsure), outcome, score, choices)


def of_classes(
    reading: Reading, outcome: Column, score: Column, choices: Choices, separated: str | None = None
) -> Iterator[Reading]:
    """P(class) of either class where names cannot tell of which, else of the one they tell.

    Parameters
    ----------
    separated : the class that was predicted wherever the score is high, where that is known.
    """
    if choices.label_values is not None or len(outcome.values) != 2:
        yield reading
        return
    for values in spoken_values(score, outcome, separated):
        yield replace(reading, label_values=values)
