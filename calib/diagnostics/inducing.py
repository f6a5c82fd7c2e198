"""The inducing points of a fit, where a picture can show them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import Floats


@dataclass(frozen=True, eq=False)
class InducingPoints:
    """The function at the trained inducing inputs that lie in the picture.

    Attributes
    ----------
    inputs : (m,) places on the picture's horizontal axis, increasing.
    mean : (m,) posterior mean there.
    bands : (low, high) at 2 and at 1 standard deviations, each (m,).
    outside : how many more lie outside the picture.
    """

    inputs: Floats
    mean: Floats
    bands: tuple[tuple[Floats, Floats], ...]
    outside: int


def in_picture(places: Floats, low: float, high: float) -> tuple[Floats, int]:
    """The places within [low, high] in increasing order, and how many are not."""
    inside = np.sort(places[(places >= low) & (places <= high)])
    return inside, len(places) - len(inside)
