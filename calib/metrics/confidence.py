"""The pair (confidence, correct) of each prediction, and what follows from it: over- and underconfidence, sharpness."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, Protocol, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from calib.arrays import as_array, check_of_rows, check_sums, sum_tolerance
from calib.errors import CalibrationError, CalibrationWarning
from calib.formatting import listed
from calib.metrics.bootstrap import Interval
from calib.numerics import Floats, Ints, argmax_with_ties
from calib.outputs import check_index, check_swapped, column_names, encode_labels
from calib.parameters import number_fault, short_repr

ROUNDING = 1e-4
"""Tolerance for probabilities outside [0, 1], which are then cut: float32 sums and printed decimals reach it."""

SHIFT_SHOWN = 20
"""Rows by which labels that count from 1 must agree better with predictions than twice as often."""

Bools = npt.NDArray[np.bool_]


F = TypeVar("F", bound=Callable[..., Any])


class Score(Protocol):
    """A score, or with ``ci=True`` its interval."""

    @overload
    def __call__(
        self,
        probs: Any = None,
        labels: Any = None,
        weights: Any = None,
        *,
        ci: Literal[False] = False,
        **options: Any,
    ) -> float: ...

    @overload
    def __call__(
        self,
        probs: Any = None,
        labels: Any = None,
        weights: Any = None,
        *,
        ci: Literal[True],
        **options: Any,
    ) -> Interval: ...


def scikit_names(function: F) -> F:
    """Take ``sample_weight`` as ``weights``, and refuse scikit-learn's other names in a sentence."""

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        if named := sorted({"y_true", "y_prob", "y_proba", "y_score", "y_pred"} & options.keys()):
            raise CalibrationError(
                f"There is no {listed(named)}: calib takes (probs, labels), scikit-learn (y_true, y_prob)."
            )
        if "sample_weight" in options:
            options["weights"] = options.pop("sample_weight")
        return function(*arguments, **options)

    return cast(F, called)


def score(function: Callable[..., float | Interval]) -> Score:
    """Give a score the words of scikit-learn, and the type of its result by ``ci``."""
    return cast(Score, scikit_names(function))


def check_scored(probs: Any, labels: Any, sums: bool = True) -> tuple[Floats, Ints | Bools]:
    """Probabilities and labels, as every score takes them; nothing is copied that has the right type and range.

    What lies outside [0, 1] by at most 1e-4, a rounding error, is cut to it; what lies farther is refused.

    Parameters
    ----------
    probs : (n, n_classes) probabilities of all classes, or (n,) of an event.
    labels : (n,) labels as :func:`calib.outputs.encode_labels` takes them; an event is the second of two.
    sums : whether rows must sum to one; scores that look at each class by itself need it not.

    Returns
    -------
    (probs, labels) : labels are int64 of all classes, and booleans of an event.
    """
    check_swapped(as_array(probs, "probabilities"), as_array(labels, "labels"))
    check_index(probs, labels)
    array = _numbers(probs)
    if array.ndim == 1:
        return check_range(array).astype(np.float64, copy=False), _happened(labels, len(array))
    array = check_sums(check_range(check_columns(array)), sum_tolerance(probs), sums)
    codes = encode_labels(labels, len(array), array.shape[1], column_names(probs))[0]
    _warn_of_shift(array, codes)
    return array, codes


def check_scored_classes(probs: Any, labels: Any, sums: bool = True) -> tuple[Floats, Ints]:
    """Probabilities of all classes, (n, n_classes), and (n,) labels as numbers of columns."""
    array, codes = check_scored(probs, labels, sums)
    check_columns(array)
    return array, codes.astype(np.int64, copy=False)


def _happened(labels: Any, n: int) -> Bools:
    """Outcome of each of n rows: whether the event happened."""
    outcomes = as_array(labels, "labels")
    if (
        outcomes.ndim == 1
        and len(values := np.unique(outcomes.astype(str) if outcomes.dtype == object else outcomes))
        > 2
    ):
        raise CalibrationError(
            f"labels has {len(values):,} different values for the probability of one event; pass labels == k with "
            "probs[:, k], or the probabilities of all classes."
        )
    return encode_labels(labels, n, 2)[0] == 1


