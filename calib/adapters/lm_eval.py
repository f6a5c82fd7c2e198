"""Scores of calibration as aggregations of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lm_eval.api.registry import register_aggregation

import calib
from calib.numerics import Floats


@register_aggregation("calib_ece")
def ece(items: Sequence[tuple[int, Any]]) -> float:
    """Calibration error of the confidence in the most probable choice, over all questions.

    Parameters
    ----------
    items : sequence of tuple
        Number of the right choice and probabilities of all choices of each question, as the harness passes them for its
        metric ``brier_score``.

    Returns
    -------
    float
        As :func:`calib.ece` gives it.

    Examples
    --------
    A task of several choices takes it by its function in ``utils.py``, or by its name once this module is imported::

        metric_list:
          - metric: brier_score
            aggregation: !function utils.ece
    """
    return float(calib.ece(confidence=_confidence(items), correct=_correct(items)))


@register_aggregation("calib_gap")
def gap(items: Sequence[tuple[int, Any]]) -> float:
    """Mean confidence minus accuracy; above 0 the model is overconfident.

    Parameters
    ----------
    items : sequence of tuple
        As for :func:`ece`.

    Returns
    -------
    float
        From -1 to 1.
    """
    return float(_confidence(items).mean() - _correct(items).mean())


def _confidence(items: Sequence[tuple[int, Any]]) -> Floats:
    return np.array([np.max(probs) for _, probs in items])


def _correct(items: Sequence[tuple[int, Any]]) -> Floats:
    return np.array([float(np.argmax(probs) == right) for right, probs in items])
