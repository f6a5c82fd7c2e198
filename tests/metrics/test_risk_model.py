"""The panel of a risk model against R's numbers, naive counts and properties."""

from __future__ import annotations

import numpy as np
import pytest

from calib.errors import CalibrationError
from calib.metrics import risk_model

# 1500 simulated answers of language models, whose confidence takes nine values: rows and correct ones at each.
CONFIDENCE = np.array([0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1])
ROWS = np.array([44, 72, 75, 103, 207, 308, 391, 190, 110])
RIGHT = np.array([7, 37, 36, 53, 118, 204, 291, 152, 95])
SAID = np.repeat(CONFIDENCE, ROWS)
CORRECT = np.concatenate([np.arange(n) < r for n, r in zip(ROWS, RIGHT, strict=True)])


@pytest.fixture(scope="module")
def answers():
    return risk_model(SAID, CORRECT, n_resamples=300)


@pytest.mark.parametrize(
    ("key", "value", "low", "high"),
    [
        # pROC 1.18.0, R 4.2.2 glm, survey 4.1.1; log-odds with risks clipped to [.005, .995], all else unclipped.
        ("auroc", 0.666236634747, 0.63720631639, 0.694059305635),
        ("brier", 0.243511, 0.243511 - 1.959963985 * 0.00891780425934, 0.243511 + 1.959963985 * 0.00891780425934),
        ("log_loss", 0.814610473397, None, None),
        ("citl", -1.42916459057, -1.42916459057 - 1.959963985 * 0.0772601565461, None),
        ("slope", 0.348506507923, 0.280725209844, 0.416287806002),
        # stats::loess(y ~ p) with its defaults.
        ("ici", 0.192438035805, None, None),
        ("e50", 0.208774551203, None, None),
        ("e90", 0.237662337662, None, None),
        ("emax", 0.237662337662, None, None),
    ],
)
def test_the_answers_have_the_numbers_of_r(answers, key, value, low, high):
    measure = answers[key]
    assert measure.value == pytest.approx(value, abs=1e-8)
    assert low is None or measure.low == pytest.approx(low, abs=1e-8)
    assert high is None or measure.high == pytest.approx(high, abs=1e-8)


def test_zeros_and_ones_are_counted_and_other_floors_told(answers):
    clipping = answers.clipping
    assert (clipping.zeros, clipping.ones, clipping.others, clipping.floor) == (44, 110, 0, 0.005)
    told = {floor: (loss, slope) for floor, loss, slope in clipping.elsewhere}
    assert told[1e-12] == pytest.approx((1.14171591259, 0.0721), abs=1e-4)
    assert "44" in clipping.sentence and "110" in clipping.sentence


def test_few_events_are_said_with_their_number():
    rng = np.random.default_rng(1)
    risk = rng.uniform(0.005, 0.02, 1000)
    panel = risk_model(risk, rng.random(1000) < risk, n_resamples=0)
    assert panel.too_few_events
    assert panel.notes[0].startswith("Too few events") and f"{risk.sum():.1f}" in panel.notes[0]


def test_weights_without_their_kind_are_refused():
    with pytest.raises(CalibrationError, match="weight_kind"):
        risk_model([0.2, 0.8], [0, 1], weights=[1, 2])
