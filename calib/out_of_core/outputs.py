"""A model's outputs as canonical logits, block by block, with every check of the door."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calib.data.canonical import Kind, check_values, to_canonical
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints
from calib.out_of_core.rows import Block, Rows


class LogitRows(Rows):
    """Canonical logits of stored outputs.

    Parameters
    ----------
    outputs : rows as the model wrote them.
    kind, floor : what they are and what an exact zero becomes, see :func:`calib.data.canonical.to_canonical`.

    Raises
    ------
    CalibrationError
        At once for a wrong shape; while blocks are read, for values that cannot be of the kind, with the number
        of the first such row, counted from 1.
    """

    def __init__(self, outputs: Rows, kind: Kind, floor: float | None = None):
        empty = to_canonical(np.empty((0, *outputs.shape[1:]), outputs.dtype), kind, floor)
        super().__init__(outputs.name, (len(outputs), empty.shape[1]), empty.dtype)
        self.block_rows = outputs.block_rows
        self._outputs, self.kind, self.floor = outputs, kind, floor

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        for start, block in self._outputs.blocks():
            yield start, self.checked(start, block)

    def take(self, rows: Ints) -> Floats:
        """See the base class."""
        return to_canonical(self._outputs.take(rows), self.kind, self.floor)

    def checked(self, start: int, block: Floats) -> Floats:
        """Logits of a block of outputs whose first row has the number ``start``."""
        check_block(block, self.kind, start, len(self), self.name)
        return to_canonical(block, self.kind, self.floor)


def check_block(block: Any, kind: Kind, start: int, n: int, name: str) -> None:
    """What :func:`calib.data.canonical.check_values` does for all rows at once, for some of ``n``; rows are said from 1.

    Whether logits look like probabilities is asked of the first rows: a few later ones may do so by chance.
    """
    try:
        check_values(block, kind)
        return
    except CalibrationError as error:
        refused = error
    single: Kind = "binary_log_odds" if kind == "logits" else kind  # only the values, not what all rows look like
    if not _refused(block, single):
        if start == 0:
            raise CalibrationError(f"{name}: {refused}")
        return
    good, bad = 0, len(block)  # block[:good] can be used, block[:bad] cannot
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if _refused(block[:middle], single) else (middle, bad)
    where = f"row {start + bad:,} of {n:,} in {name}"
    if np.isfinite(block[bad - 1]).all():
        raise CalibrationError(f"The first that cannot be used is {where}: {_refused(block[bad - 1 : bad], single)}")
    last = min(start + len(block), n)
    raise CalibrationError(
        f"NaN or infinite values stand in {where}, the first of {_n_not_finite(block, kind):,} such rows up to row "
        f"{last:,}; empty cells and overflow in float16 usually cause it. Leave these rows out."
    )


def _refused(rows: Any, kind: Kind) -> str:
    """Why rows cannot be used; empty where they can."""
    try:
        check_values(rows, kind)
    except CalibrationError as error:
        return str(error)
    return ""


def _n_not_finite(block: Any, kind: Kind) -> int:
    flat = np.asarray(block).reshape(len(block), -1)
    zero = np.isneginf(flat) if kind == "log_probabilities" else False
    return int((~(np.isfinite(flat) | zero)).any(axis=1).sum())
