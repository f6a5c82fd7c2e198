"""BBQ against its definition, written out with loops over models, bins and pairs."""

from __future__ import annotations

import json
import math
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, softmax

import calib
from calib.calibrators.bbq import BayesianBinning, candidate_bins, equal_frequency_cuts
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.step_maps import N_BINS, STRENGTHS, edges_at
from calib.canonical import to_canonical
from calib.metrics import ece, nll
from tests.calibrators.conftest import binary, learned


def fitted_map(log_odds: np.ndarray, labels: np.ndarray, test: np.ndarray, models="paper", **params: bool):
    return learned(BayesianBinning(models=models, **params), log_odds, labels, test)


either = pytest.mark.parametrize("models", ["paper", "smoothed"])


def naive_edges(scores: list[float], n_bins: int) -> list[float]:
    """Cut after every n / B sorted scores; a cut between equal scores moves to the nearer end of these."""
    edges = set()
    for b in range(1, n_bins):
        cut = b * len(scores) // n_bins
        ends = [i for i in range(len(scores) + 1) if i in (0, len(scores)) or scores[i - 1] < scores[i]]
        cut = min(ends, key=lambda end: (abs(end - cut), end))
        if 0 < cut < len(scores):
            edges.add(float(logit((expit(scores[cut - 1]) + expit(scores[cut])) / 2)))
    return sorted(edges)


def naive_bbq(scores: np.ndarray, labels: np.ndarray, test: np.ndarray, targets: tuple[float, float] = (0.0, 1.0)):
    """Naeini et al. 2015, with gamma functions; labels weigh as the two targets."""
    n = len(scores)
    fewest = next(b for b in range(n) if (10 * (b + 1)) ** 3 > n)  # the floor of n^(1/3) / 10, in whole numbers
    most = next(b for b in range(10 * n + 2) if b**3 >= 1000 * n)  # the ceiling of 10 n^(1/3)
    evidence, answers = [], []
    for n_bins in range(max(1, fewest), min(math.ceil(n / 5), most) + 1):
        edges = [-np.inf, *naive_edges(sorted(scores), n_bins), np.inf]
        total, answer = 0.0, np.full(len(test), np.nan)
        for low, high in pairwise(edges):
            inside = [targets[y] for s, y in zip(scores, labels, strict=True) if low <= s < high]
            m, r = len(inside), sum(inside)
            centre = (expit(low) + expit(high)) / 2
            a, b = 2 / (len(edges) - 1) * centre, 2 / (len(edges) - 1) * (1 - centre)
            total += math.lgamma(a + b) - math.lgamma(m + a + b)
            total += math.lgamma(r + a) - math.lgamma(a) + math.lgamma(m - r + b) - math.lgamma(b)
            answer[(test >= low) & (test < high)] = (r + a) / (m + a + b)
        evidence.append(total)
        answers.append(answer)
    weights = np.exp(np.array(evidence) - max(evidence))
    return np.clip(weights @ np.array(answers) / weights.sum(), 1 / (n + 2), 1 - 1 / (n + 2))


# -- the definition ------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [0, 1, 9], ids=["many ties", "ties", "no ties"])
@pytest.mark.parametrize("n", [12, 60, 250])
def test_it_is_the_average_over_all_models_bin_by_bin(n, digits):
    log_odds, labels = binary(n, seed=n, digits=digits)
    test = np.concatenate([log_odds, np.linspace(-12, 12, 301)])
    np.testing.assert_allclose(fitted_map(log_odds, labels, test), naive_bbq(log_odds, labels, test), atol=1e-10)


def test_platts_correction_softens_the_counts():
    log_odds, labels = binary(80)
    n_positive = labels.sum()
    targets = (1 / (80 - n_positive + 2), 1 - 1 / (n_positive + 2))
    probs = fitted_map(log_odds, labels, log_odds, platt_correction=True)
    np.testing.assert_allclose(probs, naive_bbq(log_odds, labels, log_odds, targets), atol=1e-10)
    assert np.abs(probs - fitted_map(log_odds, labels, log_odds)).max() > 1e-3


@pytest.mark.parametrize(
    ("n", "fewest", "most"), [(2, 1, 1), (11, 1, 3), (1000, 1, 100), (1_000_000, 10, 1000), (10**7, 21, 2155)]
)
def test_the_numbers_of_bins_are_the_papers(n, fewest, most):
    bins = candidate_bins(n)
    assert (bins[0], bins[-1]) == (fewest, most)


def test_without_ties_bins_hold_equally_many():
    np.testing.assert_array_equal(equal_frequency_cuts(np.arange(100.0), 4), [25, 50, 75])
    np.testing.assert_array_equal(equal_frequency_cuts(np.arange(7.0), 3), [2, 4])


