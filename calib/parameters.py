"""What a calibrator declares: its hyper-parameters, and a condition for each attribute that it learns.

A hyper-parameter is one line, from which checks, names, sentences and widgets come. Learned attributes are checked
because anybody can write a file with a right checksum: what it says is taken on only where a fit could have learned it,
so that probabilities come out whatever the file is. The same check stands before every file that is written.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import field, fields
from typing import Any, Literal, Self

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import LARGEST

MOST = 2**53
"""Largest count: floats hold all whole numbers up to it."""

CLOSEST = float(np.finfo(np.float64).tiny)
"""Least distance of rising numbers, by which one can divide."""

ROUNDING = 1e-9
"""How far sums and the order of values may be off."""

INTEGERS = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
"""Types of whole numbers."""

FLOATS = (np.float32, np.float64)
"""Types of numbers that were uploaded."""

Order = Literal["rising", "ascending"]
"""Each number is larger than the one before, or no smaller."""


def param(
    default: Any,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Any, ...] | None = None,
    optional: bool = False,
) -> Any:
    """Declare a hyper-parameter: one line from which validation, documentation and widgets all come.

    Parameters
    ----------
    default : the value when none is given; its type is the parameter's type.
    help : one sentence, shown beside the widget.
    low, high : inclusive bounds of a number.
    choices : the allowed values of an option.
    optional : whether None is allowed too.
    """
    metadata = {"help": help, "low": low, "high": high, "choices": choices, "optional": optional}
    return field(default=default, metadata=metadata)


def parameter_names(cls: type[Any]) -> list[str]:
    """Names of the declared parameters, in order."""
    return [f.name for f in fields(cls)]


def check_declared(instance: Any) -> None:
    """Raise :class:`CalibrationError` for a field of a dataclass outside the range that :func:`param` gave it."""
    for f in fields(instance):
        _check_param(f.name, getattr(instance, f.name), f.default, f.metadata)


def unknown_parameter(cls: type[Any], name: str) -> str:
    """One sentence for a name that is not declared."""
    return f"{cls.__name__} has no parameter {name!r}; it takes {', '.join(parameter_names(cls))}."


def written(fix: Mapping[str, object]) -> str:
    """The options that make these choices, ready for a shell."""
    return " ".join(
        f"--read {shlex.quote(f'{name}={_written(value)}')}" for name, value in fix.items() if value is not None
    )


def shown(value: object) -> str:
    """The beginning of how a value is written, on one line: a file can hold any value."""
    return " ".join(repr(value)[:60].split())


def _check_param(name: str, value: Any, default: Any, meta: Any) -> None:
    fault = "" if value is None and meta.get("optional") else _fault(value, default, meta)
    if fault:
        raise CalibrationError(f"{name}={shown(value)} {fault}.")


def _fault(value: Any, default: Any, meta: Any) -> str:
    """What is wrong with a value, as the end of a sentence; "" for nothing."""
    if meta.get("choices") is not None:
        return "" if value in meta["choices"] else f"is not one of {', '.join(map(str, meta['choices']))}"
    if isinstance(default, bool):
        return "" if isinstance(value, (bool, np.bool_)) else "must be True or False"
    is_number = isinstance(default, (int, float))
    return number_fault(value, isinstance(default, int), meta.get("low"), meta.get("high")) if is_number else ""


def number_fault(value: Any, whole: bool, low: float | None, high: float | None) -> str:
    """What is wrong with a number that must lie between two bounds, as the end of a sentence; "" for nothing."""
    number: Any = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    # An integer of a thousand digits is finite too, and more than a float can be asked about.
    if isinstance(value, bool) or not isinstance(value, number) or not (whole or abs(value) < np.inf):
        return f"must be a {'whole ' if whole else ''}number{_within(low, high)}"
    outside = (low is not None and value < low) or (high is not None and value > high)
    return f"must lie{_within(low, high)}" if outside else ""


def _within(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f" at or above {low}" if low is not None else f" at or below {high}" if high is not None else ""
    return f" between {low} and {high}"


def _written(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    texts = [str(item) for item in value]
    plain = not any("," in text or text != text.strip() or text.startswith(("[", "(")) for text in texts)
    return ",".join(texts) if plain else repr(list(value))


class Condition(ABC):
    """What one learned value must be."""

    required: bool = True
    default: Any = None

    @abstractmethod
    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        """Raise :class:`~calib.errors.CalibrationError` for a value that cannot have been learned.

        Parameters
        ----------
        value : what stands under the name.
        name : how sentences call it.
        sizes : the sizes that shapes have named so far; those that this value's shape names are added.
        """

    def or_absent(self, default: Any = None) -> Self:
        """The same condition on a value that may be absent; ``default`` stands for it in a file without it."""
        other = copy(self)
        other.required, other.default = False, default
        return other


class Number(Condition):
    """A number from ``low`` to ``high``; ``free`` also allows the NaN and infinities that a search may end with."""

    def __init__(self, low: float = -LARGEST, high: float = LARGEST, *, free: bool = False):
        self.low, self.high, self.free = low, high, free

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if self.free and isinstance(value, float):
            return
        if fault := number_fault(value, False, self.low, self.high):
            raise unusable(f"{name}={shown(value)} {fault}")


class Count(Condition):
    """A whole number from ``low`` to ``high``."""

    def __init__(self, low: int = 0, high: int = MOST):
        self.low, self.high = low, high

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if fault := number_fault(value, True, self.low, self.high):
            raise unusable(f"{name}={shown(value)} {fault}")


class Truth(Condition):
    """True or False."""

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise unusable(f"{name}={shown(value)} must be True or False")


class Text(Condition):
    """A text, or one of some texts."""

    def __init__(self, *choices: str):
        self.choices = choices

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise unusable(f"{name}={shown(value)} must be {' or '.join(self.choices) or 'a text'}")


class Array(Condition):
    """An array of numbers.

    Parameters
    ----------
    *shape : each size or its name, such as "n_classes"; equal names are equal sizes, at least 1. "bins-1" is one less.
    low, high : bounds of the numbers; no NaN lies between them.
    order : whether they rise along the last axis.
    total : their sum, if it is always the same.
    kinds : the types that they may have.
    free : whether NaN and infinities are allowed, as in :class:`Number`.
    """

    def __init__(
        self,
        *shape: str | int,
        low: float = -LARGEST,
        high: float = LARGEST,
        order: Order | None = None,
        total: float | None = None,
        kinds: tuple[type[np.generic], ...] = (np.float64,),
        free: bool = False,
    ):
        self.shape, self.low, self.high, self.order = shape, low, high, order
        self.total, self.kinds, self.free = total, kinds, free

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, np.ndarray) or value.dtype not in self.kinds:
            kinds = " or ".join(kind.__name__ for kind in self.kinds)
            raise unusable(f"{name} must be an array of {kinds}")
        if not self._fits(value.shape, sizes):
            raise unusable(f"{name} has the shape {value.shape}; it must be ({', '.join(map(str, self.shape))})")
        if self.free or not value.size:
            return
        if not (self.low <= value.min().item() and value.max().item() <= self.high):  # of NaN as well
            raise unusable(f"{name} must hold numbers between {self.low:g} and {self.high:g} alone")
        steps = np.diff(value) if self.order else np.empty(0)
        if (steps < (CLOSEST if self.order == "rising" else -ROUNDING)).any():
            raise unusable(
                f"{name} must be {self.order}, each number {'above' if self.order == 'rising' else 'at least'} "
                "the one before"
            )
        if self.total is not None and abs(value.sum() - self.total) > ROUNDING:
            raise unusable(f"{name} must have the sum {self.total:g}")

    def _fits(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        if len(shape) != len(self.shape):
            return False
        for size, named in zip(shape, self.shape, strict=True):
            name, _, less = str(named).partition("-")
            whole = size + int(less or 0)
            if whole < 1 or (int(name) if name.isdigit() else sizes.setdefault(name, whole)) != whole:
                return False
        return True


class Items(Condition):
    """A list in which each item meets a condition; of ``size`` items, where that is said."""

    def __init__(self, condition: Condition, size: int | None = None):
        self.condition, self.size = condition, size

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, (list, tuple)) or self.size not in (None, len(value)):
            raise unusable(f"{name} must be a list{'' if self.size is None else f' of {self.size}'}")
        for number, item in enumerate(value):
            self.condition.check(item, f"{name}[{number}]", sizes)


class Entries(Condition):
    """A dictionary with these entries; what its shapes name holds within it alone."""

    def __init__(self, **conditions: Condition):
        self.conditions = conditions

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        if not isinstance(value, Mapping):
            raise unusable(f"{name} must be a dictionary")
        check_state(value, self.conditions, dict(sizes), f"{name}.")


class Either(Condition):
    """What meets one of some conditions, the likeliest last."""

    def __init__(self, *conditions: Condition):
        self.conditions = conditions

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        for condition in self.conditions[:-1]:
            tried = dict(sizes)
            try:
                condition.check(value, name, tried)
            except CalibrationError:
                continue
            sizes.update(tried)
            return
        self.conditions[-1].check(value, name, sizes)


State = Mapping[str, Condition]
"""The condition on each attribute that a class of calibrators learns beside those of its bases."""


def declared_state(cls: type[Any]) -> dict[str, Condition]:
    """The conditions of a class and all its bases, by attribute."""
    return {name: each for base in reversed(cls.__mro__) for name, each in vars(base).get("state", {}).items()}


def check_state(values: Mapping[str, Any], conditions: State, sizes: dict[str, int], prefix: str = "") -> None:
    """Check values by name against their conditions.

    Raises
    ------
    CalibrationError
        For one that is missing, is not declared, or cannot have been learned.
    """
    for name in values:
        if name not in conditions:
            raise unusable(f"{prefix}{shown(name)} is nothing that it learns")
    for name, condition in conditions.items():
        if name in values:
            condition.check(values[name], f"{prefix}{name}", sizes)
        elif condition.required:
            raise unusable(f"{prefix}{name} is missing")


def unusable(why: str) -> CalibrationError:
    """The error for a state that no fit can have left."""
    return CalibrationError(
        f"The calibrator cannot be used: {why}; it was damaged or changed, so fit or export the calibrator again."
    )
