"""Bayes-Iso as a calibrator: sizes, ties, schemes, and the numbers of the paper's synthetic task."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.special import logit

import calib
from benchmarks.bayes_iso_table1 import bayes_iso_scores
from calib.calibrators.bayes_iso import BayesIso, sampled
from calib.calibrators.bayes_iso.__init__ import pav_bounds, sample_posterior
from calib.calibrators.isotonic import Tally
from calib.data.samples import bayes_iso_map
from calib.metrics import nll
from tests.calibrators.conftest import as_logits, binary, learned

SCHEMES = ["plain", "knots"]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def fitted_map(
    log_odds: np.ndarray, labels: np.ndarray, test: np.ndarray, **params: object
) -> np.ndarray:
    return learned(BayesIso(**params), log_odds, labels, test)


@every_scheme
@pytest.mark.parametrize("n", [2, 40])
def test_maps_rise_and_are_never_sure(scheme, n):
    log_odds = np.linspace(-5, 5, n)
    for labels in ((log_odds > 0).astype(int), np.arange(n) % 2, (log_odds < 0).astype(int)):
        probs = fitted_map(log_odds, labels, np.linspace(-9, 9, 1001), scheme=scheme, n_maps=300)
        assert (np.diff(probs) >= 0).all()
        assert probs.min() >= 1 / (n + 2)
        assert probs.max() <= 1 - 1 / (n + 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "repeats", "scheme", "most"),
    [
        (100, 60, "plain", (0.0055, 0.0205)),
        (100, 20, "knots", (0.0063, 0.0235)),
        (3000, 4, "knots", (0.0008, 0.0024)),
    ],
)
def test_the_papers_task(n, repeats, scheme, most):
    """Excess Brier score and log-loss over the true map, on exactly balanced draws; the paper's table 1 in small."""
    test, _ = bayes_iso_scores(5000, seed=999)
    truth = bayes_iso_map(test)
    found = []
    for seed in range(repeats):
        scores, labels = bayes_iso_scores(n // 2, seed=seed)
        for name, params in (
            ("bayes_iso", {"scheme": scheme, "n_maps": 1000}),
            ("isotonic", {"platt_correction": True}),
        ):
            made = calib.calibrator(name, **params).fit(as_logits(logit(scores)), labels)
            probs = made.predict_proba(as_logits(logit(test)))[:, 1]
            nats = truth * np.log(truth / probs) + (1 - truth) * np.log((1 - truth) / (1 - probs))
            found.append((np.mean((probs - truth) ** 2), nats.mean()))
    ours, isotonic = np.mean(np.reshape(found, (repeats, 2, 2)), axis=0)
    assert (ours < np.array(most)).all()
    assert (ours < isotonic).all()


def test_the_band_and_what_the_maps_are_worth_are_of_the_weighted_maps():
    log_odds, labels = binary(120, digits=9, spread=2.0)
    tally, shown = Tally.of(log_odds, labels > 0), np.array([0, 30, 119])
    found = sampled(tally, pav_bounds(tally), 500, shown, np.random.default_rng(0))
    maps, weights = sample_posterior(tally, pav_bounds(tally), 500, np.random.default_rng(0))
    np.testing.assert_allclose(found["values"], weights @ maps)
    for share, name in ((0.05, "low"), (0.95, "high")):
        for column, value in zip(maps[:, shown].T, found[name], strict=True):
            assert (
                weights[column < value - 1e-12].sum()
                < share
                <= weights[column <= value + 1e-12].sum() + 1e-12
            )
    assert found["effective_maps"] == pytest.approx(1 / np.sum(weights**2))
    assert found["dominated"] == (weights.max() > 0.5)


@pytest.mark.long
@pytest.mark.parametrize(("name", "params"), [("isotonic", {}), ("bayes_iso", {})])
def test_a_fit_to_very_many_classes_holds_less_than_seven_times_the_outputs(name, params):
    """Beside the outputs themselves: nearly all of it is one tally of all pairs."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(1000, 6000)) * 2
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    calibrator = calib.calibrator(name, **params)
    calibrator.fit(logits[:10], labels[:10])  # imports
    tracemalloc.start()
    calibrator.fit(logits, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * logits.nbytes
    assert np.isfinite(nll(calibrator.predict_proba(logits[:100]), labels[:100]))
