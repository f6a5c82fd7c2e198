"""Class of which a single column is the probability: names decide, and its agreement with the outcome may veto."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from calib.data import words as w
from calib.data.guess.columns import Column
from calib.data.names import about, is_anonymous, share_a_word, tokens
from calib.numerics import Floats, Ints, midranks

LabelValues = tuple[str, ...] | tuple[int, ...] | None
"""Label of each column, that of a single column's event last; None for the usual order, 0 before 1."""

Strength = Literal["named", "likely", "open"]
"""Certainty with which names give the direction: alone, only where the data agree, or not at all."""

SIGNIFICANT = 2.326
"""Standard errors of a one-sided test at .01."""


def marks_correct(outcome: Column, score: Column) -> bool:
    """Return whether an outcome says which answers are correct: by its name, or by its two values."""
    plain = {value.strip().lower() for value in outcome.values}
    if len(outcome.values) > 2 or score.terms & (w.FAILS | w.UNSURE) or score.low < 0 < score.high:
        return False
    achieved = bool(outcome.terms & w.ACHIEVED and score.terms & w.CONFIDENCE)
    return outcome.meaning == "correct" or bool(plain & w.CORRECT and plain & w.FAILS) or achieved


def event_of(outcome: Column, score: Column) -> tuple[str, Strength]:
    """Return the label whose probability a column holds, and how surely names say so."""
    named = named_value(score, outcome)
    if named is not None:
        return named, "open" if negations(score.name, named) else "named"
    event = event_value(outcome)
    if event is None or {*outcome.values} == {"1", "2"}:
        return event or outcome.values[-1], "open"
    subject, of_outcome = about(tokens(score.name)) - w.MODELS, about(tokens(outcome.name))
    turned = negations(score.name), negations(outcome.name)
    if turned[0] != turned[1] or (turned[0] and not of_outcome <= subject):
        return event, "open"
    if score.terms & (w.UNSURE | w.FAILS) and not of_outcome & subject:
        return event, "open"
    good = is_good(score), is_good(outcome)
    if good[0] != good[1] and (good[0] or score.terms & w.RISK):
        return event, "open"
    if good[0] == good[1] and share_a_word(subject, of_outcome):
        return event, "named"
    silent = not (subject | of_outcome) - w.SUBJECTLESS
    return event, "named" if silent or (
        score.terms & w.RISK and outcome.terms & w.BAD
    ) else "likely"


def named_value(score: Column, outcome: Column) -> str | None:
    """Return the label whose words stand in the name of the score: ``p_yes``, ``prob_M``, ``p_1``."""
    names, of_outcome = set(tokens(score.name)), set(tokens(outcome.name))
    if outcome.numbers is not None or outcome.cells.dtype.kind == "b":
        is_event = outcome.values == ("0", "1") and "1" in names and not is_anonymous(score.name)
        return "1" if is_event else None
    pieces = {word for word in names if len(word) > 1 or word not in w.PROBABILITY}
    if of_outcome <= pieces:  # the "no" of "no-show probability" belongs to the event
        pieces -= of_outcome
    named = [
        value for value in outcome.values if tokens(value) and pieces.issuperset(tokens(value))
    ]
    most = max((len(tokens(value)) for value in named), default=0)
    longest = [value for value in named if len(tokens(value)) == most]
    return longest[0] if len(longest) == 1 else None


def event_value(outcome: Column) -> str | None:
    """Return the label that says that something happened; None where neither does."""
    if not 1 <= len(outcome.values) <= 2:
        return None
    if outcome.numbers is not None:
        return max(outcome.values, key=float)
    plain = {value: value.strip().lower() for value in outcome.values}
    happened = [value for value, text in plain.items() if text in w.HAPPENED]
    others = [value for value, text in plain.items() if text not in w.DID_NOT]
    return next((labels[0] for labels in (happened, others) if len(labels) == 1), None)


def negations(name: str, but: str = "") -> frozenset[str]:
    """Return the words of a name that turn its meaning round: no, not, non..., un..., ...free.

    Parameters
    ----------
    but : a label whose own words do not count.
    """
    pieces = {*tokens(name)} - {*tokens(but)}
    unknown = {word for word in pieces - w.KNOWN if len(word) > 5}
    turned = {word for word in unknown if word.startswith("non") or word.endswith("free")}
    opposite = {word for word in pieces - w.KNOWN if word[:2] == "un" and word[2:] in w.KNOWN}
    return frozenset(pieces & (w.NEGATIONS | {"free"}) | turned | opposite)


def is_good(column: Column) -> bool:
    """Return whether a name speaks of what people wish for."""
    return not w.GOOD.isdisjoint((*tokens(column.name), *column.terms))


def ordered(outcome: Column, last: str) -> LabelValues:
    """Return the two labels with one of them last."""
    first = next(value for value in outcome.values if value != last)
    if outcome.cells.dtype.kind == "b":
        return first.capitalize(), last.capitalize()
    return (int(first), int(last)) if outcome.numbers is not None else (first, last)


# Agreement.


def auroc(score: Floats, happened: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return the AUROC and its distance from one half in standard errors, of the rank-sum test with ties.

    Both are NaN and 0 where one class is missing.
    """
    n = int(happened.sum())
    m = len(happened) - n
    if not n or not m:
        return math.nan, 0.0
    ranks = midranks(score)
    area = float((ranks[happened].sum() - n * (n + 1) / 2) / (n * m))
    deviation = math.sqrt(float(ranks.var(ddof=1)) / (n * m * (n + m)))
    return area, (area - 0.5) / deviation if deviation > 0 else 0.0


def better_order(labels: Ints, largest: Ints, n_classes: int) -> tuple[int, ...] | None:
    """Return the column of each label that agrees significantly better with the largest outputs than its own.

    The assignment that agrees best (Hungarian algorithm on the counts of label against largest output) is compared
    with the one taken by a paired test at .01, corrected for the assignments that move as many columns.

    Parameters
    ----------
    labels, largest : (n,) the column of each row's label, and that of its largest output.
    """
    from scipy.optimize import linear_sum_assignment

    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (labels, largest), 1)
    column = linear_sum_assignment(-counts)[1]
    moved = column != np.arange(n_classes)
    won = counts[moved, column[moved]].sum()
    lost = counts[moved, moved.nonzero()].sum()
    if won <= lost:
        return None
    tried = sum(math.log(n_classes - k) for k in range(int(moved.sum())))
    significant = math.sqrt(2 * (math.log(100) + tried))
    return tuple(column.tolist()) if won - lost > significant * math.sqrt(won + lost) else None