@given(st.lists(st.sampled_from([-1e3, -1.0, 0.0, 5e-324, 1.0, np.nextafter(1.0, 2), 1e3]), min_size=2, max_size=40))
def test_equal_scores_share_a_bin_in_every_model(values):
    scores = np.sort(np.array(values))
    for n_bins in range(1, len(scores) + 1):
        cuts = equal_frequency_cuts(scores, n_bins)
        assert (scores[cuts - 1] < scores[cuts]).all()
        # The edge itself belongs to the bin above it.
        np.testing.assert_array_equal(np.searchsorted(scores, edges_at(scores, cuts)), cuts)


# -- smoothed histograms -------------------------------------------------------------------------------


def naive_histograms(scores: np.ndarray, labels: np.ndarray, test: np.ndarray, targets: tuple[float, float] = (0, 1)):
    """Log evidence and answers of every smoothed histogram, with loops over bins and pairs."""
    distinct = sorted(set(scores))
    n, n_positive = len(scores), int(labels.sum())
    shares = [
        (labels[scores < s].sum() / n_positive + (1 - labels[scores < s]).sum() / (n - n_positive)) / 2
        for s in distinct
    ]
    evidence, answers = [], []
    for n_bins in N_BINS:
        reached = [next((i for i, share in enumerate(shares) if share >= b / n_bins), 0) for b in range(1, n_bins)]
        inner = [float(logit((expit(distinct[i - 1]) + expit(distinct[i])) / 2)) for i in sorted(set(reached)) if i > 0]
        for strength in STRENGTHS:
            total, answer = 0.0, np.full(len(test), np.nan)
            for low, high in pairwise([-np.inf, *inner, np.inf]):
                inside = (scores >= low) & (scores < high)
                m, mean = inside.sum(), expit(scores[inside]).mean()
                r = sum(targets[y] for y in labels[inside])
                a, b = strength * mean, strength * (1 - mean)
                total += math.lgamma(a + b) - math.lgamma(m + a + b)
                total += math.lgamma(r + a) - math.lgamma(a) + math.lgamma(m - r + b) - math.lgamma(b)
                answer[(test >= low) & (test < high)] = (r + a) / (m + a + b)
            evidence.append(total)
            answers.append(answer)
    return np.array(evidence), np.array(answers)


@pytest.mark.parametrize(("n", "digits"), [(14, 1), (60, 0), (60, 9)])
def test_smoothed_histograms_are_averaged_or_chosen_by_their_evidence(n, digits):
    log_odds, labels = binary(n, seed=n, digits=digits)
    test = np.linspace(-12, 12, 301)
    evidence, answers = naive_histograms(log_odds, labels, test)
    weights = np.exp(evidence - evidence.max())
    found = fitted_map(log_odds, labels, test, "smoothed")
    ends = 1 / (n + 2), 1 - 1 / (n + 2)
    np.testing.assert_allclose(found, np.clip(weights @ answers / weights.sum(), *ends), atol=1e-9)
    found = learned(HistogramBinning(), log_odds, labels, test)
    np.testing.assert_allclose(found, np.clip(answers[evidence.argmax()], *ends), atol=1e-9)


def test_smoothed_counts_are_softened_by_platts_correction():
    log_odds, labels = binary(60)
    targets = (1 / (60 - labels.sum() + 2), 1 - 1 / (labels.sum() + 2))
    evidence, answers = naive_histograms(log_odds, labels, log_odds, targets)
    found = learned(HistogramBinning(platt_correction=True), log_odds, labels, log_odds)
    np.testing.assert_allclose(found, np.clip(answers[evidence.argmax()], 1 / 62, 61 / 62), atol=1e-9)


def test_a_calibrated_model_of_many_classes_is_kept_and_an_overconfident_one_mended():
    """Simulated, 300 rows of 20 classes: the paper's forms lose .06 nats and more to the calibrated model."""
    generator = np.random.default_rng(0)
    true = 2.5 * generator.normal(size=(5300, 20))
    labels = np.argmax(true + generator.gumbel(size=true.shape), axis=1)
    for factor, most in ((1.0, 0.02), (2.0, -0.2)):
        logits = factor * true
        raw = nll(softmax(logits[300:], axis=1), labels[300:])
        for method in (BayesianBinning(), HistogramBinning()):
            fitted = method.fit(logits[:300], labels[:300])
            assert nll(fitted.predict_proba(logits[300:]), labels[300:]) < raw + most
    for method in (BayesianBinning(models="paper"), HistogramBinning(binning="equal_width")):
        fitted = method.fit(true[:300], labels[:300])
        raw = nll(softmax(true[300:], axis=1), labels[300:])
        assert nll(fitted.predict_proba(true[300:]), labels[300:]) > raw + 0.03


# -- what it must get right beyond the definition ------------------------------------------------------


