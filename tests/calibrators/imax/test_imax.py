"""I-Max as a calibrator: what its bins say, what it keeps, and the authors' own numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit

import calib
from calib import metrics
from calib.calibrators.imax import IMaxBinning, matched_sigmoid
from calib.calibrators.imax.placement import (
    SigmoidSums,
    best_edges,
    centres_of,
    edges_between,
    information_bound,
    iterate,
)
from calib.calibrators.step_maps import StepMap
from calib.evaluation.evaluation import evaluate
from calib.numerics import one_vs_rest_log_odds
from tests.calibrators.conftest import network
from tests.conftest import simulate


def bins_of(log_odds: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.array([[sum(x >= edge for edge in edges) for x in row] for row in log_odds])


@pytest.mark.parametrize("representatives", ["empirical", "raw", "temperature", "isotonic"])
@pytest.mark.parametrize("share_classes", [True, False])
def test_bins_say_the_mean_of_their_pairs(overconfident, representatives, share_classes):
    logits, labels = overconfident
    options = {
        "representatives": representatives,
        "share_classes": share_classes,
        "normalize": False,
    }
    fitted = IMaxBinning(n_bins=5, **options).fit(logits, labels)
    log_odds = one_vs_rest_log_odds(logits)
    hits = labels[:, None] == np.arange(logits.shape[1])
    if representatives == "empirical":
        said = hits.astype(float)
    elif representatives == "raw":
        said = expit(log_odds)
    else:
        options = (
            {}
            if representatives == "temperature"
            else {"share_classes": share_classes, "normalize": False}
        )
        said = (
            calib.calibrator(representatives, **options).fit(logits, labels).predict_proba(logits)
        )
    probs = fitted.predict_proba(logits)
    for k, state in enumerate(fitted.maps_):
        columns = slice(None) if share_classes else slice(k, k + 1)
        index = bins_of(log_odds[:, columns], state.edges)
        for m in range(len(state.values)):
            mean = said[:, columns][index == m].mean()
            margin = 1 / (logits.size + 2)
            expected = np.clip(mean, margin, 1 - margin) if representatives == "empirical" else mean
            assert state.values[m] == pytest.approx(expected, abs=1e-12)
            np.testing.assert_array_equal(probs[:, columns][index == m], state.values[m])


def test_an_empty_bin_says_its_middle():
    logits, labels = simulate(30, 3, scale=30.0)
    fitted = IMaxBinning(scheme="equal_width", n_bins=40).fit(logits, labels)
    state = fitted.maps_[0]
    empty = np.setdiff1d(np.arange(40), bins_of(one_vs_rest_log_odds(logits), state.edges))
    assert len(empty) > 5
    np.testing.assert_allclose(state.values[empty], (empty + 0.5) / 40, rtol=1e-5)


def test_ordered_representatives_are_scikit_learns_isotonic_ones(overconfident):
    from sklearn.isotonic import IsotonicRegression

    logits, labels = overconfident
    free, ordered = (
        IMaxBinning(n_bins=25, monotone=on).fit(logits, labels).maps_[0] for on in (False, True)
    )
    np.testing.assert_array_equal(free.edges, ordered.edges)
    assert (np.diff(free.values) < 0).any()  # else this would test nothing
    count = np.bincount(bins_of(one_vs_rest_log_odds(logits), free.edges).ravel())
    expected = IsotonicRegression().fit_transform(np.arange(25), free.values, sample_weight=count)
    np.testing.assert_allclose(ordered.values, expected, rtol=1e-10)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.4, -1.0), (2.0, 1.5)])
def test_the_matched_sigmoid_is_the_true_one(slope, intercept):
    generator = np.random.default_rng(0)
    log_odds = generator.normal(-3, 3, 300_000)
    found = matched_sigmoid(
        log_odds, generator.random(300_000) < expit(slope * log_odds + intercept)
    )
    np.testing.assert_allclose(found, (slope, intercept), rtol=0.03, atol=0.03)


def test_a_model_turned_around_is_left_as_it_is():
    log_odds = np.random.default_rng(0).normal(size=500)
    assert matched_sigmoid(log_odds, log_odds < 0) == (1.0, 0.0)


# -- the authors' own numbers -----------------------------------------------------------------------------------

RUNS = [(net, n) for net in ("c100_wrn", "c10_wrn") for n in (1000, 5000)]
SCORED = {
    "equal size sCW 1000": ("eqsize", 1000, {"scheme": "equal_width"}),
    "equal mass sCW 1000": ("eqmass", 1000, {"scheme": "equal_mass"}),
    "I-Max sCW 1000": ("imax", 1000, {}),
    "I-Max w. TS sCW 1000": ("imax", 1000, {"representatives": "temperature"}),
    "I-Max sCW 5000": ("imax", 5000, {}),
}


@pytest.fixture(scope="module")
def reference(reference_data):
    return json.loads((reference_data.parent / "numbers" / "imax.json").read_text())


OUTPUTS = {"c100_wrn": "wideresnet-16-4-cifar-100", "c10_wrn": "wideresnet-16-4-cifar-10"}


@pytest.mark.parametrize(("net", "n"), RUNS)
def test_the_authors_edges_are_a_fixed_point_and_give_their_representatives(reference, net, n):
    logits, labels = (each[:n] for each in network(OUTPUTS[net]))
    stored = reference[f"{net}|imax_sCW_{n}_sample_based"]
    edges = np.array(stored["edges"])
    sums = SigmoidSums.from_log_odds(one_vs_rest_log_odds(logits))
    centres = centres_of(sums, sums.positions(edges))
    # On CIFAR-100 with 5000 rows their 200 iterations ended before the fixpoint: ours needs hundreds from anywhere.
    tolerance = 5e-5 if (net, n) == ("c100_wrn", 5000) else 1e-5
    np.testing.assert_allclose(edges_between(centres), edges, rtol=0, atol=tolerance)
    np.testing.assert_allclose(centres, stored["representatives_predicted"], rtol=0, atol=1e-6)
    log_odds = one_vs_rest_log_odds(logits)
    index = np.searchsorted(edges, log_odds, side="right")
    found = np.bincount(index[np.arange(n), labels], minlength=15)
    frequencies = found / np.bincount(index.ravel(), minlength=15)
    np.testing.assert_allclose(
        logit(frequencies), stored["representatives_empirical"], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(("net", "n"), [("c100_wrn", 1000), ("c10_wrn", 5000)])
def test_our_own_starts_end_no_lower_than_the_authors_edges(reference, net, n):
    sums = SigmoidSums.from_log_odds(one_vs_rest_log_odds(network(OUTPUTS[net])[0][:n]))
    edges = np.array(reference[f"{net}|imax_sCW_{n}_sample_based"]["edges"])
    cuts = sums.positions(edges)
    theirs = information_bound(*sums.between(cuts), centres_of(sums, cuts))
    _, gone_on = iterate(sums, edges)
    for random_state in range(2):
        _, ours = iterate(sums, best_edges(sums, 15, random_state=random_state))
        assert ours >= max(theirs, gone_on)
        if (net, n) == ("c100_wrn", 1000):
            assert ours >= 0.04408


@pytest.mark.parametrize(
    ("net", "name"),
    [
        *[("c100_wrn", name) for name in SCORED],
        *[("c10_wrn", name) for name in SCORED if "I-Max" in name],
    ],
)
def test_with_the_authors_edges_all_scores_are_theirs(reference, net, name):
    stored = reference["scores"][net][name]
    key, n, options = SCORED[name]
    logits, labels = network(OUTPUTS[net])
    fitted = IMaxBinning(normalize=False, **options).fit(logits[:n], labels[:n])
    bins = reference[f"{net}|{key}_sCW_{n}_sample_based"]
    edges = np.array(bins["edges"])
    # Checked above for I-Max; theirs go down to 1e-10 where a bin holds no label, ours to one over all pairs.
    fitted.maps_ = [StepMap(edges, expit(np.array(bins["representatives_empirical"])))]
    if "representatives" in options:
        temperature = calib.calibrator("temperature").fit(logits[:n], labels[:n])
        fitted._take_over(temperature.predict_proba(logits[:n]), logits[:n], labels[:n])
    test, labels = logits[-5000:], labels[-5000:]
    probs = fitted.predict_proba(test)
    scored = evaluate(probs, labels)  # rows need not sum to one
    own_bins = {"n_bins": 2000}  # so many that each representative has one of its own
    scores = {
        "top1": scored.correct.mean(),
        "top1 with raw-logit ties": evaluate(probs, labels, test).correct.mean(),
        "top5": scored.top5.mean(),
        "NLL": scored.row_nll.mean(),
        "Brier": scored.row_brier.mean(),
        "top-1 ECE (own bins)": metrics.ece(*scored.pair, **own_bins),
        "class-wise ECE p>1/K": metrics.calibration_error.classwise_ece(
            probs, labels, threshold="1/K", **own_bins
        ),
        "class-wise ECE": metrics.calibration_error.classwise_ece(probs, labels, **own_bins),
    }
    if isinstance(stored, dict):
        stored = {"top-1 ECE (own bins)" if k == "ECE" else k: v for k, v in stored.items()}
    else:
        stored = dict(zip(reference["scores"]["columns"][:8], stored[:8], strict=True))
    for score, value in stored.items():
        assert scores[score] == pytest.approx(value, abs=1e-3), score
