"""Densities and mutual information against SciPy, closed forms and the authors' numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import entr, expit
from scipy.stats import entropy as scipy_entropy
from scipy.stats import gaussian_kde

from calib.calibrators.imax.placement import scheme_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.diagnostics.information_plane import bottleneck_limit, information_plane
from calib.diagnostics.log_odds_density import (
    NATS_PER_BIT,
    entropy,
    information_along,
    information_of_log_odds,
    joint_of_bins,
    label_entropy,
    log_odds_density,
    mutual_information,
)
from calib.numerics import one_vs_rest_log_odds
from tests.calibrators.imax import naive


def some_pairs(n: int = 4000, seed: int = 0, slope: float = 1.0, intercept: float = 0.0):
    """Log-odds and those of them that belong to y = 1, where P(y = 1) = sigmoid(slope * log-odds + intercept)."""
    generator = np.random.default_rng(seed)
    log_odds = generator.normal(-3, 3, n)
    return log_odds, log_odds[generator.random(n) < expit(slope * log_odds + intercept)]


def information_of_bins(density, edges):
    return mutual_information(joint_of_bins(density, edges))


def test_densities_are_scipys(rng):
    label, other = rng.normal(3, 2, 300), rng.normal(-4, 3, 2000)
    density = log_odds_density(np.concatenate([label, other]), label)
    for mine, values in ((density.density_label, label), (density.density_other, other)):
        scott = gaussian_kde(values, bw_method=len(values) ** -0.2)
        np.testing.assert_allclose(mine, scott(density.middles), atol=1e-4)  # cells shift pairs by 0.003
        assert mine.sum() * density.cell_width == pytest.approx(1, abs=1e-6)
    assert density.share_label == pytest.approx(300 / 2300)
    assert density.count_label.sum() == 300
    assert (density.count_label + density.count_other).sum() == 2300
    joint = density.joint()
    known = np.isfinite(density.posterior)
    np.testing.assert_allclose(density.posterior[known], (joint[1] / joint.sum(axis=0))[known])
    assert known[joint.sum(axis=0).argmax()]


def test_cells_count_what_a_histogram_counts(rng):
    values = rng.normal(size=(700, 3)) * 5
    density = log_odds_density(values, values[:, 0])
    expected = np.histogram(values[:, 0], density.edges)[0]
    # A value at an edge may lie on either side of it.
    assert np.abs(np.cumsum(density.count_label - expected)).sum() <= 3


@pytest.mark.parametrize("label", [np.array([]), np.array([0.5])])
def test_densities_of_few_and_of_equal_log_odds(label):
    density = log_odds_density(np.full(7, 0.5), label)
    assert density.count_label.sum() == len(label)
    assert np.isfinite(density.density_label).all()
    assert information_of_log_odds(density) == pytest.approx(0, abs=1e-6)


@given(st.integers(0, 200), st.integers(2, 9))
def test_information_is_that_of_its_definition(seed, n_bins):
    generator = np.random.default_rng(seed)
    joint = generator.dirichlet(np.full(2 * n_bins, 0.3)).reshape(2, n_bins)
    joint[:, generator.random(n_bins) < 0.2] = 0.0
    if not joint.sum() > 0:
        return
    joint /= joint.sum()
    assert mutual_information(joint) == pytest.approx(naive.information(joint), abs=1e-12)
    assert entropy(joint[0] / joint[0].sum()) == pytest.approx(scipy_entropy(joint[0]), abs=1e-12)
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert mutual_information(independent) == pytest.approx(0, abs=1e-12)


@given(st.integers(0, 50), st.lists(st.floats(-15, 10), min_size=1, max_size=12, unique=True))
def test_bins_keep_no_more_than_the_log_odds_and_these_no_more_than_the_label_has(seed, edges):
    density = log_odds_density(*some_pairs(500, seed))
    edges = np.array(sorted(edges))
    joint = joint_of_bins(density, edges)
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    assert (joint >= -1e-15).all()
    kept = information_of_bins(density, edges)
    assert kept <= information_of_log_odds(density) + 1e-12
    assert information_of_log_odds(density) <= label_entropy(density) + 1e-12
    assert kept <= information_of_bins(density, np.sort(np.append(edges, 0.123))) + 1e-12


def test_information_along_a_trace_is_that_of_each_step():
    density = log_odds_density(*some_pairs())
    steps = [np.array([-4.0, 0.0, 2.0]), np.array([-1.0]), np.array([-5.0, -2.0, 1.0])]
    np.testing.assert_allclose(
        information_along(density, steps), [information_of_bins(density, edges) for edges in steps], atol=1e-14
    )


def test_masses_of_bins_are_those_of_normal_distributions():
    from scipy.stats import norm

    generator = np.random.default_rng(0)
    label, other = generator.normal(2, 1, 200_000), generator.normal(-2, 2, 200_000)
    density = log_odds_density(np.concatenate([label, other]), label)
    edges = np.array([-3.0, 0.0, 1.5])
    expected = [0.5 * np.diff(d.cdf(edges), prepend=0, append=1) for d in (norm(-2, 2), norm(2, 1))]
    np.testing.assert_allclose(joint_of_bins(density, edges), expected, atol=3e-3)


# -- the information bottleneck -----------------------------------------------------------------------------------


def test_the_limit_of_a_binary_symmetric_channel_is_mrs_gerbers():
    """Wyner and Ziv 1973: I = H(y) - h(h^-1(H(x) - R) * flip), for a uniform bit that is flipped with some chance."""
    flip = 0.11
    rates, kept = bottleneck_limit(np.array([[1 - flip, flip], [flip, 1 - flip]]) / 2)

    def h(p):
        return float(entr(p) + entr(1 - p))

    assert (rates[0], kept[0]) == (0.0, 0.0)
    assert rates[-1] == pytest.approx(np.log(2), rel=1e-9)
    assert kept[-1] == pytest.approx(np.log(2) - h(flip), rel=1e-9)
    for rate in (0.05, 0.2, 0.4, 0.6):
        q = brentq(lambda q, rate=rate: h(q) - (np.log(2) - rate), 1e-12, 0.5)
        exact = np.log(2) - h(q * (1 - flip) + (1 - q) * flip)
        found = np.interp(rate, rates, kept)
        assert exact * 0.97 <= found <= exact + 1e-9


@pytest.mark.parametrize("seed", [0, 1])
def test_no_scheme_is_above_the_limit_and_imax_is_nearest(seed):
    density = log_odds_density(*some_pairs(20_000, seed))
    plane = information_plane(density, n_bins=(2, 4, 8, 16, 64))
    slopes = np.diff(plane.limit_information) / np.diff(plane.limit_rate)
    assert (slopes > 0).all()
    assert (np.diff(slopes) < 1e-12).all()  # concave
    missing = {}
    for name, rate in plane.rate.items():
        assert (rate <= np.log(plane.n_bins) + 1e-12).all()
        limit = np.interp(rate, plane.limit_rate, plane.limit_information)
        assert (plane.label_information[name] <= limit + 2e-4 * plane.information).all()
        missing[name] = (plane.information - plane.label_information[name])[2:]
    assert (missing["imax"] < missing["equal_mass"]).all()
    assert (missing["imax"] < missing["equal_width"]).all()
    assert missing["imax"][-1] < 0.002 * plane.information
    np.testing.assert_allclose(plane.rate["equal_mass"], np.log(plane.n_bins), rtol=1e-6)


@pytest.mark.parametrize("n", [1000, 5000])
def test_information_is_the_authors_to_their_digits(reference_data, n):
    reference = json.loads((reference_data.parent / "numbers" / "imax.json").read_text())
    rows = np.random.RandomState(0).permutation(10000)[:n]
    with np.load(reference_data / "wideresnet-16-4-cifar-100.npz") as stored:
        log_odds = one_vs_rest_log_odds(np.log(stored["predictions"][rows].astype(float)))
        labels = stored["ground_truth"].ravel()[rows]
    density = log_odds_density(log_odds, log_odds[np.arange(n), labels])
    table = reference["scores"]["c100_wrn"]
    names = {"eqsize": "equal size sCW", "eqmass": "equal mass sCW", "imax": "I-Max sCW"}
    for key, name in names.items():
        if f"{name} {n}" not in table:
            continue
        edges = np.array(reference[f"c100_wrn|{key}_sCW_{n}_sample_based"]["edges"])
        assert information_of_bins(density, edges) / NATS_PER_BIT == pytest.approx(table[f"{name} {n}"][8], abs=6e-5)
    ours = scheme_edges(SigmoidSums.from_log_odds(log_odds), "imax", 15)
    assert information_of_bins(density, ours) > 0.99 * information_of_log_odds(density)
