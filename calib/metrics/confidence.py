"""Over- and underconfidence, their weighted gap, and sharpness."""

from __future__ import annotations

from typing import Any

from calib.metrics.top_label import Bools, top_label
from calib.numerics import Floats


def overconfidence(probs: Any, labels: Any) -> float:
    """Mean confidence of the wrong predictions (Wenger et al. 2020, section 2.2).

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).

    Returns
    -------
    float
        NaN if no prediction is wrong: the mean does not exist, and the gap has no share of it.
    """
    confidence, correct = top_label(probs, labels)
    return _mean(confidence, ~correct)


def underconfidence(probs: Any, labels: Any) -> float:
    """Mean of 1 - confidence of the right predictions (Wenger et al. 2020, section 2.2).

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).

    Returns
    -------
    float
        NaN if no prediction is right.
    """
    confidence, correct = top_label(probs, labels)
    return _mean(1.0 - confidence, correct)


def over_under_ratio(probs: Any, labels: Any) -> float:
    """``o / u``, which for a calibrated model is P(right) / P(wrong), the odds of its accuracy.

    Calibrated means that ``o P(wrong) = u P(right)`` (Wenger et al. 2020, after Theorem 1); a larger ratio is
    overconfident, a smaller one underconfident.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).

    Returns
    -------
    float
        NaN if no prediction is wrong, or none is right; infinite if every right one has confidence 1.
    """
    pair = top_label(probs, labels)
    over, under = overconfidence(*pair), underconfidence(*pair)
    return over / under if under != 0 else over * float("inf")


def signed_confidence_gap(probs: Any, labels: Any) -> float:
    """``o P(wrong) - u P(right)``, which equals mean confidence minus accuracy; positive is overconfident.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    """
    confidence, correct = top_label(probs, labels)
    return float(confidence.mean() - correct.mean())


def confidence_gap(probs: Any, labels: Any) -> float:
    """``|o P(wrong) - u P(right)|``, the left side of Theorem 1 (Wenger et al. 2020): at most the ECE of any bins.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    """
    return abs(signed_confidence_gap(probs, labels))


def sharpness(probs: Any, labels: Any) -> float:
    """Variance of the confidence: how far apart a method sets sure from unsure rows.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    """
    return float(top_label(probs, labels)[0].var())


def _mean(values: Floats, where: Bools) -> float:
    chosen = values[where]
    return float(chosen.mean()) if len(chosen) else float("nan")
