"""Checks of a decision's fields: anybody can write a file, and what it holds is taken on only where it applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from calib.numerics import LARGEST
from calib.parameters import number_fault, shown, unusable

T = TypeVar("T")


def made_of(cls: type[T], values: Mapping[str, Any]) -> T:
    """A decision of the fields in a file, whose lists become tuples.

    Raises
    ------
    CalibrationError
        For names that are no fields, for missing ones, and for values that the class refuses.
    """
    names = {each.name for each in fields(cls)}  # type: ignore[arg-type]
    if not set(values) <= names:
        raise unusable(f"a decision has no field {shown(next(iter(set(values) - names)))}")
    try:
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
    except TypeError as error:
        raise unusable(f"a decision cannot be made of its fields: {error}") from error


def check_number(name: str, value: Any, low: float = -LARGEST, high: float = LARGEST, whole: bool = False) -> None:
    """Refuse what is no number, or no whole number, from ``low`` to ``high``."""
    if fault := number_fault(value, whole, low, high):
        raise unusable(f"{name}={shown(value)} {fault}")


def check_texts(name: str, values: Any, size: int | None = None) -> None:
    """Refuse what is no tuple of texts, or not of ``size``."""
    texts = isinstance(values, (tuple, list)) and all(isinstance(value, str) for value in values)
    if not texts or size not in (None, len(values)):
        raise unusable(f"{name} must be {'' if size is None else f'{size} '}texts")


def check_array(name: str, value: Any, ndim: int, low: float = -LARGEST, high: float = LARGEST) -> None:
    """Refuse what is no array of float64 between ``low`` and ``high`` with so many axes, none of them empty."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != ndim or not value.size:
        raise unusable(f"{name} must be an array of float64 with {ndim} {'axis' if ndim == 1 else 'axes'}")
    if not (low <= value.min() and value.max() <= high):  # also of NaN
        raise unusable(f"{name} must hold numbers between {low:g} and {high:g} alone")
