"""Rows of the k largest logits of K classes, and the same rows as columns that may stand for several classes.

Of the K - k other classes the log-sum of the exponentials is known, so the softmax of the raw logits is exact. What
changes logits, such as a temperature, also needs each of them. They are taken as equal, and as so many as the labels
outside the top k ask for or as all K - k, which makes them one column that stands for several classes.
:mod:`calib.calibrators.top_k_outputs` says how many they are, and what that can cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks, logsumexp

TOLERANCE = 1e-3
"""Nats by which sums may miss what is possible; models compute in half precision, and add 100,000 terms."""

SMALLEST_SHARE = 2.0**-53
"""What is left of the rest where one class has all of it to rounding."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows of logits in which a column may stand for several classes that share one logit.

    Attributes
    ----------
    logits : (n, m) finite; the first column holds the largest of each row, and stands for one class.
    counts : (n, m) number of classes that a column stands for, 0 where it stands for none.
    """

    logits: Floats
    counts: Floats

    def __len__(self) -> int:
        return len(self.logits)

    def __getitem__(self, rows: Any) -> Groups:
        return Groups(self.logits[rows], self.counts[rows])

    def __sub__(self, offset: float) -> Groups:
        return Groups(self.logits - offset, self.counts)

    def __truediv__(self, scale: float) -> Groups:
        return Groups(self.logits / scale, self.counts)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, m = self.logits.shape
        return n, m

    @property
    def size(self) -> int:
        """Number of logits held."""
        return self.logits.size

    @property
    def log_counts(self) -> Floats:
        """(n, m) logarithms of the counts, minus infinity for none."""
        with np.errstate(divide="ignore"):
            return np.log(self.counts)

    def min(self) -> float:
        """Smallest logit."""
        return float(self.logits.min())

    def max(self) -> float:
        """Largest logit."""
        return float(self.logits.max())

    def one_vs_rest_log_odds(self) -> Floats:
        """Log-odds of one class of each column against all others, (n, m); minus infinity where there is none.

        As :func:`calib.numerics.one_vs_rest_log_odds` of the matrix in which every class has a column.
        """
        shifted = self.logits - self.logits[:, :1]
        odds = np.exp(shifted)
        total = np.einsum("nm,nm->n", odds, self.counts)
        # The sum over the others holds the first column's 1 for every other class, so that nothing cancels there.
        log_odds = shifted - np.log(np.maximum(total[:, None] - odds, SMALLEST_SHARE))
        others = shifted + self.log_counts
        others[:, 0] = log_odds[:, 0] = -np.inf
        log_odds[self.counts == 0] = -np.inf
        # Nearly tied maxima may come out in the other order by a rounding error; the maximum stays on top.
        log_odds[:, 0] = np.maximum(-logsumexp(others, axis=1), log_odds.max(axis=1))
        return log_odds


@dataclass(frozen=True, eq=False)
class TopKProbs:
    """Probabilities of the classes that a row names, and of all others together.

    Attributes
    ----------
    values : (n, k) probabilities, in the order of the raw logits.
    indices : (n, k) the classes they belong to.
    rest : (n,) probability of all other classes together.
    predicted : (n,) the most probable class.
    confidence : (n,) its probability.
    """

    values: Floats
    indices: Ints
    rest: Floats
    predicted: Ints
    confidence: Floats


@dataclass(frozen=True, eq=False)
class TopK:
    """The k largest of K logits of each row, the log-sum of the others, and the label's own logit.

    It has the shape and the rows of the (n, K) matrix that it stands for, which is never formed: calibrators take it in
    place of one where they can (``fit(outputs, labels)``, ``predict_top_k(outputs)``), and NumPy refuses it.

    Attributes
    ----------
    values : (n, k) float64 logits, or log-probabilities, falling along each row.
    indices : (n, k) integers, the class of each value.
    rest : (n,) log-sum of the exponentials of the other K - k logits; minus infinity where k = K.
    n_classes : K.
    label_logit : (n,) logit of each row's label, NaN where it is not known; None where none is.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = TopK.from_arrays([[4.0, 2.0], [3.0, 2.5]], [[7, 1], [2, 7]], rest=[1.0, 2.0], n_classes=1000)
    >>> outputs.shape, outputs.k
    ((2, 1000), 2)
    """

    values: Floats
    indices: Ints
    rest: Floats
    n_classes: int
    label_logit: Floats | None = None

    ndim: ClassVar[int] = 2

    @classmethod
    def from_arrays(
        cls, values: Any, indices: Any, rest: Any = None, n_classes: int | None = None, label_logit: Any = None
    ) -> TopK:
        """Checked outputs; rows may come in any order of their values.

        Parameters
        ----------
        values, indices : (n, k) finite logits and the class of each.
        rest : (n,) log-sum of the exponentials of the others; None where every class is among the k.
        n_classes : K; None where every class is among the k.
        label_logit : (n,) logit of the label, for rows whose label is not among the k; NaN where it is not known.

        Raises
        ------
        CalibrationError
            If the arrays do not fit together, or a row cannot be what it says.
        """
        values, indices = _numbers(values, "values"), _numbers(indices, "indices")
        if values.ndim != 2 or values.shape != indices.shape or not values.size:
            raise CalibrationError(
                f"Values and indices must have one shape (n, k); got {values.shape} and {indices.shape}."
            )
        if values.dtype.kind not in "fiu" or indices.dtype.kind not in "iu":
            raise CalibrationError(f"Values must be numbers and indices integers; got {values.dtype}, {indices.dtype}.")
        n, k = values.shape
        n_classes = k if n_classes is None else _whole("n_classes", n_classes)
        if rest is None and n_classes != k:
            raise CalibrationError(f"The log-sum of the other {n_classes - k:,} classes is missing; give rest.")
        rest = np.full(n, -np.inf) if n_classes == k else _numbers(rest, "rest", np.float64)
        label_logit = None if label_logit is None else _numbers(label_logit, "label_logit", np.float64)
        for name, array in (("rest", rest), ("label_logit", label_logit)):
            if array is not None and array.shape != (n,):
                raise CalibrationError(f"{name} must have the shape ({n},); got {array.shape}.")
        made = cls(values.astype(np.float64, copy=False), indices, rest, n_classes, label_logit).ordered()
        made.check()
        return made.closed()

    @classmethod
    def from_matrix(cls, logits: Any, k: int, labels: Any = None) -> TopK:
        """The k largest of all logits, with the exact log-sum of the others and the label's own logit.

        Parameters
        ----------
        logits : (n, K) finite logits.
        k : how many are kept, 1 to K.
        labels : (n,) integers, of whose logits a copy is kept.

        Raises
        ------
        CalibrationError
            If the logits are no such matrix, or k or a label lies outside.
        """
        logits = _numbers(logits, "logits", np.float64)
        if logits.ndim != 2 or not np.isfinite(logits).all():
            raise CalibrationError(f"Logits must be finite and of shape (n, K); got {logits.shape}.")
        n, n_classes = logits.shape
        if not 1 <= _whole("k", k) <= n_classes:
            raise CalibrationError(f"k must lie from 1 to the {n_classes:,} classes; got {k}.")
        labels = None if labels is None else _numbers(labels, "labels")
        if labels is not None and not (
            labels.shape == (n,) and labels.dtype.kind in "iu" and ((labels >= 0) & (labels < n_classes)).all()
        ):
            raise CalibrationError(f"Labels must be {n:,} whole numbers from 0 to {n_classes - 1:,}.")
        order = np.argsort(-logits, axis=1, kind="stable")
        values = np.take_along_axis(logits, order, axis=1)
        rest = np.full(n, -np.inf) if k == n_classes else logsumexp(values[:, k:], axis=1)
        own = None if labels is None else logits[np.arange(n), labels]
        return cls(values[:, :k].copy(), order[:, :k].astype(np.int32), rest, n_classes, own)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> TopK:
        own = None if self.label_logit is None else self.label_logit[rows]
        return TopK(self.values[rows], self.indices[rows], self.rest[rows], self.n_classes, own)

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise CalibrationError(
            f"These outputs hold the {self.k:,} largest of {self.n_classes:,} logits, and the matrix of all is never "
            "formed. Use predict_top_k(outputs), or a method that takes such outputs, such as temperature scaling."
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes, (n, K), of the matrix that this stands for."""
        return len(self.values), self.n_classes

    @property
    def k(self) -> int:
        """How many logits each row holds."""
        return self.values.shape[1]

    @property
    def n_others(self) -> int:
        """How many classes a row does not hold."""
        return self.n_classes - self.k

    @property
    def size(self) -> int:
        """Number of logits held."""
        return self.values.size

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    def argmax(self, axis: int = 1, out: None = None) -> Ints:
        """(n,) class of the largest logit of each row."""
        return self.indices[:, 0].astype(np.int64)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What it holds, by name; an absent ``label_logit`` is left out."""
        held = {"values": self.values, "indices": self.indices, "rest": self.rest}
        return held if self.label_logit is None else held | {"label_logit": self.label_logit}

    def over(self, change: Any) -> TopK:
        """The same outputs with every array as ``change`` gives it back, such as in shared memory."""
        return replace(self, **{name: change(array) for name, array in self.arrays().items()})

    def rank_of(self, labels: Ints) -> Ints:
        """(n,) the column that holds each row's label, k where none does."""
        found = np.full(len(self), self.k)
        for rows in blocks(len(self), self.k, PREDICTED_ENTRIES):
            same = self.indices[rows] == np.asarray(labels)[rows, None]
            found[rows] = np.where(same.any(axis=1), same.argmax(axis=1), self.k)
        return found

    def label_logits(self, labels: Ints) -> Floats:
        """(n,) logit of each row's label, NaN where it is not known."""
        rank = self.rank_of(labels)
        own = np.full(len(self), np.nan) if self.label_logit is None else self.label_logit.copy()
        inside = rank < self.k
        own[inside] = self.values[inside, rank[inside]]
        return own

    def groups(self, others: float | None = None) -> Groups:
        """The k logits and, where there are other classes, one column for all of these.

        Parameters
        ----------
        others : how many equal classes stand for them, as in :func:`equal_others`; None for all K - k.
        """
        if not self.n_others:
            return Groups(self.values, np.ones(self.values.shape))
        n = len(self)
        logits, counts = np.empty((n, self.k + 1)), np.ones((n, self.k + 1))
        logits[:, :-1] = self.values
        logits[:, -1], counts[:, -1] = equal_others(self.rest, self.values[:, -1], self.n_others, others)
        return Groups(logits, counts)

    def to_fit(self, labels: Ints) -> tuple[Groups, Ints]:
        """What fits learn from: the groups, and the column of each row's label, which may be that of all others.

        The own logit of a label outside the top k is left aside. No other class has a known logit there, so that a
        flexible map would learn that such logits belong to labels.
        """
        return self.groups(), self.rank_of(labels)

    def with_labels(self, labels: Ints, others: float | None = None) -> tuple[Groups, Ints]:
        """What scores are taken of: the groups with a column for labels outside the top k, and the label's column.

        The label's own logit is known, so that only the others are taken as equal. A label whose logit is not known
        counts as one of the others.

        Parameters
        ----------
        labels : (n,) integers in [0, n_classes).
        others : how many equal classes stand for those outside the top k; None for all.
        """
        rank = self.rank_of(labels)
        if not self.n_others:
            return self.groups(), rank
        n, k = len(self), self.k
        own = np.full(n, np.nan) if self.label_logit is None else self.label_logit
        alone = (rank == k) & ~np.isnan(own)
        cap, n_left = self.values[:, -1], self.n_others - 1
        logits, counts = np.empty((n, k + 2)), np.ones((n, k + 2))
        logits[:, :k] = self.values
        logits[:, k + 1], counts[:, k + 1] = equal_others(self.rest, cap, self.n_others, others)
        logits[:, k], counts[:, k] = np.where(alone, own, logits[:, k + 1]), alone
        left = others_without(self.rest[alone], own[alone])
        counts[alone, k + 1] = 0
        if n_left:
            logits[alone, k + 1], counts[alone, k + 1] = equal_others(left, cap[alone], n_left, others)
        return Groups(logits, counts), np.where((rank == k) & ~alone, k + 1, rank)

    def is_falling(self) -> bool:
        """Whether the values of every row fall, or stay, from column to column."""
        return bool((self.values[:, :-1] >= self.values[:, 1:]).all())

    def ordered(self) -> TopK:
        """The same with falling values in each row."""
        if self.is_falling():
            return self
        values, indices = np.empty_like(self.values), np.empty_like(self.indices)
        for rows in blocks(len(self), self.k, PREDICTED_ENTRIES):
            order = np.argsort(-self.values[rows], axis=1, kind="stable")
            values[rows] = np.take_along_axis(self.values[rows], order, axis=1)
            indices[rows] = np.take_along_axis(self.indices[rows], order, axis=1)
        return replace(self, values=values, indices=indices)

    def closed(self) -> TopK:
        """The same with sums that rounding moved beyond what is possible set back to it."""
        if not self.n_others:
            return self
        most = self.values[:, -1] + np.log(self.n_others)
        rest = np.minimum(self.rest, most)
        own = None if self.label_logit is None else np.minimum(self.label_logit, self.values[:, 0])
        return replace(self, rest=rest, label_logit=own)

    def faults(self) -> dict[str, Bools]:
        """(n,) which rows cannot be what they say, by the reason."""
        n = len(self)
        twice = np.zeros(n, dtype=bool)
        for rows in blocks(n, self.k, PREDICTED_ENTRIES):
            twice[rows] = (np.diff(np.sort(self.indices[rows], axis=1), axis=1) == 0).any(axis=1)
        impossible = np.zeros(n, dtype=bool)
        outside: Bools = np.any((self.indices < 0) | (self.indices >= self.n_classes), axis=1)
        finite: Bools = np.all(np.isfinite(self.values), axis=1)
        if self.n_others:
            finite &= np.isfinite(self.rest)
            with np.errstate(invalid="ignore"):
                most = self.values.min(axis=1) + np.log(self.n_others)
                impossible = finite & (self.rest > most + TOLERANCE * (1 + np.abs(self.rest) / 100))
        return {
            "values that are no finite numbers": ~finite,
            f"an index that is no class from 0 to {self.n_classes - 1:,}": outside,
            "an index twice": twice,
            "a rest larger than the other classes can have": impossible,
        }

    def contradictions(self, labels: Ints) -> Bools:
        """(n,) rows whose given ``label_logit`` cannot be that of the label.

        Where the label is among the k it must be its value; elsewhere it is neither above the smallest of these nor
        above the log-sum of the rest.
        """
        own = np.full(len(self), np.nan) if self.label_logit is None else self.label_logit
        rank = self.rank_of(labels)
        inside = rank < self.k
        value = self.values[np.arange(len(self)), np.minimum(rank, self.k - 1)]
        slack = TOLERANCE * (1 + np.abs(value) / 100)
        with np.errstate(invalid="ignore"):
            wrong_inside = inside & (np.abs(own - value) > slack)
            wrong_outside = ~inside & (own > np.minimum(self.values[:, -1], self.rest) + slack)
        return wrong_inside | wrong_outside

    def check(self) -> None:
        """Raise :class:`CalibrationError` where a row cannot be what it says."""
        n, k = self.values.shape
        if not 1 <= k <= self.n_classes or self.n_classes < 3:
            raise CalibrationError(
                f"{k:,} values are given of {self.n_classes:,}; 3 classes or more, and no more values, are needed."
            )
        for what, rows in self.faults().items():
            if rows.any():
                raise CalibrationError(f"{int(rows.sum()):,} of {n:,} rows have {what}.")

    def is_sound(self) -> bool:
        """Whether the arrays have the types and shapes, and the rows the values, that every reader gives them."""
        n, own = len(self.values), self.label_logit
        shaped = self.values.ndim == 2 and self.values.shape == self.indices.shape and self.rest.shape == (n,)
        typed = self.values.dtype == self.rest.dtype == np.float64 and self.indices.dtype.kind == "i"
        of_labels = own is None or (own.shape == (n,) and own.dtype == np.float64)
        if not (shaped and typed and of_labels and 1 <= self.k <= self.n_classes and self.n_classes >= 3):
            return False
        return self.is_falling() and not any(rows.any() for rows in self.faults().values())


