"""The k largest logits of very many classes: what is known of a row, and an adapter through which calibrators take it.

Each row is sorted, so that its columns are places and no longer classes: the largest logit first, and last one column
for all other classes together, their log-sum of exponentials. The label becomes its place. Methods that treat all
columns alike then work as they are, on an ordinary matrix of k + 1 columns.

A temperature above 1 raises many small logits together by more than their log-sum tells. One number makes up for it:
what :func:`fit_top_k` adds to the last column, found with a temperature by maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from calib.arrays import as_numbers, check_labels, check_logits, check_of_rows
from calib.base import LEARNS_NOTHING, NEEDS_CLASSES, Calibrator
from calib.errors import CalibrationError
from calib.formatting import plural
from calib.numerics import Floats, Ints, argmax_with_ties, log_softmax, logit_unit, logsumexp
from calib.parameters import shown, unusable

__all__ = ["TopK", "TopKProbs", "fit_top_k", "predict_top_k"]

SHIFT_ROWS = 20_000
"""Rows from which a part of them says what to add to the column of the other classes."""

FARTHEST = 20.0
"""Units of logits that are added at most: where no label is among the other classes, likelihood alone has no bound."""

TOLERANCE = 1e-3
"""Nats by which sums may miss what is possible; models compute in half precision, and add 100,000 terms."""

Bools = npt.NDArray[np.bool_]
AnyCalibrator = TypeVar("AnyCalibrator", bound=Calibrator)


@dataclass(frozen=True, eq=False)
class TopK:
    """The k largest of K logits of each row, and the log-sum of the others.

    It has the shape and the rows of the (n, K) matrix that it stands for, which is never formed: NumPy refuses it.
    :func:`fit_top_k` and :func:`predict_top_k` take it in place of one.

    Attributes
    ----------
    values : ndarray of shape (n, k)
        Logits, or log-probabilities, falling along each row; float64.
    indices : ndarray of int of shape (n, k)
        Class of each value.
    rest : ndarray of shape (n,)
        Log-sum of the exponentials of the other K - k logits; minus infinity where k = K.
    label_logit : ndarray of shape (n,)
        Logit of each row's label, NaN where it is not known.
    n_classes : int
        K.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = TopK.from_arrays([[4.0, 2.0], [3.0, 2.5]], [[7, 1], [2, 7]], rest=[1.0, 2.0], n_classes=1000)
    >>> outputs.shape, outputs.k
    ((2, 1000), 2)
    >>> outputs.columns()
    array([[4. , 2. , 1. ],
           [3. , 2.5, 2. ]])
    >>> outputs.places(np.array([1, 500]))
    array([1, 2])
    """

    values: Floats
    indices: Ints
    rest: Floats
    label_logit: Floats
    n_classes: int

    @classmethod
    def from_arrays(
        cls, values: Any, indices: Any, rest: Any, n_classes: int, label_logit: Any = None, check_rows: bool = True
    ) -> TopK:
        """Checked outputs; the values of a row may come in any order.

        Parameters
        ----------
        values, indices : array_like of shape (n, k)
            Finite logits and the class of each.
        rest : array_like of shape (n,) or None
            Log-sum of the exponentials of the others; None where every class is among the k.
        n_classes : int
            K.
        label_logit : array_like of shape (n,) or None, default None
            Logit of each row's label; None or NaN where it is not known.
        check_rows : bool, default True
            Whether a row that cannot be what it says is refused; :meth:`faults` names such rows.

        Returns
        -------
        TopK
            With falling values.

        Raises
        ------
        CalibrationError
            If the arrays do not fit together, or a row cannot be what it says.
        """
        values, indices = as_numbers(values, "values"), as_numbers(indices, "indices")
        n, k = (*values.shape, 0, 0)[:2]
        if k == n_classes:
            rest = np.full(n, -np.inf)
        elif rest is None:
            raise CalibrationError(f"The log-sum of the classes beside the {k:,} is missing; give rest.")
        outputs = cls(
            values.astype(np.float64, copy=False),
            indices.astype(np.int64) if indices.dtype.kind == "u" else indices,
            as_numbers(rest, "rest").astype(np.float64),
            np.full(n, np.nan) if label_logit is None else as_numbers(label_logit, "label_logit").astype(np.float64),
            n_classes,
        )
        outputs._check_arrays()
        if not (outputs.values[:, :-1] >= outputs.values[:, 1:]).all():
            order = np.argsort(-outputs.values, axis=1, kind="stable")
            values, indices = (np.take_along_axis(array, order, 1) for array in (outputs.values, outputs.indices))
            outputs = replace(outputs, values=values, indices=indices)
        if check_rows:
            outputs.check()
        return outputs

    @classmethod
    def from_matrix(cls, logits: Any, k: int, labels: Any = None) -> TopK:
        """The k largest of all logits, with the exact log-sum of the others and the label's own logit.

        Parameters
        ----------
        logits : array_like of shape (n, K)
            Finite logits.
        k : int
            How many are kept, 1 to K.
        labels : array_like of shape (n,) or None, default None
            Integers, of whose logits a copy is kept.

        Returns
        -------
        TopK
            With the exact rest.

        Raises
        ------
        CalibrationError
            If the logits are no such matrix, or k or a label lies outside.
        """
        logits = check_logits(logits)
        n, n_classes = logits.shape
        if not isinstance(k, (int, np.integer)) or not 1 <= k <= n_classes:
            raise CalibrationError(f"k must be a whole number from 1 to the {n_classes:,} classes; got {shown(k)}.")
        own = np.full(n, np.nan) if labels is None else logits[np.arange(n), check_labels(labels, logits.shape)]
        order = np.argsort(-logits, axis=1, kind="stable")
        values = np.take_along_axis(logits, order, axis=1)
        rest = np.full(n, -np.inf) if k == n_classes else logsumexp(values[:, k:], axis=1)
        return cls(values[:, :k].copy(), order[:, :k].astype(np.int32), rest, own, n_classes)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> TopK:
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            raise CalibrationError(
                f"Rows are taken by a slice or an array, a single one as outputs[5:6]; got outputs[{shown(rows)}]."
            )
        return self.over(lambda array: array[rows])

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise CalibrationError(
            f"These outputs hold the {self.k:,} largest of {self.n_classes:,} logits, and the matrix of all is never "
            "formed. Use fit_top_k(calibrator, outputs, labels) and predict_top_k(calibrator, outputs) of calib.top_k."
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
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    def argmax(self, axis: int = 1) -> Ints:
        """Class of the largest logit of each row.

        Parameters
        ----------
        axis : int, default 1
            For NumPy's call; rows are the only way to look at these outputs.

        Returns
        -------
        ndarray of int of shape (n,)
            Classes.
        """
        return self.indices[:, 0].astype(np.int64)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What it holds, by name.

        Returns
        -------
        dict of str to ndarray
            Values, indices, rest and label_logit.
        """
        return {name: getattr(self, name) for name in ("values", "indices", "rest", "label_logit")}

    def over(self, change: Any) -> TopK:
        """The same outputs with every array as ``change`` gives it back, such as in shared memory.

        Parameters
        ----------
        change : callable
            Takes an array and gives one.

        Returns
        -------
        TopK
            With the new arrays.
        """
        return replace(self, **{name: change(array) for name, array in self.arrays().items()})

    def columns(self, shift: float = 0.0) -> Floats:
        """(n, k + 1) logits: the falling values, and the log-sum of all other classes; (n, k) where there are none.

        Parameters
        ----------
        shift : float, default 0.0
            What is added to the last of them.

        Returns
        -------
        ndarray of shape (n, k + 1)
            Of shape (n, k) where the k are all classes.
        """
        return np.concatenate([self.values, self.rest[:, None] + shift], axis=1) if self.n_others else self.values

    def places(self, labels: Ints) -> Ints:
        """The column of each row's label: its place among the k, and k where it is one of the others.

        Parameters
        ----------
        labels : ndarray of int of shape (n,)
            Classes.

        Returns
        -------
        ndarray of int of shape (n,)
            Places from 0 to k.
        """
        same = self.indices == np.asarray(labels)[:, None]
        return np.where(same.any(axis=1), same.argmax(axis=1), self.k)

    def share_of_rest(self) -> Floats:
        """The share that the label, where it is one of the others, has of their joint probability.

        It is that of the raw model where the label's logit is known, and an equal share where it is not.

        Returns
        -------
        ndarray of shape (n,)
            Shares in [0, 1].
        """
        share = np.exp(np.minimum(self.label_logit - self.rest, 0.0))
        return np.where(np.isnan(share), 1.0 / max(self.n_others, 1), share)

    def faults(self, labels: Ints | None = None) -> dict[str, Bools]:
        """(n,) which rows cannot be what they say, by the reason.

        Parameters
        ----------
        labels : ndarray of int of shape (n,) or None, default None
            Integers to which ``label_logit`` must belong; None leaves it aside.

        Returns
        -------
        dict of str to ndarray of bool
            A mask of the rows for each reason.
        """
        rest, smallest = self.rest, self.values.min(axis=1)
        finite = np.isfinite(self.values).all(axis=1) & (np.isfinite(rest) | (self.n_others == 0))
        with np.errstate(invalid="ignore"):
            most = smallest + np.log(max(self.n_others, 1))
            found = {
                "values that are no finite numbers": ~finite,
                "values that do not fall": (self.values[:, :-1] < self.values[:, 1:]).any(axis=1),
                f"an index that is no class from 0 to {self.n_classes - 1:,}": (
                    (self.indices < 0) | (self.indices >= self.n_classes)
                ).any(axis=1),
                "an index twice": (np.diff(np.sort(self.indices, axis=1), axis=1) == 0).any(axis=1),
                "a rest larger than the other classes can have, as a logsumexp of all logits is": finite
                & (rest > most + _slack(rest)),
            }
            if labels is not None:
                own, place = self.label_logit, self.places(labels)
                value = self.values[np.arange(len(self)), np.minimum(place, self.k - 1)]
                missed = np.where(place < self.k, np.abs(own - value), own - np.minimum(smallest, rest))
                found["a label_logit that is not the label's"] = missed > _slack(value)
        return found

    def check(self) -> None:
        """Raise :class:`CalibrationError` where arrays do not fit together or a row cannot be what it says."""
        self._check_arrays()
        for what, rows in self.faults().items():
            if rows.any():
                raise CalibrationError(f"{int(rows.sum()):,} of {len(self):,} rows have {what}.")

    def _check_arrays(self) -> None:
        values, indices, rows = self.values, self.indices, (self.rest, self.label_logit)
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays().items())
        if values.ndim != 2 or values.shape != indices.shape or any(each.shape != (len(values),) for each in rows):
            raise CalibrationError(
                f"values and indices must have one shape (n, k), rest and label_logit the shape (n,); got {shapes}."
            )
        if not values.size:
            raise CalibrationError(f"values hold no number; give at least one row of at least one logit. Got {shapes}.")
        if {values.dtype, *(each.dtype for each in rows)} != {np.dtype(np.float64)} or indices.dtype.kind != "i":
            types = ", ".join(f"{name} {array.dtype}" for name, array in self.arrays().items())
            raise CalibrationError(f"indices must be integers and all else float64 numbers; got {types}.")
        if not isinstance(self.n_classes, (int, np.integer)) or self.n_classes < max(3, self.k):
            raise CalibrationError(
                f"n_classes must be a whole number, 3 at least and no fewer than the {self.k:,} values of a row; got "
                f"{self.n_classes!r}."
            )


