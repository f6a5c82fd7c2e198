"""``monotone=True`` changes no predicted class: random posteriors, real fits, and the proof's own steps."""

from __future__ import annotations

import numpy as np
import pytest

from calib.calibrators.gpcalib import FIXED, GPCalib
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.prediction import (
    SMALLEST_SLOPE,
    LatentTable,
    Posterior,
    keep_predicted,
    monotone_shifts,
    tabulate,
)
from calib.numerics import softmax

N_POSTERIORS = 200


def changed(calibrator: GPCalib, logits: np.ndarray) -> tuple[int, int]:
    """Rows whose predicted class is not that of the one largest logit, and rows that have one."""
    ordered = np.sort(logits, axis=1)
    clear = logits[ordered[:, -1] > ordered[:, -2]]
    return int((calibrator.predict_proba(clear).argmax(axis=1) != clear.argmax(axis=1)).sum()), len(clear)


def unruly(seed: int, space: str) -> tuple[Posterior, float, float]:
    """A posterior whose mean and draws fall steeply in places, and the range of its data."""
    generator = np.random.default_rng(seed)
    width = np.exp(generator.uniform(0.0, 5.0)) if space == "logits" else 1.0
    low = generator.uniform(-2.0, 1.0) * width if space == "logits" else 0.0
    m = int(generator.integers(3, 12))
    posterior = Posterior(
        variance=float(np.exp(generator.uniform(0.0, 5.0))),
        lengthscale=float(width * generator.uniform(0.1, 0.5)),
        noise_variance=float(generator.choice([0.0, 1e-3, 0.5])),
        inducing_inputs=generator.uniform(low, low + width, m),
        q_mean=5.0 * generator.normal(size=m),
        q_sqrt=generator.uniform(0.01, 1.0, m),
    )
    return posterior, low, low + width


def as_fitted(posterior: Posterior, table: LatentTable, n_classes: int, **params: object) -> GPCalib:
    """The calibrator a fit with this outcome would be."""
    calibrator = GPCalib(monotone=True, n_draws=len(table.draws), **params)
    calibrator.n_classes_, calibrator.scale_ = n_classes, 1.0
    calibrator.noise_variance_ = posterior.noise_variance
    calibrator.fitted_as_ = {name: getattr(calibrator, name) for name in FIXED}
    calibrator.grid_, calibrator.interpolation_order_ = table.grid.nodes, table.grid.order
    calibrator.shift_mean_, calibrator.shift_variance_, calibrator.shift_draws_ = (
        table.shift,
        table.variance,
        table.draws,
    )
    return calibrator


def close_rows(generator: np.random.Generator, low: float, high: float, n_classes: int) -> np.ndarray:
    """Rows from far below to far above the data, many with their two largest a hair or a rounding error apart."""
    width = high - low
    logits = generator.uniform(low - width, high + width, size=(150, n_classes))
    top = logits.max(axis=1)
    gaps = generator.choice([0.0, 1e-3, 1e-9, 1e-12, 1e-15], size=150) * width
    second = np.where(gaps > 0, top - gaps, np.nextafter(top, -np.inf))
    columns = (logits.argmax(axis=1) + generator.integers(1, n_classes, size=150)) % n_classes
    logits[np.arange(150)[:100], columns[:100]] = second[:100]
    extreme = generator.choice([-1e3, 1e3, np.nextafter(1e3, 0)], size=(50, n_classes))
    return np.concatenate([logits, extreme])


def falls(posterior: Posterior, low: float, high: float, space: str) -> bool:
    inputs = np.linspace(low, high, 200) if space == "logits" else np.geomspace(1e-3, 1.0, 200)
    prior = inputs if space == "logits" else np.log(inputs)
    return bool((np.diff(prior + posterior.shift(inputs)) < 0).any())


@pytest.mark.long
def test_no_class_changes_under_random_posteriors():
    """Near ties that rounding alone decides are among the rows: predicted labels are to the last bit the raw ones."""
    n_falling = n_rows = 0
    for seed in range(N_POSTERIORS):
        generator = np.random.default_rng(seed)
        space = ("logits", "probs")[seed % 2]
        posterior, low, high = unruly(seed, space)
        n_falling += falls(posterior, low, high, space)
        table = tabulate(posterior, low, high, space, n_draws=8, seed=seed, monotone=True)
        n_classes = int(generator.integers(2, 21))
        calibrator = as_fitted(posterior, table, n_classes, inputs=space)
        logits = close_rows(generator, *((low, high) if space == "logits" else (-6.0, 0.0)), n_classes)
        for way in ("mean", "draws"):
            calibrator.prediction = way
            changes, rows = changed(calibrator, logits)
            n_rows += rows
            assert changes == 0, f"posterior {seed}, {space}, {way}"
            np.testing.assert_array_equal(calibrator.predict(logits), logits.argmax(axis=1))
    assert n_falling > 0.75 * N_POSTERIORS
    assert n_rows > 50_000


@pytest.mark.parametrize("space", ["logits", "probs"])
@pytest.mark.parametrize("size", [64, 2048])
def test_the_proof_holds_without_the_last_bit(space, size):
    """Between any two inputs, of one segment or of several: ``g`` and ``mu + log r`` rise by their least slope."""
    grid = Grid(-40.0, 40.0, size, order=1) if space == "logits" else Grid(0.0, 1.0, size, order=1)
    generator = np.random.default_rng(size)
    shifts = np.cumsum(generator.normal(size=(5, size)), axis=1) * 30.0 * grid.spacing - 3.0 * grid.nodes
    rising = monotone_shifts(shifts, grid, space)
    at = np.sort(np.concatenate([generator.uniform(grid.low, grid.high, 20_000), grid.nodes]))
    at = at[at > 0] if space == "probs" else at
    mu = at if space == "logits" else np.log(at)
    least = SMALLEST_SLOPE * np.diff(at) * (1.0 - 1e-6) - 1e-11
    for shift in rising:
        assert (np.diff(mu + grid.interpolate(shift, at)) > least).all()
    # Draws: exp(a) is interpolated, and added over draws with any positive weights.
    weights = generator.exponential(size=(50, 5)) ** 4
    for weight in weights:
        ratio = weight @ np.exp(rising - rising.max(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            assert (np.diff(mu + np.log(grid.interpolate(ratio, at))) > least).all()


def test_the_last_bit_moves_no_probability_and_no_ordered_row():
    generator = np.random.default_rng(0)
    logits = 3.0 * generator.normal(size=(500, 4))
    logits[:200, 1] = logits[:200, 0] * (1.0 + 1e-15 * generator.normal(size=200))
    grid = Grid(-10.0, 10.0, 2048, order=1)
    shift = monotone_shifts(-0.98 * grid.nodes, grid, "logits")
    probs = softmax(logits + grid.interpolate(shift, logits))
    kept = probs.copy()
    keep_predicted(kept, logits)
    assert np.abs(kept - probs).max() < 1e-12
    np.testing.assert_array_equal(kept[200:], probs[200:])
    assert (probs.argmax(axis=1) != logits.argmax(axis=1)).any()  # else there was nothing to keep
    np.testing.assert_array_equal(kept.argmax(axis=1), logits.argmax(axis=1))
