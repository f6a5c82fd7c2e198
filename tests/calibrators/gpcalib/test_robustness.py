"""GPcalib on hard, tiny and large calibration sets: probabilities stay finite, and notes say what happened."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from scipy.stats import chi2

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.canonical import to_canonical, zero_floor
from calib.metrics import nll
from calib.numerics import log_softmax, softmax
from tests.conftest import simulate
from tests.test_contract import check_probs, hard_rows

WAYS = ("mean", "draws")


def check(calibrator: GPCalib, logits: np.ndarray) -> dict[str, np.ndarray]:
    """Probabilities of every way to predict, which are finite, in [0, 1] and sum to one."""
    return {way: check_probs(copy(calibrator).set_params(prediction=way), logits) for way in WAYS}


# -- probabilities of exactly 0 ------------------------------------------------------------------------


def forest(n: int, n_classes: int, n_trees: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Votes of a forest; its last class was not in the training data, but is a 30th of the labels."""
    generator = np.random.default_rng(seed)
    latent = generator.normal(size=(n, n_classes - 1))
    labels = np.argmax(latent + generator.gumbel(size=latent.shape), axis=1)
    votes = np.array([generator.multinomial(n_trees, p) for p in softmax(1.3 * latent)]) / n_trees
    labels[generator.random(n) < 1 / 30] = n_classes - 1
    return np.column_stack([votes, np.zeros(n)]), labels


def test_exact_zeros_and_a_class_that_was_never_trained():
    """The recipe of the 8-class KITTI tables: zeros follow the smallest positive."""
    probs, labels = forest(3000, 8, 1000, seed=0)
    assert (probs == 0).mean() > 1 / 8
    logits = to_canonical(probs, "probabilities", floor=zero_floor(probs))
    fit, rest = slice(None, 1000), slice(1000, None)
    temperature = TemperatureScaling().fit(logits[fit], labels[fit]).predict_proba(logits[rest])
    calibrator = GPCalib().fit(logits[fit], labels[fit])
    answers = check(calibrator, logits[rest])
    for way in WAYS:
        assert nll(answers[way], labels[rest]) < nll(temperature, labels[rest]) - 0.02, way
    # What the column can be trusted with is its share of the labels, in every row nearly the same.
    assert answers["draws"][:, 7].mean() == pytest.approx(1 / 30, abs=0.012)


def test_separable_data_make_it_surer_and_temperature_scaling_far_too_sure():
    """All right: the likelihood asks for infinite steepness, and temperature scaling goes to its bound, 148."""
    logits = simulate(200, 4)[0]
    labels = logits.argmax(axis=1)
    calibrator = GPCalib(max_iter=300).fit(logits, labels)
    answers = check(calibrator, logits)
    assert nll(answers["draws"], labels) < nll(softmax(logits), labels)
    fresh = simulate(1000, 4, seed=1)[0]
    assert (calibrator.predict(fresh) == fresh.argmax(axis=1)).mean() > 0.99
    second = np.sort(fresh, axis=1)[:, -2:] @ [
        -1.0,
        1.0,
    ]  # how far the next class is behind, in logits
    cost = -np.log(np.sort(calibrator.predict_proba(fresh), axis=1)[:, -2])
    assert np.median(cost / second) < 148 / 4
    assert any("divided by 0.0" in note for note in calibrator.notes())
    check(calibrator, hard_rows(4))


# -- what is said about a fit --------------------------------------------------------------------------


def test_a_note_on_the_scale_holds_of_probabilities_too():
    """Logits and log-probabilities that are 15 times too sure are divided by it alike."""
    logits, labels = simulate(400, 3, scale=15.0)
    for outputs in (logits, log_softmax(logits)):
        (note,) = [
            note
            for note in GPCalib().fit(outputs, labels).notes()
            if "their most probable temperature" in note
        ]
        assert "The outputs were divided by 1" in note and "softmax" not in note


@pytest.mark.parametrize(
    ("n", "scale", "seed", "says"), [(1000, 1.0, 0, True), (50, 2.0, 2, False)]
)
def test_a_kernel_without_variance_says_whether_rows_show_a_miscalibration(n, scale, seed, says):
    """The likelihood ratio of temperature scaling tells a calibrated model from too few rows of another."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(n, 3))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    calibrator = GPCalib().fit(scale * logits, labels)
    scaled = TemperatureScaling().fit(scale * logits, labels).predict_proba(scale * logits)
    ratio = 2 * n * (nll(softmax(scale * logits), labels) - nll(scaled, labels))
    assert (chi2.sf(ratio, 1) > 0.05) == says
    (note,) = calibrator.notes()
    # An offset of one class is a miscalibration that one function of every logit does not correct.
    none = f"these {n:,} rows show no miscalibration that one function of every logit corrects"
    assert (none in note) == says
    assert ("temperature scaling fits these 50 rows better" in note) != says


def test_a_fit_that_did_not_converge_says_what_to_do():
    calibrator = GPCalib(max_iter=3).fit(*simulate(60, 3))
    for about, says in [
        ({}, "Raise max_iter"),
        ({"max_iter": 500}, "temperature scaling"),  # as if the line search had failed
        ({"inputs": "probs"}, "inputs='logits'"),
    ]:
        (note,) = [
            note for note in calibrator.set_params(**about).notes() if "did not converge" in note
        ]
        assert "(stopped after 3 iterations)" in note and says in note


@pytest.mark.parametrize("inputs", ["logits", "probs"])
@pytest.mark.parametrize("unit", [1e-80, 1e3])
def test_the_unit_of_the_logits_is_found_and_said(unit, inputs):
    """However few the rows are, and whatever is asked about later."""
    logits, labels = simulate(100, 4)
    calibrator = GPCalib(inputs=inputs, max_iter=50).fit(unit * logits, labels)
    answers = check(calibrator, np.concatenate([unit * logits, hard_rows(4)]))
    assert any("were divided by" in note for note in calibrator.notes())
    assert nll(answers["draws"][:100], labels) < nll(softmax(logits / 2), labels) + 0.02


def test_rows_beyond_the_most_are_left_out_and_said_so(monkeypatch):
    monkeypatch.setattr("calib.calibrators.gpcalib.training.MOST_ROWS", 100)
    calibrator = GPCalib(max_iter=1).fit(*simulate(150, 4))
    assert any("Fitted on 100 of the 150 calibration rows" in note for note in calibrator.notes())
    calibrator.partial_fit(*simulate(120, 4, seed=1))
    assert any("Fitted on 200 of the 270 calibration rows" in note for note in calibrator.notes())


def test_logits_that_the_softmax_does_not_see_hide_nothing():
    """Log-probabilities of -5,000 took the grid, and of 2.3 nats nothing was learned."""
    logits, labels = simulate(900, 10, scale=2.0)
    hidden = np.random.default_rng(0).random(logits.shape) < 0.02
    hidden[np.arange(900), labels] = False
    fits = [GPCalib().fit(logits[:300], labels[:300])]
    for depth in (60.0, 5000.0):
        lowered = np.where(hidden, logits.max(axis=1, keepdims=True) - depth, logits)
        fits.append(GPCalib().fit(lowered[:300], labels[:300]))
        probs = fits[-1].predict_proba(lowered[300:])
        assert (
            nll(probs, labels[300:]) < nll(fits[0].predict_proba(logits[300:]), labels[300:]) + 0.01
        )
    np.testing.assert_allclose(probs, fits[1].predict_proba(lowered[300:]), atol=1e-9)
