"""I-Max's iterations, the bottleneck and divergences against closed forms, bounds and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.distance import jensenshannon
from scipy.special import entr

from calib.diagnostics import bins
from calib.diagnostics.binning import (
    binning_picture,
    information_by_bins,
    information_of_log_odds,
    log_odds_density,
)
from calib.diagnostics.bins import (
    N_CUTS,
    binning_limits,
    bottleneck,
    set_divergence,
)
from calib.numerics import one_vs_rest_log_odds
from tests.conftest import simulate


@pytest.fixture(scope="module")
def density():
    logits, labels = simulate(2000, 6)
    log_odds = one_vs_rest_log_odds(logits)
    return log_odds_density(log_odds, log_odds[np.arange(len(labels)), labels])


@pytest.fixture(scope="module")
def limits(density):
    return binning_limits(density, 8)


def test_every_step_keeps_more_and_none_more_than_the_log_odds(limits) -> None:
    assert list(limits.steps) == ["equal_mass", "equal_width"]
    for information in limits.steps.values():
        assert (np.diff(information) >= -1e-12).all()
        assert information[-1] <= limits.model_information
        assert information[-1] > 0.97 * limits.model_information
    first = limits.steps["equal_mass"][0]
    assert first < limits.steps["equal_mass"][-1]


def test_the_bottleneck_of_a_binary_symmetric_channel_is_mrs_gerbers_lemma() -> None:
    """I(bin; y) = log 2 - h(a * q) with h(q) = log 2 - rate (Wyner and Ziv 1973), a the probability of an error."""
    rate, information = bottleneck(np.array([[0.45, 0.05], [0.05, 0.45]]))
    inside = (rate > 1e-6) & (rate < np.log(2) - 1e-6)
    assert inside.sum() >= 4

    def h(p: float) -> float:
        return float(entr(p) + entr(1 - p))

    for nats, kept in zip(rate[inside], information[inside], strict=True):
        q = brentq(lambda p, nats=nats: h(p) - (np.log(2) - nats), 1e-15, 0.5)
        assert kept == pytest.approx(np.log(2) - h(0.1 + 0.8 * q), abs=1e-6)


def test_no_bins_keep_more_than_the_bottleneck_at_their_rate(density, limits) -> None:
    inside = limits.rate > 1e-3
    slopes = np.diff(limits.label_information[inside]) / np.diff(limits.rate[inside])
    assert (np.diff(slopes) < 1e-3).all(), "it is concave"
    most = information_of_log_odds(density)
    assert limits.label_information.max() == pytest.approx(most, rel=1e-3)
    found = information_by_bins(density)
    for scheme, rate in found.rate.items():
        limit = np.interp(rate, np.r_[0, limits.rate], np.r_[0, limits.label_information])
        assert (found.label_information[scheme] <= limit + 1e-3 * most).all(), scheme
    gaps = {
        scheme: np.interp(rate, limits.rate, limits.label_information)
        - found.label_information[scheme]
        for scheme, rate in found.rate.items()
    }
    assert gaps["imax"].max() < 0.5 * gaps["equal_mass"].max()


def test_divergences_are_scipys() -> None:
    logits, labels = simulate(900, 4)
    found = set_divergence(data={"logits": logits, "labels": labels})
    own = one_vs_rest_log_odds(logits)[np.arange(900), labels]
    order = np.random.default_rng(0).permutation(900)
    first, second = order[:450], order[450:]
    edges = np.linspace(own.min(), own.max(), N_CUTS + 1)

    def histogram(rows: np.ndarray) -> np.ndarray:
        return np.histogram(own[rows], edges)[0]

    assert found.n_rows[-1] == 450
    for k in range(4):
        truth = histogram(second[labels[second] == k])
        pairs = (first[labels[first] == k], found.class_wise), (first, found.shared)
        for rows, distance in pairs:
            expected = jensenshannon(histogram(rows), truth, base=2)
            assert distance[-1, k] == pytest.approx(expected, abs=1e-9)


def test_a_class_without_rows_is_farthest() -> None:
    logits, labels = simulate(300, 4)
    labels = np.where(labels == 3, 2, labels)
    found = set_divergence(data={"logits": logits, "labels": labels})
    assert (found.class_wise[:, 3] == 1).all() and (found.shared[:, 3] == 1).all()


def test_few_rows_of_many_classes_are_told_better_by_the_shared_set() -> None:
    """Figure S1: the shared set is the nearer one until a class has many rows of its own."""
    logits, labels = simulate(4000, 10)
    found = set_divergence(data={"logits": logits, "labels": labels})
    assert found.shared[0].mean() < 0.7 * found.class_wise[0].mean()
    assert (np.diff(found.class_wise.mean(axis=1)) < 0).all()


def test_the_picture_of_a_class_has_limits_too(monkeypatch) -> None:
    monkeypatch.setattr(bins, "N_CELLS", 32)
    picture = binning_picture(*simulate(500, 3), target=1)
    limits = binning_limits(picture.density, 4)
    assert np.isfinite(limits.label_information).all()
