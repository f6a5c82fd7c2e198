"""Scorers of calibration for scikit-learn's cross-validation and searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metadata_routing import MetadataRequest

from calib.errors import CalibrationError
from calib.metrics import brier, ece, nll
from calib.numerics import Ints
from calib.parameters import shown


def check_labels_known(labels: npt.NDArray[Any], name: str) -> None:
    """Raise :class:`CalibrationError` where labels are missing: None, NaN, NaT or pandas.NA."""
    # What is compared with itself is neither true nor false for pandas.NA.
    if missing := sum(
        label is None or (label == label) is not True for label in labels.ravel().tolist()
    ):
        raise CalibrationError(
            f"{missing:,} of {len(labels):,} labels of {name} are missing; leave out these rows."
        )


def class_indices(labels: Any, classes: npt.NDArray[Any]) -> Ints:
    """Position of each label among the classes of a fitted classifier.

    Parameters
    ----------
    labels : (n,) labels.
    classes : (n_classes,) labels in the order of the columns, as scikit-learn's ``classes_``.

    Raises
    ------
    CalibrationError
        For labels that are missing, or none of the classes.
    """
    labels = np.asarray(labels)
    check_labels_known(labels, "y")
    given = labels.ravel().tolist()
    place = {label: k for k, label in enumerate(classes.tolist())}
    if unknown := [label for label in given if label not in place]:
        found = ", ".join(map(shown, sorted(set(unknown), key=str)[:3]))
        raise CalibrationError(
            f"{len(unknown):,} of {len(labels):,} labels are none of the {len(classes)} classes that the model "
            f"was fitted on: {found}; fit it on rows of these classes too."
        )
    return np.array([place[label] for label in given], dtype=np.int64).reshape(labels.shape)


@dataclass(frozen=True)
class Scorer:
    """A score of probabilities as scikit-learn's ``scoring``: negative, so that greater is better.

    It takes labels of any type and all K columns of ``predict_proba``, in the order of ``classes_``. A scorer of
    ``sklearn.metrics.make_scorer`` is given neither: of two classes it sees one column, and where a fold lacks a class
    it cannot tell which columns the labels belong to.

    Parameters
    ----------
    score : callable
        A function of (n, n_classes) probabilities and (n,) labels in 0..n_classes-1, less of which is better: any of
        :mod:`calib.metrics` that is so.
    options : mapping of str to object
        Its keyword arguments.
    weighted : bool, str or None
        Whether searches are to give it ``sample_weight``; see :meth:`set_score_request`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calib.metrics import ece
    >>> X, y = make_classification(200, random_state=0)
    >>> scores = cross_val_score(GaussianNB(), X, y, scoring=Scorer(ece, {"n_bins": 5}))
    >>> bool((scores < 0).all())
    True
    """

    score: Callable[..., float]
    options: Mapping[str, Any] = field(default_factory=dict)
    weighted: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the score of a fitted classifier on these rows.

        Parameters
        ----------
        estimator : estimator
            Classifier with ``predict_proba`` and ``classes_``.
        X : array_like of shape (n, ...)
            Rows as it takes them.
        y : array_like of shape (n,)
            Their labels, each one of its classes.
        sample_weight : array_like of shape (n,) or None, default None
            Weight of each row, for scores that take ``weights``.

        Returns
        -------
        float
            Greater is better.

        Raises
        ------
        CalibrationError
            For labels that are missing, or none of the classes.
        """
        weighted = {} if sample_weight is None else {"weights": sample_weight}
        return -self.score(
            estimator.predict_proba(X),
            class_indices(y, estimator.classes_),
            **self.options,
            **weighted,
        )

    def get_metadata_routing(self) -> MetadataRequest:
        """Metadata that the scorer requests, where scikit-learn's metadata routing is enabled.

        Returns
        -------
        MetadataRequest
            As scikit-learn asks for it.
        """
        request = MetadataRequest(owner=self)
        if self.weighted is not None:
            request.score.add_request(param="sample_weight", alias=self.weighted)
        return request

    def set_score_request(self, *, sample_weight: bool | str | None) -> Scorer:
        """A scorer that asks for weights of rows, as scikit-learn's metadata routing has it.

        Parameters
        ----------
        sample_weight : bool, str or None
            True asks for ``sample_weight``, a text for what it is called, False for none.

        Returns
        -------
        Scorer
            A new one.
        """
        return replace(self, weighted=sample_weight)


ece_scorer = Scorer(ece)
"""Minus :func:`calib.ece`; ``Scorer(ece, {"of": "classwise"})`` is that of all classes."""

nll_scorer = Scorer(nll)
"""Minus the mean negative log-likelihood, in nats."""

brier_scorer = Scorer(brier)
"""Minus the Brier score, :func:`calib.metrics.brier`; of two classes as scikit-learn's ``neg_brier_score``."""
