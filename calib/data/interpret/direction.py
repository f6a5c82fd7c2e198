"""Of which of two classes a single column of scores speaks, or that of an answer: as names and labels say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from calib.data.event import DID_NOT, HAPPENED
from calib.data.interpret.evidence import Column, says_yes_or_no
from calib.data.interpret.vocabulary import (
    ACHIEVED,
    CONFIDENCE,
    CORRECT,
    CORRECT_OR_NOT,
    GENERAL,
    LEAST_PART,
    LIKELY,
    NEGATIONS,
    RISK,
    SAYS_NO,
    has_word,
    spoken_for,
    strengths,
    tokens,
)

LabelValues = tuple[str, ...] | tuple[int, ...] | None


def spoken_values(score: Column, outcome: Column, separated: str | None = None) -> Sequence[LabelValues]:
    """The two labels in order, the one of which the score is the probability last; both orders where names cannot tell.

    None stands for the usual order, 0 before 1 or the event last, which needs no mention.

    Parameters
    ----------
    separated : the label that was predicted wherever the score is high, where that is known.
    """
    first, second = outcome.values
    spoken = separated or named_value(score, outcome)
    event = event_value(outcome)
    if spoken is None and event is not None:
        other = first if event == second else second
        turned = speaks_of_no_event(score, outcome)
        spoken = None if turned is None else other if turned else event
    if spoken is not None:
        return [ordered(outcome, spoken)]
    likely = event or second
    return [ordered(outcome, last, True) for last in (likely, first if likely == second else second)]


def tells_correct(outcome: Column, score: Column) -> bool:
    """Whether an outcome says which answers are correct: by its name, or by its two values."""
    if len(outcome.values) > 2:
        return False
    if has_word(outcome.name, CORRECT) or (has_word(outcome.name, ACHIEVED) and has_word(score.name, CONFIDENCE)):
        return True
    values = {value.strip().lower() for value in outcome.values}
    return any({right, wrong} == values for right, wrong in CORRECT_OR_NOT)


def ordered(outcome: Column, last: str, usual_too: bool = False) -> LabelValues:
    """The two labels with one of them last; None where that is the usual order of numbers.

    Parameters
    ----------
    usual_too : whether the usual order is written as well, since people are asked.
    """
    first = next(value for value in outcome.values if value != last)
    if outcome.cells.dtype.kind == "b":
        return None if last == "true" and not usual_too else (first.capitalize(), last.capitalize())
    if outcome.numbers is not None:
        return None if float(first) < float(last) and not usual_too else (int(first), int(last))
    return first, last


def named_value(score: Column, outcome: Column) -> str | None:
    """The label whose words stand in the name of the score: ``p_yes``, ``prob_no_default``."""
    if outcome.numbers is not None:
        return None
    words, own = set(tokens(score.name)), set(tokens(outcome.name))
    if own <= words:  # the "no" of "no-show probability" belongs to what may happen
        words -= own
    found = [value for value in outcome.values if tokens(value) and set(tokens(value)) <= words]
    found.sort(key=lambda value: -len(tokens(value)))
    if not found or (len(found) == 2 and len(tokens(found[0])) == len(tokens(found[1]))):
        return None
    return found[0]


def event_value(outcome: Column) -> str | None:
    """The label that says that something happened; None where neither does."""
    plain = {value: value.strip().lower() for value in outcome.values}
    if outcome.numbers is not None:
        return max(outcome.values, key=float)
    for says in (
        lambda text: text in HAPPENED,
        lambda text: text not in DID_NOT,
        lambda text: not set(tokens(text)) & SAYS_NO,
        lambda text: spoken_for(text).get("outcome") == LIKELY and not set(tokens(text)) & SAYS_NO,
    ):
        said = [value for value, text in plain.items() if says(text)]
        if len(said) == 1:
            return said[0]
    return None


def speaks_of_no_event(score: Column, outcome: Column) -> bool | None:
    """Whether a score is the probability that the event does not happen; None where names leave that open."""
    if score.is_anonymous:
        return False
    of_score, of_outcome = set(tokens(score.name)), set(tokens(outcome.name))
    if of_score & NEGATIONS:
        return not of_outcome & NEGATIONS
    good_score, good_outcome = bool(of_score & SAYS_NO), bool(of_outcome & SAYS_NO)
    if good_score == good_outcome:
        may_be_good = not good_score and any(is_short_for(word, SAYS_NO) for word in of_score)
        return None if may_be_good and is_event(outcome) else False
    if good_score:
        return True if is_event(outcome) else None
    if "pd" in of_score or spoken_for(score.name).get("outcome") is not None:
        return True
    return None if of_score & RISK else False


def is_short_for(word: str, words: Iterable[str]) -> bool:
    """Whether a word may be the beginning of one of these, as "surv" is of "survival"."""
    return len(word) >= LEAST_PART and any(whole.startswith(word) for whole in words)


def same_word(first: str, second: str) -> bool:
    """Whether two words of names are about the same thing: equal, or one is short for the other, as "tox" for "toxic".

    Words that any outcome and outputs may share tell nothing, and neither do numbers.
    """
    short, long = sorted((first, second), key=len)
    telling = all(word.isalpha() and word not in GENERAL and "outputs" not in strengths(word) for word in (short, long))
    return telling and (short == long or (len(short) >= LEAST_STEM and long.startswith(short)))


LEAST_STEM = 3
"""Letters of a word that is short for another one."""

LEAST_RISKS = 10
"""Different values from which fractions may be risks."""


def bears_the_name(score: Column, outcome: Column) -> bool:
    """Whether fractions are called after the outcome and after nothing else, as ``prg_dead`` beside ``dead``."""
    if score.is_anonymous or not score.in_unit or len(score.values) < LEAST_RISKS or not set(score.said) <= {"outcome"}:
        return False
    words = [word for word in tokens(score.name) if len(word) >= LEAST_STEM]
    return any(same_word(a, b) for a in tokens(outcome.name) for b in words)


def is_beside_event(outcome: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a column of text does not say that it is the outcome, and another one of yes and no does."""
    if outcome.numbers is not None or outcome.said.get("outcome", 0.0) > 0 or says_yes_or_no(outcome.values):
        return False
    return any(column.said.get("outcome", 0.0) > 0 and says_yes_or_no(column.values) for column in columns.values())


def is_event(outcome: Column) -> bool:
    """Whether the outcome is called after something that may happen, not only "label" or "y"."""
    return outcome.said.get("outcome") == LIKELY
