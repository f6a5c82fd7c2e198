"""The ways to read a table: which column is the outcome, which are the outputs, and what these speak of.

Each reading has the evidence of its columns and of how they fit together. One is accepted where it has enough and beats
every other one clearly; else people are asked. How well outputs and outcome agree decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from calib.canonical import ONE_COLUMN
from calib.data.interpret.direction import (
    bears_the_name,
    is_beside_event,
    named_value,
    same_word,
    spoken_values,
    tells_correct,
)
from calib.data.interpret.evidence import (
    IMPOSSIBLE,
    Column,
    one_to_one,
    rank_correlation,
    row_sums,
    same_order,
)
from calib.data.interpret.families import Outputs, by_class, by_pattern, family, plain_name, side_by_side, single
from calib.data.interpret.predicted import are_answers, decides, predicted_column, separates
from calib.data.interpret.vocabulary import (
    CERTAIN,
    CONFIDENCE,
    has_word,
    is_prediction,
    tokens,
)
from calib.data.options import Choices

NAMED_AFTER = 3.0
"""Columns of outputs are called like the classes of the outcome, or a column of risk like what may happen."""

AS_MANY = 1.0
"""There are as many columns as classes."""

TOO_FEW = -2.0
"""There are more classes than columns."""

MEMBER = -3.0
"""A column of a whole family of outputs is rarely meant alone."""

BY_HAND = 2 * CERTAIN
"""What somebody has chosen needs no further evidence."""

CLEARLY = 1.0
"""By how much the best reading has to beat the next: one step in the strength of a word."""

OTHER_OUTPUTS = 2.5
"""By how much where the next has other outputs: several models' columns differ by such a step too."""

ENOUGH_OUTPUTS, ENOUGH_OUTCOME = 2.0, 1.0
"""Evidence from which a reading is accepted."""

OFFERED_OUTPUTS, OFFERED_OUTCOME = 1.0, 0.0
"""Evidence from which a reading is worth a question."""

CALLED_ALIKE = 2.0
"""Columns that count as the labels do."""

CALLED_OTHERWISE = -2.0
"""A name for another role counts no more against an outcome whose values are the names of all classes."""

PREDICTED_BESIDE = 1.0
"""Where a predicted class stands beside the outcome, a score of it is near."""

ANSWERED = 3.0
"""A column of text with the same words in many rows stands beside the outcome."""

DECIDED = -4.0
"""A column that is the class of the largest output in every row is the prediction, not the outcome."""

RISES_WITH, STRONGLY = 2.0, 0.8
"""A column in [0, 1] has the ranks of a score: it may be that of another model. And the rank correlation for it."""

UNSURE = -2.0
"""Something speaks against a reading, without saying which one is right."""

LEAST_OUTCOME = -3.5
"""Evidence of a column alone from which it may be an outcome after which the outputs are named."""

MOST_OUTCOMES, MOST_OUTPUTS = 8, 12
"""Candidates of each kind that are combined, the most likely first."""


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
    distinct: list[Reading] = []
    for reading in found:
        if reading.is_offered and not any(reading.says_the_same(better, columns) for better in distinct):
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
    return [
        reading
        for reading in found
        if reading is best
        or best.evidence - reading.evidence
        < (CLEARLY if reading.outputs.columns == best.outputs.columns else OTHER_OUTPUTS)
    ]


def outcome_candidates(columns: Mapping[str, Column], choices: Choices) -> list[Column]:
    """Columns that may be the outcome, the most likely first."""
    if isinstance(choices.labels, str) and choices.labels:
        return [columns[choices.labels]]
    taken = chosen_elsewhere(choices, "labels")
    free = [column for column in columns.values() if column.name not in taken and column.as_outcome > IMPOSSIBLE]
    likely = [column for column in free if column.as_outcome >= LEAST_OUTCOME]
    return sorted(likely, key=lambda column: -column.as_outcome)[:MOST_OUTCOMES]


def output_candidates(columns: Mapping[str, Column], outcome: Column | None, choices: Choices) -> list[Outputs]:
    """Columns that may be the outputs for one outcome, the most likely first."""
    if choices.outputs:
        names = (choices.outputs,) if isinstance(choices.outputs, str) else choices.outputs
        chosen = [columns[name] for name in names]
        found = single(chosen[0]) if len(chosen) == 1 else family(chosen, "")
        return [replace(found, evidence=BY_HAND, reason="as chosen")]
    taken = chosen_elsewhere(choices, "outputs") | ({outcome.name} if outcome is not None else set())
    free = [column for column in columns.values() if column.name not in taken]
    values = outcome.values if outcome is not None else ()
    families = [*by_pattern(free), *side_by_side(free, len(values)), *by_class(free, values)]
    families = best_of_each(
        [found for found in families if found.evidence + class_fit(found, values) >= OFFERED_OUTPUTS]
    )
    members = {name for found in families if found.evidence >= ENOUGH_OUTPUTS for name in found.columns}
    singles = [single(column) for column in free if column.as_score > IMPOSSIBLE]
    singles = [replace(s, evidence=s.evidence + MEMBER) if s.columns[0] in members else s for s in singles]
    named = [column for s in singles if (column := columns[s.columns[0]]).said.get("outputs", 0.0) > 0]
    singles = [replace(s, evidence=s.evidence + alike(columns[s.columns[0]], named)) for s in singles]
    if choices.kind is not None:  # it says whether there is one column or one for each class
        families, singles = ([], singles) if choices.kind in ONE_COLUMN else (families, [])
    return sorted((*families, *singles), key=lambda found: -found.evidence)[:MOST_OUTPUTS]


def alike(column: Column, named: Sequence[Column]) -> float:
    """Evidence for a column without a telling name: it rises and falls with one that is called outputs."""
    if not column.is_silent or not column.in_unit:
        return 0.0
    return RISES_WITH if any(rank_correlation(column, other) > STRONGLY for other in named) else 0.0


def best_of_each(families: Sequence[Outputs]) -> list[Outputs]:
    """Of several candidates with the same columns, the one with the most evidence."""
    best: dict[frozenset[str], Outputs] = {}
    for found in families:
        key = frozenset(found.columns)
        if key not in best or found.evidence > best[key].evidence:
            best[key] = found
    return list(best.values())


def chosen_elsewhere(choices: Choices, role: str) -> set[str]:
    """Columns that somebody has chosen for another role."""
    return {
        name
        for option in ("outputs", "labels", "groups", "clusters", "weights", "predicted", "features", "split", "ignore")
        if option != role and (value := getattr(choices, option))
        for name in ([value] if isinstance(value, str) else value)
    }


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
        yield reading.with_evidence(max(fit, 0.0), fit)
    else:
        yield from of_one_column(reading, outcome, scores[0], choices)


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


def class_fit(outputs: Outputs, values: Sequence[str]) -> float:
    """Evidence of how the labels fit to one column each: by number, and by name."""
    if not values:
        return 0.0
    labels = {plain_name(value) for value in values}
    classes = {plain_name(name) for name in outputs.classes}
    fit = AS_MANY if len(labels) == len(classes) else TOO_FEW if len(labels) > len(classes) else 0.0
    if not labels <= classes:
        return fit
    return fit + (CALLED_ALIKE if all(label.isdecimal() for label in labels) else NAMED_AFTER)


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
    if tells_correct(outcome, score):
        reading = reading.with_evidence(0.0, PREDICTED_BESIDE if score.in_unit and score.is_silent else 0.0)
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
        unsure = UNSURE if called_confidence and above_half and score.in_unit else 0.0
        yield from of_classes(reading.with_evidence(0.0, unsure), outcome, score, choices)
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
