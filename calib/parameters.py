"""Hyper-parameters as they are declared: one line each, and the checks, names and sentences that come of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

import numpy as np

from calib.errors import CalibrationError


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


def _check_param(name: str, value: Any, default: Any, meta: Any) -> None:
    fault = "" if value is None and meta.get("optional") else _fault(value, default, meta)
    if fault:
        raise CalibrationError(f"{name}={value!r} {fault}.")


def _fault(value: Any, default: Any, meta: Any) -> str:
    """What is wrong with a value, as the end of a sentence; "" for nothing."""
    if meta.get("choices") is not None:
        return "" if value in meta["choices"] else f"is not one of {', '.join(map(str, meta['choices']))}"
    if isinstance(default, bool):
        return "" if isinstance(value, (bool, np.bool_)) else "must be True or False"
    is_number = isinstance(default, (int, float))
    return _number_fault(value, isinstance(default, int), meta.get("low"), meta.get("high")) if is_number else ""


def _number_fault(value: Any, whole: bool, low: float | None, high: float | None) -> str:
    number = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, number) or not np.isfinite(value):
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
