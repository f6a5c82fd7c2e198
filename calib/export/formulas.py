"""The steps of a calibrator as a graph of array operations, from which ONNX, PyTorch and SQL are written.

:mod:`calib.export.predict` says what each step computes. Here it is the same without loops over rows and branches that
depend on numbers; ``tests/export/test_formulas.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calib.base import Calibrator
from calib.calibrators.steps import Step
from calib.errors import CalibrationError
from calib.export.graph import Array, Draws, Piecewise, Value, apply, constant, side_by_side
from calib.export.npz import checked_steps, logit_steps, plain_steps
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats

TINY = float(np.finfo(float).tiny)
OUTPUTS = apply("input")
"""What the model writes, (n, n_classes), or (n, 1) where that is a single column."""


def formula(exported: ExportedCalibrator) -> Value:
    """Calibrated probabilities (n, n_classes) of outputs as they were uploaded.

    Raises
    ------
    CalibrationError
        For a method without steps, and outputs of which there are none: the top k of very many classes, odds.
    """
    if exported.kind == "topk":
        raise CalibrationError(
            "The calibrator takes the largest logits of very many classes, which no other language is written for; "
            "export a bundle."
        )
    return probabilities(exported.calibrator, canonical(exported))


def canonical(exported: ExportedCalibrator) -> Value:
    """Logits of the outputs, as :func:`calib.canonical.to_canonical` has them; in float64 throughout."""
    return run([*plain_steps(exported), *logit_steps(exported)], OUTPUTS)


def probabilities(made: Calibrator, logits: Value) -> Value:
    """Probabilities (n, n_classes) of canonical logits."""
    return run(checked_steps(made), logits)


def run(steps: Sequence[Step], x: Value) -> Value:
    """A list of steps as operations on a value."""
    for i, step in enumerate(steps):
        options = {name: value for name, value in step.items() if name != "step"}
        if step["step"] == "softmax" and i and steps[i - 1]["step"] == "ranks":
            continue  # "gaps" is both
        x = STEPS[step["step"]](x, **options)
    return x


def _number(value: Any, name: str) -> Value | float:
    return float(value) if np.ndim(value) == 0 else constant(name, value)


def _affine(x: Value, scale: Any = 1.0, offset: Any = 0.0) -> Value:
    if np.ndim(scale) or scale != 1.0:
        x = x * _number(scale, "scale")
    return x + _number(offset, "offset") if np.any(offset) else x


def _matrix(x: Value, matrix: Floats, offset: Any = 0.0) -> Value:
    if matrix.shape == (1, 2):  # the log-odds of the second class
        return _columns_of(x, [1]) - _columns_of(x, [0])
    if matrix.shape == (2, 1):  # a single column as two: 0 or the rest, and itself
        return apply("join", 1.0 - x if np.any(offset) else x * 0.0, x)
    product = apply("product", x, constant("matrix", matrix))
    return product + _number(offset, "offset") if np.any(offset) else product


def _softmax(x: Value, among: Any = None, kept: Any = None) -> Value:
    if kept is None:
        return apply("softmax", x)
    held = apply("exp", _columns_of(x, kept))
    left = apply("maximum", 1.0 - apply("row_sum", held), 0.0)
    return _joined([kept, among], [held, left * apply("softmax", _columns_of(x, among))])


def _piecewise(
    x: Value, breaks: Floats, origins: Floats, coefficients: Floats, sizes: Sequence[int] | None = None
) -> Value:
    if sizes is None:
        return Piecewise(breaks, origins, coefficients)(x)
    maps, start = [], 0
    for k, size in enumerate(sizes):
        own = slice(start + k, start + size + k + 1)
        maps.append(Piecewise(breaks[start : start + size], origins[own], coefficients[:, own]))
        start += size
    return side_by_side(maps)(x)


def _mix(x: Value, weights: Sequence[Any], parts: Sequence[list[Step]]) -> Value:
    first, *others = (
        run(part, x) if np.ndim(weight) == 0 and weight == 1.0 else run(part, x) * _number(weight, "weight")
        for weight, part in zip(weights, parts, strict=True)
    )
    return sum(others, first)


def _columns(x: Value, of: Sequence[Any], parts: Sequence[list[Step]]) -> Value:
    return _joined(of, [_columns_of(run(part, x), which) for which, part in zip(of, parts, strict=True)])


def _joined(of: Sequence[Any], values: Sequence[Value]) -> Value:
    """Columns with these numbers from several values, in the order of the classes."""
    joined = apply("join", *values) if len(values) > 1 else values[0]
    return _columns_of(joined, np.argsort(np.concatenate(of)))


def _columns_of(x: Value, which: Any) -> Value:
    return apply("columns", x, given=tuple(int(k) for k in which))


def _one_vs_rest(x: Value, steps: list[Step], normalised: bool = True) -> Value:
    probs = run(steps, apply("log_odds", x))
    total = apply("row_sum", probs)
    empty = apply("less", total, TINY)
    filled = apply("where", empty, apply("softmax", x), probs)
    return filled / apply("where", empty, 1.0, total) if normalised else filled


def _draws(x: Value, growth: Floats, low: float, spacing: float, order: int, of_probabilities: bool = False) -> Value:
    mass = apply("exp", x - apply("row_max", x))
    inputs = apply("softmax", x) if of_probabilities else x
    probs = apply("draws", inputs, mass, given=Draws(np.ascontiguousarray(growth.T), low, spacing, order))
    return probs / apply("row_sum", probs)


STEPS: Mapping[str, Callable[..., Value]] = {
    "affine": _affine,
    "matrix": _matrix,
    "log": lambda x: apply("log", apply("maximum", x, 0.0)),
    "finite": lambda x, low: apply("where", apply("equal", x, -np.inf), low, x),
    "sigmoid": lambda x: apply("sigmoid", x),
    "log_sigmoid": lambda x: 0.0 - apply("softplus", 0.0 - x),
    "normalise": lambda x: x / apply("row_sum", x),
    "log_softmax": lambda x: apply("log_softmax", x),
    "softmax": _softmax,
    "piecewise": _piecewise,
    "mix": _mix,
    "columns": _columns,
    "one_vs_rest": _one_vs_rest,
    "top": lambda x, steps: apply("in_proportion", x, run(steps, apply("top_log_odds", x))),
    "ranks": lambda x, weights: apply("gaps", x, given=Array("weights", weights[None, :])),
    "draws": _draws,
}
"""Each step of :data:`calib.export.predict.STEPS` as operations."""
