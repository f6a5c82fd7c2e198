"""Scores of calibration with their intervals in ``mlflow.models.evaluate``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from mlflow.metrics import MetricValue
from mlflow.models import EvaluationMetric, make_metric

import calib


def calibration(name: str = "calib", **options: Any) -> EvaluationMetric:
    """Every score of :func:`calib.scores` as one metric of an evaluation, each with its 95 % interval.

    A run then has ``calib/ECE``, ``calib/ECE_low``, ``calib/ECE_high`` and so on, and ``calib/ECE of P event`` for the
    ECE of P(event), as MLflow takes no brackets in a name; scores that the rows do not give are left out.

    Parameters
    ----------
    name : str, default "calib"
        What stands before the name of each score.
    **options
        Options of :func:`calib.from_outputs`, such as ``kind="logits"``.

    Returns
    -------
    EvaluationMetric
        For ``extra_metrics``.

    Examples
    --------
    A table has a column of predictions and one of labels::

        mlflow.models.evaluate(data=table, predictions="risk", targets="default", extra_metrics=[calibration()])
    """

    def measured(predictions: Any, targets: Any) -> MetricValue:
        # A column of predictions holds probabilities of the event, or for each row those of all classes.
        probs = np.array([*predictions])
        labels = np.asarray(targets)
        found = calib.scores(probs, labels, **options)
        ends = {"value": "", "low": "_low", "high": "_high"}
        scores = {
            re.sub(r"[^\w-]+", " ", str(key)).strip() + ends[str(end)]: float(value)
            for key, row in found.iterrows()
            for end, value in row.items()
        }
        return MetricValue(
            aggregate_results={key: value for key, value in scores.items() if np.isfinite(value)}
        )

    return make_metric(eval_fn=measured, greater_is_better=False, name=name)
