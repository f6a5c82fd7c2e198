"""Of which of two classes a column of scores speaks, or of an answer: as names and labels say, never the agreement."""

from __future__ import annotations

from collections.abc import Sequence

from calib.data import words as w
from calib.data.guess.columns import Column
from calib.data.guess.names import has, is_anonymous, same_word, telling, tokens

LabelValues = tuple[str, ...] | tuple[int, ...] | None
"""The label of each column, that of which a single one speaks last; None for the usual order, 0 before 1."""


def tells_correct(outcome: Column, score: Column) -> bool:
    """Whether an outcome says which answers are correct: by its name, or by its two values."""
    if len(outcome.values) > 2 or score.words & (w.FAILS | w.UNSURE) or score.low < 0 < score.high:
        return False
    plain, words = {value.strip().lower() for value in outcome.values}, set(tokens(outcome.name))
    return bool(
        outcome.says == "correct"
        or (plain & w.CORRECT and plain & w.FAILS)
        or (words & w.RESPONSES and words & w.WELL)
        or (has(outcome.name, {"matched"}) and outcome.words & w.TRUTH)
        or (outcome.words & w.ACHIEVED and score.words & w.CONFIDENCE)
    )


def orders_of_one(score: Column, outcome: Column) -> Sequence[LabelValues]:
    """The two labels in order for one column; both orders where names do not say of which class it speaks."""
    named, event = named_value(score, outcome), event_value(outcome)
    if named is None and event is not None and (same := speaks_of_the_event(score, outcome)) is not None:
        named = event if same else next(value for value in outcome.values if value != event)
    if named is not None:
        return [ordered(outcome, named)]
    likely = event or outcome.values[1]
    other = next(value for value in outcome.values if value != likely)
    opposite = _is_good(score) != _is_good(outcome)
    return [ordered(outcome, last, in_full=True) for last in ((other, likely) if opposite else (likely, other))]


def orders_of_two(scores: Sequence[Column], outcome: Column) -> Sequence[LabelValues]:
    """The two labels in the order of two columns that are not called like them; both orders where that is open."""
    if outcome.numbers is not None and scores[0].name.lower() < scores[1].name.lower():
        return [None]  # encoders number classes in the order of their names
    return [ordered(outcome, last, in_full=True) for last in reversed(outcome.values)]


def named_value(score: Column, outcome: Column) -> str | None:
    """The label whose words stand in the name of the score: ``p_yes``, ``prob_M``."""
    if outcome.numbers is not None or outcome.cells.dtype.kind == "b":
        return None
    words = {word for word in tokens(score.name) if len(word) > 1 or word not in w.PROBABILITY}
    if set(tokens(outcome.name)) <= words:  # the "no" of "no-show probability" belongs to what may happen
        words -= set(tokens(outcome.name))
    found = [value for value in outcome.values if tokens(value) and set(tokens(value)) <= words]
    found.sort(key=lambda value: -len(tokens(value)))
    longer = len(found) == 2 and len(tokens(found[0])) > len(tokens(found[1]))
    return found[0] if longer or len(found) == 1 else None


def event_value(outcome: Column) -> str | None:
    """The label that says that something happened; None where neither does."""
    if not 1 <= len(outcome.values) <= 2:
        return None
    if outcome.numbers is not None:
        return max(outcome.values, key=float)
    plain = {value: value.strip().lower() for value in outcome.values}
    happened = [value for value, text in plain.items() if text in w.HAPPENED]
    others = [value for value, text in plain.items() if text not in w.DID_NOT]
    return next((said[0] for said in (happened, others) if len(said) == 1), None)


def speaks_of_the_event(score: Column, outcome: Column) -> bool | None:
    """Whether a score is the probability that the event happens rather than that it does not; None where it is open."""
    if is_anonymous(score.name):
        return True
    of_score, of_outcome = _words_of(score), _words_of(outcome)
    labels = {word for value in outcome.values for word in tokens(value)}
    if labels <= of_outcome:  # "benign_malignant" is called after both labels, and so after neither
        of_outcome -= labels
    if of_score & w.UNSURE or (labels & w.GOOD and labels & w.BAD):
        return None
    said = [[bool(words & way) for way in (w.NEGATIONS, w.FAILS, w.SUCCEEDS)] for words in (of_score, of_outcome)]
    if said[0] == said[1] and _is_good(score) == bool(of_outcome & w.GOOD):
        return True
    shared = any(same_word(a, b) for a in telling(of_score) for b in telling(of_outcome))
    return True if shared and not of_score & w.NEGATIONS else None


def _words_of(column: Column) -> set[str]:
    """The words of a name, and the known ones in compounds."""
    return {*tokens(column.name), *column.words}


def _is_good(column: Column) -> bool:
    """Whether a name speaks of something good, perhaps in short: "surv" is survival."""
    words = _words_of(column)
    short = tuple(word for word in telling(words) if len(word) >= 4 and word not in w.KNOWN)
    return bool(words & w.GOOD) or any(good.startswith(word) for word in short for good in w.GOOD)


def ordered(outcome: Column, last: str, in_full: bool = False) -> LabelValues:
    """The two labels with one of them last; None where that is the usual order of numbers.

    Parameters
    ----------
    in_full : whether the usual order is written as well, since people are asked.
    """
    first = next(value for value in outcome.values if value != last)
    if outcome.cells.dtype.kind == "b":
        return None if last == "true" and not in_full else (first.capitalize(), last.capitalize())
    if outcome.numbers is not None:
        return None if float(first) < float(last) and not in_full else (int(first), int(last))
    return first, last
