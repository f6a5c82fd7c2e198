"""GPcalib as its users see it: accuracy of the fit, every combination of options, and every way to predict."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from calib.base import EQUIVARIANT, GIVES_UNCERTAINTY, KEEPS_ACCURACY, KEEPS_RANKING
from calib.calibrators.gpcalib import GPCalib, training
from calib.errors import CalibrationError
from calib.metrics import nll
from calib.numerics import softmax
from calib.records import flatten, unflatten
from tests.calibrators.conftest import network
from tests.conftest import REFERENCE, simulate
from tests.test_contract import check_probs, hard_rows, sample

WAYS = ("draws", "mean", "delta", "mc")


@cache
def fitted(**params: object) -> GPCalib:
    return GPCalib(**params).fit(*simulate(400, 4))


def predict(calibrator: GPCalib, way: str, logits: np.ndarray) -> np.ndarray:
    before = calibrator.prediction
    calibrator.prediction = way
    try:
        return calibrator.predict_proba(logits)
    finally:
        calibrator.prediction = before


# -- the authors' own numbers ------------------------------------------------------------------------------


@cache
def reference_run(name: str) -> tuple[GPCalib, np.ndarray, np.ndarray]:
    """Fitted on the first 1000 rows of the reference's permutation, with the other 9000 to test on."""
    logits, labels = network(f"wideresnet-16-4-{name}")
    return GPCalib().fit(logits[:1000], labels[:1000]), logits[1000:], labels[1000:]


