from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.gpcalib.features import chebyshev_features
from calib.calibrators.gpcalib.inputs import logit_scale
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.statistics import grid_statistics, training_grid
from tests.conftest import simulate

ORDERS = pytest.mark.parametrize("order", [1, 3])


@given(st.floats(-50, 50), st.floats(0.01, 100), st.integers(4, 60), st.sampled_from([1, 3]), st.integers(0, 99))
def test_polynomials_of_the_order_are_exact_everywhere(low, width, size, order, seed):
    grid = Grid(low, low + width, size, order)
    generator = np.random.default_rng(seed)
    inputs = generator.uniform(grid.low, grid.high, 20)
    coefficients = generator.normal(size=order + 1)
    unit = (inputs - low) / width
    exact = np.polyval(coefficients, unit)
    assert np.allclose(grid.interpolate(np.polyval(coefficients, (grid.nodes - low) / width), inputs), exact, atol=1e-9)


@ORDERS
def test_nodes_are_met_exactly(order, rng):
    grid = Grid(-3.0, 8.0, 17, order)
    values = rng.normal(size=17)
    assert np.allclose(grid.interpolate(values, grid.nodes), values, atol=1e-12)


@ORDERS
def test_inputs_outside_take_the_value_at_the_nearer_end(order, rng):
    grid = Grid(-1.0, 1.0, 9, order)
    values = rng.normal(size=9)
    assert np.allclose(grid.interpolate(values, np.array([-1e3, -1.1, 1.1, 1e3])), values[[0, 0, -1, -1]])


def test_the_cubic_error_falls_with_the_fourth_power():
    inputs = np.linspace(0.0, 6.0, 1001)
    errors = []
    for size in (33, 65):
        grid = Grid(0.0, 6.0, size)
        errors.append(np.abs(grid.interpolate(np.sin(grid.nodes), inputs) - np.sin(inputs)).max())
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.2)


@ORDERS
def test_each_row_may_have_its_own_function(order, rng):
    grid, values, inputs = Grid(0.0, 1.0, 12, order), rng.normal(size=(5, 12)), rng.uniform(size=(5, 7))
    each = [grid.interpolate(v, t) for v, t in zip(values, inputs, strict=True)]
    assert np.allclose(grid.interpolate(values, inputs), each)


@ORDERS
def test_collecting_is_the_transpose_of_interpolating(order, rng):
    grid, inputs = Grid(-2.0, 2.0, 11, order), rng.uniform(-2.5, 2.5, size=(6, 30))
    mass, other, values = rng.normal(size=(6, 30)), rng.normal(size=(6, 30)), rng.normal(size=11)
    for m in (mass, other):
        collected = grid.stencil(inputs).collect(m)
        assert np.allclose(collected @ values, (m * grid.interpolate(values, inputs)).sum(axis=1))


@ORDERS
def test_a_window_interpolates_like_the_whole_grid(order, rng):
    grid, values, inputs = Grid(-5.0, 9.0, 40, order), rng.normal(size=40), rng.uniform(-1.0, 2.0, 50)
    nodes, window = grid.window(inputs.min(), inputs.max())
    assert window.size < 20
    assert np.allclose(window.interpolate(values[nodes], inputs), grid.interpolate(values, inputs), atol=1e-12)


def test_statistics_do_not_depend_on_the_order_of_the_classes(rng):
    logits, labels = simulate(200, 7)
    order = rng.permutation(7)
    grid = training_grid(logits, "logits")
    one = grid_statistics(logits, labels, "logits", grid)
    other = grid_statistics(logits[:, order], np.argsort(order)[labels], "logits", grid)
    assert np.array_equal(one.sums, other.sums)
    assert np.array_equal(one.squares, other.squares)
    assert np.array_equal(one.label_weights, other.label_weights)
    assert one.label_prior == other.label_prior


def test_statistics_do_not_depend_on_the_blocks(monkeypatch):
    logits, labels = simulate(200, 7)
    grid = training_grid(logits, "probs")
    whole = grid_statistics(logits, labels, "probs", grid)
    monkeypatch.setattr("calib.calibrators.gpcalib.statistics.BLOCK_ENTRIES", 512 * 9)
    parts = grid_statistics(logits, labels, "probs", grid)
    assert np.array_equal(whole.sums, parts.sums)
    assert np.allclose(whole.label_weights, parts.label_weights, atol=1e-10)
    assert whole.label_prior == pytest.approx(parts.label_prior, rel=1e-12)


def test_chebyshev_features_carry_the_kernel():
    grid = Grid(-30.0, 5.0, 256)
    points, weights = chebyshev_features(grid)
    for lengthscale in (35.0 / 32.0, 3.0, 40.0):
        small, large = (np.exp(-0.5 * (np.subtract.outer(x, x) / lengthscale) ** 2) for x in (points, grid.nodes))
        assert np.abs(weights @ small @ weights.T - large).max() < 1e-7


@pytest.mark.parametrize("factor", [1e-3, 1e-2, 1.0, 1e2, 1e4])
def test_only_badly_scaled_logits_are_scaled(factor):
    logits, labels = simulate(2000, 5, scale=1.0)
    scale = logit_scale(logits * factor, labels)
    assert scale == (1.0 if factor == 1.0 else pytest.approx(factor, rel=0.1))


def test_the_scale_of_separable_data_is_finite():
    logits, _ = simulate(300, 5)
    assert 0.01 < logit_scale(logits, logits.argmax(axis=1)) <= 1.0
