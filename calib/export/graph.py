"""A graph of array operations, from which exports to other languages are written.

:mod:`calib.export.formulas` makes it of the steps of a calibrator; an export is a table with the words of its language
for the operations below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.numerics import Floats


@dataclass(frozen=True, eq=False)
class Value:
    """Numbers of every row, of shape (n, m), as an operation on other values.

    ``+ - * /`` broadcast over rows and columns as in NumPy, with values and with plain numbers.

    Attributes
    ----------
    op : the operation, see :data:`OPERATIONS`.
    of : the values that it takes; plain numbers stand for themselves.
    given : what else it takes: an array with its name, numbers of columns, a :class:`Piecewise` or :class:`Draws`.
    """

    op: str
    of: tuple[Value | float, ...] = ()
    given: Any = None

    def __add__(self, other: Value | float) -> Value:
        return Value("add", (self, other))

    def __radd__(self, other: float) -> Value:
        return Value("add", (other, self))

    def __sub__(self, other: Value | float) -> Value:
        return Value("subtract", (self, other))

    def __rsub__(self, other: float) -> Value:
        return Value("subtract", (other, self))

    def __mul__(self, other: Value | float) -> Value:
        return Value("multiply", (self, other))

    def __rmul__(self, other: float) -> Value:
        return Value("multiply", (other, self))

    def __truediv__(self, other: Value | float) -> Value:
        return Value("divide", (self, other))

    def __rtruediv__(self, other: float) -> Value:
        return Value("divide", (other, self))


OPERATIONS = {
    "input": "the model's outputs, as float64 of shape (n, m)",
    "constant": "the array given with a name: (1, m), or a matrix",
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "exp": "exponential",
    "log": "natural logarithm",
    "sigmoid": "1 / (1 + exp(-a)), without overflow",
    "softplus": "log(1 + exp(a)), without overflow",
    "minimum": "the smaller of a and b",
    "maximum": "the larger of a and b",
    "less": "whether a < b",
    "equal": "whether a == b",
    "where": "b where a is true, and c elsewhere",
    "row_sum": "sum of each row, (n, 1)",
    "row_max": "largest number of each row, (n, 1)",
    "columns": "the columns whose numbers are given",
    "join": "columns of several values side by side",
    "product": "matrix product of a with the transpose of b",
    "softmax": "probabilities of each row",
    "log_softmax": "logarithms of the probabilities of each row",
    "log_odds": "log-odds of each of more than two classes, :func:`calib.numerics.one_vs_rest_log_odds`",
    "top_log_odds": "log-odds of the first largest of each row against the rest, (n, 1)",
    "in_proportion": "probabilities with the confidences b in the predicted classes of the logits a, "
    ":func:`calib.calibrators.top_class.filled_in_proportion`",
    "gaps": "softmax with weighed gaps in each sorted row, :func:`calib.calibrators.order_preserving.gap_probs`",
    "draws": "exponentials b times their average growth at a by the given Draws",
    "piecewise": "the given Piecewise of a",
}
"""Every operation and what it gives. Values ``of`` are a, b and c in their order."""


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Polynomials between breaks, one map for all columns or one for each.

    In the interval i, which begins at the break i - 1, the value at x is
    ``sum_d coefficients[d, i] (x - origins[i])^d``.

    Attributes
    ----------
    breaks : (m,) increasing, or (K, m) filled up with infinity.
    origins : (m + 1,) or (K, m + 1).
    coefficients : (degree + 1, m + 1) or (degree + 1, K, m + 1).
    right : whether a break belongs to the interval that begins with it, or to the one before.
    """

    breaks: Floats
    origins: Floats
    coefficients: Floats
    right: bool = True

    @property
    def degree(self) -> int:
        """Of the polynomials; 0 for steps."""
        return len(self.coefficients) - 1

    def __call__(self, x: Value) -> Value:
        """The map of a value."""
        return Value("piecewise", (x,), self)


@dataclass(frozen=True, eq=False)
class Draws:
    """Functions on an equally spaced grid, each the logarithm of a factor of the exponentials (GPcalib's draws).

    Attributes
    ----------
    growth : (n_draws, size) the factors at the nodes.
    low, spacing : the first node, and the distance of neighbours; inputs outside are moved to the nearer end.
    order : 3 for cubic interpolation on four nodes (Lagrange), 1 for linear.
    """

    growth: Floats
    low: float
    spacing: float
    order: int


@dataclass(frozen=True, eq=False)
class Array:
    """Numbers that were learned, as a matrix, and what they are called."""

    name: str
    numbers: Floats


def constant(name: str, numbers: Any) -> Value:
    """A row of numbers, or a matrix, as a value."""
    return Value("constant", (), Array(name, np.atleast_2d(np.asarray(numbers, dtype=np.float64))))


def apply(op: str, *of: Value | float, given: Any = None) -> Value:
    """An operation by name."""
    return Value(op, of, given)


def side_by_side(maps: Sequence[Piecewise]) -> Piecewise:
    """Maps of the same degree as one, with a map for each column."""
    if len(maps) == 1:
        return maps[0]
    most = max(len(each.breaks) for each in maps)

    def filled(rows: list[Floats], width: int, by: float) -> Floats:
        return np.array([np.append(row, np.full(width - len(row), by)) for row in rows]).reshape(len(rows), width)

    return Piecewise(
        filled([each.breaks for each in maps], most, np.inf),
        filled([each.origins for each in maps], most + 1, 0.0),
        np.array([filled([each.coefficients[d] for each in maps], most + 1, 0.0) for d in range(maps[0].degree + 1)]),
        maps[0].right,
    )


def in_order(result: Value) -> list[Value]:
    """The values that a result needs, each once and after those it is made of; equal ones are one."""
    known: dict[Any, Value] = {}
    made: dict[int, Value] = {}
    listed: list[Value] = []
    pending = [result]
    while pending:
        value = pending[-1]
        missing = [part for part in value.of if isinstance(part, Value) and id(part) not in made]
        if id(value) in made or missing:
            pending = pending[:-1] if id(value) in made else [*pending, *missing]
            continue
        of = tuple(made[id(part)] if isinstance(part, Value) else part for part in value.of)
        key = (value.op, *((id(part) if isinstance(part, Value) else part) for part in of), _key(value.given))
        if key not in known:
            known[key] = Value(value.op, of, value.given)
            listed.append(known[key])
        made[id(value)] = known[key]
        pending.pop()
    return listed


def _key(given: Any) -> Any:
    if isinstance(given, (Piecewise, Draws)):
        return id(given)
    if isinstance(given, Array):
        return given.name, given.numbers.shape, given.numbers.tobytes()
    return given
