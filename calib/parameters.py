"""Declaration of a calibrator's parameters, and the check of learned state from a file.

One line declares a hyper-parameter, and its checks, names, sentences and widgets come from it. What is learned is not
declared. Anybody can write a file with a right checksum, so a few rows, extreme ones among them, must come out as
probabilities that hold what the method promises. The same check stands before every file that is written.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, argmax_with_ties

CLOSEST = float(np.finfo(np.float64).tiny)
"""Least distance of rising numbers, by which one can divide."""

ROUNDING = 1e-9
"""Tolerance for sums and for the order of values."""


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
        value = getattr(instance, f.name)
        fault = (
            ""
            if value is None and f.metadata.get("optional")
            else _fault(value, f.default, f.metadata)
        )
        if fault:
            raise CalibrationError(f"{f.name}={short_repr(value)} {fault}.")


def unknown_parameter(cls: type[Any], name: str) -> str:
    """One sentence for a name that is not declared."""
    names = parameter_names(cls)
    return f"{cls.__name__} has no parameter {name!r}{did_you_mean(name, names)}; it takes {', '.join(names)}."


def did_you_mean(name: Any, names: Iterable[Any]) -> str:
    """The nearest name as the middle of a sentence; "" where none is near."""
    near = difflib.get_close_matches(str(name), [*map(str, names)], n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def check_by_name(name: str, values: Any) -> None:
    """Refuse parameters that are no dictionary of values by their names."""
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise CalibrationError(
            f"{name}={short_repr(values)} must be a dictionary of names and values."
        )


def written(fix: Mapping[str, object]) -> str:
    """The options that make these choices, ready for a shell."""
    return " ".join(
        f"--read {shlex.quote(f'{name}={_written(value)}')}"
        for name, value in fix.items()
        if value is not None
    )


def short_repr(value: object) -> str:
    """The beginning of how a value is written, on one line: a file can hold any value."""
    return " ".join(repr(value)[:60].split())


def _fault(value: Any, default: Any, meta: Any) -> str:
    """Fault of a value, as the end of a sentence; "" for none."""
    if meta.get("choices") is not None:
        return (
            ""
            if value in meta["choices"]
            else f"is not one of {', '.join(map(str, meta['choices']))}{did_you_mean(value, meta['choices'])}"
        )
    if isinstance(default, bool):
        return "" if isinstance(value, (bool, np.bool_)) else "must be True or False"
    if isinstance(default, str):
        return "" if isinstance(value, str) else "must be text"
    is_number = isinstance(default, (int, float))
    return (
        number_fault(value, isinstance(default, int), meta.get("low"), meta.get("high"))
        if is_number
        else ""
    )


def number_fault(value: Any, whole: bool, low: float | None, high: float | None) -> str:
    """Fault of a number that must lie between two bounds, as the end of a sentence; "" for none."""
    number: Any = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    # An integer of a thousand digits is finite too, and more than a float can be asked about.
    if (
        isinstance(value, bool)
        or not isinstance(value, number)
        or not (whole or abs(value) < np.inf)
    ):
        return f"must be a {'whole ' if whole else ''}number{_within(low, high)}"
    outside = (low is not None and value < low) or (high is not None and value > high)
    return f"must lie{_within(low, high)}" if outside else ""


def _within(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return (
            f" at or above {low}"
            if low is not None
            else f" at or below {high}"
            if high is not None
            else ""
        )
    return f" between {low} and {high}"


def _written(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    texts = [str(item) for item in value]
    plain = not any(
        "," in text or text != text.strip() or text.startswith(("[", "(")) for text in texts
    )
    return ",".join(texts) if plain else repr(list(value))


MOST_CLASSES = 1_000_000
"""Classes of a stored calibrator, above which its file is taken as damaged."""


def unusable(why: str) -> CalibrationError:
    """The error for a state that no fit can have left."""
    return CalibrationError(
        f"The calibrator cannot be used: {why}; it was damaged or changed, so fit or export the calibrator again."
    )


def check_names(state: Any) -> Mapping[str, Any]:
    """A stored state, whose names must be those of learned attributes: they end in an underscore."""
    if not isinstance(state, Mapping) or not all(
        isinstance(name, str) and name.endswith("_") and not name.startswith("_") for name in state
    ):
        raise unusable("what it learned must be a dictionary of names that end in _")
    return state


def check_learned(calibrator: Any) -> None:
    """Raise :class:`CalibrationError` where a calibrator with what it learned gives no probabilities."""
    n_classes = vars(calibrator).get("n_classes_")
    if type(n_classes) is not int or not 2 <= n_classes <= MOST_CLASSES:
        raise unusable("n_classes_ must be a whole number from 2 upwards")
    try:
        with np.errstate(invalid="raise", divide="raise", over="raise"):
            if calibrator.gives_probabilities:
                logits = trial_rows(n_classes)
                check_probs(calibrator, calibrator.probs_from_logits(logits), logits)
            notes = calibrator.notes()
    except CalibrationError:
        raise
    except Exception as error:  # whatever a changed file makes of the arithmetic
        raise unusable(
            f"predicting ends in {type(error).__name__}: {short_repr(str(error))}"
        ) from error
    if not all(isinstance(note, str) for note in notes):
        raise unusable("its notes are no sentences")


def check_probs(calibrator: Any, probs: Floats, logits: Floats) -> None:
    """Raise :class:`CalibrationError` where these are no probabilities, or break a promise of the method."""
    promised = calibrator.promises(logits.shape[1])
    if not (
        np.all(probs >= 0) and np.all(probs <= 1 + 1e-9) and probs.dtype == np.float64
    ):  # NaN is neither
        raise unusable("its probabilities do not lie between 0 and 1")
    if "rows sum to one" in promised and not np.allclose(
        probs.sum(axis=1), 1, rtol=0, atol=ROUNDING
    ):
        raise unusable("its probabilities do not sum to one")
    if "keeps accuracy" in promised and not np.array_equal(
        argmax_with_ties(probs, logits), np.argmax(logits, axis=1)
    ):
        raise unusable("it changes predictions, which this method never does")


def trial_rows(n_classes: int) -> Floats:
    """A few rows on which a stored calibrator must give probabilities: ties, usual and extreme logits."""
    rows = np.zeros((6, n_classes))
    rows[1:5, 0] = 1.0, -3.0, 40.0, 1e6
    rows[5] = np.linspace(4.0, -4.0, n_classes)
    return rows