def over_under(probs: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    confidence, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    return confidence[~right].mean(), (1.0 - confidence[right]).mean()


@pytest.mark.parametrize(("name", "most"), [("cifar-10", 0.290), ("cifar-100", 0.931)])
def test_the_authors_numbers_are_met(name, most):
    reference = json.loads((REFERENCE / "numbers" / "gpcalib.json").read_text())[f"{name.replace('-', '')}_wideresnet"]
    calibrator, logits, labels = reference_run(name)
    assert calibrator.converged_
    start, end = reference["objective [at the start, at the end]"]
    assert calibrator.objective_trace_[0] == pytest.approx(start, rel=1e-3)
    assert calibrator.objective_ > end - 1.0
    for way, row in (("draws", "gpcalib"), ("mean", "gpcalib mean")):
        probs = predict(calibrator, way, logits)
        accuracy, log_loss, *_, over, under = reference[row]
        assert (probs.argmax(axis=1) == labels).mean() == pytest.approx(accuracy, abs=5e-4)
        assert nll(probs, labels) < min(most, log_loss + 0.001)
        assert over_under(probs, labels) == pytest.approx((over, under), abs=0.003)


FITS = list(product(("logits", "probs"), ("diagonal", "full"), ("diagonal", "full"), (False, True)))
ALL = [(*fit, way) for fit, way in product(FITS, WAYS) if fit[1] == "diagonal" or way in ("mean", "draws")]

# `make test` takes half of the posteriors, in which each pair of values occurs.
HALF = [
    ("logits", "diagonal", "diagonal"),
    ("logits", "full", "full"),
    ("probs", "full", "diagonal"),
    ("probs", "diagonal", "full"),
]
every_combination = pytest.mark.parametrize(
    ("inputs", "covariance", "variational", "monotone", "way"),
    [pytest.param(*case, marks=[] if case[:3] in HALF else [pytest.mark.long]) for case in ALL],
    ids=[f"{i}-{c}-{v}-{'monotone' if m else 'free'}-{w}" for i, c, v, m, w in ALL],
)


_found: dict[tuple[str, ...], Any] = {}


def _found_once(fit: Callable[..., Any], logits: np.ndarray, labels: np.ndarray, params: GPCalib, *rest: Any) -> Any:
    key = params.inputs, params.covariance, params.variational
    if key not in _found:
        _found[key] = fit(logits, labels, params, *rest)
    return _found[key]


@cache
def _fitted(inputs: str, covariance: str, variational: str, monotone: bool) -> GPCalib:
    """A short fit, which the ways to predict share; its posterior is shared by ``monotone`` True and False."""
    params = {"inputs": inputs, "covariance": covariance, "variational": variational, "monotone": monotone}
    calibrator = GPCalib(**params, prediction="mean", n_draws=32, max_iter=8, device="cpu")
    once = partial(_found_once, training.fit_latent_gp)
    with patch("calib.calibrators.gpcalib.training.fit_latent_gp", once):
        return calibrator.fit(*sample(150, 4))


def combined(inputs: str, covariance: str, variational: str, monotone: bool, way: str) -> GPCalib:
    return _fitted(inputs, covariance, variational, monotone).set_params(prediction=way)


@every_combination
def test_hard_rows_and_every_promise(inputs, covariance, variational, monotone, way):
    calibrator = combined(inputs, covariance, variational, monotone, way)
    logits = hard_rows(4)
    probs = check_probs(calibrator, logits)
    np.testing.assert_array_equal(calibrator.predict_proba(logits), probs)
    np.testing.assert_allclose(calibrator.predict_proba(logits[::9]), probs[::9], rtol=1e-9, atol=1e-12)
    promised = calibrator.promises(4)
    assert GIVES_UNCERTAINTY in promised
    assert (KEEPS_ACCURACY in promised) == (KEEPS_RANKING in promised) == (monotone and way in ("mean", "draws"))
    if KEEPS_ACCURACY in promised:
        np.testing.assert_array_equal(calibrator.predict(logits), logits.argmax(axis=1))
        ranked = np.take_along_axis(probs, np.argsort(logits, axis=1, kind="stable"), axis=1)
        assert (np.diff(ranked, axis=1) >= -1e-12).all()
    assert (EQUIVARIANT in promised) == (way != "mc")
    if EQUIVARIANT in promised:
        order = np.array([2, 0, 3, 1])
        np.testing.assert_allclose(calibrator.predict_proba(logits[:, order]), probs[:, order], atol=1e-12)


@every_combination
def test_it_moves_towards_the_truth_and_survives_a_file(inputs, covariance, variational, monotone, way):
    """Labels come from softmax(logits / 2); even eight iterations must go some of the way there."""
    calibrator = combined(inputs, covariance, variational, monotone, way)
    logits, labels = sample(2000, 4, seed=1)
    probs = calibrator.predict_proba(logits)
    best, raw, now = (nll(p, labels) for p in (softmax(logits / 2), softmax(logits), probs))
    assert (now - best) / (raw - best) < (0.8 if inputs == "probs" else 0.25)
    outline, arrays = flatten(calibrator.get_state())
    again = GPCalib(**calibrator.get_params())
    vars(again).update(unflatten(outline, arrays))
    for other in (again, pickle.loads(pickle.dumps(calibrator))):
        np.testing.assert_array_equal(other.predict_proba(logits), probs)


@pytest.mark.parametrize("way", ["delta", "mc"])
def test_impossible_combinations_are_refused_with_a_sentence(way):
    says = f"prediction='{way}' treats the latent values of a row as independent.*choose prediction='draws' or 'mean'"
    with pytest.raises(CalibrationError, match=says):
        GPCalib(covariance="full", prediction=way).fit(*sample(20, 3))
    late = _fitted("logits", "full", "full", False)
    with pytest.raises(CalibrationError, match=says):
        late.set_params(prediction=way).predict_proba(hard_rows(4))
    # Nor by saying after the fit that it was diagonal.
    with pytest.raises(CalibrationError, match="covariance='diagonal' was set after the fit, which had"):
        late.set_params(covariance="diagonal").predict_proba(hard_rows(4))
    late.set_params(covariance="full", prediction="mean")


FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "shift_draws_": lambda state: state["shift_draws_"][:, :-1],
    "shift_mean_": lambda state: np.where(np.arange(len(state["grid_"])) == 9, np.nan, state["shift_mean_"]),
    "interpolation_order_": lambda state: "3",
    "variance_": lambda state: "1",
    "lengthscale_": lambda state: np.inf,
    "scale_": lambda state: 0.0,
    "inducing_inputs_": lambda state: np.nan * state["inducing_inputs_"],
    "q_mean_": lambda state: np.nan * state["q_mean_"],
    "q_sqrt_": lambda state: "1",
    "quadratic_likelihood_": lambda state: state["quadratic_likelihood_"] | {"curvature": np.eye(2)},
    "fitted_as_": lambda state: {},
    "device_note_": lambda state: ["no text"],
}


@pytest.mark.parametrize("name", FORGED)
def test_what_no_fit_can_have_learned_is_refused(name):
    learned = fitted().get_state()
    GPCalib().set_state(learned)
    for state in (learned | {name: FORGED[name](learned)}, {key: learned[key] for key in learned if key != name}):
        with pytest.raises(CalibrationError, match="it was damaged or changed"):
            GPCalib().set_state(state)