@dataclass(frozen=True, eq=False)
class TopKProbs:
    """Probabilities of the classes that a row names, and of all others together.

    Attributes
    ----------
    values : ndarray of shape (n, k)
        Probabilities, in the order of the raw logits.
    indices : ndarray of int of shape (n, k)
        The classes they belong to.
    rest : ndarray of shape (n,)
        Probability of all other classes together.
    predicted : ndarray of int of shape (n,)
        The most probable class of the k.
    confidence : ndarray of shape (n,)
        Its probability.
    """

    values: Floats
    indices: Ints
    rest: Floats
    predicted: Ints
    confidence: Floats


def as_places(calibrator: Calibrator, logits: Any, labels: Any) -> tuple[Any, Any]:
    """Columns of a top k as a calibrator was fitted to them, and the places of the labels; a matrix as it is."""
    if not isinstance(logits, TopK):
        return logits, labels
    return _columns_of(calibrator, logits), logits.places(check_labels(labels, logits.shape))


def rest_shift(columns: Floats, places: Ints, weights: Floats | None = None) -> float:
    """What to add to the last column, the log-sum of the other classes, to calibrate them.

    The c of greatest likelihood of ``softmax((z + c e) / T)``, where e is 1 in the last column, together with T. In
    b = 1 / T and d = c / T the mean NLL is convex; with the probabilities p and the label y as 0 and 1 its slopes are::

        d/db = mean(E_p[z] - z_y),    d/dd = mean(p_rest - y_rest)

    Parameters
    ----------
    columns : (n, k + 1) of :meth:`TopK.columns`; a part of very many rows is enough.
    places : (n,) columns of the labels.
    weights : (n,) how much each row counts; 1 if None.
    """
    from scipy.optimize import minimize

    weights = np.ones(len(places)) if weights is None else weights
    counted = np.flatnonzero(weights)
    rows = counted[:: 1 + len(counted) // SHIFT_ROWS]
    logits, places, shares = columns[rows], places[rows], weights[rows] / weights[rows].sum()
    logits = logits - logits.max(axis=1, keepdims=True)
    unit, labels = logit_unit(logits), (np.arange(len(rows)), places)
    logits /= unit

    def loss(point: Floats) -> tuple[float, list[float]]:
        inverse, shift = point
        scores = inverse * logits
        scores[:, -1] += shift
        log_probs = log_softmax(scores)
        probs = np.exp(log_probs)
        by_inverse = shares @ (np.einsum("nk,nk->n", probs, logits) - logits[labels])
        by_shift = shares @ (probs[:, -1] - (places == logits.shape[1] - 1))
        return -float(shares @ log_probs[labels]), [by_inverse, by_shift]

    bounds = [(np.exp(-5.0), np.exp(5.0)), (None, None)]
    inverse, shift = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12).x
    return float(np.clip(shift / inverse, -FARTHEST, FARTHEST)) * unit


