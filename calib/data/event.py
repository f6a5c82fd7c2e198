"""The event of two classes: what happens or does not, whose probability people ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.data.words import DID_NOT, HAPPENED
from calib.numerics import Ints


@dataclass(frozen=True)
class Event:
    """Event among two classes.

    Attributes
    ----------
    column : 0 or 1, the class's column.
    name : what happened, for sentences: the class's name, or that of the outcome's column where labels only say yes or
        no.
    reason : why this class is taken for the event.
    """

    column: int
    name: str
    reason: str


def infer_event(
    class_names: Sequence[str], labels: Ints, outcome: str = "", scored: bool = False
) -> Event:
    """Return the class whose label says that something happened, else the one that is scored, else the rarer one.

    Whether high outputs go with the event must not decide, since a bad model would be hidden.

    Parameters
    ----------
    labels : (n,) integers, 0 or 1.
    outcome : name of the outcome's column, where it says what happened; empty where it does not.
    scored : whether the outputs are one column, which holds the probability of the second class.
    """
    share = float(np.mean(labels)) if len(labels) else 0.5
    if happened := _event_in_labels(class_names):
        column, reason = happened
    elif scored:
        column, reason = 1, "the class whose probability the outputs hold"
    elif share == 0.5:
        column, reason = 1, "the second class; both are equally frequent"
    else:
        column = int(share < 0.5)
        reason = f"the rarer class, {min(share, 1 - share):.1%} of the rows"
    return Event(column, _named(class_names[column], outcome), reason)


def chosen_event(class_names: Sequence[str], column: int, outcome: str = "") -> Event:
    """Return the event that was chosen by hand; where the labels say that it did not happen, it is named so."""
    in_labels = _event_in_labels(class_names)
    name = _named(class_names[column], outcome)
    if in_labels is not None and in_labels[0] != column and name == outcome:
        name = f"no {outcome}"
    return Event(column, name, "as chosen")


def _event_in_labels(class_names: Sequence[str]) -> tuple[int, str] | None:
    """The class whose label says that something happened, with the reason; None where neither does alone."""
    plain = _without_common([str(name).strip().lower().removesuffix(".0") for name in class_names])
    if plain in (["1", "2"], ["2", "1"]):
        return plain.index("2"), "2 of the labels 1 and 2"
    happened = [name in HAPPENED for name in plain]
    denied = [name in DID_NOT for name in plain]
    if happened[0] == happened[1] and denied[0] == denied[1]:
        return None
    column = happened.index(True) if happened[0] != happened[1] else denied.index(False)
    return column, f"{class_names[column]} says that it happened"


def _without_common(names: list[str]) -> list[str]:
    """Two names without the words in which they agree: ``tested_negative`` and ``tested_positive`` say no and yes."""
    pieces = [[word for word in re.split(r"[\W_]+", name) if word] for name in names]
    pairs = pieces, pieces[::-1]
    distinct = [" ".join(word for word in these if word not in others) for these, others in pairs]
    return distinct if all(distinct) and all(len(these) > 1 for these in pieces) else names


def _named(class_name: Any, outcome: str) -> str:
    """The outcome's name where the class is only a yes or a number; ``default`` says more than ``1``."""
    plain = str(class_name).strip()
    word = plain.lower().removesuffix(".0")
    if word in HAPPENED or plain.isdecimal() or (outcome and word in DID_NOT):
        return outcome or f"class {plain}"
    return plain
