"""Where a latent function changes confidences by more than it is unsure of, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.diagnostics.effect_summary import EffectCurve
from calib.diagnostics.latent_effect import ConfidenceEffect

GROUPS = ((0.9, 1.0), (0.5, 0.9), (0.0, 0.5))
"""Raw confidences that are spoken of together, the most confident first: above the first and up to the second."""

FEWEST_ROWS = 5


@dataclass(frozen=True)
class GroupChange:
    """The mean change of the confidences in one range.

    Attributes
    ----------
    low, high : raw confidences in (low, high].
    count : rows in the range.
    change, sd : mean change of their confidence, and its posterior standard deviation.
    """

    low: float
    high: float
    count: int
    change: float
    sd: float

    @property
    def certain(self) -> bool:
        """Whether the change is larger than two of its standard deviations."""
        return abs(self.change) > 2.0 * self.sd


def changes(effect: ConfidenceEffect) -> list[GroupChange]:
    """The mean change above 0.9, from 0.5 to 0.9 and below 0.5; ranges with fewer than 5 rows are left out."""
    found = []
    for low, high in GROUPS:
        # Rows are ordered, and rounding may lift a confidence above 1.
        start, stop = np.searchsorted(effect.before, [low, high if high < 1.0 else np.inf], side="right")
        if stop - start < FEWEST_ROWS:
            continue
        rows = slice(start, stop)
        change = float((effect.after[rows] - effect.before[rows]).mean())
        sd = float(effect.draws[rows].mean(axis=0, dtype=np.float64).std())
        found.append(GroupChange(low, high, int(stop - start), change, sd))
    return found


@dataclass(frozen=True)
class Departure:
    """How far other confidences leave the 95 % band of a curve.

    Attributes
    ----------
    share : share of the rows in bins where they lie outside the band.
    before, difference : raw confidence of the bin where they differ most from the curve, and by how much.
    """

    share: float
    before: float
    difference: float


def departure(curve: EffectCurve, other: np.ndarray) -> Departure:
    """Compare other mean confidences in the bins of ``curve`` with its band.

    Parameters
    ----------
    other : (m,) such as the curve's ``temperature``, or ``after`` of another fit on the same rows.
    """
    (low, high), _ = curve.bands
    outside = (other < low) | (other > high)
    difference = other - curve.after
    most = int(np.abs(difference).argmax())
    share = float(curve.count[outside].sum() / curve.count.sum())
    return Departure(share, float(curve.before[most]), float(difference[most]))
