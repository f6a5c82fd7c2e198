"""Scores of arrays at hand: one table with intervals."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from calib.data.loading import predictions_from
from calib.evaluation.evaluation import Evaluation, raw_model
from calib.evaluation.score_registry import SCORES, score_intervals
from calib.evaluation.score_registry import scores as values_of
from calib.metrics.confidence import check_scored, scored_pair

if TYPE_CHECKING:
    import pandas as pd


def scores(
    probs: Any = None,
    labels: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
    ci: bool = True,
    **options: Any,
) -> pd.DataFrame:
    """Every score of a model's outputs, each with its 95 % interval.

    Parameters
    ----------
    probs, labels : array_like or None
        Probabilities and labels as :func:`calib.ece` takes them and checks them; with ``options``, or with ``probs``
        alone, what :func:`calib.from_outputs` takes, such as data that were loaded before.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``probs`` and ``labels``.
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

    if probs is None:
        probs, labels = scored_pair(confidence=confidence, correct=correct)
        options = {**options, "kind": "pairs"}
    elif labels is not None and not options:
        probs, labels = check_scored(probs, labels)
    data = predictions_from(probs, labels, **options)
    judged = Evaluation.from_predictions(raw_model(data), data)
    found = (
        score_intervals(judged)
        if ci
        else {key: (value, nan, nan) for key, value in values_of(judged).items()}
    )
    named = {"ECE": SCORES["ECE"].seen(judged.view).title}
    rows = {named.get(key, key): tuple(interval) for key, interval in found.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])
