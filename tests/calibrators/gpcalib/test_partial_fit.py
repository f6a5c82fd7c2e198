"""GPcalib fitted in parts, without the rows of before.

Earlier rows act through a quadratic likelihood, which is exact near the posterior that it was made at.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from calib.calibrators.gpcalib import GPCalib
from calib.errors import CalibrationError
from calib.metrics import nll
from calib.numerics import softmax
from tests.calibrators.conftest import network
from tests.calibrators.gpcalib import naive
from tests.calibrators.gpcalib.test_objective import objective_of
from tests.conftest import REFERENCE, simulate

N_CLASSES = 6
LOGITS, LABELS = simulate(900, N_CLASSES, scale=1.8)


def centred_shift(calibrator: GPCalib, points: np.ndarray) -> np.ndarray:
    shift = calibrator.grid().interpolate(calibrator.shift_mean_, points)
    return shift - shift.mean()


def test_parts_end_where_one_fit_to_all_rows_does():
    """Labels come from softmax(logits / 1.8): the held-out log-loss of the truth is known."""
    calibrator, whole = GPCalib(), GPCalib().fit(LOGITS, LABELS)
    for part in (slice(0, 300), slice(300, 600), slice(600, 900)):
        calibrator.partial_fit(LOGITS[part], LABELS[part])
    assert (calibrator.n_rows_, calibrator.n_parts_) == (900, 3)
    assert any("in 3 parts, 900 rows in all" in note for note in calibrator.notes())
    logits, labels = simulate(5000, N_CLASSES, scale=1.8, seed=1)
    held_out = nll(calibrator.predict_proba(logits), labels)
    assert held_out == pytest.approx(nll(whole.predict_proba(logits), labels), abs=0.002)
    assert held_out < nll(softmax(logits / 1.8), labels) + 0.005
    assert nll(softmax(logits), labels) > held_out + 0.05
    assert calibrator.objective_ == pytest.approx(whole.objective_, abs=1.0)
    points = np.quantile(LOGITS, np.linspace(0.05, 0.95, 50))
    assert np.abs(centred_shift(calibrator, points) - centred_shift(whole, points)).max() < 0.15


def test_a_failure_on_the_way_leaves_the_fit_as_it_was(monkeypatch):
    """However far it came: what it learned last is where it breaks here."""
    calibrator = GPCalib(max_iter=3).fit(LOGITS[:100], LABELS[:100])
    before = calibrator.get_state()
    monkeypatch.setattr("calib.calibrators.gpcalib.COLLAPSED", None)
    with pytest.raises(TypeError):
        calibrator.partial_fit(LOGITS[300:400], LABELS[300:400])
    after = calibrator.get_state()
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


def test_what_cannot_be_gone_on_from_is_refused():
    calibrator = GPCalib(max_iter=5).fit(LOGITS[:100], LABELS[:100])
    with pytest.raises(CalibrationError, match="takes 6"):
        calibrator.partial_fit(LOGITS[:50, :4], LABELS[:50] % 4)
    with pytest.raises(CalibrationError, match="no rows"):
        calibrator.partial_fit(LOGITS[:0], LABELS[:0])
    with pytest.raises(CalibrationError, match="NaN"):
        calibrator.partial_fit(np.full((2, 6), np.nan), np.zeros(2, int))
    with pytest.raises(CalibrationError, match="like probabilities"):
        calibrator.partial_fit(softmax(LOGITS[:50]), LABELS[:50])
    with pytest.raises(CalibrationError, match="inputs='probs' was set after the fit"):
        calibrator.set_params(inputs="probs").partial_fit(LOGITS[:50], LABELS[:50])


@pytest.mark.parametrize("name", ["cifar-10", pytest.param("cifar-100", marks=pytest.mark.long)])
def test_real_outputs_in_five_parts_end_near_the_authors_fit(name):
    logits, labels = network(f"wideresnet-16-4-{name}")
    calibrator = GPCalib()
    for start in range(0, 1000, 200):
        calibrator.partial_fit(logits[start : start + 200], labels[start : start + 200])
    reference = json.loads((REFERENCE / "numbers" / "gpcalib.json").read_text())[
        f"{name.replace('-', '')}_wideresnet"
    ]
    assert calibrator.objective_ == pytest.approx(
        reference["objective [at the start, at the end]"][1], abs=1.0
    )
    assert (
        nll(calibrator.predict_proba(logits[1000:]), labels[1000:])
        < reference["gpcalib"][1] + 0.003
    )


@pytest.mark.parametrize(
    ("space", "covariance", "variational"),
    [
        ("logits", "diagonal", "full"),
        ("logits", "full", "diagonal"),
        ("probs", "diagonal", "diagonal"),
        ("probs", "full", "full"),
    ],
)
def test_where_it_was_made_a_summary_gives_the_gradient_of_all_rows(space, covariance, variational):
    logits, labels = simulate(120, 6, scale=3.0)
    logits[60:] *= 1.3  # so that they reach farther than the first
    low, high = (logits.min(), logits.max()) if space == "logits" else (0.0, 1.0)
    posterior = naive.some_posterior(low, high, full=variational == "full")
    kind = (space, covariance, variational)
    earlier = objective_of(posterior, logits[:60], labels[:60], *kind).expansion(posterior)
    together = objective_of(posterior, logits, labels, *kind)
    apart = objective_of(posterior, logits[60:], labels[60:], *kind, earlier)
    gradients = [made(made.parametrisation.vector(posterior))[1] for made in (together, apart)]
    assert np.abs(gradients[0] - gradients[1]).max() < 1e-3 * np.abs(gradients[0]).max()


def test_rows_that_are_gone_never_say_more_than_certainty():
    """Ten confident rows, half of them wrong, leave a slope and hardly any curvature."""
    logits, labels = np.tile([[12.0, 0.0, -3.0]], (10, 1)), np.arange(10) % 2
    kind = ("logits", "diagonal", "diagonal")
    start = naive.some_posterior(-3.0, 12.0, full=False)
    start = replace(start, q_mean=np.zeros(6), q_sqrt=np.full(6, 1e-3))
    earlier = objective_of(start, logits, labels, *kind).expansion(start)
    objectives = []
    for slope in (0.0, -50.0, -60.0):
        steeper = replace(start, q_mean=slope * np.linspace(1.0, -1.0, 6))
        alone = objective_of(steeper, logits, labels, *kind)
        both = objective_of(steeper, logits, labels, *kind, earlier)
        objectives.append(both.at(steeper)[0] - alone.at(steeper)[0])
    assert objectives[0] < -50.0
    assert objectives[1:] == [0.0, 0.0]
