"""Conversion of users' arrays, tables and tensors to checked NumPy arrays, or a sentence that refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.numerics import LARGEST, Floats
from calib.parameters import number_fault, short_repr

SUM_TOLERANCE = 1e-3
"""Largest distance of a row's sum from one that is taken for rounding; models compute in half precision."""

HALF_SUM_TOLERANCES = {"float16": 3 * 2.0**-10, "bfloat16": 3 * 2.0**-7}
"""The same for arrays in half precision: exponentials of its log-softmax miss one by nearly as much."""

SUM_ROUNDING = 1e-6
"""Largest distance from one of sums in float32."""


def as_array(values: Any, name: str = "values") -> npt.NDArray[Any]:
    """A NumPy array of what an array library, a table library or nested lists hold, without a copy where possible."""
    if np.ma.is_masked(values):
        count = int(np.ma.count_masked(values))
        raise CalibrationError(
            f"{count:,} of the {name} are masked, that is missing; leave their rows out."
        )
    if hasattr(values, "toarray"):
        raise CalibrationError(f"The {name} are a sparse matrix; pass {name}.toarray().")
    if hasattr(
        values, "detach"
    ):  # a PyTorch tensor, which may lie on a GPU, need a gradient or be bfloat16
        values = values.detach().cpu()
        values = (
            values.float() if values.is_floating_point() and values.element_size() < 4 else values
        )
    try:
        array = np.asarray(values)
        if array.dtype.name == "bfloat16":  # of JAX and TensorFlow, in a type of ml_dtypes
            return array.astype(np.float32)
        if array.dtype == object and all(
            isinstance(value, (int, float, np.number)) for value in array.flat
        ):
            array = array.astype(np.float64)  # columns of several types in one table
        return array
    except CalibrationError:
        raise
    except (ValueError, TypeError, RuntimeError) as error:
        why = "their rows have different lengths" if "inhomogeneous" in str(error) else str(error)
        raise CalibrationError(
            f"The {name} cannot be read as an array of {type(values).__name__}: {why}."
        ) from error


def as_numbers(values: Any, name: str) -> npt.NDArray[Any]:
    """A NumPy array of real numbers, as :func:`as_array` makes it; anything else is refused."""
    array = as_array(values, name)
    if array.dtype.kind not in "fiu":
        raise CalibrationError(f"{name} must be numbers; got dtype {array.dtype}.")
    return array


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float | None = None,
    *,
    whole: bool = False,
    ends: bool = True,
) -> None:
    """Refuse an option that is no number, or no whole number, from ``low`` to ``high``, or none between these ends."""
    fault = number_fault(value, whole, low, high)
    if not fault and not ends and value in (low, high):
        fault = (
            f"must lie above {low}"
            if high is None
            else f"must lie between {low} and {high}, ends excluded"
        )
    if fault:
        raise CalibrationError(f"{name}={short_repr(value)} {fault}.")


def sum_tolerance(values: Any) -> float:
    """Largest distance of a row's sum from one that is rounding in the precision of what was given."""
    dtype = getattr(values, "dtype", None)
    return HALF_SUM_TOLERANCES.get(
        str(getattr(dtype, "name", dtype)).removeprefix("torch."), SUM_TOLERANCE
    )


def check_sums(probs: Floats, tolerance: float, strict: bool = True) -> Floats:
    """Divide rows of probabilities by their sums; not copied where these miss one by no more than sums in float32 do.

    Parameters
    ----------
    probs : (n, n_classes) array.
    tolerance : largest distance of a sum from one, such as :func:`sum_tolerance`.
    strict : refuse rows beyond the tolerance. Otherwise all rows are then left as they are.
    """
    # Three times as fast as `sum` for few classes.
    total = np.einsum("nk->n", probs, dtype=np.float64, casting="unsafe")
    off = np.abs(total - 1.0)
    most = float(off.max(initial=0.0))
    if SUM_ROUNDING < most <= tolerance:
        return probs / total[:, None]
    if most <= SUM_ROUNDING or not strict:
        return probs
    wrong = off > tolerance
    raise CalibrationError(
        f"{wrong.sum():,} of {len(probs):,} rows of probabilities do not sum to one (the first to "
        f"{total[wrong][0]:.4g}); give the probabilities of all classes, or divide rounded rows by their sums."
    )


