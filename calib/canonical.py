"""The one door from what a model wrote out to the canonical logits every calibrator works on.

Loading a file and predicting with an exported calibrator both pass through :func:`to_canonical`, so that
they cannot disagree.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from calib.base import CalibrationError
from calib.numerics import Floats

Kind = Literal["logits", "probabilities", "log_probabilities", "binary_log_odds", "binary_probability"]
"""What an upload held. The last two are a single column for binary data."""

KINDS: tuple[str, ...] = get_args(Kind)

DEFAULT_FLOOR = float(np.finfo(np.float32).tiny)
"""What an exact zero becomes where no floor is known (1.2e-38): about where float32 softmax outputs end."""


def zero_floor(outputs: Any, kind: Kind) -> float | None:
    """Half the smallest positive probability among the outputs, or None where no probability is exactly zero.

    Parameters
    ----------
    outputs : array as for :func:`to_canonical`; probabilities must lie in [0, 1].
    kind : what the outputs are; logits and log-odds have no zeros.
    """
    array = np.asarray(outputs)
    if kind == "probabilities":
        if not (array == 0).any():
            return None
        smallest = float(np.min(array, where=array > 0, initial=1.0))
    elif kind == "binary_probability":
        if not ((array == 0) | (array == 1)).any():
            return None
        smallest = min(
            float(np.min(array, where=array > 0, initial=1.0)),
            float(1 - np.max(array, where=array < 1, initial=0.0)),
        )
    elif kind == "log_probabilities":
        if not np.isneginf(array).any():
            return None
        smallest = float(np.exp(np.min(array, where=np.isfinite(array), initial=0.0)))
    else:
        return None
    return max(smallest / 2, float(np.finfo(np.float64).tiny))


def to_canonical(outputs: Any, kind: Kind, floor: float | None = None) -> Floats:
    """Logits of shape (n, n_classes) from a model's outputs; float32 stays float32.

    Probabilities become their logarithms, and exact zeros become ``log(floor)`` instead of -inf. A binary
    column s of log-odds becomes (0, s), a binary column p of probabilities (log(1 - p), log p).

    Parameters
    ----------
    outputs : (n, n_classes) numbers, or (n,) or (n, 1) for the two binary kinds.
    kind : what the outputs are.
    floor : the positive probability that stands for an exact zero; None means :data:`DEFAULT_FLOOR`.

    Raises
    ------
    CalibrationError
        For an unknown kind, a wrong shape, a dtype that is not a number or a floor that is not positive.
        Values are not checked here: loading reports them as findings, prediction with its own sentences.
    """
    if kind not in KINDS:
        raise CalibrationError(f"Unknown kind of outputs {kind!r}; it is one of {', '.join(KINDS)}.")
    if floor is not None and not 0 < floor < 1:
        raise CalibrationError(f"The floor for zero probabilities must lie between 0 and 1; got {floor}.")
    array = np.asarray(outputs)
    if array.dtype.kind not in "fiub":
        raise CalibrationError(f"A model's outputs must be numbers; got dtype {array.dtype}.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    if kind.startswith("binary"):
        return _binary(_one_column(array), kind, floor)
    if array.ndim != 2 or array.shape[1] < 2:
        raise CalibrationError(f"Expected {kind} of shape (n, n_classes) with 2 or more classes; got {array.shape}.")
    if kind == "logits":
        return array
    if kind == "probabilities":
        return _log(array, floor)
    return _raise_zeros(array, floor)


def check_values(outputs: Any, kind: Kind) -> None:
    """Raise :class:`CalibrationError` where outputs cannot be of the kind they are said to be.

    For predicting; loading a file says more about the same troubles, as findings.
    """
    array = np.asarray(outputs)
    array = array.reshape(len(array), -1)
    bad = np.isnan(array) | (np.isposinf(array) if kind == "log_probabilities" else np.isinf(array))
    if bad.any():
        raise CalibrationError(f"{int(bad.any(axis=1).sum()):,} of {len(array):,} rows hold NaN or infinite values.")
    if not array.size:
        return
    low, high = float(array.min()), float(array.max())
    if kind in ("probabilities", "binary_probability") and (low < 0 or high > 1):
        raise CalibrationError(
            f"Probabilities are expected, but the values run from {low:.4g} to {high:.4g}; apply the softmax the "
            "calibration data had, or export a calibrator fitted on logits."
        )
    if kind == "log_probabilities" and high > 1e-3:
        raise CalibrationError(f"Log-probabilities are never positive, but the largest value is {high:.4g}.")
    if kind == "logits" and len(array) > 1 and low >= 0 and np.abs(array.sum(axis=1) - 1).max() < 1e-3:
        raise CalibrationError(
            "Logits are expected, but every row sums to one like probabilities; pass the values before the softmax."
        )


def _one_column(array: Floats) -> Floats:
    if array.ndim == 1:
        return array
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    raise CalibrationError(f"Expected one binary column, of shape (n,) or (n, 1); got {array.shape}.")


def _binary(column: Floats, kind: str, floor: float | None) -> Floats:
    if kind == "binary_log_odds":
        return np.stack([np.zeros_like(column), column], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.log1p(-column)
    return np.stack([_raise_zeros(other, floor), _log(column, floor)], axis=1)


def _log(probs: Floats, floor: float | None) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _raise_zeros(np.log(probs), floor)


def _raise_zeros(log_probs: Floats, floor: float | None) -> Floats:
    # The logarithm of the floor is taken in float64: half the smallest float32 would itself be zero.
    zero = np.isneginf(log_probs)
    if not zero.any():
        return log_probs
    return np.where(zero, log_probs.dtype.type(np.log(floor or DEFAULT_FLOOR)), log_probs)
