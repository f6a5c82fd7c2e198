"""The numerical functions against SciPy, and at the ends of the range."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.numerics import block_rows, blocks, log_softmax, logsumexp, one_vs_rest_log_odds, sigmoid, softmax, softplus

FINITE = st.floats(-1e3, 1e3)
LOGITS = st.tuples(st.integers(1, 4), st.integers(2, 6)).flatmap(lambda shape: arrays(float, shape, elements=FINITE))


def naive_log_odds(logits: np.ndarray) -> np.ndarray:
    columns = range(logits.shape[1])
    others = [scipy.special.logsumexp(np.delete(logits, k, axis=1), axis=1) for k in columns]
    return logits - np.stack(others, axis=1)


@given(LOGITS)
def test_against_scipy(logits):
    np.testing.assert_allclose(softmax(logits), scipy.special.softmax(logits, axis=1), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(log_softmax(logits), scipy.special.log_softmax(logits, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(logsumexp(logits), scipy.special.logsumexp(logits, axis=1), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(sigmoid(logits), scipy.special.expit(logits), rtol=1e-12, atol=1e-300)


@given(LOGITS)
def test_log_odds_against_the_definition(logits):
    np.testing.assert_allclose(one_vs_rest_log_odds(logits), naive_log_odds(logits), rtol=1e-9, atol=1e-9)


@given(LOGITS)
def test_log_odds_keep_the_maximum_on_top(logits):
    log_odds = one_vs_rest_log_odds(logits)
    top = np.argmax(logits, axis=1)
    assert (log_odds[np.arange(len(logits)), top] == log_odds.max(axis=1)).all()


def test_log_odds_keep_the_maximum_on_top_of_its_neighbour():
    """About one in 250 rows whose two best logits are neighbouring floats came out swapped."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(20_000, 3))
    logits[:, 0] = logits.max(axis=1)
    logits[:, 1] = np.nextafter(logits[:, 0], -np.inf)
    log_odds = one_vs_rest_log_odds(logits)
    assert (log_odds[:, 0] >= log_odds[:, 1]).all()


def test_log_odds_are_those_of_the_probabilities(rng):
    logits = rng.normal(size=(50, 5))
    probs = softmax(logits)
    np.testing.assert_allclose(one_vs_rest_log_odds(logits), np.log(probs / (1 - probs)), rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3, 1000])
def test_identical_logits_give_even_odds(n_classes):
    for level in (0.0, 1e3, -1e3):
        log_odds = one_vs_rest_log_odds(np.full((2, n_classes), level))
        np.testing.assert_allclose(log_odds, -np.log(n_classes - 1), atol=1e-12)


def test_a_sure_class_keeps_its_exact_log_odds():
    # Through probabilities this would be log(1 / 0).
    np.testing.assert_allclose(
        one_vs_rest_log_odds(np.array([[1e3, -1e3, -1e3]])), [[2e3 - np.log(2), -2e3, -2e3]], rtol=1e-12
    )


def test_extremes_stay_finite_and_silent():
    with np.errstate(all="raise", under="ignore"):
        extreme = np.array([[1e3, -1e3, 0.0], [-1e3, -1e3, -1e3]])
        for function in (softmax, log_softmax, sigmoid, softplus, one_vs_rest_log_odds):
            assert np.isfinite(function(extreme)).all()
    assert logsumexp(np.array([[-np.inf, -np.inf], [-np.inf, 0.0]])).tolist() == [-np.inf, 0.0]


def test_softplus_has_the_right_tails():
    np.testing.assert_allclose(softplus(np.array([-40.0, 0.0, 40.0])), [np.exp(-40), np.log(2), 40.0], rtol=1e-12)


@pytest.mark.parametrize("n_rows", [0, 1, 6, 7, 8, 50])
@pytest.mark.parametrize(("row_entries", "entries", "step"), [(1, 7, 7), (3, 22, 7), (10, 7, 1), (0, 7, 7)])
def test_blocks_are_all_rows_once_and_in_order(n_rows, row_entries, entries, step):
    rows = list(blocks(n_rows, row_entries, entries))
    assert block_rows(row_entries, entries) == step
    assert [i for block in rows for i in range(n_rows)[block]] == list(range(n_rows))
    assert all(block.stop - block.start == step for block in rows[:-1])
    assert all(block.stop <= n_rows for block in rows)
