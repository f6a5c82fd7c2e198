"""Every combination of options that the paper names, each fitted once and predicted in every way it allows."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from calib.base import EQUIVARIANT, GIVES_UNCERTAINTY, KEEPS_ACCURACY, KEEPS_RANKING
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.gpcalib.training import LatentFit, fit_latent_gp
from calib.errors import CalibrationError
from calib.export.flat_state import flatten, unflatten
from calib.numerics import softmax
from tests.test_contract import check_probs, hard_rows, sample

WAYS = ("mean", "delta", "draws", "mc")
FITS = list(product(("logits", "probs"), ("diagonal", "full"), ("diagonal", "full"), (False, True)))
ALL = [(*fit, way) for fit, way in product(FITS, WAYS) if fit[1] == "diagonal" or way in ("mean", "draws")]

every_combination = pytest.mark.parametrize(
    ("inputs", "covariance", "variational", "monotone", "way"),
    ALL,
    ids=[f"{i}-{c}-{v}-{'monotone' if m else 'free'}-{w}" for i, c, v, m, w in ALL],
)


_found: dict[tuple[str, ...], LatentFit] = {}


def _found_once(logits: np.ndarray, labels: np.ndarray, **options: Any) -> LatentFit:
    key = tuple(options[name] for name in ("space", "covariance", "variational"))
    if key not in _found:
        _found[key] = fit_latent_gp(logits, labels, **options)
    return _found[key]


@cache
def _fitted(inputs: str, covariance: str, variational: str, monotone: bool) -> GPCalib:
    """A short fit, which the ways to predict share; its posterior is shared by ``monotone`` True and False."""
    params = {"inputs": inputs, "covariance": covariance, "variational": variational, "monotone": monotone}
    calibrator = GPCalib(**params, prediction="mean", n_draws=32, max_iter=8, device="cpu")
    with patch("calib.calibrators.gpcalib.training.fit_latent_gp", _found_once):
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
    rows = np.arange(len(labels))
    probs = calibrator.predict_proba(logits)
    best, raw, now = (-np.log(p[rows, labels]).mean() for p in (softmax(logits / 2), softmax(logits), probs))
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
    late = _fitted("logits", "full", "diagonal", False)
    with pytest.raises(CalibrationError, match=says):
        late.set_params(prediction=way).predict_proba(hard_rows(4))
    # Nor by saying after the fit that it was diagonal.
    with pytest.raises(CalibrationError, match="covariance='diagonal' was set after the fit, which had"):
        late.set_params(covariance="diagonal").predict_proba(hard_rows(4))
    late.set_params(covariance="full", prediction="mean")


def test_every_option_does_something():
    logits, _ = sample(50, 4, seed=1)
    answers: dict[bytes, Any] = {}
    for fit in FITS:
        probs = _fitted(*fit).set_params(prediction="draws").predict_proba(logits)
        assert probs.tobytes() not in answers, f"{fit} predicts as {answers.get(probs.tobytes())}"
        answers[probs.tobytes()] = fit


def test_the_ways_agree_where_the_posterior_is_narrow():
    logits, labels = sample(1500, 4, seed=2)
    calibrator = GPCalib(max_iter=40, n_draws=512).fit(logits, labels)
    test, _ = sample(300, 4, seed=3)
    answers = {way: calibrator.set_params(prediction=way).predict_proba(test) for way in WAYS}
    for way, probs in answers.items():
        assert np.abs(probs - answers["mean"]).max() < 0.03, way
