"""Nearest training inputs, and the fast and exact separation of inputs (Chouraqui et al. 2023, section 3).

|x - t|² = |x|² + |t|² - 2 x·t is one matrix product for many pairs, but it loses digits where x and t are near. It
only gives lower bounds, which rule out nearly all pairs; the others are computed from their differences in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, block_rows, blocks

DISTANCES = ("l2", "l1", "linf")

BLOCK_ENTRIES = 16_000_000
"""Distances held at once: 64 MB in float32."""

PART_ENTRIES = 1_000_000
"""Pairs (x', x'') bounded at once."""

SCREEN = 8
"""Nearest x' that screen the x'' of an input."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training inputs and their classes, made once and searched often.

    Attributes
    ----------
    features : ndarray of shape (N, d)
        In float32 or float64; not copied where they already are so.
    labels : ndarray of int of shape (N,)
        The class of each.
    """

    features: Floats
    labels: Ints

    @classmethod
    def from_arrays(cls, train_features: Any, train_labels: Any) -> TrainingSet:
        """Check and order a training set.

        Parameters
        ----------
        train_features : array_like of shape (N, ...)
            Numbers; images are flattened.
        train_labels : array_like of shape (N,)
            Integers, the true class of each row.
        """
        features = flattened(train_features, "training features")
        labels = class_numbers(train_labels, len(features), "training labels")
        if not len(features):
            raise CalibrationError(
                "The training set has no rows; give the inputs the model was trained on."
            )
        return cls(features, labels)

    def queries(self, features: Any, predicted: Any) -> tuple[Floats, Ints]:
        """Inputs to look up, (n, d) in the training set's precision, and the class predicted for each.

        Parameters
        ----------
        features : array_like of shape (n, ...)
            Inputs, as those of the training set.
        predicted : array_like of shape (n,)
            Integers, the class predicted for each.
        """
        flat = flattened(features, "features", self.features.shape[1]).astype(
            self.features.dtype, copy=False
        )
        return flat, class_numbers(predicted, len(flat), "predicted classes")

    @cached_property
    def centre(self) -> Floats:
        """(d,) mean of the inputs, taken off before products: inputs far from the origin would lose their digits."""
        return self.features.mean(axis=0, dtype=np.float64).astype(self.features.dtype)

    @cached_property
    def points(self) -> Floats:
        """(N, d + 2) the training inputs as :meth:`extended` has them."""
        return self.extended(self.features)

    def extended(self, features: Floats) -> Floats:
        """(n, d + 2) inputs less the centre, their squared lengths less what rounding may add to distances, and 1.

        Parameters
        ----------
        features : ndarray of shape (n, d)
            From :meth:`queries`.
        """
        extended = np.ones((len(features), features.shape[1] + 2), features.dtype)
        centred = np.subtract(features, self.centre, out=extended[:, :-2])
        extended[:, -2] = (1 - self.rounding) * np.einsum(
            "ij,ij->i", centred, centred, dtype=np.float64
        )
        return extended

    @property
    def rounding(self) -> float:
        """Bound on the rounding error of squared distances by products, for each unit of |x|² + |t|².

        A sum of products errs by at most so many units of roundoff of their sizes, as there are products (Higham,
        Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), and |x|² + |t|² + 2|x||t| is at most twice
        |x|² + |t|². The centring and the few operations that follow add to that, so 32 are allowed for them.
        """
        return (self.features.shape[1] + 34) * float(np.finfo(self.features.dtype).eps)


def flattened(features: Any, name: str, n_numbers: int | None = None) -> Floats:
    """Features as float32 or float64 of shape (n, d), where d must be ``n_numbers``; a view where possible."""
    array = np.asarray(features)
    if array.ndim < 2 or array.dtype.kind not in "fiub":
        raise CalibrationError(
            f"The {name} must be numbers of shape (n, d) or images; got {array.dtype} {array.shape}."
        )
    small = (
        array.dtype.itemsize <= 2 or array.dtype == np.float32
    )  # float32 holds 8 and 16 bits exactly
    array = array.astype(np.float32 if small else np.float64, copy=False)
    array = array.reshape(len(array), prod(array.shape[1:]))
    if n_numbers is not None and array.shape[1] != n_numbers:
        raise CalibrationError(
            f"The {name} have {array.shape[1]} numbers a row but the training features have {n_numbers}. "
            "Prepare both in the same way."
        )
    largest = (
        np.sqrt(np.finfo(array.dtype).max / max(array.shape[1], 1)) / 8
    )  # a squared distance stays finite
    bad = sum(
        int((~(np.abs(array[rows]) < largest)).any(axis=1).sum()) for rows in blocks(*array.shape)
    )
    if bad:
        raise CalibrationError(
            f"{bad} of {len(array)} rows of the {name} hold NaN, infinite or far too large values. "
            "Leave these rows out, or normalise the features."
        )
    return array


def class_numbers(labels: Any, n: int, name: str) -> Ints:
    """Classes as an array of n integers."""
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iub":
        raise CalibrationError(
            f"The {name} must be {n} integers, one for each row of the features; got {array.dtype} of shape "
            f"{array.shape}."
        )
    return array


class Separations:
    """Neighbourhood of n inputs in the training set: F is its rows of the predicted class, O are all others.

    It begins as for inputs of which nothing is known yet.

    Attributes
    ----------
    same, other : (n,) float64 distances D(x, F) and D(x, O) to the nearest row; inf where there is none.
    same_row, other_row : (n,) their row numbers; -1 where there is none.
    exact : (n,) exact separation, where it was asked for; -inf without F, +inf without O.
    deciding_same_row, deciding_other_row : (n,) the pair x', x'' that the exact value comes from; -1 where no pair is.
    """

    def __init__(self, n: int) -> None:
        self.same, self.other, self.exact = np.full((3, n), np.inf)
        self.same_row, self.other_row, self.deciding_same_row, self.deciding_other_row = np.full(
            (4, n), -1
        )

    @property
    def fast(self) -> Floats:
        """Fast separation (n,): half of D(x, O) - D(x, F); -inf without F, +inf without O."""
        fast = np.full(len(self.same), -np.inf)
        present = self.same_row >= 0
        fast[present] = (self.other[present] - self.same[present]) / 2.0
        return fast


def nearest(
    training: TrainingSet, features: Floats, predicted: Ints, distance: str = "l2"
) -> Separations:
    """Nearest training inputs of the predicted class and of the others.

    Parameters
    ----------
    training : TrainingSet
        The training set.
    features : ndarray of shape (n, d)
        From :meth:`TrainingSet.queries`.
    predicted : ndarray of int of shape (n,)
        The class predicted for each.
    distance : {"l2", "l1", "linf"}, default "l2"
        Norm of the distances.
    """
    if distance not in DISTANCES:
        raise CalibrationError(f"distance={distance!r} is not one of {', '.join(DISTANCES)}.")
    if distance == "l2":
        return _separations(training, features, predicted, False)
    result = Separations(len(features))
    for part in blocks(*training.features.shape):  # some training rows at a time
        block = training.features[part]
        labels = training.labels[part]
        gaps = np.empty_like(block)
        for i, label in enumerate(predicted):
            np.abs(np.subtract(block, features[i], out=gaps), out=gaps)
            values = gaps.sum(axis=1) if distance == "l1" else gaps.max(axis=1, initial=0.0)
            sides = (
                (labels == label, result.same, result.same_row),
                (labels != label, result.other, result.other_row),
            )
            for mask, least, row in sides:
                of_side = np.where(mask, values, np.inf)
                j = int(np.argmin(of_side))
                if of_side[j] < least[i]:
                    least[i] = of_side[j]
                    row[i] = part.start + j
    return result


def exact(training: TrainingSet, features: Floats, predicted: Ints) -> Separations:
    """Exact separation (L2) of inputs as :meth:`TrainingSet.queries` returns them; see :class:`_Search`."""
    result = _separations(training, features, predicted, True)
    # |fast| <= |exact| with the same sign (proposition 2), also after rounding.
    fast, value = result.fast, result.exact
    result.exact[:] = np.where(fast > 0, np.maximum(value, fast), np.minimum(value, fast))
    return result


def _separations(
    training: TrainingSet, features: Floats, predicted: Ints, exactly: bool
) -> Separations:
    """Nearest inputs and, where asked for, exact separations, block by block.

    Classes share a matrix product, so many of them cost no more than one.
    """
    result = Separations(len(features))
    n = len(training.labels)
    order = np.argsort(predicted, kind="stable")
    every = np.arange(n)
    memory = np.empty(
        (min(len(order), block_rows(n, BLOCK_ENTRIES)), n), training.features.dtype
    )  # new pages are slow
    for part in blocks(len(order), n, BLOCK_ENTRIES):
        block = order[part]
        least = _least_squared(
            training.extended(features[block]), training.points, memory[: len(block)]
        )
        for label in np.unique(predicted[block]):
            at = slice(*np.searchsorted(predicted[block], label + np.array([0, 1])))
            rows = block[at]
            other = least[at]
            same_rows = np.flatnonzero(training.labels == label)
            same = other[:, same_rows]
            other[:, same_rows] = np.inf
            if len(same_rows):
                result.same[rows], result.same_row[rows] = _closest(
                    training, features, rows, same, same_rows
                )
            if len(same_rows) < n:
                result.other[rows], result.other_row[rows] = _closest(
                    training, features, rows, other, every
                )
                if exactly and len(same_rows):
                    _Search(training, features, rows, same_rows, same, other, result).run()
    return result


def _least_squared(points: Floats, others: Floats, out: Floats | None = None) -> Floats:
    """Lower bounds (m, k) of the squared distances of (m, d + 2) from (k, d + 2) extended inputs."""
    factors = -2 * points
    factors[:, -2] = 1
    factors[:, -1] = (
        points[:, -2] - np.finfo(points.dtype).tiny
    )  # products too small for the dtype are lost
    return np.matmul(factors, others.T, out=out)


def _closest(
    training: TrainingSet, features: Floats, rows: Ints, least: Floats, train_rows: Ints
) -> tuple[Floats, Ints]:
    """Distance and row number of the nearest of some training inputs, for which ``least`` has the bounds."""
    # The distance of the most promising one rules out all others but those computed then.
    limit = np.square(_l2(features, rows, training.features, train_rows[least.argmin(axis=1)]))
    at, place = _where(least <= _rounded_up(limit, least.dtype)[:, None])
    distances = _l2(features, rows[at], training.features, train_rows[place])
    # By input, then distance, then row number: the first of each input is its nearest.
    order = np.lexsort((train_rows[place], distances, at))
    firsts = order[np.searchsorted(at, np.arange(len(rows)))]
    return distances[firsts], train_rows[place[firsts]]


def _where(mask: Any) -> tuple[Ints, Ints]:
    """Row and column of each entry that is true, by row: much faster than ``np.nonzero``."""
    at, place = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return at, place


def _rounded_up(values: Floats, dtype: Any) -> Floats:
    """Values in another precision, none smaller than it was."""
    return np.nextafter(values.astype(dtype), dtype.type(np.inf))


def _l2(features: Floats, rows: Ints, others: Floats, other_rows: Ints) -> Floats:
    """Euclidean distance of ``features[rows]`` from ``others[other_rows]``, pair by pair, in float64."""
    distances = np.empty(len(rows))
    for part in blocks(len(rows), features.shape[1]):
        gaps = features[rows[part]].astype(np.float64)
        gaps -= others[other_rows[part]]
        distances[part] = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    return distances


@dataclass(eq=False)
class _Search:
    """The search for exact separations of some inputs of one predicted class.

    The definition is a minimum over x'' in O of a maximum over x' in F. A maximum over some of F bounds the whole one
    from below, so an x'' whose partial maximum is not below the best whole one so far cannot be the minimum:

    1. the whole maximum of the nearest x'' is the first;
    2. x'' with d(x, x'') > D(x, F) + 2 best go: with the nearest x' alone they reach (d(x, x'') - D(x, F)) / 2 > best;
    3. those left are screened by the x' nearest to x;
    4. whole maxima are taken in order of these bounds, until no bound lies below the best.

    ``same`` (m, |F|) and ``other`` (m, N) are lower bounds of the squared distances to x' and x''; ``other`` is inf for
    the inputs of F.
    """

    training: TrainingSet
    features: Floats
    rows: Ints
    same_rows: Ints
    same: Floats
    other: Floats
    result: Separations

    def __post_init__(self) -> None:
        self.points = self.training.points[self.same_rows]

    def run(self) -> None:
        """Write the exact separations of the inputs."""
        self._take(np.arange(len(self.rows)), self.result.other_row[self.rows])
        at, other_rows, bounds = self._screened()
        while len(at):
            lowest = np.flatnonzero(np.diff(at, prepend=-1))  # the first of each input
            self._take(at[lowest], other_rows[lowest])
            remaining = bounds < self.result.exact[self.rows[at]]
            remaining[lowest] = False
            at = at[remaining]
            other_rows = other_rows[remaining]
            bounds = bounds[remaining]

    def _take(self, inputs: Ints, other_rows: Ints) -> None:
        """Take the maximum over F for pairs of an input and an x'', and write those that are lower than before."""
        training, result = self.training, self.result
        points = self.points
        for part in blocks(len(inputs), len(points), PART_ENTRIES):
            rows = self.rows[inputs[part]]
            others = other_rows[part]
            to_other = np.square(_l2(self.features, rows, training.features, others))
            gaps = _rounded_up(to_other, points.dtype)[:, None] - self.same[inputs[part]]
            most = _most(gaps, training.points[others], points, training.rounding)
            # The value of the most promising x' rules out all others but those computed then.
            won = self.same_rows[most.argmax(axis=1)]
            least = _bisector_distances(self.features, rows, training.features, won, others)
            at, place = _where(most >= least.astype(most.dtype)[:, None])
            triples = rows[at], training.features, self.same_rows[place], others[at]
            values = _bisector_distances(self.features, *triples)
            largest = np.lexsort((values, at))[
                np.searchsorted(at, np.arange(len(rows)), side="right") - 1
            ]
            largest = largest[values[largest] < result.exact[rows]]
            written = rows[at[largest]]
            result.exact[written] = values[largest]
            result.deciding_same_row[written] = self.same_rows[place[largest]]
            result.deciding_other_row[written] = others[at[largest]]

    def _screened(self) -> tuple[Ints, Ints, Floats]:
        """Inputs and x'' that may still decide, with a lower bound of each one's maximum.

        They are sorted by input and then by bound.
        """
        training, dtype = self.training, self.other.dtype
        best = self.result.exact[self.rows]
        near = self.result.same[self.rows]
        reach = _rounded_up(np.square(near + 2 * np.maximum(best, 0)), dtype)
        n_screen = min(SCREEN, len(self.same_rows))
        screens = self.same_rows[np.argpartition(self.same, n_screen - 1, axis=1)[:, :n_screen]]
        distances = _l2(
            self.features, self.rows.repeat(n_screen), training.features, screens.ravel()
        )
        to_screen = _rounded_up(np.square(distances), dtype).reshape(screens.shape)
        at = []
        candidates = []
        lowest = []
        for i, screen in enumerate(screens):
            other_rows = np.flatnonzero(self.other[i] <= reach[i])
            other_rows = other_rows[
                other_rows != self.result.other_row[self.rows[i]]
            ]  # which is done
            # The least that a value can be is the most that its negative can.
            gaps = to_screen[i][:, None] - self.other[i, other_rows]
            points = training.points[screen], training.points.take(other_rows, axis=0)
            bounds = -_most(gaps, *points, training.rounding).min(axis=0)
            order = np.argsort(bounds)
            order = order[bounds[order] < best[i]]
            at.append(np.full(len(order), i))
            candidates.append(other_rows[order])
            lowest.append(bounds[order])
        return np.concatenate(at), np.concatenate(candidates), np.concatenate(lowest)


def _most(gaps: Floats, points: Floats, others: Floats, rounding: float) -> Floats:
    """Most that ``gap / (2 d)`` can be, (m, k), where d is the distance of two points; inf where it may be zero.

    Parameters
    ----------
    gaps : (m, k) at the most.
    points, others : (m, d + 2) and (k, d + 2) extended inputs.
    rounding : as :class:`TrainingSet` has it.
    """
    squared = _least_squared(points, others)
    tiny = np.finfo(gaps.dtype).tiny
    near = squared <= tiny
    falls = gaps <= 0
    if falls.any():
        slack = 3 * rounding * (points[:, -2, None] + others[:, -2]) + 4 * tiny
        np.add(squared, slack, out=squared, where=falls)
    np.maximum(squared, tiny, out=squared)
    with np.errstate(over="ignore"):  # tiny distances of huge gaps
        values: Floats = np.divide(gaps, np.sqrt(squared, out=squared), out=squared)
    values /= 2
    values[near] = np.inf
    return values


def _bisector_distances(
    features: Floats, rows: Ints, train_features: Floats, same_rows: Ints, other_rows: Ints
) -> Floats:
    """Signed distance of x from the plane half-way between x' and x'', positive on the side of x', in float64.

    The paper's (d²(x, x'') - d²(x, x')) / (2 d(x', x'')) is (x' - x'')·((x - x') + (x - x'')) / (2 |x' - x''|), which
    does not cancel where x' and x'' are near. Pairs at zero distance have no plane: -inf, which no maximum takes.

    Parameters
    ----------
    features : (n, d) inputs; ``rows`` (m,) names x in each of m triples.
    train_features : (N, d) training inputs; ``same_rows`` (m,) names x', ``other_rows`` (m,) names x''.
    """
    values = np.full(len(rows), -np.inf)
    for part in blocks(len(rows), features.shape[1]):
        inputs = features[rows[part]].astype(np.float64)
        same = train_features[same_rows[part]].astype(np.float64)
        other = train_features[other_rows[part]].astype(np.float64)
        normals = same - other
        sums = (inputs - same) + (inputs - other)
        lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
        products = np.einsum("ij,ij->i", normals, sums)
        np.divide(products, 2.0 * lengths, out=values[part], where=lengths > 0)
    return values
