"""Scorers of calibration for scikit-learn's cross-validation and searches, and a reliability display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from calib.arrays import as_array, as_numbers
from calib.diagnostics.reliability import DiagramParts, ReliabilityCurve, diagram_parts
from calib.errors import CalibrationError, missing_package
from calib.evaluation import SCORES
from calib.evaluation.view import EVENT, TOP_LABEL, View
from calib.formatting import number, plural
from calib.metrics import brier, ece, nll
from calib.metrics.confidence import scored_pair
from calib.outputs import check_labels_known, class_indices
from calib.parameters import short_repr


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
        """Return minus the score of a fitted classifier on these rows.

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


@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    """Accuracy of a classifier against its confidence, with 95 % Wilson intervals.

    Of two classes the curve is that of one of them: how often it occurs, against its probability. Of more it is the
    accuracy against the confidence in the predicted class, unless a class is named.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`; notebooks show its :attr:`figure_`.

    Parameters
    ----------
    parts : DiagramParts
        Bins with their intervals, the consistency band, the isotonic curve and counts of rows.
    name : str
        How the model is called.
    view : View
        Its words are on the axes.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(400, n_redundant=6, random_state=0)
    >>> display = ReliabilityDisplay.from_estimator(GaussianNB().fit(X[:200], y[:200]), X[200:], y[200:])
    >>> display.curve.n, display.figure_.layout.xaxis.title.text
    (200, 'P(1)')
    """

    parts: DiagramParts
    name: str
    view: View = TOP_LABEL

    @property
    def curve(self) -> ReliabilityCurve:
        """Bins with their intervals."""
        return self.parts.curve

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the diagram of a fitted classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted classifier or pipeline with ``predict_proba``.
        X : array_like of shape (n, ...)
            Rows that it was not trained on.
        y : array_like of shape (n,)
            Their labels.
        name : str or None, default None
            How the model is called; None takes the name of its class.
        **options
            As for :meth:`from_predictions`, such as ``pos_label``.

        Returns
        -------
        Self
            The display; its :attr:`figure_` is the diagram.

        Raises
        ------
        CalibrationError
            For an estimator without probabilities, and as :meth:`from_predictions`.
        """
        if not hasattr(estimator, "predict_proba"):
            raise CalibrationError(
                f"{type(estimator).__name__} has no predict_proba, so there is no probability to draw; wrap it in "
                "calib.sklearn.CalibratedModel, or choose a classifier that has one."
            )
        options = {
            "name": name or type(estimator).__name__,
            "classes": estimator.classes_,
            **options,
        }
        return cls.from_predictions(y, estimator.predict_proba(X), **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        pos_label: Any = None,
        classes: Sequence[Any] | None = None,
        n_bins: int | None = None,
        binning: str = "equal_mass",
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the diagram of probabilities.

        Parameters
        ----------
        y_true : array_like of shape (n,)
            Labels.
        y_prob : array_like of shape (n, n_classes) or (n,)
            Probabilities, or those of one class of two.
        pos_label : object, default None
            Class whose probability is drawn; None takes the last of two, and of more none.
        classes : array_like of shape (n_classes,) or None, default None
            Labels in the order of the columns; None takes them sorted, as scikit-learn has them.
        n_bins : int or None, default None
            Number of bins; None takes a dot for each of at most 20 distinct probabilities, else about the third root
            of n bins.
        binning : {"equal_mass", "equal_width"}, default "equal_mass"
            How bins are made, as for :func:`calib.reliability_curve`.
        sample_weight : array_like of shape (n,) or None, default None
            Weights of rows.
        name : str or None, default None
            How the model is called; "Classifier" unless given.
        ax : matplotlib.axes.Axes or None, default None
            Axes to draw on as well, see :meth:`plot`.

        Returns
        -------
        Self
            The display; its :attr:`figure_` is the diagram, by plotly.

        Raises
        ------
        CalibrationError
            For arrays that do not fit together, labels that are missing, probabilities that are no finite numbers, and
            a class that does not exist.
        """
        labels = np.atleast_1d(as_array(y_true, "y_true"))
        probs = np.atleast_1d(as_numbers(y_prob, "y_prob")).astype(np.float64)
        check_labels_known(labels, "y_true")
        values = np.unique(labels) if classes is None else np.asarray(classes)
        if (
            probs.shape[1:] not in ([(), (2,)] if len(values) == 2 else [(len(values),)])
            or len(probs) != labels.size
        ):
            raise CalibrationError(
                f"y_true has the shape {labels.shape} and {plural(len(values), 'class', 'classes')}, y_prob the shape "
                f"{probs.shape}; give (n,) labels and (n, n_classes) probabilities, or the (n,) of one class of two. "
                "classes=[...] names classes that no label has, in the order of the columns."
            )
        codes = class_indices(labels, values)
        if len(values) == 2 and pos_label is None:
            pos_label = values[-1]
        pair = (probs, codes)
        view = TOP_LABEL
        if pos_label is not None:
            column = next(
                (k for k, label in enumerate(values.tolist()) if label == pos_label), None
            )
            if column is None:
                raise CalibrationError(
                    f"pos_label {short_repr(pos_label)} is none of {', '.join(map(str, values[:10]))}."
                )
            pair = probs if probs.ndim == 1 else probs[:, column], codes == column
            view = replace(EVENT, column=column, event_name=str(pos_label))
        scored = scored_pair(*pair)
        parts = diagram_parts(*scored, n_bins=n_bins, binning=binning, weights=sample_weight)
        display = cls(parts, name or "Classifier", view)
        return display if ax is None else display.plot(ax)

    def plot(self, ax: Any) -> Self:
        """Draw the curve with its intervals on axes of matplotlib, which several displays may share.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            Axes to draw on.

        Returns
        -------
        Self
            The display.
        """
        curve = self.curve
        if not any(line.get_gid() == "calibrated" for line in ax.lines):
            ax.axline((0, 0), slope=1, color="0.5", linestyle=":", gid="calibrated")
        whiskers = np.maximum([curve.accuracy - curve.low, curve.high - curve.accuracy], 0)
        label = f"{self.name}, ECE {number(curve.ece)}"
        ax.errorbar(curve.confidence, curve.accuracy, yerr=whiskers, marker="o", label=label)
        event = self.view.event_name
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1),
            xlabel=f"P({event})" if event else self.view.wording.predicted_label,
        )
        ax.set_ylabel(self.view.wording.observed_label)
        ax.legend()
        return self

    @cached_property
    def figure_(self) -> Any:
        """The figure of plotly.

        Raises
        ------
        CalibrationError
            If plotly is not installed, which comes with the extra ``report``.
        """
        try:
            from calib.plots.reliability import reliability_diagram, usual_scale
            from calib.plots.style import Style
        except ModuleNotFoundError as error:
            raise CalibrationError(missing_package(error)) from error
        scale = usual_scale(self.curve, self.view)
        style = Style("#0072B2", "circle", "solid")
        return reliability_diagram(self.parts, style, view=self.view, scale=scale, title=self.name)

    def __repr__(self) -> str:
        ece = f"{SCORES['ECE'].seen(self.view).title} {number(self.curve.ece)}"
        return f"<ReliabilityDisplay of {self.name}: {ece} on {plural(self.curve.n, 'row')}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Representations for notebooks."""
        bundle: dict[str, Any] = self.figure_._repr_mimebundle_(include, exclude)
        return bundle
