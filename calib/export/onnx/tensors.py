"""An ONNX graph under construction, and the operations of :mod:`calib.export.graph` that ONNX has no operator for.

All numbers are in double precision, and only operators are used that onnxruntime has in double. Every function takes
(n, m) tensors of any number of rows, none too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from calib.export.graph import Draws, Piecewise
from calib.numerics import Floats
from calib.parameters import ROUNDING

PREFIX = "calib/"
"""Begins all names within the graph, so that it can be put behind another."""

Given = Any
"""A tensor, an array or a number."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value in a graph, with the operators of an array; numbers and arrays beside it become constants."""

    graph: Graph
    name: str
    dtype: np.dtype[Any]

    def __add__(self, other: Given) -> Tensor:
        return self._with("Add", other)

    def __sub__(self, other: Given) -> Tensor:
        return self._with("Sub", other)

    def __mul__(self, other: Given) -> Tensor:
        return self._with("Mul", other)

    def __truediv__(self, other: Given) -> Tensor:
        return self._with("Div", other)

    def __matmul__(self, other: Given) -> Tensor:
        return self._with("MatMul", other)

    def __radd__(self, other: Given) -> Tensor:
        return self + other

    def __rmul__(self, other: Given) -> Tensor:
        return self * other

    def __rsub__(self, other: Given) -> Tensor:
        return self.like(other) - self

    def __rtruediv__(self, other: Given) -> Tensor:
        return self.like(other) / self

    def __neg__(self) -> Tensor:
        return self.op("Neg")

    def __and__(self, other: Tensor) -> Tensor:
        return self.op("And", other)

    def __or__(self, other: Tensor) -> Tensor:
        return self.op("Or", other)

    def __invert__(self) -> Tensor:
        return self.op("Not")

    def __lt__(self, other: Given) -> Tensor:
        return self._with("Less", other, bool)

    def __le__(self, other: Given) -> Tensor:
        return self._with("LessOrEqual", other, bool)

    def __gt__(self, other: Given) -> Tensor:
        return self._with("Greater", other, bool)

    def equals(self, other: Given) -> Tensor:
        """Where both are the same."""
        return self._with("Equal", other, bool)

    def minimum(self, other: Given) -> Tensor:
        """The smaller of both."""
        return self._with("Min", other)

    def maximum(self, other: Given) -> Tensor:
        """The larger of both."""
        return self._with("Max", other)

    def exp(self) -> Tensor:
        """Exponential."""
        return self.op("Exp")

    def log(self) -> Tensor:
        """Natural logarithm."""
        return self.op("Log")

    def abs(self) -> Tensor:
        """Absolute value."""
        return self.op("Abs")

    def cast(self, dtype: npt.DTypeLike) -> Tensor:
        """In another type."""
        return self.op("Cast", dtype=dtype, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def reshape(self, *shape: int) -> Tensor:
        """In another shape, of which one size may be -1."""
        return self.op("Reshape", np.array(shape, dtype=np.int64))

    def row_sums(self) -> Tensor:
        """Sum of each row, (n, 1)."""
        return self.op("ReduceSum", np.array([1]), keepdims=1)

    def row_maxima(self) -> Tensor:
        """Largest of each row, (n, 1)."""
        if self.graph.opset < 18:
            return self.op("ReduceMax", axes=[1], keepdims=1)
        return self.op("ReduceMax", np.array([1]), keepdims=1)

    def columns(self, which: Sequence[int] | npt.NDArray[Any]) -> Tensor:
        """The columns of these numbers, (n, len(which))."""
        return self.op("Gather", np.asarray(which, dtype=np.int64), axis=1)

    def rows(self, which: Tensor) -> Tensor:
        """The rows of these numbers."""
        return self.op("Gather", which, axis=0)

    def any(self) -> Tensor:
        """Whether any of these booleans holds, one number; none of no rows does."""
        return self.cast(np.int64).op("ReduceSum", keepdims=0) > 0

    def like(self, other: Given) -> Tensor:
        """What stands beside this tensor, as a tensor: a number or an array becomes a constant of its type."""
        return other if isinstance(other, Tensor) else self.graph.constant(np.asarray(other, dtype=self.dtype))

    def op(
        self, name: str, *others: Tensor | npt.NDArray[Any], dtype: npt.DTypeLike | None = None, **given: Any
    ) -> Tensor:
        """An operator with this as its first input; the result has this type unless another is given."""
        return self.graph.op(name, self, *others, dtype=self.dtype if dtype is None else dtype, **given)

    def _with(self, name: str, other: Given, dtype: npt.DTypeLike | None = None) -> Tensor:
        return self.op(name, self.like(other), dtype=dtype)


class Graph:
    """Nodes and constants, in the order in which they were added.

    Attributes
    ----------
    opset : version of the operators.
    size : bytes of the constants.
    """

    def __init__(self, opset: int):
        self.opset, self.size = opset, 0
        self._nodes: list[NodeProto] = []
        self._constants: dict[tuple[Any, ...], TensorProto] = {}
        self._count = 0

    def op(self, name: str, *inputs: Tensor | npt.NDArray[Any], dtype: npt.DTypeLike, **attributes: Any) -> Tensor:
        """The one output of an operator."""
        return self.ops(name, *inputs, dtypes=[dtype], **attributes)[0]

    def ops(
        self, name: str, *inputs: Tensor | npt.NDArray[Any], dtypes: Iterable[npt.DTypeLike], **attributes: Any
    ) -> list[Tensor]:
        """All outputs of an operator, of these types; arrays among its inputs become constants."""
        given = [each if isinstance(each, Tensor) else self.constant(each) for each in inputs]
        made = [self._new(dtype) for dtype in dtypes]
        node = helper.make_node(name, [each.name for each in given], [each.name for each in made], **attributes)
        self._nodes.append(node)
        return made

    def constant(self, value: npt.NDArray[Any]) -> Tensor:
        """A constant; equal ones are kept once."""
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self._constants:
            self.size += value.nbytes
            self._constants[key] = numpy_helper.from_array(value, self._new(value.dtype).name)
        return Tensor(self, self._constants[key].name, value.dtype)

    def loop(
        self,
        body: Callable[..., tuple[Tensor, ...]],
        carried: Sequence[Tensor],
        *,
        times: int | None = None,
        condition: Tensor | None = None,
    ) -> list[Tensor]:
        """What is carried through the loop after its end.

        Parameters
        ----------
        body : of the round's number, (), and what is carried, (n, m) each; gives whether to go on, (), and what is.
        times : most rounds; without it the condition alone ends the loop.
        condition : whether to begin, (); always unless given.
        """
        outside, self._nodes = self._nodes, []
        number, before = self._new(np.int64), self._new(bool)
        inside = [self._new(each.dtype) for each in carried]
        onward, *after = body(number, *inside)
        # An output of a body must be made by one of its own nodes.
        results = [each.op("Identity") for each in (onward, *after)]
        made, self._nodes = self._nodes, outside
        given = [described(each, []) for each in (number, before)] + [described(each, ["rows", "m"]) for each in inside]
        nested = helper.make_graph(made, self._new(bool).name, given, [described(each) for each in results])
        most = self.constant(np.asarray(np.iinfo(np.int64).max if times is None else times))
        begin = self.constant(np.asarray(True)) if condition is None else condition
        return self.ops("Loop", most, begin, *carried, dtypes=[each.dtype for each in carried], body=nested)

    def finished(self, name: str, output: str, given: ValueInfoProto, result: ValueInfoProto) -> GraphProto:
        """The whole graph with one input, and one output which gets this name."""
        self._nodes.append(helper.make_node("Identity", [result.name], [output]))
        result.name = output
        return helper.make_graph(self._nodes, name, [given], [result], [*self._constants.values()])

    def _new(self, dtype: npt.DTypeLike) -> Tensor:
        self._count += 1
        return Tensor(self, f"{PREFIX}{self._count}", np.dtype(dtype))


def described(tensor: Tensor, shape: Sequence[int | str] | None = None) -> ValueInfoProto:
    """A tensor as the inputs and outputs of a graph list it; of any shape unless one is given."""
    return helper.make_tensor_value_info(tensor.name, helper.np_dtype_to_tensor_dtype(tensor.dtype), shape)


# -- operations that take more than one operator ----------------------------------------------------------------------


def softmax(logits: Tensor) -> Tensor:
    """Probabilities of each row."""
    return logits.op("Softmax", axis=1)


def sigmoid(values: Tensor) -> Tensor:
    """Logistic function, with all digits at both ends; onnxruntime's own has none left below -40."""
    return 1.0 / (1.0 + (-values).exp())


def softplus(values: Tensor) -> Tensor:
    """``log(1 + exp(values))`` without overflow."""
    return values.maximum(0.0) + (1.0 + (-values.abs()).exp()).log()


def where(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """One value where a condition holds, the other elsewhere."""
    return condition.op("Where", yes, no, dtype=no.dtype)


def joined(*parts: Tensor) -> Tensor:
    """Columns side by side."""
    return parts[0].op("Concat", *parts[1:], axis=1)


def at_columns(values: Tensor, columns: Tensor, new: Given) -> Tensor:
    """(n, m) values with new ones in the columns that a row of (n, 1) numbers names."""
    new = new if isinstance(new, Tensor) else columns.cast(values.dtype) * 0.0 + new
    return values.op("ScatterElements", columns, new, axis=1)


def on_rows(rows: Tensor, values: Tensor, change: Callable[..., Tensor], *given: Tensor) -> Tensor:
    """Values whose rows were replaced where a condition holds; nothing is computed of the others.

    Parameters
    ----------
    rows : (n, 1) booleans.
    change : of those rows of each tensor given, what replaces theirs.
    """
    number = rows.reshape(-1).op("NonZero", dtype=np.int64).reshape(-1)
    return values.op("ScatterND", number.reshape(-1, 1), change(*(each.rows(number) for each in given)))


def without_top(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The predicted classes, (n, 1); their log-odds against all others, (n, 1); the logits with -inf for theirs."""
    top = logits.op("ArgMax", dtype=np.int64, axis=1, keepdims=1)
    rest = at_columns(logits, top, -np.inf)
    second = rest.row_maxima()
    return top, logits.row_maxima() - second - (rest - second).exp().row_sums().log(), rest


def log_odds(logits: Tensor) -> Tensor:
    """Log-odds of each of more than two classes against all others; a tied maximum stays on top."""
    logits = logits - logits.row_maxima()
    top, highest, rest = without_top(logits)
    others = rest.exp()
    of_others = rest - (1.0 + (others.row_sums() - others).maximum(0.0)).log()
    return at_columns(of_others, top, highest.maximum(of_others.row_maxima()))


def in_proportion(logits: Tensor, confidence: Tensor) -> Tensor:
    """Probabilities with these (n, 1) confidences in the predicted classes, and no other class above them."""
    top, _, rest = without_top(logits)
    tied = logits.equals(logits.row_maxima())
    n_classes = (tied.cast(np.float64) * 0.0 + 1.0).row_sums()
    confidence = confidence.maximum(1.0 / n_classes).minimum(1.0)
    probs = softmax(rest) * (1.0 - confidence)
    probs = on_rows(probs.row_maxima() > confidence, probs, _capped, rest, confidence)
    probs = at_columns(probs, top, confidence)
    among = tied.cast(np.float64)
    return where(tied, (probs * among).row_sums() / among.row_sums(), probs)


def _capped(rest: Tensor, most: Tensor) -> Tensor:
    """What is left beside the largest in proportion to the exponentials, with no entry above it."""

    def shared(held: Tensor) -> Tensor:
        left = (1.0 - most * (1.0 + held.cast(np.float64).row_sums())).maximum(0.0)
        return where(held, most, softmax(where(held, rest.like(-np.inf), rest)) * left)

    def hold_more(number: Tensor, over: Tensor, held: Tensor) -> tuple[Tensor, ...]:
        held = held | over
        over = ~held & (shared(held) > most * (1.0 + ROUNDING))
        return over.any(), over, held

    none = rest > np.inf
    over = shared(none) > most * (1.0 + ROUNDING)
    _, held = rest.graph.loop(hold_more, [over, none], condition=over.any())
    return shared(held).minimum(most)


def gaps(logits: Tensor, weights: Floats) -> Tensor:
    """Softmax with each gap between neighbours of a sorted row multiplied by the weight of its rank, (1, m - 1)."""
    m = weights.size + 1
    ranked, order = logits.graph.ops("TopK", logits, np.array([m]), dtypes=[np.float64, np.int64], axis=1)
    away = (ranked.columns(range(m - 1)) - ranked.columns(range(1, m))) * weights
    by_rank = softmax(-joined(ranked.columns([0]) * 0.0, away.op("CumSum", np.array(1))))
    return logits.op("ScatterElements", order, by_rank, axis=1)


def average_growth(inputs: Tensor, mass: Tensor, draws: Draws) -> Tensor:
    """Exponentials times their average growth under functions drawn on a grid, (n, m).

    Each row's masses are spread over the nodes and gathered again, so that no tensor has an entry for each draw.
    """
    size = draws.growth.shape[1]
    at = ((inputs - draws.low) * (1 / draws.spacing)).maximum(0.0).minimum(size - 1.0)
    first = (at.cast(np.int64) - (1 if draws.order == 3 else 0)).maximum(0).minimum(size - 1 - draws.order)
    x = at - first.cast(np.float64)
    weights = [1.0 - x, x]
    if draws.order == 3:
        x1, x2, x3 = x - 1.0, x - 2.0, x - 3.0
        left, right = x * x1, x2 * x3
        weights = [x1 * right / -6.0, x * right / 2.0, left * x3 / -2.0, left * x2 / 6.0]
    stencil = [(first + step, weight) for step, weight in enumerate(weights)]
    spread = mass.row_sums() * np.zeros(size)
    for nodes, weight in stencil:
        spread = spread.op("ScatterElements", nodes, mass * weight, axis=1, reduction="add")
    growth = (1.0 / (spread @ np.ascontiguousarray(draws.growth.T))) @ draws.growth
    parts = [growth.op("GatherElements", nodes, axis=1) * weight for nodes, weight in stencil]
    return mass * sum(parts[1:], parts[0])


def mean_softmax(logits: Tensor, variances: Tensor, normals: Floats) -> Tensor:
    """Mean softmax of the logits plus their standard deviations times each of the (n_draws, m) rows of normals."""
    sd, rows = variances.op("Sqrt"), logits.graph.constant(normals)

    def add(number: Tensor, total: Tensor) -> tuple[Tensor, ...]:
        return number.equals(number), total + softmax(logits + sd * rows.rows(number))

    (total,) = logits.graph.loop(add, [logits * 0.0], times=len(normals))
    return total / float(len(normals))


def piecewise(values: Tensor, maps: Piecewise) -> Tensor:
    """Polynomials between breaks, found by a binary search whose rounds each read a table of that round's breaks.

    No tensor is larger than the values, however many breaks there are.
    """
    breaks = np.atleast_2d(maps.breaks)
    n_maps, rounds = len(breaks), max(1, int(breaks.shape[1]).bit_length())
    size = 2**rounds
    breaks = _filled_up(breaks, size - 1, np.inf)

    def beyond(of: Tensor, edge: Given) -> Tensor:
        return (of.like(edge) <= of if maps.right else of.like(edge) < of).cast(np.int32)

    def read(table: Floats) -> Tensor:
        return values.graph.constant(table.reshape(-1)).op("GatherElements", number, axis=0)

    found = beyond(values, breaks[:, size // 2 - 1])
    if n_maps > 1:
        found = found + 2 * np.arange(n_maps)
    number, flat = found.reshape(-1), values.reshape(-1)
    for done in range(1, rounds):
        step = size >> (done + 1)
        number = number + number + beyond(flat, read(breaks[:, step - 1 :: 2 * step]))
    *lower, result = (read(_filled_up(row.reshape(n_maps, -1), size, 0.0)) for row in maps.coefficients)
    if lower:
        away = flat - read(_filled_up(maps.origins.reshape(n_maps, -1), size, 0.0))
        for coefficient in reversed(lower):
            result = result * away + coefficient
    return result.op("Reshape", values.op("Shape", dtype=np.int64))


def _filled_up(rows: Floats, width: int, by: float) -> Floats:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=by)
