"""A fitted calibrator as an ONNX model; needs the package onnx.

:mod:`calib.export.predict` says what each step computes; :data:`WORDS` says the same in the operators of ONNX. All is
in double precision, and only operators are used that onnxruntime has in double.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

import calib
from calib.calibrators.steps import TINY, Step
from calib.canonical import PLAIN
from calib.errors import CalibrationError
from calib.export.npz import checked_steps, logit_steps
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from calib.registry import METHODS

OPSET, IR_VERSION = 18, 8
"""Version of the operators and of the format, which onnxruntime reads since 1.14 (2023)."""

INPUT, PREFIX = "outputs", "calib/"
"""The model's input, and what begins all other names in it, so that it can be merged with another model."""

FLOAT_TYPES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
}


class Graph:
    """A graph under construction. Each operator of ONNX is a method: of names and arrays, it gives a name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.arrays: dict[Any, TensorProto] = {}
        self._count = 0

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        return partial(self._node, operator)

    def _node(self, operator: str, *of: Any, n_results: int = 1, **attributes: Any) -> Any:
        names = [
            option if isinstance(option, str) else self._constant(np.asarray(option))
            for option in of
        ]
        results = [self.name() for _ in range(n_results)]
        self.nodes.append(helper.make_node(operator, names, results, **attributes))
        return results if n_results > 1 else results[0]

    def name(self) -> str:
        """A new name."""
        self._count += 1
        return f"{PREFIX}{self._count}"

    def _constant(self, array: Any) -> str:
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self.arrays:
            self.arrays[key] = numpy_helper.from_array(array, self.name())
        return self.arrays[key].name

    def row_sum(self, x: str) -> str:
        """Sum of each row, (n, 1)."""
        return self.ReduceSum(x, [1])

    def row_max(self, x: str) -> str:
        """Largest number of each row, (n, 1)."""
        return self.ReduceMax(x, [1])


def _value(name: str, dtype: int, shape: Sequence[int | str] | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


# -- the steps: each takes the graph and the name of x, (n, m) doubles, and gives a name -----------------------------


def run(g: Graph, steps: Sequence[Step], x: str) -> str:
    """Add a list of steps to a graph."""
    for step in steps:
        options = {name: value for name, value in step.items() if name != "step"}
        x = WORDS[step["step"]](g, x, **options)
    return x


def _affine(g: Graph, x: str, scale: Any = 1.0, offset: Any = 0.0) -> str:
    x = g.Mul(x, scale) if np.any(np.not_equal(scale, 1.0)) else x
    return g.Add(x, offset) if np.any(offset) else x


def _softplus(g: Graph, x: str) -> str:
    return g.Add(g.Max(x, 0.0), g.Log(g.Add(1.0, g.Exp(g.Neg(g.Abs(x))))))


def _softmax(g: Graph, x: str, among: Any = None, kept: Any = None) -> str:
    if kept is None:
        return g.Softmax(x, axis=1)
    fixed = g.Exp(g.Gather(x, kept, axis=1))
    rest = g.Max(g.Sub(1.0, g.row_sum(fixed)), 0.0)
    shares = g.Mul(rest, g.Softmax(g.Gather(x, among, axis=1), axis=1))
    return g.Gather(g.Concat(fixed, shares, axis=1), np.argsort(np.append(kept, among)), axis=1)


def _piecewise(g: Graph, x: str, breaks: Floats, origins: Floats, coefficients: Floats) -> str:
    """Binary search in a table of a power of two of numbers for each map, filled up with infinite breaks."""
    n_breaks = breaks.shape[-1]
    size = 2 ** n_breaks.bit_length()

    def table(rows: Floats, by: float) -> Floats:
        wide = np.atleast_2d(rows)
        return np.pad(wide, ((0, 0), (0, size - wide.shape[1])), constant_values=by).reshape(-1)

    limits = table(breaks, np.inf)
    step = size // 2
    at: Any = np.arange(len(limits) // size) * size
    while step:
        further = g.Add(at, step)
        at = g.Where(g.LessOrEqual(g.Gather(limits, g.Sub(further, 1)), x), further, at)
        step //= 2
    along = g.Sub(x, g.Gather(table(origins, 0.0), at))
    *lower, result = (g.Gather(table(row, 0.0), at) for row in coefficients)
    for coefficient in reversed(lower):
        result = g.Add(g.Mul(result, along), coefficient)
    return result


def _mix(g: Graph, x: str, weights: Sequence[Any], parts: Sequence[list[Step]]) -> str:
    first, *others = (
        g.Mul(run(g, part, x), weight) for weight, part in zip(weights, parts, strict=True)
    )
    for other in others:
        first = g.Add(first, other)
    return first


def _log_odds(g: Graph, x: str) -> str:
    """Log-odds of each class against the rest."""
    x = g.Sub(x, g.row_max(x))
    top = g.ArgMax(x, axis=1, keepdims=1)
    below = g.Sub(g.Mul(g.Cast(top, to=TensorProto.DOUBLE), 0.0), np.inf)
    others = g.ScatterElements(x, top, below, axis=1)
    second = g.row_max(others)
    rest = g.Add(second, g.Log(g.row_sum(g.Exp(g.Sub(others, second)))))
    remainder = g.Max(g.Sub(g.Exp(rest), g.Exp(others)), 0.0)
    result = g.Sub(others, g.Log(g.Add(1.0, remainder)))
    return g.ScatterElements(result, top, g.Max(g.Neg(rest), g.row_max(result)), axis=1)


def _one_vs_rest(g: Graph, x: str, steps: list[Step]) -> str:
    probs = run(g, steps, _log_odds(g, x))
    return g.Where(g.Less(g.row_sum(probs), TINY), g.Softmax(x, axis=1), probs)


def _ranks(g: Graph, x: str, weights: Floats) -> str:
    n_classes = len(weights) + 1
    ranked, order = g.TopK(x, [n_classes], n_results=2, axis=1)
    first, second = (g.Gather(ranked, np.arange(n_classes - 1) + k, axis=1) for k in (0, 1))
    below = g.CumSum(g.Mul(g.Sub(second, first), weights), 1)
    return g.ScatterElements(x, order, g.Concat(g.Mul(g.row_max(x), 0.0), below, axis=1), axis=1)


def _draws(
    g: Graph,
    x: str,
    growth: Floats,
    low: float,
    spacing: float,
    order: int,
    of_probabilities: bool = False,
) -> str:
    """Each row's odds are spread over the nodes and gathered again, so that no tensor has an entry for each draw."""
    size = len(growth)
    near = range(order + 1)
    at = g.Div(g.Sub(g.Softmax(x, axis=1) if of_probabilities else x, low), spacing)
    at = g.Min(g.Max(at, 0.0), size - 1.0)
    first = g.Min(g.Max(g.Sub(g.Cast(at, to=TensorProto.INT64), order // 2), 0), size - 1 - order)
    along = g.Sub(at, g.Cast(first, to=TensorProto.DOUBLE))
    weights = [np.float64(1.0) for _ in near]
    for i in near:
        for j in near:
            weights[i] = (
                weights[i]
                if i == j
                else g.Mul(weights[i], g.Div(g.Sub(along, float(j)), float(i - j)))
            )
    nodes = [g.Add(first, i) for i in near]
    odds = g.Exp(g.Sub(x, g.row_max(x)))
    sums = g.Mul(g.row_sum(odds), np.zeros(size))
    for node, weight in zip(nodes, weights, strict=True):
        sums = g.ScatterElements(sums, node, g.Mul(odds, weight), axis=1, reduction="add")
    ratio = g.MatMul(g.Div(1.0, g.MatMul(sums, growth)), np.ascontiguousarray(growth.T))
    parts = [
        g.Mul(g.GatherElements(ratio, node, axis=1), w)
        for node, w in zip(nodes, weights, strict=True)
    ]
    return g.Div(g.Mul(odds, g.Sum(*parts)), float(growth.shape[1]))


WORDS: dict[str, Callable[..., str]] = {
    "affine": _affine,
    "matrix": lambda g, x, matrix, offset=0.0: _affine(
        g, g.MatMul(x, np.ascontiguousarray(matrix.T)), 1.0, offset
    ),
    "log": lambda g, x: g.Log(g.Max(x, 0.0)),
    "cut": lambda g, x, depth: g.Max(x, g.Sub(g.row_max(x), depth)),
    "finite": lambda g, x, low: g.Where(g.Equal(x, -np.inf), low, x),
    "log_sigmoid": lambda g, x: g.Neg(_softplus(g, g.Neg(x))),
    "sigmoid": lambda g, x: g.Div(
        1.0, g.Add(1.0, g.Exp(g.Neg(x)))
    ),  # Sigmoid has no digits left below -40
    "normalise": lambda g, x: g.Div(x, g.row_sum(x)),
    "log_softmax": lambda g, x: g.LogSoftmax(x, axis=1),
    "softmax": _softmax,
    "piecewise": _piecewise,
    "mix": _mix,
    "one_vs_rest": _one_vs_rest,
    "ranks": _ranks,
    "draws": _draws,
}
"""Each step of :data:`calib.export.predict.STEPS` in ONNX."""


# -- a model ---------------------------------------------------------------------------------------------------------


def to_model(exported: ExportedCalibrator, dtype: str = "float32") -> ModelProto:
    """The ONNX model of an exported calibrator; :func:`calib.export.to_onnx` says what it takes and gives.

    Parameters
    ----------
    dtype : of the outputs that it takes: float32, float64 or float16.
    """
    if dtype not in FLOAT_TYPES:
        raise CalibrationError(
            f"An ONNX model takes {', '.join(FLOAT_TYPES)}; got dtype={dtype!r:.40}."
        )
    g = Graph()
    one_column = exported.n_outputs == 1
    pairs = exported.kind == "pairs"
    n_columns = exported.calibrator.n_classes_
    title = METHODS[exported.method].title
    x = g.Cast(INPUT, to=TensorProto.DOUBLE)
    x = g.Reshape(x, [-1, 1]) if one_column else x
    logits = run(g, logit_steps(exported), x)
    probs = run(g, checked_steps(exported.calibrator), logits)
    total = g.row_sum(logits)
    probs = g.Add(probs, g.Sub(total, total))  # NaN where a number is not finite
    name = "calibrated_confidence" if pairs else "calibrated_probabilities"
    result = g.Reshape(g.Gather(probs, [1], axis=1), [-1]) if pairs else probs
    g.nodes.append(helper.make_node("Identity", [result], [name]))
    source = _value(INPUT, FLOAT_TYPES[dtype], None if one_column else ["n", n_columns])
    outcome = _value(name, TensorProto.DOUBLE, ["n"] if pairs else ["n", n_columns])
    model = helper.make_model(
        helper.make_graph(g.nodes, "calib", [source], [outcome], [*g.arrays.values()]),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="calib",
        producer_version=calib.__version__,
        doc_string=f"{title}: calibrated with calib {calib.__version__}.",
    )
    helper.set_model_props(model, recorded(exported, dtype))
    return model


def recorded(exported: ExportedCalibrator, dtype: str) -> dict[str, str]:
    """Metadata of the model, under names that begin with ``calib.``; values other than texts are JSON."""
    entries = {
        "version": calib.__version__,
        "method": exported.method,
        "params": exported.params,
        "input": INPUT,
        "input_dtype": dtype,
        "kind": exported.kind,
        "scale": PLAIN if exported.scale is None else exported.scale,
        "floor": exported.floor,
        "class_names": exported.class_names,
        "exported_on": exported.metadata.get("exported_on", ""),
    }
    return {
        f"calib.{key}": entry if isinstance(entry, str) else json.dumps(entry)
        for key, entry in entries.items()
    }
