"""Accuracy and top-k accuracy, ties above all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calib import metrics
from calib.errors import CalibrationError


def top_k_by_sorting(probs, labels, k, ranking):
    right = 0
    for p, label, keys in zip(probs, labels, ranking, strict=True):
        order = sorted(range(len(p)), key=lambda j: (-p[j], -keys[j], j))
        right += label in order[:k]
    return right / len(labels)


# Few distinct values, so that ties are common.
tied = hnp.arrays(np.float64, (12, 6), elements=st.sampled_from([0.0, 0.1, 0.2, 0.5]))


@given(tied, tied, hnp.arrays(np.int64, 12, elements=st.integers(0, 5)), st.integers(1, 7))
def test_top_k_is_that_of_sorting_with_the_ranking_as_second_key(probs, ranking, labels, k):
    assert metrics.top_k_accuracy(probs, labels, k, ranking) == top_k_by_sorting(probs, labels, k, ranking)
    assert metrics.top_k_accuracy(probs, labels, k) == top_k_by_sorting(probs, labels, k, probs)


@given(tied, tied, hnp.arrays(np.int64, 12, elements=st.integers(0, 5)))
def test_accuracy_is_top_1_accuracy(probs, ranking, labels):
    assert metrics.accuracy(probs, labels, ranking) == metrics.top_k_accuracy(probs, labels, 1, ranking)
    assert metrics.accuracy(probs, labels) == metrics.top_k_accuracy(probs, labels, 1)


def test_accuracy_takes_the_pair():
    assert metrics.accuracy(np.array([0.9, 0.8, 0.7]), np.array([True, False, True])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_k_must_be_a_positive_whole_number(k):
    with pytest.raises(CalibrationError, match="k="):
        metrics.top_k_accuracy(np.eye(3), np.arange(3), k)
