"""One check for all scores of probabilities and labels."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib import metrics
from calib.errors import CalibrationError

pytestmark = pytest.mark.usefixtures("few_simulations")

OF_ALL_CLASSES = (metrics.nll, metrics.brier, metrics.top_k_accuracy)
OF_THE_PREDICTED = (
    metrics.smooth_ece,
    metrics.debiased_ece,
    *(metrics.accuracy, metrics.ece, metrics.corp),
    *(
        metrics.overconfidence,
        metrics.underconfidence,
        metrics.confidence_gap,
        metrics.scoring_rules.sharpness,
    ),
)
OF_AN_EVENT = (metrics.risk_model, lambda p, y: metrics.net_benefit(p, y, [0.2]))
EVERY = (*OF_ALL_CLASSES, *OF_THE_PREDICTED, metrics.calibration_error.classwise_ece, *OF_AN_EVENT)

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
        (BOTH, np.arange(6), "6 different values"),
        (BOTH, EVENT[:5], "6"),
        (BOTH[:0], EVENT[:0], "no rows"),
        (BOTH[:, :1], EVENT, r"\(6, 1\)"),
        (BOTH, EVENT / 2, "fractions"),
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
        lambda p, y: metrics.decision_curve.net_benefit_difference(
            p, p**2 / (p**2 + (1 - p) ** 2), y, [0.5]
        ).value.tolist(),
    ],
)
def test_a_score_of_an_event_takes_its_probability_or_both_columns(score):
    assert (
        score(RISK, EVENT) == score(RISK, EVENT.astype(bool)) == pytest.approx(score(BOTH, EVENT))
    )


def test_the_brier_score_of_two_classes_is_that_of_the_event():
    assert metrics.brier(BOTH, EVENT) == pytest.approx(np.mean((RISK - EVENT) ** 2))
    three = np.column_stack([BOTH, np.zeros(6)])
    assert metrics.brier(three, EVENT) == pytest.approx(2 * np.mean((RISK - EVENT) ** 2))


SEVERAL = np.stack([RISK / 2, RISK / 2, 1 - RISK], axis=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clusters": np.array([1, "a", None] * 2, dtype=object)}, "Clusters are of several types"),
        ({"clusters": [1, 2]}, r"Clusters must be \(6,\) values"),
        (
            {"weights": np.full(6, np.inf), "weight_kind": "sampling"},
            "weights must be finite numbers from 0",
        ),
        ({"weights": np.full(6, 1e200), "weight_kind": "frequency"}, r"6 rows stand for 6e\+200"),
        ({"weights": np.full(6, 1e-9), "weight_kind": "frequency"}, "6 rows stand for 6e-09"),
        ({"weights": np.ones(6), "weight_kind": ["frequency"]}, "Weights need weight_kind"),
        ({"n_resamples": -1}, "n_resamples=-1 must lie between 0 and 100000"),
        ({"n_resamples": 10**9}, "n_resamples=1000000000 must lie between 0 and 100000"),
        ({"floor": 0.5}, "floor=0.5 must lie between 0 and 0.5, ends excluded"),
    ],
)
def test_the_panel_refuses_what_it_cannot_count(options, said):
    with pytest.raises(CalibrationError, match=said):
        metrics.risk_model(RISK, EVENT, **{"n_resamples": 2} | options)


@pytest.mark.parametrize("score", [metrics.ece, metrics.calibration_error.classwise_ece])
@pytest.mark.parametrize("norm", ["a", None, [1], 0, float("nan"), True])
def test_a_norm_is_a_number_from_1_upwards(score, norm):
    with pytest.raises(CalibrationError, match=r"norm=.* must be at least 1"):
        score(SEVERAL, EVENT, norm=norm)


def test_a_high_norm_is_the_largest_gap():
    assert metrics.ece(RISK, EVENT, norm=1e308) == pytest.approx(
        metrics.ece(RISK, EVENT, norm="inf")
    )


@pytest.mark.parametrize(
    "score",
    [
        *OF_ALL_CLASSES,
        *OF_THE_PREDICTED,
        metrics.calibration_error.classwise_ece,
        calib.scores,
        calib.ece,
    ],
)
def test_booleans_are_no_classes_of_several(score):
    with pytest.raises(CalibrationError, match="labels are True or False for 3 columns"):
        score(SEVERAL, EVENT.astype(bool))


def test_rows_that_were_rounded_are_to_be_divided_by_their_sums():
    thirds = np.full((4, 3), 0.33)
    for take in (metrics.nll, calib.scores, lambda p, y: calib.logits(p)):
        with pytest.raises(
            CalibrationError, match=r"the first to 0.99.*or divide rounded rows by their sums"
        ):
            take(thirds, [0, 1, 2, 0])
    divided = thirds / thirds.sum(axis=1, keepdims=True)
    assert metrics.nll(divided, [0, 1, 2, 0]) == pytest.approx(np.log(3))


def test_one_row_has_values_without_intervals():
    panel, scores = metrics.risk_model([0.5], [1], n_resamples=5), calib.scores([0.5], [1])
    for key, name in (("brier", "Brier"), ("log_loss", "NLL")):
        assert panel[key].value == scores.loc[name, "value"] > 0
        assert np.isnan([panel[key].low, panel[key].high, *scores.loc[name, ["low", "high"]]]).all()
    assert panel["ici"].value == 0.5 and np.isnan(panel["ici"].low)
    assert "[" not in repr(panel)