def check_takes_top_k(calibrator: Calibrator) -> None:
    """Raise :class:`CalibrationError` where a calibrator learns something for each class: columns are none here."""
    if NEEDS_CLASSES in calibrator.traits or not calibrator.get_params().get("share_classes", True):
        raise CalibrationError(
            f"{type(calibrator).__name__} learns from the outputs of all classes, but these data hold the largest of "
            "them; choose a method that treats all classes alike, such as temperature scaling, GPcalib or isotonic."
        )


def fit_top_k(calibrator: AnyCalibrator, logits: Any, labels: Any, **options: Any) -> AnyCalibrator:
    """Fit a calibrator to the top k logits of very many classes.

    Parameters
    ----------
    calibrator : Calibrator
        Of a method that treats all classes alike. The columns it learns from are those of :meth:`TopK.columns`, and so
        many classes it then has.
    logits : TopK or array_like of shape (n, K)
        A matrix of all classes is fitted to as it is.
    labels : array_like of shape (n,)
        Integers in [0, n_classes).
    **options
        As of :meth:`calib.Calibrator.fit`.

    Returns
    -------
    Calibrator
        The one that was given, fitted.

    Raises
    ------
    CalibrationError
        If the calibrator learns something for each class, and as ``fit`` does.

    Examples
    --------
    >>> import calib, numpy as np
    >>> logits, labels = np.random.default_rng(0).normal(size=(50, 30)), np.arange(50) % 30
    >>> outputs = TopK.from_matrix(logits, 5)
    >>> fitted = fit_top_k(calib.calibrator("temperature"), outputs, labels)
    >>> said = predict_top_k(fitted, outputs)
    >>> said.values.shape, said.rest.shape
    ((50, 5), (50,))
    """
    _check_calibrator(calibrator)
    if not isinstance(logits, TopK):
        return calibrator.fit(logits, labels, **options)
    check_takes_top_k(calibrator)
    places = logits.places(check_labels(labels, logits.shape))
    learns = logits.n_others and LEARNS_NOTHING not in calibrator.traits
    weights = options.get("weights")
    weights = None if weights is None else check_of_rows("weights", weights, len(places))
    shift = rest_shift(logits.columns(), places, weights) if learns else 0.0
    calibrator.fit(logits.columns(shift), places, **options)
    calibrator.rest_shift_ = shift  # type: ignore[attr-defined]
    return calibrator


