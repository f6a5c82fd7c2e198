"""Of which of two classes a column of scores speaks, or of an answer: as names and labels say, never the agreement."""

from __future__ import annotations

from collections.abc import Sequence

from calib.data import words as w
from calib.data.guess.columns import Column
from calib.data.guess.names import is_anonymous, share_a_word, tokens

LabelValues = tuple[str, ...] | tuple[int, ...] | None
"""The label of each column, that of which a single one speaks last; None for the usual order, 0 before 1."""


def tells_correct(outcome: Column, score: Column) -> bool:
    """Whether an outcome says which answers are correct: by its name, or by its two values."""
    plain = {value.strip().lower() for value in outcome.values}
    if len(outcome.values) > 2 or score.words & (w.FAILS | w.UNSURE) or score.low < 0 < score.high:
        return False
    achieved = bool(outcome.words & w.ACHIEVED and score.words & w.CONFIDENCE)
    return outcome.says == "correct" or bool(plain & w.CORRECT and plain & w.FAILS) or achieved


def orders(outcome: Column, score: Column | None = None) -> Sequence[LabelValues]:
    """The two labels in the order that names say, or both orders where they say none, the likelier first.

    Parameters
    ----------
    score : the single column, which speaks of the label that stands last; None for two columns.
    """
    event = event_value(outcome)
    last = event or outcome.values[1]
    other = next(value for value in outcome.values if value != last)
    if score is not None:
        named = named_value(score, outcome)
        if named is not None or (event is not None and speaks_of_the_event(score, outcome)):
            return [ordered(outcome, named or last)]
        if ("good" in tone(score)) != ("good" in tone(outcome)):
            last, other = other, last
    return [ordered(outcome, value, in_full=True) for value in (last, other)]


def named_value(score: Column, outcome: Column) -> str | None:
    """The label whose words stand in the name of the score: ``p_yes``, ``prob_M``."""
    if outcome.numbers is not None or outcome.cells.dtype.kind == "b":
        return None
    words = {word for word in tokens(score.name) if len(word) > 1 or word not in w.PROBABILITY}
    if (
        set(tokens(outcome.name)) <= words
    ):  # the "no" of "no-show probability" belongs to what may happen
        words -= set(tokens(outcome.name))
    found = sorted(
        (value for value in outcome.values if {*tokens(value)} <= words),
        key=lambda v: -len(tokens(v)),
    )
    longer = len(found) == 2 and len(tokens(found[0])) > len(tokens(found[1]))
    return found[0] if found and tokens(found[0]) and (longer or len(found) == 1) else None


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


def speaks_of_the_event(score: Column, outcome: Column) -> bool:
    """Whether a score is surely the probability that the event happens: both names wish, fear and deny alike."""
    labels = {word for value in outcome.values for word in tokens(value)}
    if is_anonymous(score.name):
        return True
    if score.words & w.UNSURE or (labels & w.GOOD and labels & w.BAD):
        return False
    own = tone(score)
    theirs = tone(outcome)
    shared = share_a_word(tokens(score.name), tokens(outcome.name))
    return own == theirs or (shared and "no" not in own | theirs)


def names_event(name: str) -> bool:
    """Whether the name of a class says that something happened, or something bad."""
    words = {*tokens(name)}
    return bool(words & (w.HAPPENED | w.EVENTS - w.GOOD)) and not words & w.NEGATIONS


def tone(column: Column) -> set[str]:
    """What a name says of its subject: "good", perhaps in short as "surv" for survival; "no", "fails", "succeeds"."""
    words = {*tokens(column.name), *column.words}
    ways = {"good": w.GOOD, "no": w.NEGATIONS, "fails": w.FAILS, "succeeds": w.SUCCEEDS}
    said = {name for name, way in ways.items() if words & way}
    short = tuple(word for word in words if len(word) >= 4 and word not in w.KNOWN)
    return said | ({"good"} if any(good.startswith(short) for good in w.GOOD) else set())


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
