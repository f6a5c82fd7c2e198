"""A reliability diagram in the manner of scikit-learn's displays, drawn by plotly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from calib.arrays import as_array, as_numbers
from calib.diagnostics.reliability import DiagramParts, ReliabilityCurve, diagram_parts
from calib.errors import CalibrationError, missing_package
from calib.evaluation import SCORES
from calib.evaluation.view import EVENT, TOP_LABEL, View
from calib.formatting import number, plural
from calib.metrics.confidence import scored_pair
from calib.parameters import shown
from calib.sklearn.scorers import check_labels_known, class_indices


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
        known = np.unique(labels) if classes is None else np.asarray(classes)
        if (
            probs.shape[1:] not in ([(), (2,)] if len(known) == 2 else [(len(known),)])
            or len(probs) != labels.size
        ):
            raise CalibrationError(
                f"y_true has the shape {labels.shape} and {plural(len(known), 'class', 'classes')}, y_prob the shape "
                f"{probs.shape}; give (n,) labels and (n, n_classes) probabilities, or the (n,) of one class of two. "
                "classes=[...] names classes that no label has, in the order of the columns."
            )
        codes = class_indices(labels, known)
        if len(known) == 2 and pos_label is None:
            pos_label = known[-1]
        pair = (probs, codes)
        view = TOP_LABEL
        if pos_label is not None:
            column = next((k for k, label in enumerate(known.tolist()) if label == pos_label), None)
            if column is None:
                raise CalibrationError(
                    f"pos_label {shown(pos_label)} is none of {', '.join(map(str, known[:10]))}."
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
        shown: dict[str, Any] = self.figure_._repr_mimebundle_(include, exclude)
        return shown
