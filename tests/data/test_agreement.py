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
from scipy.stats import mannwhitneyu

from calib.data.build.checks import check_agreement
from calib.numerics import midranks
from calib.outputs import rank_test


def simulated(seed, n, n_classes, strength):
    generator = np.random.default_rng(seed)
    labels = generator.choice(n_classes, n)
    logits = generator.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += strength
    return logits, labels, generator


def found(logits, labels):
    """Codes of what is found."""
    kind = "binary_log_odds" if logits.shape[1] == 1 else "logits"
    return {finding.code for finding in check_agreement(logits, kind, labels)}


@pytest.mark.parametrize(
    ("n", "n_classes", "strength"), [(300, 2, 0.5), (300, 4, 0.5), (1000, 10, 1.0)]
)
def test_shuffled_labels_are_said_and_weak_models_are_not_accused(n, n_classes, strength):
    missed = accused = 0
    for seed in range(20):
        logits, labels, generator = simulated(seed, n, n_classes, strength)
        accused += bool({"labels_shuffled", "labels_inverted"} & found(logits, labels))
        missed += "labels_shuffled" not in found(logits, generator.permutation(labels))
    assert missed <= 1 and accused <= 1


def test_the_rank_sum_is_that_of_scipy():
    logits, labels, _ = simulated(3, 60, 2, 0.4)
    difference = logits[:, 1] - logits[:, 0]
    options = {"alternative": "greater", "use_continuity": False, "method": "asymptotic"}
    expected = mannwhitneyu(difference[labels == 1], difference[labels == 0], **options).pvalue
    assert rank_test(logits, "logits", labels)[0] == pytest.approx(expected, rel=1e-9)
    assert rank_test(difference[:, None], "binary_log_odds", labels)[0] == pytest.approx(
        expected, rel=1e-9
    )
    assert rank_test(logits, "logits", labels)[1] == pytest.approx(1 - expected, rel=1e-9)


def test_chance_is_that_of_labels_in_random_order():
    """Against 2,000 random orders of the labels."""
    logits, labels, generator = simulated(5, 40, 3, 0.3)
    ranks = np.argsort(
        np.argsort(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True), axis=0), axis=0
    )
    orders = [generator.permutation(labels) for _ in range(2000)]
    as_high = np.mean(
        [ranks[np.arange(40), y].sum() >= ranks[np.arange(40), labels].sum() for y in orders]
    )
    assert rank_test(logits, "logits", labels)[0] == pytest.approx(as_high, abs=0.04)


def test_few_outputs_are_ranked_where_they_leave_no_doubt(monkeypatch):
    """A quarter of these outputs tell that a model is good; of a weak one all are ranked, and it is not accused."""
    ranked = []
    monkeypatch.setattr(
        "calib.outputs.midranks", lambda column: ranked.append(column.size) or midranks(column)
    )
    logits, labels, generator = simulated(8, 8000, 100, 2.0)
    assert not found(logits, labels) and sum(ranked) == 200_000
    logits, labels, generator = simulated(8, 8000, 100, 0.05)
    assert rank_test(logits, "logits", labels, 200_000)[0] > 0.001
    assert not found(logits, labels)
    assert found(logits, generator.permutation(labels)) == {"labels_shuffled"}


@pytest.mark.parametrize("offset", [-6, 0, 8])
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
