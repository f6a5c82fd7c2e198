"""Stored logits in the place of an array, for fits that look at the range and at some of the rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.numerics import Floats
from calib.out_of_core.stored import StoredPredictions


class LazyLogits:
    """As much of a float64 array (n, n_classes) as a fit to sampled rows asks for; rows are read by indexing."""

    ndim = 2

    def __init__(self, data: StoredPredictions, scale: float = 1.0):
        self._data, self._scale = data, scale
        self.shape = data.logits.shape
        self.size = self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def min(self) -> float:
        """Smallest logit, from the pass for the range."""
        return self._data.low / self._scale

    def max(self) -> float:
        """Largest logit, from the pass for the range."""
        return self._data.high / self._scale

    def __getitem__(self, rows: Any) -> Floats:
        numbers = np.arange(len(self))[rows]
        taken = self._data.logits.take(numbers).astype(np.float64)
        return taken / self._scale if self._scale != 1.0 else taken

    def __truediv__(self, scale: float) -> LazyLogits:
        return LazyLogits(self._data, self._scale * scale)
