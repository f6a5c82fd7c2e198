"""Split rows into a calibration and a test part: seeded, stratified, and of an exact size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import Finding
from calib.errors import DataError, missing_package
from calib.numerics import Ints

Rows = tuple[Ints, Ints]
"""Row numbers of the calibration part and of the test part."""


def split_rows(labels: Ints, part: Any, given: npt.NDArray[np.bool_] | None, random_state: int) -> Rows:
    """Row numbers of both parts; no row is lost or taken twice.

    Parameters
    ----------
    labels : (n,) classes, whose frequencies a fraction or a count keeps in both parts.
    part : calibration part as a fraction in (0, 1), a count in [1, n - 1], row numbers or a mask of rows; None
        takes ``given`` if it marks some but not all rows, and half of the rows otherwise.
    given : (n,) split that came with the data, True for calibration.

    Raises
    ------
    DataError
        If a part would be empty, or the row numbers are not different rows of the data.
    """
    n = len(labels)
    if part is None:
        if given is not None and 0 < np.count_nonzero(given) < n:
            return np.flatnonzero(given), np.flatnonzero(~given)
        part = 0.5
    if np.ndim(part):
        return chosen_rows(np.asarray(part), n)
    size = part_size(part, n)
    return stratified_rows(labels, size, random_state)


def part_size(part: Any, n: int) -> int:
    """Rows of the calibration part; a fraction leaves at least one row on either side."""
    if isinstance(part, (float, np.floating)) and 0 < part < 1 and n >= 2:
        return int(min(max(round(part * n), 1), n - 1))
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool) and 0 < part < n:
        return int(part)
    raise _refused(f"A calibration part of {part!r} cannot be taken from {n:,} rows; both parts need at least one row.")


def chosen_rows(part: npt.NDArray[Any], n: int) -> Rows:
    """The rows named by hand in their order, and all others in ascending order."""
    if part.dtype.kind == "b" and part.shape == (n,):
        part = np.flatnonzero(part)
    if part.ndim != 1 or part.dtype.kind not in "iu" or not 0 < len(part) < n:
        raise _refused(
            f"{len(part):,} rows cannot be taken from {n:,} by row number; both parts need at least one row."
        )
    if part.min() < 0 or part.max() >= n:
        raise _refused(f"Row numbers run from {part.min():,} to {part.max():,}, but there are rows 0 to {n - 1:,}.")
    left = np.ones(n, dtype=bool)
    left[part] = False
    if np.count_nonzero(left) != n - len(part):
        raise _refused(f"{len(part) - (n - np.count_nonzero(left)):,} row numbers are named more than once.")
    return part.astype(np.int64), np.flatnonzero(left)


def stratified_rows(labels: Ints, size: int, random_state: int) -> Rows:
    """Random rows with the frequencies of the labels, in ascending order.

    scikit-learn refuses classes with a single row; all of them together form one stratum, and a stratum of one
    row goes to either part at random. Where a part is smaller than the number of strata, no frequencies can be
    kept, and rows are drawn without regard to labels.
    """
    try:
        from sklearn.model_selection import train_test_split
    except ModuleNotFoundError as error:
        raise DataError([Finding("error", "missing_package", missing_package(error))]) from error

    n = len(labels)
    rows = np.arange(n)
    alone = np.bincount(labels)[labels] == 1
    strata = np.where(alone, -1, labels)
    taken = np.empty(0, dtype=np.int64)
    if np.count_nonzero(alone) == 1:
        rows = rows[~alone]
        if np.random.default_rng(random_state).random() < size / n:
            taken, size = np.flatnonzero(alone), size - 1
    n_strata = len(np.unique(strata[rows]))
    enough = n_strata <= min(size, len(rows) - size)
    if 0 < size < len(rows):
        drawn, _ = train_test_split(
            rows, train_size=size, stratify=strata[rows] if enough else None, random_state=random_state
        )
        taken = np.concatenate([taken, drawn])
    elif size:
        taken = np.concatenate([taken, rows])
    calibration = np.zeros(n, dtype=bool)
    calibration[taken] = True
    return np.flatnonzero(calibration), np.flatnonzero(~calibration)


def _refused(message: str) -> DataError:
    action = "Give a fraction between 0 and 1, a count, or different row numbers."
    return DataError([Finding("error", "split", message, action)])
