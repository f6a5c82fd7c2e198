"""Geometric calibration: confidence from the separation of an input in the training data."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from calib.base import EQUIVARIANT, KEEPS_ACCURACY, NEEDS_CLASSES, Calibrator, Progress, silent
from calib.calibrators.feature_scale import Scale
from calib.calibrators.geometric.reductions import (
    LARGEST_FACTOR,
    REDUCED_BY,
    REDUCTIONS,
    Reduced,
    reduce_training,
)
from calib.calibrators.geometric.search import DISTANCES, TrainingSet, exact, nearest
from calib.calibrators.isotonic import LinearMap, isotonic_map
from calib.calibrators.one_vs_rest import Bools
from calib.calibrators.platt import PlattMap, platt_map
from calib.errors import CalibrationError
from calib.formatting import plural
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, block_rows, blocks
from calib.parameters import param

__all__ = [
    "MAPS",
    "Geometric",
    "TrainingSet",
    "exact_separation",
    "fast_separation",
    "fit_success_map",
    "nearest",
    "reduce_training",
]


def fast_separation(
    train_features: Any, train_labels: Any, features: Any, predicted: Any, distance: str = "l2"
) -> Floats:
    """Half the difference of the distances to the other classes and to the predicted one (definition 5).

    Its absolute value is the radius of a ball in which the nearest class stays as it is, under any metric
    (proposition 2). Positive inputs are safe, all others dangerous.

    Parameters
    ----------
    train_features : array_like of shape (N, ...)
        Numbers; images are flattened. Distances are taken in their precision.
    train_labels : array_like of shape (N,)
        Integers, the true class of each.
    features : array_like of shape (n, ...)
        Inputs.
    predicted : array_like of shape (n,)
        Integers, the class the model predicts for each.
    distance : {"l2", "l1", "linf"}, default "l2"
        Norm of the distances.

    Returns
    -------
    ndarray of shape (n,)
        -inf where the predicted class is not in the training set, inf where no other one is.

    Raises
    ------
    CalibrationError
        If an array is not usable; the message says what to change.
    """
    training = TrainingSet.from_arrays(train_features, train_labels)
    return nearest(training, *training.queries(features, predicted), distance).fast


def exact_separation(
    train_features: Any, train_labels: Any, features: Any, predicted: Any
) -> Floats:
    """Radius (L2) of a ball in which the nearest class stays as it is, negative for dangerous inputs (definition 4).

    The minimum over x'' of another class of the maximum over x' of the predicted class of
    (d²(x, x'') - d²(x, x')) / (2 d(x', x'')); pairs at zero distance are left out. It has the sign of fast separation
    and is no smaller in absolute value. With several x' it may fall short of the largest such ball, which the paper
    says it is (proposition 1): beyond the plane of one x', another x' may still be nearer than x''.

    Parameters
    ----------
    train_features : array_like of shape (N, ...)
        As for :func:`fast_separation`.
    train_labels : array_like of shape (N,)
        As for :func:`fast_separation`.
    features : array_like of shape (n, ...)
        As for :func:`fast_separation`.
    predicted : array_like of shape (n,)
        As for :func:`fast_separation`.

    Returns
    -------
    ndarray of shape (n,)
        As from :func:`fast_separation`.
    """
    training = TrainingSet.from_arrays(train_features, train_labels)
    return exact(training, *training.queries(features, predicted)).exact


SuccessMap = LinearMap | PlattMap

MAPS: dict[str, type[SuccessMap]] = {"isotonic": LinearMap, "sigmoid": PlattMap}


def fit_success_map(kind: str, separation: Floats, right: Bools) -> SuccessMap:
    """Learn the success rate (section 3.3) as a function that does not fall as the separation rises.

    Rows of equal separation count together, by their number. Where all predictions are right, or all wrong, the sigmoid
    is Platt's target for them.

    Parameters
    ----------
    kind : {"isotonic", "sigmoid"}
        "isotonic" is linear between its steps and constant beyond them; "sigmoid" is a logistic curve.
    separation : ndarray of shape (n,)
        Finite values.
    right : ndarray of bool of shape (n,)
        Whether the prediction was right.

    Returns
    -------
    SuccessMap
        ``apply`` gives the success rate of separations.
    """
    if kind == "isotonic":
        return isotonic_map(separation, right)
    return platt_map(separation, right, platt_correction=bool(right.all() or not right.any()))


_MOST_ROWS = 1024
"""Rows between two reports of a fit: enough for BLAS, and few enough to be cancelled soon."""


@dataclass(eq=False, repr=False, kw_only=True)
class Geometric(Calibrator):
    """Confidence from the separation of an input between its predicted class and all others in the training data.

    Chouraqui et al., Uncertainty Estimation based on Geometric Separation, 2023. The separation is the radius
    around an input within which the nearest training row stays on the same side: in the predicted class (positive,
    a *safe* input) or in another (negative, a *dangerous* one; definitions 1 to 3). With ``exact`` it is that of
    section 3.1, otherwise the lower bound of section 3.2. A map learned from the calibration rows turns it into how
    often the model is right (section 3.3).

    It gives a confidence in the model's own prediction, no probabilities of all classes. The training set, reduced
    or not, is part of what it learned and of its export, which is a pickle.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> train_labels, labels = rng.integers(0, 2, (2, 100))
    >>> train_features, features = (rng.normal(each[:, None], size=(100, 3)) for each in (train_labels, labels))
    >>> logits = np.stack([np.full(100, 1.5), features.sum(axis=1)], axis=1)
    >>> made = Geometric()
    >>> made = made.fit(logits, labels, features=features, train_features=train_features, train_labels=train_labels)
    >>> made.predict_confidence(logits[:5], features[:5]).shape
    (5,)
    """

    traits: ClassVar[frozenset[str]] = frozenset({KEEPS_ACCURACY, EQUIVARIANT, NEEDS_CLASSES})

    distance: str = param(
        "l2", choices=DISTANCES, help="How the distance of two inputs is measured."
    )
    exact: bool = param(
        False, help="The exact separation instead of a lower bound of it: slower, and for l2 alone."
    )
    map: str = param(
        "isotonic",
        choices=tuple(MAPS),
        help="How the separation becomes a confidence: a free monotone map, or a logistic curve.",
    )
    reduction: str = param(
        "none",
        choices=REDUCTIONS,
        help="What makes the training set smaller and predictions faster: for images mean_pool, for other numbers "
        "pca keep most accuracy; fewer rows (kmeans, random_set) lose most.",
    )
    factor: int = param(
        2,
        low=1,
        high=LARGEST_FACTOR,
        help="A reduction divides the numbers of an input, or the training rows, by its square.",
    )

    def check_params(self) -> None:
        super().check_params()
        if self.exact and self.distance != "l2":
            raise CalibrationError(
                f"exact=True goes with distance='l2', not with {self.distance!r}: exact separation is known in l2 only."
            )

    def notes(self) -> list[str]:
        n = self.safe_[0] + self.dangerous_[0]
        sides = [
            f"{rows:,} are {name}, of which {100 * right / rows:.1f}\u00a0% are right"
            for name, (rows, right) in (("safe", self.safe_), ("dangerous", self.dangerous_))
            if rows
        ]
        carried, features = (
            f"{plural(rows, 'training row')} of {plural(size, 'number')}"
            for rows, size in (self.carried_, self.given_)
        )
        reduced = (
            f" (reduced from {features} by {REDUCED_BY[self.reduction]})"
            if self.reduction in REDUCED_BY
            else ""
        )
        notes = [
            f"Of {n:,} calibration rows {' and '.join(sides)}; safe means nearer to training rows of the predicted "
            "class than to all others.",
            f"It predicts from {carried}{reduced}, which every export carries along.",
        ]
        ends = ("1", self.certain_, "wrong"), ("0", self.hopeless_, "right")
        for end, rows, other in ends:
            if rows:
                most = 100 * (
                    1 - 0.05 ** (1 / rows)
                )  # would still give none of so many rows in 5 % of samples
                notes.append(
                    f"Its confidence is exactly {end} where none of {plural(rows, 'calibration row')} was {other}; up "
                    f"to {most:.2g}\u00a0% may be {other} there all the same (95\u00a0% confidence). The sigmoid map "
                    f"never gives {end}."
                )
        scales = self._scales()
        if len(scales) == 2 and scales["calibration"].differs([scales["training"]]):
            warning = scales["calibration"].against(scales["training"], "the training rows")
            notes.insert(
                0,
                f"{warning}; distances between them mean nothing then, so save both after the same preparation.",
            )
        if self.unbounded_:
            unknown = (
                f"{self.unbounded_:,} of {n:,} calibration rows have no finite separation, because the training set "
                "lacks their predicted class or holds no other: of such inputs this confidence knows the predicted "
                "class alone. Give training rows of every class."
            )
            notes.insert(0 if 2 * self.unbounded_ > n else len(notes), unknown)
        return notes

    def _fit(  # type: ignore[override]  # the extras without a default are what it needs
        self,
        logits: Floats,
        labels: Ints,
        *,
        progress: Progress,
        features: Any,
        train_features: Any,
        train_labels: Any,
    ) -> None:
        training = TrainingSet.from_arrays(train_features, train_labels)
        lowest = training.labels.min()
        highest = training.labels.max()
        if lowest < 0 or highest >= logits.shape[1]:
            raise CalibrationError(
                f"train_labels must lie in 0..{logits.shape[1] - 1}, the columns of the logits; found "
                f"{lowest}..{highest}."
            )
        reduced = reduce_training(
            self.reduction, self.factor, train_features, train_labels, self.random_state
        )
        self.reduced_ = reduced.state()
        self.given_, self.carried_ = (
            list(training.features.shape),
            list(reduced.train_features.shape),
        )
        scales = {
            "training": Scale.from_features(train_features),
            "calibration": Scale.from_features(features),
        }
        self.scales_ = {name: dict(vars(scale)) for name, scale in scales.items() if scale}

        separation = self._separations(logits, features, progress)
        right = np.argmax(logits, axis=1) == labels
        safe = separation > 0
        self.safe_, self.dangerous_ = (
            [int(rows.sum()), int(right[rows].sum())] for rows in (safe, ~safe)
        )
        finite = separation[np.isfinite(separation)]
        self.unbounded_ = len(separation) - len(finite)
        if not len(finite):
            rows = plural(len(training.labels), "row")
            classes = plural(len(np.unique(training.labels)), "class", "classes")
            raise CalibrationError(
                f"None of {len(separation):,} calibration rows has a finite separation, because the training set "
                f"({rows}, {classes}) lacks their predicted classes or holds no other; give training rows of every "
                "class."
            )
        low, high = self.limits_ = [float(finite.min()), float(finite.max())]
        self.map_ = dict(vars(fit_success_map(self.map, np.clip(separation, low, high), right)))
        confidence = self.confidence_at(separation)
        self.certain_, self.hopeless_ = (int(np.count_nonzero(confidence == end)) for end in (1, 0))

    def confidence_from_logits(
        self, logits: Any, features: Any = None, groups: Any = None
    ) -> Floats:
        """Confidence in the class of the largest logit, shape (n,).

        Parameters
        ----------
        logits : array_like of shape (n, n_classes)
            As in :meth:`fit`.
        features : array_like of shape (n, ...)
            Inputs, each of the shape of a training row.
        groups : None
            Not used.

        Returns
        -------
        ndarray of shape (n,)
            From 0 to 1.

        Raises
        ------
        CalibrationError
            If the features are absent, not one usable input for each row, or clearly on another scale than those it
            learned from.
        """
        logits = self._check_fitted_input(logits)
        if features is None:
            raise CalibrationError(
                "Geometric predicts from the inputs, not from the logits alone; call "
                "predict_confidence(logits, features=features) with one input for each row."
            )
        # Inputs in other units have finite separations and senseless confidences. Where the two sets it learned from
        # differ themselves, inputs like either are what it was fitted for.
        scale = Scale.from_features(features)
        scales = self._scales()
        if scale and scale.differs(list(scales.values())):
            name, first = next(iter(scales.items()))
            raise CalibrationError(
                f"{scale.against(first, f'the {name} rows')}; prepare both in the same way."
            )
        return self.confidence_at(self._separations(logits, features, silent))

    def _scales(self) -> dict[str, Scale]:
        """Scales of the training and the calibration features, of those that have one."""
        return {name: Scale(**numbers) for name, numbers in self.scales_.items()}

    def confidence_at(self, separation: Floats) -> Floats:
        """Confidence at separations, shape (n,), which count within the limits of the calibration rows.

        Parameters
        ----------
        separation : ndarray of shape (n,)
            From :func:`fast_separation` or :func:`exact_separation`.

        Returns
        -------
        ndarray of shape (n,)
            From 0 to 1.
        """
        return MAPS[self.map](**self.map_).apply(
            np.clip(separation, self.limits_[0], self.limits_[1])
        )

    def _separations(self, logits: Floats, features: Any, progress: Progress) -> Floats:
        """Separation of each row, (n,), +-inf included."""
        n, n_classes = logits.shape
        features = np.asarray(features)
        if features.ndim < 2 or len(features) != n:
            raise CalibrationError(
                f"features has the shape {features.shape} for {n:,} rows of logits; give one input for each row."
            )
        reduced = Reduced(**self.reduced_)
        training = TrainingSet.from_arrays(reduced.train_features, reduced.train_labels)
        separation = np.empty(n)
        step = min(
            _MOST_ROWS,
            max(64, block_rows(max(n_classes, prod(features.shape[1:])), MEMORY_ENTRIES)),
        )
        for rows in blocks(n, entries=step):
            queries = training.queries(
                reduced.transform(features[rows]), np.argmax(logits[rows], axis=1)
            )
            if self.exact:
                separation[rows] = exact(training, *queries).exact
            else:
                separation[rows] = nearest(training, *queries, self.distance).fast
            progress(rows.stop, n, 0.0)
        return separation