def predict_top_k(calibrator: Calibrator, outputs: TopK) -> TopKProbs:
    """Calibrated probabilities of the top k classes, and that of all others together.

    Parameters
    ----------
    calibrator : Calibrator
        From :func:`fit_top_k`.
    outputs : TopK
        As many logits of each row as in the fit.

    Returns
    -------
    TopKProbs
        Probabilities, the predicted class and its confidence.

    Raises
    ------
    CalibrationError
        If the outputs are something else, or hold another number of logits.
    """
    _check_calibrator(calibrator)
    if not isinstance(outputs, TopK):
        raise CalibrationError(f"predict_top_k takes outputs as TopK, and predict_proba arrays; got {type(outputs)}.")
    logits = _columns_of(calibrator, outputs)
    if calibrator.fitted and calibrator.n_classes_ != logits.shape[1]:
        raise CalibrationError(
            f"The calibrator was fitted to rows of {calibrator.n_classes_:,} columns, that of the other classes "
            f"included, and these have {logits.shape[1]:,}; give as many of the largest logits as it was fitted to."
        )
    probs = calibrator.predict_proba(logits)
    values, rest = probs[:, : outputs.k], probs[:, outputs.k :].sum(axis=1)
    best = argmax_with_ties(values, outputs.values)[:, None]
    predicted = np.take_along_axis(outputs.indices, best, axis=1)[:, 0].astype(np.int64)
    return TopKProbs(values, outputs.indices, rest, predicted, np.take_along_axis(values, best, axis=1)[:, 0])