def _warn_of_shift(probs: Floats, labels: Ints) -> None:
    """Warn of labels that count from 1, where the last class is absent so that they fit the columns."""
    if probs.shape[1] < 3 or labels.min() in (0, labels.max()):
        return
    predicted = np.argmax(probs, axis=1)
    right = int((predicted == labels).sum())
    shifted = int((predicted == labels - 1).sum())
    if shifted > 2 * right + SHIFT_SHOWN:
        warnings.warn(
            f"No label is 0, and labels - 1 agree with {shifted:,} predictions where labels agree with {right:,}: if "
            "labels count from 1, pass labels - 1.",
            CalibrationWarning,
            stacklevel=4,
        )


def check_event(probs: Any, labels: Any) -> tuple[Floats, Bools]:
    """Probabilities of an event and whether it happened, both (n,).

    Parameters
    ----------
    probs : (n,), or (n, 2) with the event in the second column.
    labels : (n,) 1 or True where it happened, or the second of two labels.
    """
    array, observed = check_scored(probs, labels)
    if array.ndim == 2:
        if array.shape[1] != 2:
            raise CalibrationError(
                f"An event has two outcomes; got {array.shape[1]} columns. Give probs[:, k] and labels == k."
            )
        array = array[:, 1]
        observed = observed == 1
    return array.astype(np.float64, copy=False), observed.astype(bool, copy=False)


def top_label(probs: Any, labels: Any, ranking: Any = None) -> tuple[Floats, Bools]:
    """Confidence in the predicted class and whether the prediction is right.

    Parameters
    ----------
    probs : (n, n_classes) probabilities with (n,) integer ``labels``; or (n,) confidences with (n,) booleans
        that say whether each prediction was right, for methods that give a confidence only.
    labels : see ``probs``.
    ranking : (n, n_classes) second key among equal probabilities (the raw logits); without it, and where it is
        equal too, the lower class is predicted.
    """
    array, codes = check_scored(probs, labels)
    if array.ndim == 1:
        return array, codes.astype(bool, copy=False)
    predicted = (
        np.argmax(array, axis=1)
        if ranking is None
        else argmax_with_ties(array, np.asarray(ranking))
    )
    confidence = np.take_along_axis(array, predicted[:, None], axis=1)[:, 0].astype(np.float64)
    return confidence, predicted == codes


def scored_pair(
    probs: Any = None,
    labels: Any = None,
    confidence: Any = None,
    correct: Any = None,
    of: str | None = None,
) -> tuple[Floats, Bools]:
    """Probability and outcome of each row, as every score of calibration takes them.

    Two classes are looked at by their event, class 1, and more by the predicted class. The (n,) probabilities of an
    event mean the same as its two columns.

    Parameters
    ----------
    probs, labels : (n, n_classes) or (n,) probabilities, and (n,) labels.
    confidence, correct : (n,) confidences in predictions and whether these were right, in their place.
    of : "event" or "top", in place of what the number of classes says.
    """
    pair = (probs, labels) if confidence is None and correct is None else (confidence, correct)
    if any(part is None for part in pair) or (pair[0] is confidence and probs is not None):
        raise CalibrationError(
            "A score takes (probs, labels), or confidence= with correct=; give one of these pairs."
        )
    if pair[0] is confidence:
        return _confidence_pair(confidence, correct)
    array, codes = check_scored(*pair)
    if of == "event" or (of is None and (array.ndim == 1 or array.shape[1] == 2)):
        return check_event(array, codes)
    if array.ndim == 1:
        array = np.stack([1.0 - array, array], axis=1)
        codes = codes.astype(np.int64)
    return top_label(array, codes)


