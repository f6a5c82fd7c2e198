"""An ONNX graph under construction, and its tensors, which have the operators of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

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
