"""The scale of features: whether inputs are in the units of those before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

LEAST_ROWS = 5
"""Fewer inputs are never called a mistake of units: they may be odd ones."""

TIMES = 10
"""Factor beyond the known sizes from which the usual input differs; 255 tells bytes from pixels in 0..1."""


@dataclass(frozen=True)
class Scale:
    """Size of the inputs of a set: 5 %, 50 % and 95 % quantiles of the largest absolute number of an input."""

    small: float
    middle: float
    large: float

    @classmethod
    def from_features(cls, features: Any) -> Self | None:
        """The scale of (n, ...) inputs; None where none has one, as inputs of zeros alone and NaN do not."""
        array = np.asarray(features)
        if array.ndim < 2 or array.dtype.kind not in "fiub" or not array.size:
            return None
        flat = array.reshape(len(array), -1)
        sizes = np.maximum(-flat.min(axis=1).astype(np.float64), flat.max(axis=1))
        positive = np.isfinite(sizes) & (sizes > 0)
        if positive.sum() < LEAST_ROWS:
            return None
        return cls(*np.quantile(sizes[positive], (0.05, 0.5, 0.95)).tolist())

    def differs(self, others: list[Scale]) -> bool:
        """Return whether its usual input is far smaller, or far larger, than nearly all of each of the others."""
        smaller = all(TIMES * self.middle < other.small for other in others)
        return bool(others) and (
            smaller or all(self.middle > TIMES * other.large for other in others)
        )

    def against(self, other: Scale, owner: str) -> str:
        """The first half of a sentence: both sizes and what probably happened; ``owner`` names the other set."""
        return (
            f"A usual row of features reaches {self.middle:.3g} in size, but one of {owner} {other.middle:.3g}; one "
            "was probably divided by 255 or standardised (pixels in 0..255 against 0..1) and the other was not"
        )