def _confidence_pair(confidence: Any, correct: Any) -> tuple[Floats, Bools]:
    array = _numbers(confidence)
    right = as_array(correct, "correct")
    if array.ndim != 1 or right.shape != array.shape:
        raise CalibrationError(
            f"confidence must have shape (n,), and correct too; got {array.shape} and {right.shape}. Pass probs and "
            "labels for all classes."
        )
    if right.dtype.kind != "b" and not np.isin(right, (0, 1)).all():
        raise CalibrationError(
            f"correct must be True or False (or 1 and 0) for each row; got {short_repr(right[:1].tolist())}."
        )
    return check_range(array).astype(np.float64, copy=False), right.astype(bool, copy=False)


def target_pair(probs: Any, labels: Any, target: int | None) -> tuple[Floats, Bools]:
    """Probability and outcome of one class, or by :func:`scored_pair` where ``target`` is None."""
    if target is None:
        return scored_pair(probs, labels)
    array, codes = check_scored_classes(probs, labels, sums=False)
    if number_fault(target, True, 0, array.shape[1] - 1):
        raise CalibrationError(
            f"There is no class {short_repr(target)}; the columns are 0..{array.shape[1] - 1}."
        )
    return array[:, target].astype(np.float64), codes == target


def check_probs(probs: Any, sums: bool = True) -> Floats:
    """Probabilities of shape (n, n_classes), from 0 to 1, whose rows must sum to one unless told else."""
    return check_sums(check_range(check_columns(probs)), sum_tolerance(probs), sums)


def check_columns(outputs: Any) -> Floats:
    """Numbers of shape (n, n_classes) with at least one row, never copied; they may be logits."""
    array = _numbers(outputs)
    if array.ndim != 2 or array.shape[1] < 2:
        raise CalibrationError(
            f"Probabilities must have shape (n, n_classes), at least 2 classes, or (n,) of an event; got {array.shape}."
        )
    _check_some_rows(array)
    return array


def check_range(probs: Floats) -> Floats:
    """Numbers cut to [0, 1] where they leave it by a rounding error; refused where they are NaN or leave it farther."""
    _check_some_rows(probs)
    low = float(probs.min())
    high = float(probs.max())
    if low != low:
        missing = int(np.isnan(probs).reshape(len(probs), -1).any(axis=1).sum())
        raise CalibrationError(
            f"{missing} of {len(probs)} rows of probabilities hold NaN; leave these rows out."
        )
    if low < -ROUNDING or high > 1 + ROUNDING:
        off = ((probs < -ROUNDING) | (probs > 1 + ROUNDING)).reshape(len(probs), -1)
        rows = np.flatnonzero(off.any(axis=1))
        value = probs.reshape(len(probs), -1)[rows[0]][off[rows[0]]][0]
        raise CalibrationError(
            f"{len(rows):,} of {len(probs):,} rows of probabilities leave 0 to 1, the first (row {rows[0]}) with "
            f"{value:.4g}, so these are not probabilities. Leave such rows out; take the softmax of logits, or divide "
            "percentages by 100."
        )
    return np.clip(probs, 0.0, 1.0) if low < 0.0 or high > 1.0 else probs


def _numbers(probs: Any) -> npt.NDArray[Any]:
    """Probabilities as an array of numbers, copied only where their type asks for it."""
    array = as_array(probs, "probabilities")
    if array.dtype.kind not in "fiub":
        raise CalibrationError(f"Probabilities must be numbers; got dtype {array.dtype}.")
    return array


def _check_some_rows(array: Floats) -> None:
    if not len(array):
        raise CalibrationError("There are no rows to score.")


def check_weights(weights: Any, n: int) -> Floats | None:
    """Weights as (n,) float64, or None where there are none; the largest is between 1e-100 and 1e100."""
    return None if weights is None else check_of_rows("weights", weights, n)


def weighted_mean(values: npt.NDArray[Any], weights: Any) -> float:
    """Mean of (n,) values, each counting by its weight; the plain mean for None."""
    checked = check_weights(weights, len(values))
    return float(values.mean() if checked is None else checked @ values / checked.sum())


def effective_sample_size(weights: Any) -> float:
    """Number of equally weighted rows with as exact a mean, ``(sum w)^2 / sum w^2`` (Kish 1965, section 11.7)."""
    checked = check_weights(weights, len(weights))
    assert checked is not None  # none were not given
    return float(checked.sum() ** 2 / (checked @ checked))