@either
def test_scores_of_exactly_zero_and_one_are_in_the_outer_bins(models):
    """A forest says exactly 0 and 1 most of the time; 0 must not be taken for the top bin."""
    log_odds = np.repeat([-1e3, 1e3], [300, 150])
    labels = np.concatenate([np.arange(300) % 20 == 0, np.arange(150) % 10 > 0]).astype(int)
    zero, one = fitted_map(log_odds, labels, np.array([-1e3, 1e3]), models)
    assert zero == pytest.approx(0.05, abs=0.005)
    assert one == pytest.approx(0.9, abs=0.005 if models == "paper" else 0.02)  # drawn towards 1


@either
def test_scores_of_zero_and_one_beyond_the_calibration_set_join_the_outer_bins(models):
    log_odds, labels = binary()
    ends = np.array([log_odds.min(), log_odds.max()])
    np.testing.assert_array_equal(
        fitted_map(log_odds, labels, np.array([-1e3, 1e3]), models), fitted_map(log_odds, labels, ends, models)
    )


@either
def test_pure_labels_never_make_it_sure(models):
    log_odds = np.linspace(-40, 40, 200)
    probs = fitted_map(log_odds, (log_odds > 0).astype(int), log_odds, models)
    assert probs.min() >= 1 / 202
    assert probs.max() <= 201 / 202
    assert probs[0] < 0.02 < 0.98 < probs[-1]


def test_a_single_score_gives_the_share_of_positives():
    probs = fitted_map(np.full(50, 1.0), np.repeat([0, 1], [40, 10]), np.array([-3.0, 1.0, 3.0]))
    np.testing.assert_allclose(probs, (10 + 1) / (50 + 2))  # one bin, whose midpoint is one half


@either
@pytest.mark.parametrize("share_classes", [True, False])
def test_a_class_absent_from_calibration_keeps_rows_summing_to_one(share_classes, models):
    generator = np.random.default_rng(0)
    logits = 2 * generator.normal(size=(200, 4))
    labels = generator.integers(0, 3, size=200)  # never class 3
    calibrator = BayesianBinning(models=models, share_classes=share_classes).fit(logits, labels)
    test = np.concatenate([logits, 1e3 * np.eye(4), np.zeros((1, 4))])
    probs = calibrator.predict_proba(test)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)
    assert probs.min() >= 0
    assert probs[:200, 3].min() > 0
    assert calibrator.unmapped_classes_ == (0 if share_classes else 1)


@either
def test_it_undoes_a_known_distortion(models):
    generator = np.random.default_rng(1)
    true = generator.normal(size=20_000) * 2
    labels = (generator.random(20_000) < expit(true)).astype(int)
    probs = fitted_map(3 * true, labels, 3 * true, models)
    assert np.mean(np.abs(probs - expit(true))) < 0.02 < np.mean(np.abs(expit(3 * true) - expit(true)))


def test_it_promises_no_ranking():
    for n_classes in (2, 4):
        promised = BayesianBinning().promises(n_classes)
        assert not promised & {calib.base.KEEPS_RANKING, calib.base.KEEPS_ACCURACY}
        assert calib.base.ROWS_SUM_TO_ONE in promised


# -- measured by others --------------------------------------------------------------------------------


@pytest.mark.reference("data/kitti_data.zip", "reference/gpcalib.json")
def test_a_random_forest_on_kitti(shared_data: Path):
    """The authors' code takes scores of 0 for the top bin and reaches .0652 here; isotonic regression .0135."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import ShuffleSplit

    with zipfile.ZipFile(shared_data / "kitti_data.zip") as file:

        def read(name: str) -> np.ndarray:
            size, values = file.read(f"kitti_features/kitti_all_{name}").split(b"\n", 1)
            return np.array(values.split(), dtype=float).reshape([int(length) for length in size.split()])

        train, test = ((read(f"{part}.data"), read(f"{part}.labels")[:, 0] > 0) for part in ("train", "test"))
    probs = RandomForestClassifier(100, random_state=1, n_jobs=2).fit(*train).predict_proba(test[0])
    labels = test[1].astype(int)
    logits = to_canonical(probs, "probabilities", floor=probs[probs > 0].min() / 2)
    reference = json.loads((shared_data.parent / "reference" / "gpcalib.json").read_text())
    table = next(value for name, value in reference.items() if name.startswith("kitti_binary"))
    row = dict(zip(table["columns"], table["random forest"], strict=True))
    errors: dict[str, list[float]] = {"uncalibrated": [], "bbq": []}
    for fit, rest in ShuffleSplit(10, train_size=1000, test_size=8000, random_state=1).split(logits):
        bbq = calib.calibrator("bbq", models="paper").fit(logits[fit], labels[fit]).predict_proba(logits[rest])
        for name, outputs in (("uncalibrated", probs[rest]), ("bbq", bbq)):
            errors[name].append(ece(outputs, labels[rest], 100, convention="gpcalib"))
    assert np.mean(errors["uncalibrated"]) == pytest.approx(row["uncalibrated"], abs=0.001)
    assert np.mean(errors["bbq"]) < row["bbq"] / 3
    assert np.mean(errors["bbq"]) < row["isotonic"] + 0.005