def check_logits(values: Any) -> Floats:
    """Logits as a float64 array of shape (n, n_classes), none beyond :data:`calib.numerics.LARGEST`.

    It is copied only where the dtype differs.
    """
    array = as_numbers(values, "logits").astype(np.float64, copy=False)
    if array.ndim != 2 or array.shape[1] < 2:
        raise CalibrationError(
            f"Logits must have shape (n, n_classes) with at least 2 classes; got {array.shape}."
        )
    if array.size and not (array.min() >= -LARGEST and array.max() <= LARGEST):  # NaN is neither
        bad = int((~(np.abs(array) <= LARGEST)).any(axis=1).sum())
        beyond = (
            f", or values beyond {LARGEST:g}"
            if np.isfinite(array).all(axis=1).sum() > len(array) - bad
            else ""
        )
        raise CalibrationError(
            f"{bad} of {len(array)} rows of logits hold NaN or infinite values{beyond}."
        )
    return array


def named_columns(table: Any, n: int, name: str) -> dict[str, npt.NDArray[Any]]:
    """Columns of a table or a mapping by name; a single (n,) column has the name that is given.

    Raises
    ------
    CalibrationError
        Unless each has n rows.
    """
    if hasattr(table, "columns"):
        columns = {str(key): table[key].to_numpy() for key in table.columns}
    elif isinstance(table, Mapping):
        columns = {str(key): as_array(values, str(key)) for key, values in table.items()}
    else:
        array = as_array(table, name or "features")
        columns = {name: array}
        if array.ndim == 2:
            columns = {f"feature {k + 1}": column for k, column in enumerate(array.T)}
    for key, values in columns.items():
        if values.shape != (n,):
            raise CalibrationError(
                f"{key or 'groups'} has shape {values.shape} for {n:,} rows; give one value a row."
            )
    return columns


def check_of_rows(name: str, values: Any, n: int) -> npt.NDArray[Any]:
    """Clusters or weights of n rows as an (n,) array; weights are finite float64 from 0 upwards, not all 0."""
    array = as_array(values, name)
    if array.shape != (n,):
        raise CalibrationError(
            f"{name} must have shape ({n},), one for each row; got {array.shape}."
        )
    if name != "weights":
        return array
    if (
        array.dtype.kind not in "fiub"
        or not (np.isfinite(array) & (array >= 0)).all()
        or not array.any()
    ):
        raise CalibrationError(
            "weights must be finite numbers from 0 upwards, and not all of them 0."
        )
    return array.astype(np.float64, copy=False)


def check_extras(method: type[Any], arrays: dict[str, Any], n: int) -> dict[str, Any]:
    """The arrays beyond logits and labels that a fit to n rows is given, checked; those that are None are left out."""
    arrays = {name: array for name, array in arrays.items() if array is not None}
    if "weights" in set(arrays) - method.takes:
        if not np.ptp(check_of_rows("weights", arrays.pop("weights"), n)):
            return check_extras(method, arrays, n)
        raise CalibrationError(
            f"{method.__name__} takes no weights; choose a method that does, such as temperature, platt or isotonic. "
            "calib.registry.methods_that_take('weights') names all."
        )
    if set(arrays) - method.takes != method.needs:
        expected = ", ".join(sorted(method.needs)) or "no further arrays"
        expected += (
            f" and, where known, {' and '.join(sorted(method.takes))}" if method.takes else ""
        )
        raise CalibrationError(
            f"{method.__name__} takes {expected}, but was given {sorted(arrays)}."
        )
    return {
        name: check_of_rows(name, array, n) if name in {*method.takes, "groups"} else array
        for name, array in arrays.items()
    }
