"""Scores of arrays at hand: one table with intervals, and the one ECE with its own."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, Literal, overload

from calib import metrics
from calib.data.loading import from_outputs
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation, raw_model
from calib.evaluation.score_registry import SCORES, ece_interval, score_intervals
from calib.evaluation.score_registry import scores as values_of
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import check_scored, top_label

if TYPE_CHECKING:
    import pandas as pd


def scores(probs: Any, labels: Any = None, *, ci: bool = True, **options: Any) -> pd.DataFrame:
    """Every score of a model's outputs, each with its 95 % interval.

    Parameters
    ----------
    probs, labels : array_like or None
        Probabilities and labels as :func:`calib.ece` takes them and checks them; with ``options``, or with ``probs``
        alone, what :func:`calib.from_outputs` takes, such as data that were loaded before.
    ci : bool, default True
        Whether to find intervals; without them two columns are NaN, as most of their ends are for a single row. So is
        a score that the rows do not give, such as the AUROC where all are of one class.
    **options
        Options of :func:`calib.from_outputs`, such as ``kind="logits"``.

    Returns
    -------
    pandas.DataFrame
        Columns ``value``, ``low`` and ``high``; the index holds the scores' names, such as ``"ECE"``. Of two classes
        with an event the ECE and its kin are of the event's probability, and the ECE is called ``"ECE of P(event)"``.
        Rows whose weights have a meaning (``weight_kind``) are counted by them.

    Raises
    ------
    CalibrationError
        If the arrays cannot be used.

    Examples
    --------
    >>> import calib
    >>> found = calib.scores([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]], [0, 0, 1, 1], ci=False)
    >>> round(float(found.loc["NLL", "value"]), 3)
    0.4
    """
    import pandas as pd

    if labels is not None and not options:
        probs, _ = check_scored(probs, labels)
    data = from_outputs(probs, labels, **options)
    judged = Evaluation.from_predictions(raw_model(data), data)
    found = (
        score_intervals(judged)
        if ci
        else {key: (value, nan, nan) for key, value in values_of(judged).items()}
    )
    named = {"ECE": SCORES["ECE"].seen(judged.view).title}
    rows = {named.get(key, key): tuple(interval) for key, interval in found.items()}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])
    return table


@overload
def ece(probs: Any, labels: Any, *, ci: Literal[False] = False, weights: Any = None) -> float: ...


@overload
def ece(probs: Any, labels: Any, *, ci: Literal[True], weights: Any = None) -> Interval: ...


def ece(probs: Any, labels: Any, *, ci: bool = False, weights: Any = None) -> float | Interval:
    """The expected calibration error that pages, tables, scorers and reports show, in 15 bins of equal width.

    Of two columns it is that of the predicted class. Where pages and :func:`scores` look at an event, they show that of
    its probability: ``ece(probs[:, 1], labels)``. :func:`calib.metrics.ece` has other bins and norms. Rows are divided
    by their sums (docs/files.md, zeros and sums).

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities and (n,) labels, of which the confidence in the predicted class counts; or an
        event's (n,) probabilities and whether it happened, or confidences and whether they were right.
    ci : bool, default False
        Whether to return the 95 % interval too.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike. The interval takes each row as drawn once, so that the unit of the
        weights changes nothing.

    Returns
    -------
    float or Interval
        From 0 to 1; with ``ci`` its ``value``, ``low`` and ``high``.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or an interval is asked for a single row, which shows nothing of how rows
        differ.

    Examples
    --------
    >>> import calib
    >>> round(calib.ece([0.9, 0.9, 0.9, 0.6], [True, True, False, True]), 3)  # 3/4 |.9 - 2/3| + 1/4 |.6 - 1|
    0.275
    """
    if not ci:
        return metrics.ece(probs, labels, weights=weights)
    confidence, correct = top_label(probs, labels)
    if len(correct) < 2:
        raise CalibrationError(
            "An interval needs at least 2 rows; got 1. Leave out ci=True, or give more rows."
        )
    return ece_interval(confidence, correct, weights=weights)
