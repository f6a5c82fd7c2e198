"""Bayes-Iso as a calibrator: sizes, ties, schemes, and the numbers of the paper's synthetic task."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.special import logit

import calib
from calib.base import GIVES_UNCERTAINTY, KEEPS_RANKING
from calib.calibrators.bayes_iso import BayesIso, sampled
from calib.calibrators.bayes_iso.importance_sampling import pav_bounds, sample_posterior
from calib.calibrators.isotonic import Tally
from calib.data.samples import bayes_iso_map, bayes_iso_scores
from calib.metrics import nll
from tests.calibrators.conftest import as_logits, binary, learned

SCHEMES = ["plain", "knots"]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def fitted_map(log_odds: np.ndarray, labels: np.ndarray, test: np.ndarray, **params: object) -> np.ndarray:
    return learned(BayesIso(**params), log_odds, labels, test)


def excess_log_loss(probs: np.ndarray, truth: np.ndarray) -> float:
    """What is lost against the true probabilities, in nats."""
    return float(np.mean(truth * np.log(truth / probs) + (1 - truth) * np.log((1 - truth) / (1 - probs))))


@every_scheme
@pytest.mark.parametrize("n", [2, 40, 1500])
def test_maps_rise_and_are_never_sure(scheme, n):
    log_odds = np.linspace(-5, 5, n)
    for labels in ((log_odds > 0).astype(int), np.arange(n) % 2, (log_odds < 0).astype(int)):
        probs = fitted_map(log_odds, labels, np.linspace(-9, 9, 1001), scheme=scheme, n_maps=300)
        assert (np.diff(probs) >= 0).all()
        assert probs.min() >= 1 / (n + 2)
        assert probs.max() <= 1 - 1 / (n + 2)


@every_scheme
def test_equal_scores_give_the_share_of_positives(scheme):
    labels = np.repeat([0, 1], [30, 90])
    probs = fitted_map(np.full(120, 1.5), labels, np.array([-9.0, 1.5, 9.0]), scheme=scheme)
    np.testing.assert_allclose(probs, 91 / 122, atol=0.01)


@every_scheme
def test_the_same_seed_the_same_map_and_another_a_similar_one(scheme):
    log_odds, labels = binary(150, digits=9, spread=2.0)
    settings = {"scheme": scheme, "n_maps": 2000}
    one, again, other = (fitted_map(log_odds, labels, log_odds, **settings, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).mean() < 0.05
    assert (one == other).all() == (scheme == "knots")


@pytest.mark.parametrize("n", [60, 200, 1000])
def test_no_seed_moves_the_default_map(n):
    """With 32 sampled orders of picking, probabilities deviated by up to .035 between seeds at 200 rows."""
    scores, labels = bayes_iso_scores(n // 2, seed=5)
    test = np.linspace(-6, 6, 50)
    found = [fitted_map(logit(scores), labels, test, random_state=seed) for seed in range(3)]
    assert np.ptp(found, axis=0).max() == 0


def test_few_scores_of_many_rows_keep_their_frequencies():
    """Six scores, as a vote of five neighbours has them: plain sampling is left with one map there."""
    scores, labels = binary(30_000, digits=9, spread=2.0)
    log_odds = np.clip(np.round(scores), -2, 3)
    values = np.unique(log_odds)
    frequencies = [labels[log_odds == value].mean() for value in values]
    np.testing.assert_allclose(fitted_map(log_odds, labels, values), frequencies, atol=0.003)
    plain = BayesIso(scheme="plain").fit(as_logits(log_odds), labels)
    assert plain.maps_[0].dominated


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
            found.append((np.mean((probs - truth) ** 2), excess_log_loss(probs, truth)))
    ours, isotonic = np.mean(np.reshape(found, (repeats, 2, 2)), axis=0)
    assert (ours < np.array(most)).all()
    assert (ours < isotonic).all()


def test_scores_in_the_wrong_order_make_a_flat_map():
    log_odds, labels = binary(20_000, digits=9, spread=2.0)
    probs = fitted_map(-4 * log_odds, labels, np.linspace(-9, 9, 50))
    np.testing.assert_allclose(probs, labels.mean(), atol=0.03)


def test_sampled_maps_say_what_they_are_worth_and_knots_need_not():
    log_odds, labels = binary(300, digits=9, spread=2.0)
    assert not BayesIso().fit(as_logits(log_odds), labels).notes()
    plain = BayesIso(scheme="plain", n_maps=500).fit(as_logits(log_odds), labels)
    effective = plain.maps_[0].effective_maps
    assert plain.notes()[-1].endswith(f"were sampled; their effective sample size is {effective:,.0f}.")
    made = BayesIso(share_classes=False, scheme="plain", n_maps=500)
    made.fit(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2)
    assert [note for note in made.notes() if "for each class" in note and note.endswith("at least.")]
    assert [note for note in made.notes() if "1 of 3 classes hold none" in note]


def test_the_band_the_drawn_maps_and_what_they_are_worth_are_of_the_weighted_maps():
    log_odds, labels = binary(120, digits=9, spread=2.0)
    tally, shown = Tally.of(log_odds, labels > 0), np.array([0, 30, 119])
    found = sampled(tally, pav_bounds(tally), 500, shown, np.random.default_rng(0))
    maps, weights = sample_posterior(tally, pav_bounds(tally), 500, np.random.default_rng(0))
    np.testing.assert_allclose(found["values"], weights @ maps)
    for share, name in ((0.05, "low"), (0.95, "high")):
        for column, value in zip(maps[:, shown].T, found[name], strict=True):
            assert weights[column < value - 1e-12].sum() < share <= weights[column <= value + 1e-12].sum() + 1e-12
    assert all((np.abs(maps[:, shown] - drawn).max(axis=1) < 1e-12).any() for drawn in found["samples"])
    assert found["effective_maps"] == pytest.approx(1 / np.sum(weights**2))
    assert found["dominated"] == (weights.max() > 0.5)


def test_a_map_that_dominates_is_flagged():
    """Thousands of scores and a hundred maps: one of them is far more likely than the others."""
    log_odds, labels = binary(3000, digits=9, spread=2.0)
    flagged = 0
    for seed in range(4):
        few = BayesIso(scheme="plain", n_maps=100, random_state=seed).fit(as_logits(log_odds), labels)
        assert few.maps_[0].dominated == ("outweighs all others" in few.notes()[0])
        flagged += few.maps_[0].dominated
    assert flagged


def test_promises():
    assert GIVES_UNCERTAINTY in BayesIso().promises(2)
    assert KEEPS_RANKING in BayesIso().promises(5)


def test_the_state_is_small_even_for_many_classes():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(100, 8)) * 2
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    made = BayesIso(share_classes=False, scheme="plain", n_maps=200).fit(
        np.repeat(logits, 20, 0), np.repeat(labels, 20)
    )
    states = made.get_state()["maps_"]
    size = sum(value.nbytes for state in states for value in state.values() if isinstance(value, np.ndarray))
    assert size < 8 * 60_000


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
