"""Spelling of labels: as text, as columns are called, and the one that means correct."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.names import plain_name
from calib.data.read.base import Array, distinct
from calib.data.words import ANSWER_RIGHT, ANSWER_WRONG, MISSING

NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d{0,15}|\.\d{1,15})")

FEW_NAMES = 100
"""Most columns that are compared with the beginnings of labels."""

Order = tuple[Any, ...]
"""The label of each column."""


def as_text(value: object) -> str:
    """A value as its label is written: 2.0 is 2, True is true."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def as_texts(values: Iterable[object]) -> list[str]:
    """Return values as their labels are written."""
    return [as_text(value) for value in values]


def texts_of(cells: Array) -> npt.NDArray[np.str_]:
    """Return (n,) values as labels are written, 2.0 as 2."""
    values, places = distinct(cells)
    return np.array(as_texts(values.tolist()), dtype=np.str_)[places]


def same_names(values: Sequence[str], columns: Sequence[str]) -> Order | None:
    """The label that each column is named after; one without rows keeps its name.

    None if a label fits nowhere, unless every column has one: then those that are left belong to no column.
    """
    if set(values) <= set(columns):
        return tuple(columns)
    by_name = {plain_name(value): value for value in values}
    plain = [plain_name(column) for column in columns]
    distinct_names = len(by_name) == len(values) and len(set(plain)) == len(plain)
    if not distinct_names or not (set(by_name) <= set(plain) or set(plain) < set(by_name)):
        return None
    return tuple(by_name.get(own, column) for own, column in zip(plain, columns, strict=True))


def same_beginnings(values: Sequence[str], columns: Sequence[str]) -> Order | None:
    """The label that each column begins with: ``H``, ``D`` and ``A`` belong to ``home``, ``draw`` and ``away``."""
    order: list[str] = []
    for column in columns if len(columns) <= FEW_NAMES else ():
        begun = [value for value in values if plain_name(column).startswith(plain_name(value))]
        order += begun if len(begun) == 1 else []
    return tuple(order) if len(order) == len(columns) and len({*order}) == len(values) else None


def is_missing(value: Any, called: Collection[str] = (), words: Collection[str] = MISSING) -> bool:
    """Return whether a label is missing: empty, NaN, infinite, or a word such as ``NA`` that names no class.

    ``called`` are names of classes without case and separators.
    """
    if isinstance(value, float):
        return not np.isfinite(value)
    if not isinstance(value, str):
        return False
    return not value.strip() or (value.strip() in words and plain_name(value) not in called)


def correct_value(values: Sequence[str], chosen: str | None = None) -> str | None:
    """Return the value that means correct: the one that was chosen, or that says so; None where none does.

    A value that no row has is returned where all rows are wrong.
    """
    if chosen in values:
        return chosen
    if len(values) not in (1, 2):
        return None
    plain = {value: value.strip().lower() for value in values}
    right = [value for value in values if plain[value] in ANSWER_RIGHT]
    others = [value for value in values if plain[value] not in ANSWER_WRONG]
    if len(right) == 1:
        return right[0]
    if len(others) < len(values):
        return (*others, "correct")[0] if len(others) == len(values) - 1 else None
    numbers = len(values) == 2 and all(map(NUMBER.fullmatch, values))
    return max(values, key=float) if numbers else None
