"""A reliability diagram in the manner of scikit-learn's displays, by plotly or matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from calib.diagnostics.reliability import (
    ConfidenceHistogram,
    ReliabilityCurve,
    confidence_histogram,
    default_bins,
    reliability_curve,
)
from calib.errors import CalibrationError, missing_package
from calib.evaluation import SCORES
from calib.evaluation.view import EVENT, TOP_LABEL, View
from calib.formatting import number, plural
from calib.parameters import shown
from calib.sklearn.scorers import check_labels_known, class_indices

Backend = Literal["plotly", "matplotlib"]
BACKENDS: tuple[Backend, ...] = ("plotly", "matplotlib")
_COLOR = "#0072B2"


class ReliabilityDisplay:
    """How often a classifier is right, against its confidence, with 95 % Wilson intervals.

    Of two classes the curve is that of one of them: how often it occurs, against its probability. Of more it is the
    accuracy against the confidence in the predicted class, unless a class is named.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`; :meth:`plot` draws it again.

    Parameters
    ----------
    curve : in bins, with intervals.
    histogram : of the probabilities, beneath plotly's diagram; None spreads the rows evenly over each bin.
    name : of the model.
    view : whose words are on the axes.

    Attributes
    ----------
    figure_ : of plotly or of matplotlib, as it was drawn last.
    ax_ : matplotlib's axes; None after plotly.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(400, n_redundant=6, random_state=0)
    >>> display = ReliabilityDisplay.from_estimator(GaussianNB().fit(X[:200], y[:200]), X[200:], y[200:])
    >>> display.curve.n, display.figure_.layout.xaxis.title.text
    (200, 'P(1)')
    """

    def __init__(
        self,
        curve: ReliabilityCurve,
        histogram: ConfidenceHistogram | None = None,
        *,
        name: str = "",
        view: View = TOP_LABEL,
    ):
        self.curve, self.histogram, self.name, self.view = curve, histogram, name, view
        self.figure_: Any = None
        self.ax_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, pos_label: Any = None, **options: Any
    ) -> Self:
        """Draw the diagram of a fitted classifier.

        Parameters
        ----------
        estimator : a fitted classifier or pipeline with ``predict_proba``.
        X, y : rows that it was not trained on, and their labels.
        name : by default that of its class.
        pos_label, **options : as for :meth:`from_predictions`.

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
        options = {"name": name or type(estimator).__name__, "pos_label": pos_label, **options}
        return cls.from_predictions(y, estimator.predict_proba(X), classes=estimator.classes_, **options)

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
        backend: Backend = "plotly",
        ax: Any = None,
    ) -> Self:
        """Draw the diagram of probabilities.

        Parameters
        ----------
        y_true : (n,) labels.
        y_prob : (n, n_classes) probabilities, or the (n,) of one class of two.
        pos_label : the class whose probability is drawn: by default the last of two, and of more none.
        classes : (n_classes,) labels in the order of the columns; by default sorted, as scikit-learn has them.
        n_bins : by default about the third root of n.
        binning : "equal_mass" or "equal_width", as for :func:`calib.reliability_curve`.
        sample_weight : (n,) weights of rows, or None.
        name : of the model.
        backend, ax : as for :meth:`plot`.

        Raises
        ------
        CalibrationError
            For arrays that do not fit together, labels that are missing, probabilities that are no finite numbers, a
            class that does not exist, and a package that is not installed.
        """
        pair, view = _pair(y_true, y_prob, pos_label, classes)
        bins = default_bins(len(pair[0])) if n_bins is None else n_bins
        curve = reliability_curve(*pair, n_bins=bins, binning=binning, weights=sample_weight)
        histogram = confidence_histogram(*pair, logit_limits=view.logit_limits)
        return cls(curve, histogram, name=name or "Classifier", view=view).plot(ax=ax, backend=backend)

    def plot(
        self, ax: Any = None, *, backend: Backend = "plotly", name: str | None = None, ref_line: bool = True
    ) -> Self:
        """Draw the diagram again.

        Parameters
        ----------
        ax : axes of matplotlib to draw on, beside what is there; they ask for this backend.
        backend : "plotly" or "matplotlib".
        name : by default the display's own.
        ref_line : whether matplotlib draws the diagonal.

        Raises
        ------
        CalibrationError
            For another backend or one that is not installed, and for what is no axes of matplotlib.
        """
        if backend not in BACKENDS:
            raise CalibrationError(f"There is no backend {shown(backend)}; choose 'plotly' or 'matplotlib'.")
        if ax is not None and not hasattr(ax, "errorbar"):
            raise CalibrationError(
                f"ax must be axes of matplotlib, as pyplot.subplots() makes them; got {shown(ax)}. Leave it out for a "
                "new figure."
            )
        title = self.name if name is None else name
        if backend == "matplotlib" or ax is not None:
            self.ax_ = self._on_axes(ax, title, ref_line)
            self.figure_ = self.ax_.figure
        else:
            self.ax_, self.figure_ = None, self._of_plotly(title)
        return self

    def _of_plotly(self, title: str) -> Any:
        try:
            from calib.plots.reliability import reliability_diagram  # plotly is an extra
            from calib.plots.style import Style
        except ModuleNotFoundError as error:
            raise CalibrationError(missing_package(error)) from error
        style = Style(_COLOR, "circle", "solid")
        return reliability_diagram(self.curve, style, title=title, histogram=self.histogram, view=self.view)

    def _on_axes(self, ax: Any, title: str, ref_line: bool) -> Any:
        if ax is None:
            try:
                from matplotlib import pyplot
            except ModuleNotFoundError as error:
                raise CalibrationError(
                    "The backend 'matplotlib' needs matplotlib, which is not installed: pip install matplotlib."
                ) from error
            ax = pyplot.subplots()[1]
        curve = self.curve
        if ref_line:
            ax.plot([0, 1], [0, 1], color="0.5", linestyle=":", linewidth=1)
        below, above = np.maximum(curve.accuracy - curve.low, 0), np.maximum(curve.high - curve.accuracy, 0)
        ax.errorbar(curve.confidence, curve.accuracy, yerr=[below, above], marker="o", capsize=2, label=title)
        said = f"P({self.view.event_name})" if self.view.is_event else self.view.said
        ax.set(xlabel=said, ylabel=self.view.outcome, xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.legend(loc="upper left")
        return ax

    def __repr__(self) -> str:
        ece = f"{SCORES['ECE'].seen(self.view).title} {number(self.curve.ece)}"
        return f"<ReliabilityDisplay of {self.name}: {ece} on {plural(self.curve.n, 'row')}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What notebooks show: plotly's figure; of matplotlib nothing, whose figure shows itself."""
        if self.ax_ is not None or self.figure_ is None:
            return {}
        shown: dict[str, Any] = self.figure_._repr_mimebundle_(include, exclude)
        return shown


def _pair(y_true: Any, y_prob: Any, pos_label: Any, classes: Sequence[Any] | None) -> tuple[tuple[Any, Any], View]:
    """What is drawn against what: a probability and whether its class occurred, or all of them and class numbers."""
    try:
        labels, probs = np.asarray(y_true), np.asarray(y_prob, dtype=np.float64)
        check_labels_known(labels, "y_true")
        known = np.unique(labels) if classes is None else np.asarray(classes)
    except (TypeError, ValueError) as error:
        if isinstance(error, CalibrationError):
            raise
        raise CalibrationError(
            f"y_true must be labels of one type and y_prob an array of numbers; got an array-like that is not: {error}."
        ) from error
    if labels.ndim != 1 or probs.ndim not in (1, 2) or len(labels) != len(probs) or not len(labels):
        raise CalibrationError(
            f"y_true has the shape {labels.shape} and y_prob {probs.shape}; give (n,) labels and (n, n_classes) "
            "probabilities, or the (n,) of one class of two, of at least one row."
        )
    wanted = 2 if probs.ndim == 1 else probs.shape[1]
    if len(known) != wanted:
        raise CalibrationError(
            f"y_prob is of {wanted} classes, but there are {plural(len(known), 'different label')}; give "
            "classes=[...], the labels in the order of the columns."
        )
    if pos_label is None and wanted == 2:
        pos_label = known[-1]
    if pos_label is None:
        return (probs, class_indices(labels, known)), TOP_LABEL
    if not (at := np.flatnonzero(known == pos_label)).size:
        raise CalibrationError(
            f"pos_label {shown(pos_label)} is none of the classes {', '.join(map(str, known[:10]))}."
        )
    column = int(at[0])
    chosen = probs[:, column] if probs.ndim == 2 else probs
    return (chosen, labels == pos_label), replace(EVENT, column=column, event_name=str(pos_label))
