"""Of which of two classes a single column of scores speaks, or that of an answer: as names and labels say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from calib.data.event import DID_NOT, HAPPENED
from calib.data.interpret.evidence import Column, says_yes_or_no
from calib.data.interpret.vocabulary import (
    ACHIEVED,
    CERTAIN,
    CONFIDENCE,
    CORRECT,
    CORRECT_OR_NOT,
    CREDIT,
    FAILS,
    GENERAL,
    LEAST_PART,
    LEAST_STEM,
    LIKELY,
    LONG_STEM,
    MATCHES,
    NEGATIONS,
    PAYS,
    POINTS,
    RESPONSES,
    RISK,
    SAYS_NO,
    SUCCEEDS,
    UNSURE,
    WELCOME,
    WELL,
    WHEN,
    has_word,
    spoken_for,
    strengths,
    tokens,
    topic,
)

LabelValues = tuple[str, ...] | tuple[int, ...] | None


def spoken_values(score: Column, outcome: Column, separated: str | None = None) -> Sequence[LabelValues]:
    """The two labels in order, the one of which the score is the probability last; both orders where names cannot tell.

    None stands for the usual order, 0 before 1 or the event last, which needs no mention.

    Parameters
    ----------
    separated : the label that was predicted wherever the score is high, where that is known.
    """
    spoken = separated or spoken_label(score, outcome)
    if spoken is not None:
        return [ordered(outcome, spoken)]
    likely = event_value(outcome) or outcome.values[1]
    other = next(value for value in outcome.values if value != likely)
    return [ordered(outcome, last, True) for last in (likely, other)]


def spoken_label(score: Column, outcome: Column) -> str | None:
    """The one of two labels of which a score is the probability; None where names leave that open."""
    spoken, event = named_value(score, outcome), event_value(outcome)
    turned = speaks_of_no_event(score, outcome) if spoken is None and event is not None else None
    if turned is None:
        return spoken
    return next(value for value in outcome.values if (value == event) is not turned)


def spoken_pair(scores: Sequence[Column], outcome: Column) -> Sequence[LabelValues]:
    """The labels of two columns in their order, where the names of the columns are not those of the labels.

    One that says yes or no settles the other. Where neither does, numbers are taken in the order of the columns if that
    is the order of their names too, as encoders number classes; else it is asked.
    """
    said = [_says(score, outcome) for score in scores]
    if said[0] != said[1]:
        happens = said.index(True) if True in said else 1 - said.index(False)
        event = event_value(outcome)
        if event is not None:
            other = next(value for value in outcome.values if value != event)
            return [ordered(outcome, event if happens else other, happens == 0)]
    if outcome.numbers is not None and scores[0].name.lower() < scores[1].name.lower():
        return [None]
    return [ordered(outcome, last, True) for last in reversed(outcome.values)]


def _says(score: Column, outcome: Column) -> bool | None:
    """Whether a column is called after what happened, or after what did not; None where its name says neither."""
    words, own = set(tokens(score.name)), set(tokens(outcome.name)) - GENERAL
    if words & (NEGATIONS - own):
        return False
    if any(same_word(a, b) for a in own for b in words) or words & set(HAPPENED):
        return True
    is_good = bool(own & SAYS_NO)
    if words & SAYS_NO:
        return is_good
    return not is_good if any(_is_event_word(word) for word in words) else None


def _is_event_word(word: str) -> bool:
    return spoken_for(word).get("outcome") == LIKELY


def tells_correct(outcome: Column, score: Column) -> bool:
    """Whether an outcome says which answers are correct: by its name, or by its two values.

    A short word such as "tp" says so only where no other word tells what the name is about.
    """
    if len(outcome.values) > 2 or tokens_of(score) & (FAILS | UNSURE):
        return False
    about = {word for word in tokens(outcome.name) if word not in GENERAL}
    matches_truth = about & MATCHES and any(strengths(word).get("outcome") == CERTAIN for word in tokens(outcome.name))
    if matches_truth or (about & RESPONSES and about & WELL):
        return True
    if has_word(outcome.name, [word for word in CORRECT if len(word) > LEAST_STEM or about <= {word}]) or (
        (about & MATCHES or has_word(outcome.name, ACHIEVED)) and has_word(score.name, CONFIDENCE)
    ):
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


def tokens_of(score: Column) -> set[str]:
    """The words of the name of a score; a letter that says it is one, as ``p`` does, counts only where it is twice."""
    words = tokens(score.name)
    return {word for word in words if len(word) > 1 or "outputs" not in strengths(word) or words.count(word) > 1}


def named_value(score: Column, outcome: Column) -> str | None:
    """The label whose words stand in the name of the score: ``p_yes``, ``prob_no_default``."""
    if outcome.numbers is not None:
        return None
    words, own = tokens_of(score), set(tokens(outcome.name))
    if own <= words:  # the "no" of "no-show probability" belongs to what may happen
        words -= own
    found = [value for value in outcome.values if tokens(value) and set(tokens(value)) <= words]
    found.sort(key=lambda value: -len(tokens(value)))
    if not found and not says_yes_or_no(outcome.values):
        found = [value for value in outcome.values if is_short_label(value, words)]
        found = found or [value for value in outcome.values if shares_stem(value, words)]
    if not found or (len(found) == 2 and len(tokens(found[0])) == len(tokens(found[1]))):
        return None
    return found[0]


def is_short_label(value: str, words: Iterable[str]) -> bool:
    """Whether a label is the beginning of a word, as B and mal are of "bad" and "malignant", or the other way round.

    Words for outputs do not count, and neither do labels that say yes or no by themselves.
    """
    label = value.strip().lower()
    if (len(label) > 1 and label in (*HAPPENED, *DID_NOT)) or not label.isalpha():
        return False
    telling = [word for word in words if word not in GENERAL and "outputs" not in strengths(word)]
    return any(word.startswith(label) or (len(word) >= LEAST_PART and label.startswith(word)) for word in telling)


def shares_stem(value: str, words: Iterable[str]) -> bool:
    """Whether a label is another form of a word, as "malignant" is of "malignancy"."""
    stem = value.strip().lower()[:LONG_STEM]
    return len(stem) == LONG_STEM and any(word.startswith(stem) for word in words if word not in GENERAL)


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
    of_score, of_outcome = said_before_when(score.name), said_before_when(outcome.name)
    labels = {word for value in outcome.values for word in tokens(value)}
    if labels <= of_outcome:  # "benign_malignant" is called after both labels, and so after neither
        of_outcome -= labels
    if may_be_of_either(score, outcome) or of_score & UNSURE:
        return None
    if of_score & NEGATIONS:
        return not of_outcome & NEGATIONS
    ends = [(bool(words & FAILS), bool(words & SUCCEEDS)) for words in (of_score, of_outcome)]
    if sorted(ends) == [(False, True), (True, False)]:
        return True
    if may_be_of_the_opposite(score, outcome):
        return None
    good_score, good_outcome = bool(of_score & SAYS_NO), bool(of_outcome & SAYS_NO)
    if good_score == good_outcome:
        may_be_good = not good_score and any(is_short_for(word, SAYS_NO) for word in of_score)
        return None if may_be_good and is_event(outcome) else False
    if good_score:
        return True if is_event(outcome) else None
    if "pd" in of_score or spoken_for(score.name).get("outcome") is not None:
        return True
    return None if of_score & RISK else False


def may_be_of_either(score: Column, outcome: Column) -> bool:
    """Whether the high end of a score may be good or bad: points beside people who pay or do not, or a probability
    without a name beside what succeeds or fails.
    """
    words = tokens(score.name)
    said = {word for value in outcome.values for word in tokens(value)}
    if set(words) & RISK:
        return False
    if said & SUCCEEDS and said & FAILS:
        return set(words) <= POINTS | CONFIDENCE or all("outputs" in strengths(word) for word in words)
    tells = any(_is_event_word(word) or strengths(word).get("outputs") == CERTAIN for word in words)
    return bool(said & PAYS and set(words) & POINTS and not tells)


def said_before_when(name: str) -> set[str]:
    """The words of a name up to one that begins a time: those of ``fall_during_stay`` are not about staying."""
    return set(takewhile(lambda word: word not in WHEN, tokens(name)))


def may_be_of_the_opposite(score: Column, outcome: Column) -> bool:
    """Whether a score is called after something to wish for, or is one of credit, and the outcome after nothing of that
    kind: a ``yield_prob`` beside ``failed``, a ``credit_score`` beside ``default``.
    """
    of_score, of_outcome = said_before_when(score.name), said_before_when(outcome.name)
    about = of_outcome | {word for value in outcome.values for word in tokens(value)}
    wished = of_score & WELCOME
    if of_outcome & (WELCOME | SAYS_NO) or score.present.max(initial=0) > 100:
        return False
    if of_score & CREDIT and of_score & POINTS and of_score <= CREDIT | POINTS:
        return True
    if not wished or any(same_word(a, b) for a in about for b in wished):
        return False
    return bool(of_outcome - GENERAL) or bool(about & FAILS)


def is_short_for(word: str, words: Iterable[str]) -> bool:
    """Whether a word may be the beginning of one of these, as "surv" is of "survival"."""
    return len(word) >= LEAST_PART and any(whole.startswith(word) for whole in words)


def same_word(first: str, second: str) -> bool:
    """Whether two words of names are about the same thing: equal, or one is short for the other, as "tox" for "toxic".

    Words that any outcome and outputs may share tell nothing, and neither do numbers.
    """
    short, long = sorted((topic(first), topic(second)), key=len)
    telling = all(word.isalpha() and word not in GENERAL and "outputs" not in strengths(word) for word in (short, long))
    return telling and (short == long or (len(short) >= LEAST_STEM and long.startswith(short)))


LEAST_RISKS = 10
"""Different values from which fractions may be risks."""


def bears_the_name(score: Column, outcome: Column) -> bool:
    """Whether fractions are called after the outcome, as ``prg_dead`` beside ``dead``, after a label of it, or, beside
    an event, after an event themselves: ``saps_mortality`` beside ``died``. Their name says nothing else.
    """
    if score.is_anonymous or not score.in_unit or len(score.values) < LEAST_RISKS:
        return False
    if not set(score.said) <= {"outcome"}:
        return is_prediction_of(score, outcome)
    words = [word for word in tokens(score.name) if len(word) >= LEAST_STEM]
    called = [*tokens(outcome.name), *(tokens(" ".join(outcome.values)) if len(outcome.values) == 2 else ())]
    if any(same_word(a, b) for a in called for b in words):
        return True
    return is_event(outcome) and any(_is_event_word(word) for word in words)


def is_prediction_of(score: Column, outcome: Column) -> bool:
    """Whether a name is that of the outcome with a word for outputs, as ``correct_pred`` beside ``correct``."""
    words, own = tokens(score.name), tokens(outcome.name)
    more = [word for word in words if word not in own]
    return bool(more) and set(own) <= set(words) and all("outputs" in strengths(word) for word in more)


def is_beside_event(outcome: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a column of text does not say that it is the outcome, and another one of yes and no does."""
    if outcome.numbers is not None or outcome.said.get("outcome", 0.0) > 0 or says_yes_or_no(outcome.values):
        return False
    return any(column.said.get("outcome", 0.0) > 0 and says_yes_or_no(column.values) for column in columns.values())


def is_event(outcome: Column) -> bool:
    """Whether the outcome is called after something that may happen, not only "label" or "y"."""
    return outcome.said.get("outcome") == LIKELY
