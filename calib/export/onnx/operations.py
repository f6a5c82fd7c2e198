"""The operations of :mod:`calib.export.graph` that take more than one operator of ONNX.

All numbers are in double precision, and only operators are used that onnxruntime has in double. Every function takes
(n, m) tensors of any number of rows, none too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calib.export.graph import Draws, Piecewise
from calib.export.onnx.tensors import Given, Tensor
from calib.numerics import Floats
from calib.parameters import ROUNDING


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
