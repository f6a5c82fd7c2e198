"""Scores of arrays at hand, and the one ECE with its interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.errors import CalibrationError
from calib.evaluation import evaluate, score_intervals
from calib.evaluation.view import EVENT
from calib.numerics import softmax
from tests.conftest import simulate

pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture
def outputs() -> tuple[np.ndarray, np.ndarray]:
    logits, labels = simulate(400, 4)
    return softmax(logits), labels


def test_values_lie_in_their_intervals_and_are_the_same_without(outputs):
    found = calib.scores(*outputs)
    assert (found["low"] <= found["value"]).all() and (found["value"] <= found["high"]).all()
    quick = calib.scores(*outputs, ci=False)
    np.testing.assert_allclose(quick["value"], found["value"])
    assert quick["low"].isna().all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3])
def test_zeros_of_rounded_probabilities_are_scored_as_they_are(k, dtype):
    # The loaded data's ECE was 0.109 and that of the arrays 0.099: half the smallest probability stood for each zero.
    logits, labels = simulate(300, k)
    tenths = np.round(10 * softmax(2 * logits)[:, 1:]).astype(dtype) / dtype(10)
    probs = np.concatenate([1 - tenths.sum(axis=1, keepdims=True), tenths], axis=1)
    probs = probs[keep := probs.min(axis=1) > -1e-6].clip(0, 1)
    labels = labels[keep]
    assert (probs == 0).any()
    found = calib.scores(probs, labels, ci=False)["value"]
    risk, event = probs[:, 1], labels == 1
    ece = calib.ece(risk, event) if k == 2 else calib.ece(probs, labels)
    said = {"NLL": calib.metrics.nll(probs, labels), "Brier": calib.metrics.brier(probs, labels)}
    said |= {
        "accuracy": calib.metrics.accuracy(probs, labels),
        "ECE of P(event)" if k == 2 else "ECE": ece,
    }
    for key, value in said.items():
        assert found[key] == pytest.approx(value, rel=1e-6), key


@pytest.mark.parametrize("apart", [True, False])
def test_the_auroc_of_the_table_has_the_interval_of_the_panel(apart):
    # Where all pairs were ranked right the table said [1, 1], and the panel [0.16, 1] of two events.
    risk = np.array([0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.8 if apart else 0.3, 0.9])
    event = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    panel = calib.metrics.risk_model(risk, event, n_resamples=0)["auroc"]
    table = calib.scores(risk, event)
    np.testing.assert_allclose(table.loc["AUROC"], [panel.value, panel.low, panel.high], rtol=1e-9)
    if apart:  # all of two independent pairs are in order with probability area^2
        np.testing.assert_allclose(table.loc["AUROC"], [1.0, 0.025**0.5, 1.0])
        assert table.loc["average precision", ["low", "high"]].isna().all()


def test_of_an_event_it_is_the_error_of_its_probability():
    generator = np.random.default_rng(0)
    risk = generator.random(500)
    happened = generator.random(500) < risk**1.5
    value, low, high = calib.ece(risk, happened, ci=True)
    assert value == pytest.approx(calib.metrics.ece(risk, happened))
    found = calib.scores(risk, happened)
    np.testing.assert_allclose([value, low, high], found.loc["ECE of P(event)"])
    # Of two columns it was the predicted class's, under the same name as the event's in the table.
    both = np.stack([1 - risk, risk], axis=1)
    assert calib.ece(both, happened) == pytest.approx(value) and "ECE" not in found.index
    assert calib.reliability_curve(both, happened).ece == pytest.approx(value)
    assert calib.ece is calib.metrics.ece
    assert low > 0  # the risks are too high


def test_a_confidence_with_its_correctness_has_its_own_words():
    generator = np.random.default_rng(0)
    confidence = generator.uniform(0.5, 1.0, 300)
    pair = {"confidence": confidence, "correct": generator.random(300) < confidence**2}
    found = calib.scores(**pair)
    np.testing.assert_allclose(calib.ece(**pair, ci=True), found.loc["ECE"])
    curve = calib.reliability_curve(**pair)
    assert curve.ece == pytest.approx(found.loc["ECE", "value"], abs=1e-12)
    assert curve.mean_accuracy == found.loc["accuracy", "value"] == pair["correct"].mean()
    # The same numbers as probabilities of an event predict it wherever they are above one half.
    event = calib.scores(confidence, pair["correct"])
    assert event.loc["accuracy", "value"] == calib.metrics.accuracy(*pair.values())


def test_what_does_not_fit_is_refused(outputs):
    probs, labels = outputs
    # Scores took the last two and made something of them.
    wrong = [
        (probs, labels[:-1]),
        (100 * probs, labels),
        (probs.T, labels),
        (2 * probs, labels),
    ]
    for each in wrong:
        refused = []
        for function in (calib.ece, calib.scores):
            with pytest.raises(CalibrationError) as error:
                function(*each)
            refused.append(str(error.value))
        assert refused[0] == refused[1]


@pytest.mark.parametrize("off", [1e-7, 5e-5])
def test_what_rounding_puts_outside_0_to_1_is_cut_to_it_by_every_score(off):
    """A table of scores took risks above 1 for something else, and an ECE had confidences above 1."""
    rng = np.random.default_rng(0)
    risk = np.clip(1.4 * rng.random(300) - 0.2, 0.0, 1.0)
    came = rng.random(300) < risk
    beyond = np.where(risk == 1.0, 1.0 + off, np.where(risk == 0.0, -off, risk))
    for score in (calib.metrics.nll, calib.metrics.brier, calib.metrics.ece, calib.ece):
        assert score(beyond, came) == score(risk, came)
    both, rounded = (np.stack([1.0 - p, p], axis=1) for p in (risk, beyond))
    for function in (
        calib.metrics.calibration_error.classwise_ece,
        calib.metrics.scoring_rules.sharpness,
    ):
        assert function(rounded, came.astype(int)) == function(both, came.astype(int))
    for given, expected in ((beyond, risk), (rounded, both)):
        found, wanted = (
            calib.scores(each, came.astype(int), ci=False) for each in (given, expected)
        )
        np.testing.assert_allclose(found["value"], wanted["value"], rtol=1e-12)


def test_a_single_row_has_an_ece_and_no_interval_of_it():
    """It had one of width 0, from draws of the same row."""
    assert calib.ece([0.9], [True]) == pytest.approx(0.1)
    np.testing.assert_allclose(
        list(calib.scores([0.9], [True]).loc["ECE of P(event)"]), [0.1, np.nan, np.nan]
    )
    for probs, labels in (([0.9], [True]), ([[0.1, 0.9]], [1])):
        with pytest.raises(CalibrationError, match="needs at least 2 rows; got 1"):
            calib.ece(probs, labels, ci=True)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_table_and_the_panel_of_a_risk_model_have_one_interval_of_one_score(clustered):
    """Of more than 2,000 rows, and in clusters, a report had two intervals of its Brier score.

    Once those of the table were of Student's t at any number of rows, those of the panel from 40 on of the normal.
    """
    rng = np.random.default_rng(1)
    log_odds, clusters = rng.normal(-2, 1, 5000), np.arange(5000) // 25
    risk = 1 / (1 + np.exp(-log_odds))
    came = rng.random(5000) < 1 / (1 + np.exp(-log_odds - rng.normal(0, 0.8, 200)[clusters]))
    given = {"clusters": clusters} if clustered else {}
    one = evaluate(np.stack([1 - risk, risk], axis=1), came.astype(int)).seen(EVENT)
    table = score_intervals(replace(one, clusters=given.get("clusters")))
    panel = calib.metrics.risk_model(risk, came, n_resamples=0, **given)
    for key, name in (("Brier", "brier"), ("NLL", "log_loss"), ("AUROC", "auroc")):
        np.testing.assert_allclose(table[key], panel[name].interval, rtol=1e-9)


def test_help_lists_public_names_alone():
    assert {name for name in dir(calib) if not name.startswith("__")} == set(calib.__all__)
    assert all(f"``{name}" in calib.__doc__ for name in calib.__all__)


def test_the_raw_model_is_the_same_however_it_is_asked_for(tmp_path):
    # As a method among others it had half the smallest probability where the model said 0, and another verdict.
    rng = np.random.default_rng(0)
    risk = np.round(rng.random(400), 1)
    event = (rng.random(400) < risk).astype(int)
    calibration, test = calib.from_outputs(risk, event).split(0.5)
    raw = calib.calibrator("identity").fit(calibration.logits, calibration.labels)
    for methods in ({}, {"identity": raw}):
        found = calib.compare(methods, calibration, test)
        assert found.evaluations["identity"].row_nll.mean() == pytest.approx(
            calib.scores(test).loc["NLL", "value"]
        )
    calib.export.save(raw.remember(calibration.output_format()), tmp_path / "raw.npz")
    said = calib.runtime.load(tmp_path / "raw.npz").predict_proba(risk)[:, 1]
    np.testing.assert_allclose(said, risk, atol=1e-12)
