"""Steps that several methods are made of; :mod:`calib.export.predict` says what each step computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib.numerics import Floats

Step = dict[str, Any]
"""The name of a step under ``step``, and what it takes: numbers, arrays, other steps."""

TINY = float(np.finfo(np.float64).tiny)
"""A row whose one-vs-rest probabilities sum to less becomes the softmax."""


def table(edges: Floats, values: Floats) -> Step:
    """``values`` between the ``edges``, one fewer; an edge belongs to the interval that begins with it."""
    return {
        "step": "piecewise",
        "breaks": edges,
        "origins": np.zeros(len(values)),
        "coefficients": values[None, :],
    }


def lines(knots: Floats, values: Floats) -> Step:
    """Straight lines from knot to knot, level beyond them."""
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
    return {
        "step": "piecewise",
        "breaks": knots,
        "origins": np.append(knots[:1], knots),
        "coefficients": np.stack([np.append(values[:1], values), slopes]),
    }


def side_by_side(maps: Sequence[list[Step]]) -> list[Step]:
    """Maps of the same steps as one with a map for each column."""
    if len(maps) == 1:
        return maps[0]
    return [_joined(steps) for steps in zip(*maps, strict=True)]


def _joined(steps: Sequence[Step]) -> Step:
    first = steps[0]
    if first["step"] == "piecewise":
        fills: list[tuple[str, dict[str, Any]]] = [
            ("breaks", {"constant_values": np.inf}),
            ("origins", {"mode": "edge"}),
            ("coefficients", {"mode": "edge"}),
        ]
        return {
            "step": "piecewise",
            **{name: _filled([step[name] for step in steps], **how) for name, how in fills},
        }
    if first["step"] == "mix":
        parts = [
            side_by_side(part) for part in zip(*(step["parts"] for step in steps), strict=True)
        ]
        weights = [
            np.array(column) for column in zip(*(step["weights"] for step in steps), strict=True)
        ]
        return {"step": "mix", "weights": weights, "parts": parts}
    numbers = {
        name: np.array([step[name] for step in steps], float) for name in first if name != "step"
    }
    return {"step": first["step"], **numbers}


def _filled(arrays: Sequence[Floats], **how: Any) -> Floats:
    """Arrays as one with an axis for them before the last, along which the shorter ones are filled up."""
    widest = max(array.shape[-1] for array in arrays)
    wide = [np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, widest - a.shape[-1])], **how) for a in arrays]
    return np.stack(wide, axis=-2)
