"""The canonical form for prediction: outputs of every kind as logits.

Loading does the same in place on whole uploads and reports findings; a test holds the two to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calib.arrays import as_numbers, check_number, check_sums, sum_tolerance
from calib.errors import CalibrationError
from calib.formatting import row_numbers
from calib.numerics import LARGEST, Floats, blocks, softmax

Kind = Literal[
    "logits", "probabilities", "log_probabilities", "binary_log_odds", "binary_probability", "pairs"
]
"""Form of the outputs in an upload. The last three are a single column: log-odds, a probability, a confidence."""

ONE_COLUMN: tuple[Kind, ...] = ("binary_log_odds", "binary_probability", "pairs")
"""The kinds that are a single column."""

IN_UNIT: tuple[Kind, ...] = ("probabilities", "binary_probability", "pairs")
"""The kinds whose values lie in [0, 1]."""

KINDS: dict[Kind, str] = {
    "logits": "logits",
    "probabilities": "probabilities",
    "log_probabilities": "log-probabilities",
    "binary_log_odds": "log-odds of one class of two",
    "binary_probability": "probability of one class of two",
    "pairs": "confidence in an answer that is correct or wrong",
}
"""Every kind, and how sentences call it."""

ROUNDING = 1e-6
"""Probabilities this little below zero or above one come from sums in float32."""

DEFAULT_FLOOR = float(np.finfo(np.float32).tiny)
"""Value of an exact zero where no floor is known (1.2e-38): about where float32 softmax outputs end."""


SMALLEST = 5e-324
"""Smallest positive double; half of it would be zero."""

SAME = 1e-6
"""Logits this near to the floor's, relatively, are the floor's: they may have been float32."""

HARD_SHARE = 1e-3
"""Share of the zeros of a row together where every other probability is one."""


def zero_floor(outputs: Floats, kind: Kind = "probabilities") -> float:
    """Probability that stands for an exact zero: a row's zeros together hold half the smallest positive one.

    A zero says "less often than I can tell", and the smallest positive value is what the model can tell: a row that
    rounds to a single 1.00 holds up to 0.005 elsewhere, over all its other classes. What a row says of its positive
    classes hardly changes so, however many zeros stand beside them. Where every positive probability is one (hard
    predictions) nothing tells how fine the model is; its rows then keep a confidence of about 0.999.

    Parameters
    ----------
    outputs : (n, n_classes) probabilities or log-probabilities of the upload.
    kind : which of these.
    """
    n_classes = outputs.shape[1]
    if kind == "log_probabilities":
        smallest = float(np.exp(np.min(outputs, where=outputs > -np.inf, initial=0.0)))
    else:
        smallest = float(np.min(outputs, where=outputs > 0, initial=1.0))
    if smallest >= 1:
        return HARD_SHARE / n_classes
    return max(smallest / (2 * (n_classes - 1)), SMALLEST)


def logits(probs: Any, floor: float | None = None) -> Floats:
    """Return the logits of probabilities, which every calibrator takes: ``fit(calib.logits(probs), labels)``.

    They are those of :func:`calib.from_outputs`. An exact zero has no logarithm, and so the zeros of a row together
    count as half the smallest positive probability of all rows (docs/guide/scales.md).

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or those of class 1 of two.
    floor : float or None, default None
        Probability that stands for an exact zero. Rows to predict, of which a single one may come, need that of the
        calibration rows: ``calib.from_outputs(probs, labels).floor``. None finds it in these rows.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Log-probabilities, float64.

    Raises
    ------
    CalibrationError
        For numbers outside 0 to 1, and rows of probabilities that do not sum to one.

    Examples
    --------
    >>> import calib
    >>> np.exp(calib.logits([[0.9, 0.1, 0.0], [0.2, 0.5, 0.3]])).round(3).tolist()
    [[0.9, 0.1, 0.025], [0.2, 0.5, 0.3]]
    """
    array = as_numbers(probs, "probabilities").astype(np.float64, copy=False)
    if array.ndim == 1:
        array = np.stack([1.0 - array, array], axis=1)
    if array.ndim != 2 or array.shape[1] < 2:
        raise CalibrationError(
            f"Probabilities must have shape (n, n_classes) or (n,); got {array.shape}."
        )
    if not ((array >= -ROUNDING) & (array <= 1 + ROUNDING)).all():
        raise CalibrationError(
            "Probabilities must lie between 0 and 1; if these are logits, pass them as they are."
        )
    check_sums(array, sum_tolerance(probs))
    if floor is not None:
        check_number("floor", floor, 0, 1, ends=False)
    return to_canonical(array, "probabilities", zero_floor(array) if floor is None else floor)


def from_canonical(logits: Floats, floor: float | None) -> Floats:
    """Probabilities of canonical logits, in which those at the floor are the exact zeros that they were."""
    if floor:
        at = np.log(floor)
        logits = np.where(np.abs(logits - at) <= SAME * abs(at), -LARGEST, logits)
    return softmax(logits)


def to_canonical(outputs: Any, kind: Kind, floor: float | None = None) -> Floats:
    """Logits of shape (n, n_classes) from a model's outputs; those that are logits already stay float32.

    Probabilities become their logarithms, and zeros (or values rounded below) ``log(floor)`` instead of -inf. A binary
    column s of log-odds becomes (0, s), a binary column p of probabilities (log(1 - p), log p). What is computed is
    float64, as in every exported file, so that all decide alike at a cut of .2.

    Parameters
    ----------
    outputs : (n, n_classes) numbers, or (n,) or (n, 1) for the two binary kinds.
    kind : what the outputs are.
    floor : the positive probability that stands for an exact zero; None means :data:`DEFAULT_FLOOR`.

    Raises
    ------
    CalibrationError
        For a wrong shape, or a dtype that is not a number.
        Values are not checked here: loading reports them as findings, prediction with its own sentences.
    """
    array = np.asarray(outputs)
    if array.dtype.kind not in "fiub":
        raise CalibrationError(f"A model's outputs must be numbers; got dtype {array.dtype}.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
    if kind in ONE_COLUMN:
        if array.ndim != 1 and array.shape[1:] != (1,):
            raise CalibrationError(
                f"Expected one binary column, of shape (n,) or (n, 1); got {array.shape}."
            )
        column = array.reshape(-1)
        other = (
            np.zeros_like(column)
            if kind == "binary_log_odds"
            else np.subtract(1, column, dtype=np.float64)
        )
        array = np.stack([other, column], axis=1)
    elif array.ndim != 2 or array.shape[1] < 2:
        raise CalibrationError(
            f"Expected {kind} of shape (n, n_classes) with 2 or more classes; got {array.shape}."
        )
    if kind in ("logits", "binary_log_odds"):
        return array
    # The logarithm of the floor is taken in float64: half the smallest float32 would itself be zero.
    low = np.log(floor or DEFAULT_FLOOR)
    if kind in IN_UNIT:
        zero = array <= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            array = np.log(array, dtype=np.float64)
        array[zero] = low
        return array
    zero = np.isneginf(array)
    return np.where(zero, array.dtype.type(low), array) if zero.any() else array


def class_order(columns: Sequence[str], class_names: Sequence[str]) -> list[int]:
    """Place of each class among as many columns, which are called as the classes are, or alike before and behind.

    Columns that are called otherwise, or are more or fewer, stay in their own order.

    Examples
    --------
    >>> class_order(["p_dog", "p_cat"], ["cat", "dog"])
    [1, 0]
    >>> class_order(["first", "second"], ["cat", "dog"])
    [0, 1]
    """
    places = {column: place for place, column in enumerate(columns)}
    for column in (
        sorted(columns, key=len) if len(places) == len(columns) == len(class_names) else ()
    ):
        at = column.find(class_names[0])
        while at >= 0:
            before = column[:at]
            behind = column[at + len(class_names[0]) :]
            if all(f"{before}{name}{behind}" in places for name in class_names):
                return [places[f"{before}{name}{behind}"] for name in class_names]
            at = column.find(class_names[0], at + 1)
    return list(range(len(columns)))


SLIPS = 0.1
"""Share of rows up to which numbers outside [0, 1] are slips among probabilities, and not outputs of another kind."""


def check_values(outputs: Any, kind: Kind) -> None:
    """Raise :class:`CalibrationError` where outputs cannot be of the kind they are said to be.

    For predicting; loading a file says more about the same troubles, as findings.
    """
    array = np.asarray(outputs)
    if not array.size:
        return
    array = array.reshape(len(array), -1)
    cells = np.isnan(array) | (
        np.isposinf(array) if kind == "log_probabilities" else np.isinf(array)
    )
    bad: npt.NDArray[np.bool_] = np.any(cells, axis=1, keepdims=True)[:, 0]
    if bad.any():
        raise CalibrationError(
            f"{bad.sum():,} of {len(array):,} rows hold NaN or infinite values ({row_numbers(bad)} of these); leave "
            "them out."
        )
    low = float(array.min())
    high = float(array.max())
    if kind in IN_UNIT and (low < -ROUNDING or high > 1 + ROUNDING):
        bad = np.any((array < -ROUNDING) | (array > 1 + ROUNDING), axis=1, keepdims=True)[:, 0]
        if bad.mean() < SLIPS:
            raise CalibrationError(
                f"{bad.sum():,} of {len(array):,} rows hold what is no probability ({row_numbers(bad)} of these): the "
                f"values run from {low:.4g} to {high:.4g}; correct these rows, or leave them out."
            )
        raise CalibrationError(
            f"Probabilities are expected, but the values run from {low:.4g} to {high:.4g}; apply the softmax the "
            "calibration data had, or export a calibrator fitted on logits."
        )
    if kind == "log_probabilities" and high > 1e-3:
        raise CalibrationError(
            f"Log-probabilities are never positive, but the largest value is {high:.4g}."
        )


# -- scales of outputs: probabilities in percent or as counts, and a column of their logarithms ------------------------

Scale = str | float
"""A name of :data:`SCALES`, or the number that a probability of one is written as: 500 for votes of 500 trees."""

PLAIN = "plain"
"""The scale of outputs that are what their kind says."""

SCALES: dict[str, str] = {
    PLAIN: "as they are",
    "percent": "percent, 0 to 100",
    "counts": "counts, or shares of the sum of their row",
    "log": "natural logarithms of probabilities",
}
"""Every scale by its name, and how sentences call it."""

SLACK = 1e-3
"""Tolerance for the sum of a row of probabilities."""


def is_scale(value: Any) -> bool:
    """Test for one of the scales, or a number above zero to divide by."""
    if isinstance(value, str):
        return value in SCALES
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    return bool(number and np.isfinite(value) and value > 0)


def full_scale(scale: Scale | None) -> float | None:
    """Number that stands for a probability of one; None where outputs are not divided by one number."""
    if isinstance(scale, str):
        return {PLAIN: 1.0, "percent": 100.0}.get(scale)
    return 1.0 if scale is None else float(scale)


def describe_scale(scale: Scale) -> str:
    """Describe a scale in a sentence."""
    return SCALES[scale] if isinstance(scale, str) else f"a probability of one written as {scale:g}"


def to_plain(outputs: Any, scale: Scale | None, out: Floats | None = None) -> Any:
    """Outputs as their kind has them: probabilities in [0, 1], or natural logarithms of them.

    Values are not checked here; what is no probability leaves [0, 1].

    Parameters
    ----------
    outputs : (n, k) or (n,) numbers. A single column of logarithms becomes one of probabilities, several stay
        logarithms.
    scale : how they are written; None is the plain scale, which gives them back as they are.
    out : float64 to write to, which may be the outputs themselves; a new array unless given.
    """
    if scale is None or scale == PLAIN:
        return outputs
    array = np.asarray(outputs)
    wide = array.ndim == 2 and array.shape[1] > 1
    if scale == "counts" and not wide:
        raise CalibrationError(
            f"Counts are divided by the sum of each row, but the outputs have shape {array.shape}."
        )
    if out is None:
        out = np.empty(array.shape)
    for rows in blocks(len(array), array[:1].size or 1):
        with np.errstate(all="ignore"):
            out[rows] = _converted(array[rows].astype(out.dtype, copy=False), scale, wide)
    return out


def _converted(values: Floats, scale: Scale, wide: bool) -> Floats:
    if scale == "counts":
        return values / values.sum(axis=1, dtype=np.float64, keepdims=True).astype(values.dtype)
    if scale == "log":
        return values if wide else np.exp(values)
    return values / (full_scale(scale) or 1.0)


def check_rescaled(outputs: Any, scale: Scale | None) -> None:
    """Refuse probabilities whose scale was taken off already."""
    array = np.asarray(outputs)
    divided = full_scale(scale) not in (None, 1.0)
    wide = array.dtype.kind in "fiub" and array.ndim == 2 and array.shape[1] > 1 and len(array) > 1
    if divided and wide and np.abs(array.sum(axis=1, dtype=np.float64) - 1).max() < SLACK:
        raise CalibrationError(
            f"Every row sums to one already, but the calibration data were {describe_scale(scale or PLAIN)}; give the "
            "outputs on the scale they had."
        )