def _numbers(given: Any, name: str, dtype: Any = None) -> npt.NDArray[Any]:
    try:
        return np.asarray(given, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise CalibrationError(f"{name} must be an array of numbers ({error}).") from error


def _whole(name: str, given: Any) -> int:
    if not isinstance(given, (int, np.integer)):
        raise CalibrationError(f"{name} must be a whole number; got {given!r}.")
    return int(given)


def equal_others(rest: Floats, cap: Floats, n_others: int, others: float | None) -> tuple[Floats, Floats]:
    """The logit of each of several equal classes with a known log-sum, and how many they are; both (n,).

    Parameters
    ----------
    rest : (n,) log-sum of the exponentials.
    cap : (n,) largest logit that one of them may have.
    n_others : how many there are, 1 at least.
    others : how many share the sum; it is raised where the cap asks for more, and lowered to n_others. None for all.
    """
    fewest = np.ceil(np.exp(np.minimum(rest - cap, np.log(n_others))) * (1 - 1e-12))
    count = np.clip(np.inf if others is None else others, np.maximum(fewest, 1.0), n_others)
    return np.minimum(rest - np.log(count), cap), count


def others_without(rest: Floats, own: Floats) -> Floats:
    """Log-sum of a rest without one of its logits; a share of 1e-16 where that one was all of it to rounding."""
    return rest + np.log(np.maximum(-np.expm1(np.minimum(own - rest, 0.0)), SMALLEST_SHARE))
