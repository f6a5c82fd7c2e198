"""Whether choices made by hand can be meant at all, before anything is read with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from calib.data.canonical import KINDS
from calib.data.checks.report import Rejected, shortened
from calib.data.options import Choices


def check_choices(choices: Choices) -> None:
    """Refuse a value of the wrong type, or one that is not allowed.

    Raises
    ------
    Rejected
        Naming the first such choice and what it may be.
    """
    for field in fields(choices):
        value = getattr(choices, field.name)
        fits, expected = RULES[str(field.type)]
        if value is not None and not fits(value):
            raise Rejected(
                "choice",
                f"{field.name} was chosen as {shortened(repr(value))}, but must be {expected}.",
                "Choose another value, or leave it to guessing.",
            )
    if choices.floor is not None and not 0 < choices.floor < 1:
        raise Rejected(
            "floor", f"The floor {choices.floor:g} is not a probability between 0 and 1.", "Choose a small one."
        )


def _names(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(name, str) for name in value)


def _values(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, (str, int, np.integer)) for item in value)


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Columns | None": (lambda value: isinstance(value, str) or _names(value), "one name or several"),
    "str | None": (lambda value: isinstance(value, str), "text"),
    "Kind | None": (lambda value: value in KINDS, f"one of {', '.join(KINDS)}"),
    "tuple[str, ...] | None": (_names, "several names"),
    "tuple[str, ...] | tuple[int, ...] | None": (_values, "several names or whole numbers"),
    "bool | None": (lambda value: isinstance(value, (bool, np.bool_)), "true or false"),
    "int | None": (_whole, "a whole number"),
    "float | None": (lambda value: _whole(value) or isinstance(value, (float, np.floating)), "a number"),
}
"""What fits each type that a field of Choices has, and how it is called."""
