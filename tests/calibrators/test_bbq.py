"""BBQ against its definition, written out with loops over models, bins and pairs."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

import calib
from benchmarks.folds import printed_ece
from calib.calibrators.bbq import BayesianBinning
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.step_maps import N_BINS, STRENGTHS
from calib.canonical import to_canonical
from tests.calibrators.conftest import binary, learned


def naive_histograms(scores: np.ndarray, labels: np.ndarray, test: np.ndarray):
    """Log evidence and answers of every smoothed histogram, with loops over bins and pairs."""
    distinct = sorted(set(scores))
    n, n_positive = len(scores), int(labels.sum())
    shares = [
        (labels[scores < s].sum() / n_positive + (1 - labels[scores < s]).sum() / (n - n_positive))
        / 2
        for s in distinct
    ]
    evidence, answers = [], []
    for n_bins in N_BINS:
        reached = [
            next((i for i, share in enumerate(shares) if share >= b / n_bins), 0)
            for b in range(1, n_bins)
        ]
        lower = (3 - math.sqrt(5)) / 2
        inner = [
            float(logit(lower * expit(distinct[i - 1]) + (1 - lower) * expit(distinct[i])))
            for i in sorted(set(reached) - {0})
        ]
        for strength in STRENGTHS:
            total, answer = 0.0, np.full(len(test), np.nan)
            for low, high in pairwise([-np.inf, *inner, np.inf]):
                inside = (scores >= low) & (scores < high)
                m, mean = inside.sum(), expit(scores[inside]).mean()
                r = labels[inside].sum()
                a, b = strength * mean, strength * (1 - mean)
                total += math.lgamma(a + b) - math.lgamma(m + a + b)
                total += (
                    math.lgamma(r + a) - math.lgamma(a) + math.lgamma(m - r + b) - math.lgamma(b)
                )
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
    found = learned(BayesianBinning(), log_odds, labels, test)
    ends = 1 / (n + 2), 1 - 1 / (n + 2)
    np.testing.assert_allclose(found, np.clip(weights @ answers / weights.sum(), *ends), atol=1e-9)
    found = learned(HistogramBinning(), log_odds, labels, test)
    np.testing.assert_allclose(found, np.clip(answers[evidence.argmax()], *ends), atol=1e-9)


# -- what it must get right beyond the definition ------------------------------------------------------


def test_scores_of_exactly_zero_and_one_are_in_the_outer_bins():
    """A forest says exactly 0 and 1 most of the time; 0 must not be taken for the top bin."""
    log_odds = np.repeat([-1e3, 1e3], [300, 150])
    labels = np.concatenate([np.arange(300) % 20 == 0, np.arange(150) % 10 > 0]).astype(int)
    zero, one = learned(BayesianBinning(), log_odds, labels, np.array([-1e3, 1e3]))
    assert zero == pytest.approx(0.05, abs=0.005)
    assert one == pytest.approx(0.9, abs=0.02)  # drawn towards 1


# -- measured by others --------------------------------------------------------------------------------


def test_a_random_forest_on_kitti(reference_data: Path):
    """The authors' code takes scores of 0 for the top bin and reaches .0652 here; isotonic regression .0135."""
    from sklearn.model_selection import ShuffleSplit

    with np.load(reference_data / "kitti-forest.npz") as stored:
        probs, labels = stored["predictions"], stored["ground_truth"]
    logits = to_canonical(probs, "probabilities", floor=probs[probs > 0].min() / 2)
    reference = json.loads((reference_data.parent / "numbers" / "gpcalib.json").read_text())
    table = next(value for name, value in reference.items() if name.startswith("kitti_binary"))
    row = dict(zip(table["columns"], table["random forest"], strict=True))
    errors: dict[str, list[float]] = {"uncalibrated": [], "bbq": []}
    for fit, rest in ShuffleSplit(10, train_size=1000, test_size=8000, random_state=1).split(
        logits
    ):
        bbq = calib.calibrator("bbq").fit(logits[fit], labels[fit]).predict_proba(logits[rest])
        for name, outputs in (("uncalibrated", probs[rest]), ("bbq", bbq)):
            errors[name].append(printed_ece(outputs, labels[rest], 100))
    assert np.mean(errors["uncalibrated"]) == pytest.approx(row["uncalibrated"], abs=0.001)
    assert np.mean(errors["bbq"]) < row["bbq"] / 3
    assert np.mean(errors["bbq"]) < row["isotonic"] + 0.005