def said_of_labels(data: Any) -> str:
    """In how many rows of a data set the label is not among the k, and what then counts as its probability.

    "" where there are none, and for data of all classes.
    """
    if not isinstance(data.logits, TopK):
        return ""
    outside = data.logits.places(data.labels) == data.logits.k
    n, unknown = int(outside.sum()), int(np.isnan(data.logits.label_logit[outside]).sum())
    if not n:
        return ""
    said = (
        f"In {n:,} of {plural(len(outside), 'row')} the label is not among the {data.logits.k:,} largest logits. Its "
        "probability is that of all other classes together, times its share of these in the raw model"
    )
    return f"{said}; in {unknown:,}, whose label's logit is not known, an equal share." if unknown else f"{said}."


def _check_calibrator(calibrator: Any) -> None:
    if not isinstance(calibrator, Calibrator):
        raise CalibrationError(
            f"A calibrator as calib.calibrator makes it is needed; got {type(calibrator).__name__}. An exported one "
            "predicts by its own method: exported.predict_top_k(outputs)."
        )


def _columns_of(calibrator: Calibrator, outputs: TopK) -> Floats:
    """The columns with what the fit added to the last of them."""
    shift = getattr(calibrator, "rest_shift_", 0.0)
    if not isinstance(shift, float) or not np.isfinite(shift):
        raise unusable(f"rest_shift_={shown(shift)} must be a number")
    return outputs.columns(shift)


def _slack(values: Floats) -> Floats:
    return TOLERANCE * (1 + np.abs(values) / 100)
