"""One check for all scores of probabilities and labels."""

from __future__ import annotations

import numpy as np
import pytest

from calib import metrics
from calib.errors import CalibrationError

OF_ALL_CLASSES = (metrics.nll, metrics.brier, metrics.top_k_accuracy)
OF_THE_PREDICTED = (
    *(metrics.accuracy, metrics.ece, metrics.corp),
    *(metrics.overconfidence, metrics.underconfidence, metrics.confidence_gap, metrics.sharpness),
)
OF_AN_EVENT = (metrics.risk_model, lambda p, y: metrics.net_benefit(p, y, [0.2]))
EVERY = (*OF_ALL_CLASSES, *OF_THE_PREDICTED, metrics.classwise_ece, *OF_AN_EVENT)

RISK = np.array([0.1, 0.4, 0.35, 0.8, 0.9, 0.3])
BOTH = np.stack([1 - RISK, RISK], axis=1)
EVENT = np.array([0, 0, 1, 1, 1, 0])


@pytest.mark.parametrize("score", EVERY)
@pytest.mark.parametrize(
    ("probs", "labels", "said"),
    [
        (100 * BOTH, EVENT, "not probabilities"),
        (np.where(np.eye(6, 2), np.nan, BOTH), EVENT, "2 of 6 rows"),
        (np.where(np.eye(6, 2), np.inf, BOTH), EVENT, "not probabilities"),
        (BOTH, EVENT + 1, r"0\.\.1"),
        (BOTH, EVENT[:5], "6"),
        (BOTH[:0], EVENT[:0], "no rows"),
        (BOTH[:, :1], EVENT, r"\(6, 1\)"),
        (BOTH, EVENT.astype(float), "integers"),
    ],
)
def test_what_is_no_probability_or_label_is_refused_by_every_score(score, probs, labels, said):
    with pytest.raises(CalibrationError, match=said):
        score(probs, labels)


@pytest.mark.parametrize("score", [*OF_ALL_CLASSES, *OF_THE_PREDICTED, *OF_AN_EVENT])
def test_rows_that_do_not_sum_to_one_are_refused(score):
    with pytest.raises(CalibrationError, match="6 of 6 rows of probabilities do not sum to one"):
        score(BOTH / 2, EVENT)


@pytest.mark.parametrize(
    "score",
    [
        metrics.nll,
        metrics.brier,
        lambda p, y: metrics.risk_model(p, y, n_resamples=0)["auroc"].value,
        lambda p, y: metrics.net_benefit(p, y, [0.2, 0.5]).model.value.tolist(),
        lambda p, y: metrics.net_benefit_difference(p, p**2 / (p**2 + (1 - p) ** 2), y, [0.5]).changed.value.tolist(),
    ],
)
def test_a_score_of_an_event_takes_its_probability_or_both_columns(score):
    assert score(RISK, EVENT) == score(RISK, EVENT.astype(bool)) == pytest.approx(score(BOTH, EVENT))


def test_the_brier_score_of_two_classes_is_that_of_the_event():
    assert metrics.brier(BOTH, EVENT) == pytest.approx(np.mean((RISK - EVENT) ** 2))
    three = np.column_stack([BOTH, np.zeros(6)])
    assert metrics.brier(three, EVENT) == pytest.approx(2 * np.mean((RISK - EVENT) ** 2))
