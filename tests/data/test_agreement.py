"""Outputs against labels: no better than chance, shifted rows, columns in another order, classes the other way round.

Measured over 1,000 seeds each, normal logits of which the label's is raised by a strength:

| rows | classes | accuracy | genuine, called no better than chance | shuffled, passed | shifted by a row, found |
|---|---|---|---|---|---|
| 100 | 2 | .71 | 1.8 % | 0 % | 87 % |
| 300 | 2 | .64 | .1 % | 0 % | 99 % |
| 300 | 4 | .39 | 0 % | .1 % | 100 % |

With a higher accuracy no genuine outputs were accused. Two swapped columns were found in 94 % of sets of 1,000 rows of
10 classes with an accuracy of .34, in all with .67, and in none of 500 rows of 100 classes.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, permutation_test

from calib.data import Choices
from calib.data.assemble.checks import check_agreement, rank_test

SIZES = [
    # rows, classes, strength, share of genuine models of this strength that may be called no better than chance
    (300, 2, 0.5, 0.02),
    (300, 4, 0.5, 0.01),
    (1000, 10, 1.0, 0),
]


def simulated(seed, n, n_classes, strength, prior=None):
    generator = np.random.default_rng(seed)
    labels = generator.choice(n_classes, n, p=prior)
    logits = generator.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += strength
    return logits, labels, generator


def found(logits, labels):
    """Codes of what is found."""
    kind = "binary_log_odds" if logits.shape[1] == 1 else "logits"
    return {finding.code for finding in check_agreement(logits, kind, labels, Choices())}


def rates(n, n_classes, strength, seeds):
    """Shares of shuffled labels that pass, and of genuine ones that do not."""
    missed = accused = 0
    for seed in range(seeds):
        logits, labels, generator = simulated(seed, n, n_classes, strength)
        accused += bool({"labels_shuffled", "labels_inverted"} & found(logits, labels))
        missed += "labels_shuffled" not in found(logits, generator.permutation(labels))
    return missed / seeds, accused / seeds


@pytest.mark.parametrize(("n", "n_classes", "strength", "most"), SIZES)
def test_shuffled_labels_are_said_and_weak_models_are_not_accused(n, n_classes, strength, most):
    missed, accused = rates(n, n_classes, strength, 20)
    assert missed <= 1 / 20 and accused <= max(most, 1 / 20)


def test_the_rank_sum_is_that_of_scipy():
    logits, labels, _ = simulated(3, 60, 2, 0.4)
    difference = logits[:, 1] - logits[:, 0]
    expected = mannwhitneyu(
        difference[labels == 1],
        difference[labels == 0],
        alternative="greater",
        use_continuity=False,
        method="asymptotic",
    ).pvalue
    assert rank_test(logits, "logits", labels)[0] == pytest.approx(expected, rel=1e-9)
    assert rank_test(difference[:, None], "binary_log_odds", labels)[0] == pytest.approx(expected, rel=1e-9)
    assert rank_test(logits, "logits", labels)[1] == pytest.approx(1 - expected, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chance_is_that_of_labels_in_random_order(n_classes):
    """Against 2,000 random orders of the labels."""
    logits, labels, generator = simulated(5, 40, n_classes, 0.3)
    ranks = np.argsort(np.argsort(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True), axis=0), axis=0)

    def expected(statistic):
        return permutation_test(
            (labels,), statistic, permutation_type="pairings", alternative="greater", n_resamples=2000, rng=generator
        ).pvalue

    by_rank = expected(lambda y: ranks[np.arange(40), y].sum())
    assert rank_test(logits, "logits", labels)[0] == pytest.approx(by_rank, abs=0.04)


@pytest.mark.parametrize("offset", [-6, 0, 3, 8], ids=["far too small", "right", "too large", "far too large"])
def test_risks_of_a_rare_event_are_judged_by_their_order_alone(offset):
    """Risks that are too large or too small are for calibration to mend, whatever the accuracy at a half is."""
    generator = np.random.default_rng(6)
    score = 1.3 * generator.normal(size=2000) - 3
    labels = (generator.random(2000) < 1 / (1 + np.exp(-score))).astype(int)
    assert 0.03 < labels.mean() < 0.12
    assert not found(score[:, None] + offset, labels)
    assert not found(np.c_[-score - offset, np.zeros(2000)], labels)
    assert found(-score[:, None] + offset, labels) == {"labels_inverted"}
    assert found(score[:, None] + offset, generator.permutation(labels)) == {"labels_shuffled"}
