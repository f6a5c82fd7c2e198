"""Declared hyper-parameters and what is refused, and the numerical functions against SciPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.errors import CalibrationError
from calib.numerics import (
    block_rows,
    blocks,
    log_softmax,
    logsumexp,
    one_vs_rest_log_odds,
    sigmoid,
    softmax,
    softplus,
)
from calib.parameters import check_declared, param


@dataclass
class Declared:
    whole: int = param(5, low=1, high=10, help="A count.")
    small: float = param(0.5, high=1.0, help="A share.")
    free: float = param(0.0, help="A shift.")
    real: float = param(0.5, low=0.0, help="A size.")
    either: bool = param(True, help="A switch.")
    kind: str = param("a", choices=("a", "b"), help="An option.")
    perhaps: int = param(3, low=1, optional=True, help="A count, or none.")


def test_what_is_declared_passes():
    check_declared(Declared())
    check_declared(Declared(np.int64(10), 1.0, 0, np.float32(1e9), np.bool_(False), "b", None))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"whole": 0}, "whole=0 must lie between 1 and 10"),
        ({"whole": 2.0}, "whole=2.0 must be a whole number between 1 and 10"),
        ({"whole": True}, "whole=True must be a whole number"),
        ({"real": -0.1}, "real=-0.1 must lie at or above 0.0."),
        ({"real": float("nan")}, "real=nan must be a number at or above 0.0."),
        ({"small": 1.5}, "small=1.5 must lie at or below 1.0."),
        ({"free": "x"}, "free='x' must be a number."),
        ({"either": 1}, "either=1 must be True or False"),
        ({"kind": "c"}, "kind='c' is not one of a, b"),
        ({"perhaps": 0}, "perhaps=0 must lie at or above 1."),
    ],
    ids=str,
)
def test_what_is_not_says_why(values, says):
    with pytest.raises(CalibrationError) as caught:
        check_declared(Declared(**values))
    assert says in str(caught.value)


FINITE = st.floats(-1e3, 1e3)
LOGITS = st.tuples(st.integers(1, 4), st.integers(2, 6)).flatmap(
    lambda shape: arrays(float, shape, elements=FINITE)
)


def naive_log_odds(logits: np.ndarray) -> np.ndarray:
    columns = range(logits.shape[1])
    others = [scipy.special.logsumexp(np.delete(logits, k, axis=1), axis=1) for k in columns]
    return logits - np.stack(others, axis=1)


@given(LOGITS)
def test_against_scipy(logits):
    np.testing.assert_allclose(
        softmax(logits), scipy.special.softmax(logits, axis=1), rtol=1e-12, atol=1e-300
    )
    np.testing.assert_allclose(
        log_softmax(logits), scipy.special.log_softmax(logits, axis=1), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        logsumexp(logits), scipy.special.logsumexp(logits, axis=1), rtol=1e-13, atol=1e-13
    )
    np.testing.assert_allclose(
        sigmoid(logits), scipy.special.expit(logits), rtol=1e-12, atol=1e-300
    )


@given(LOGITS)
def test_log_odds_against_the_definition(logits):
    np.testing.assert_allclose(
        one_vs_rest_log_odds(logits), naive_log_odds(logits), rtol=1e-9, atol=1e-9
    )


def test_log_odds_keep_the_maximum_on_top_of_its_neighbour():
    """About one in 250 rows whose two best logits are neighbouring floats came out swapped."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(20_000, 3))
    logits[:, 0] = logits.max(axis=1)
    logits[:, 1] = np.nextafter(logits[:, 0], -np.inf)
    log_odds = one_vs_rest_log_odds(logits)
    assert (log_odds[:, 0] >= log_odds[:, 1]).all()


def test_extremes_stay_finite_and_silent():
    with np.errstate(all="raise", under="ignore"):
        extreme = np.array([[1e3, -1e3, 0.0], [-1e3, -1e3, -1e3]])
        for function in (softmax, log_softmax, sigmoid, softplus, one_vs_rest_log_odds):
            assert np.isfinite(function(extreme)).all()
    assert logsumexp(np.array([[-np.inf, -np.inf], [-np.inf, 0.0]])).tolist() == [-np.inf, 0.0]


@pytest.mark.parametrize("n_rows", [0, 7, 50])
@pytest.mark.parametrize(
    ("row_entries", "entries", "step"), [(1, 7, 7), (3, 22, 7), (10, 7, 1), (0, 7, 7)]
)
def test_blocks_are_all_rows_once_and_in_order(n_rows, row_entries, entries, step):
    rows = list(blocks(n_rows, row_entries, entries))
    assert block_rows(row_entries, entries) == step
    assert [i for block in rows for i in range(n_rows)[block]] == list(range(n_rows))
    assert all(block.stop - block.start == step for block in rows[:-1])
    assert all(block.stop <= n_rows for block in rows)
