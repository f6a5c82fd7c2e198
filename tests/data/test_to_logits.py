"""Probabilities become log-probabilities once: only zeros change, and the floor follows the smallest positive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from calib import ece
from calib.canonical import zero_floor
from calib.data import Choices, inspect, load
from tests.data.conftest import the


def test_only_zeros_change_and_hold_half_the_smallest_positive_value_together(make):
    probs = make.probs
    probs[:, 1] += probs[:, 0]
    probs[:10, 0] = 0.0
    probs[10, 0] = 1e-37
    probs[11, 0] = -0.0
    probs[12:, 1] -= probs[12:, 0]
    found = inspect(make.npz(probs=probs, labels=make.labels))
    data = found.predictions
    assert data.floor == found.choices.floor == pytest.approx(0.5e-37 / 3)
    zero = probs == 0
    np.testing.assert_array_equal(data.logits[zero], np.log(data.floor))
    np.testing.assert_array_equal(data.logits[~zero], np.log(probs[~zero]))
    message = the(data, "zeros").message
    assert "11 values in 11 rows of 300" in message and "put 1.7e-38 in place of zeros" in message


def test_the_floor_can_be_chosen(make):
    probs = np.where(make.probs < 0.01, 0, make.probs)
    probs /= probs.sum(axis=1, keepdims=True)
    path = make.npz(probs=probs, labels=make.labels)
    data = load(path, floor=1e-6)
    assert data.floor == 1e-6 and data.logits.min() == np.log(1e-6)
    assert load(path).sha256 != data.sha256
    assert inspect(path, choices=Choices(floor=0.0)).findings[0].code == "floor"


def test_a_floor_exists_even_below_the_smallest_number(make):
    for dtype in (np.float32, np.float64):
        probs = np.tile(np.array([0, np.finfo(dtype).smallest_subnormal, 1], dtype), (300, 1))
        data = load(make.npz(probs=probs, labels=make.labels % 3))
        assert 0 < data.floor <= np.finfo(dtype).smallest_subnormal
        assert np.isfinite(data.logits).all() and (data.logits[:, 0] <= data.logits[:, 1]).all()


def test_probabilities_in_float32_are_refused_where_their_logarithms_are_too_large(
    make, monkeypatch
):
    path = make.npz(probs=make.probs.astype(np.float32), labels=make.labels)
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", make.probs.nbytes)
    assert load(path).logits.dtype == np.float64
    monkeypatch.setattr("calib.data.read.base.MAX_BYTES", make.probs.nbytes - 1)
    assert (
        "The logarithms of probs in float64 would take" in the(inspect(path), "too_large").message
    )
    assert (
        load(make.npz(logits=make.logits.astype(np.float32), labels=make.labels)).logits.dtype
        == np.float32
    )


@given(st.floats(1e-300, 1), st.integers(2, 1000))
def test_a_rows_zeros_together_hold_at_most_half_of_what_the_model_can_tell(smallest, n_classes):
    floor = zero_floor(np.full((1, n_classes), smallest))
    assert floor > 0 and (n_classes - 1) * floor <= smallest / 2 * (1 + 1e-12)


def test_rounding_over_many_classes_changes_no_score(make):
    """Rows of 100 classes rounded to 0.01: 95 zeros of 0.005 each would take a third of every row."""
    rng = np.random.default_rng(3)
    probs = softmax(3 * rng.normal(size=(2000, 100)), axis=1).round(2)
    labels = rng.integers(0, 100, 2000)
    data = load(make.npz(probs=probs, labels=labels))
    assert "rounding to 2 digits explains that" in the(data, "rounded").message
    exact = probs / probs.sum(axis=1, keepdims=True)
    assert ece(softmax(data.logits, axis=1), labels) == pytest.approx(ece(exact, labels), abs=0.005)


def test_rounding_is_named_first_where_it_may_explain_sums_that_are_off(make):
    """Rows of 100 flat probabilities rounded to 0.01 sum to 0.9 or 1.14: no sigmoid, and no column missing."""
    rng = np.random.default_rng(5)
    probs, labels = softmax(2 * rng.normal(size=(2000, 100)), axis=1), rng.integers(0, 100, 2000)
    rounded = probs.round(2)
    off = np.abs(rounded.sum(axis=1) - 1)
    assert np.median(off) > 0.05 and 0.1 < off.max() < 100 * 0.01 / 2
    found = inspect(make.npz(probs=rounded, labels=labels))
    assert "rounding to 2 digits" in the(found, "rounded").message
    model = softmax(found.predictions.logits, axis=1)
    np.testing.assert_allclose(model, rounded / rounded.sum(axis=1, keepdims=True), atol=0.006)
    # Where most rows lack more than the digits take it is asked, and without such digits they are no cause.
    refused = the(inspect(make.npz(probs=(probs * 0.8).round(2), labels=labels)), "sums")
    assert "Usual causes: rounding to 2 digits, sigmoid outputs" in refused.message
    assert (
        "rounding" not in the(inspect(make.npz(probs=probs * 0.8, labels=labels)), "sums").message
    )


def test_rows_are_never_renormalised_silently(make):
    probs = make.probs
    probs[:20] *= 0.9
    probs[20] = [-1e-9, 0.5, 0.25, 0.25 + 1e-9]
    path = make.npz(probs=probs, labels=make.labels)
    data = load(path)
    np.testing.assert_allclose(np.exp(data.logits).sum(axis=1)[:20], 0.9)
    assert data.logits[20, 0] == np.log(data.floor)
    assert any("1 of them a little outside [0, 1]" in f.message for f in data.findings)
    finding = the(data, "sums")
    assert "20 rows of 300" in finding.message
    np.testing.assert_allclose(np.exp(load(path, **finding.fix).logits).sum(axis=1), 1, rtol=1e-5)


def test_minus_infinity_in_log_probabilities_is_a_zero(make):
    logs = log_softmax(make.logits, axis=1)
    gone = logs < -6
    logs = np.where(gone, -np.inf, logs)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    data = load(make.npz(log_probs=logs, labels=make.labels))
    assert data.kind == "log_probabilities"
    lowest = logs[~gone].min()
    assert data.floor == pytest.approx(np.exp(lowest) / 2 / 3)
    np.testing.assert_allclose(data.logits[gone], lowest - np.log(6))
    np.testing.assert_array_equal(data.logits[~gone], logs[~gone])


def test_the_kind_can_be_chosen_but_no_click_takes_probabilities_for_logits(make):
    path = make.npz(probs=make.probs, labels=make.labels)
    assert not the(inspect(path), "kind").offers
    np.testing.assert_array_equal(load(path, kind="logits").logits, make.probs)
    assert inspect(make.both(), choices=Choices(kind="probabilities")).findings[0].code == "kind"
