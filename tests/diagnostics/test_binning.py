"""Bins as numbers for a picture; densities and information against SciPy, closed forms and the authors' numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, expit
from scipy.stats import entropy as scipy_entropy
from scipy.stats import gaussian_kde

import calib
from calib.calibrators.imax.placement import SigmoidSums, scheme_edges
from calib.diagnostics import binning as picture_module
from calib.diagnostics.binning import (
    binning_picture,
    entropy,
    information_by_bins,
    information_of_log_odds,
    joint_of_bins,
    log_odds_density,
    mutual_information,
    uncertain_span,
)
from calib.errors import CalibrationError
from calib.numerics import one_vs_rest_log_odds
from tests.calibrators.imax import naive
from tests.conftest import simulate
from tests.published import cifar, known


@pytest.mark.parametrize("target", [None, 2])
def test_bins_of_every_scheme_hold_the_pairs_between_their_edges(target):
    logits, labels = simulate(300, 5)
    picture = binning_picture(logits, labels, target, n_bins=6)
    columns = slice(None) if target is None else slice(target, target + 1)
    log_odds = picture_module._pairs(logits, labels, target)[0].reshape(
        300, -1
    )  # edges may be values among them
    np.testing.assert_allclose(log_odds, one_vs_rest_log_odds(logits)[:, columns], rtol=1e-12)
    hits = (labels[:, None] == np.arange(5))[:, columns]
    assert picture.n_pairs == log_odds.size
    assert set(picture.schemes) == {"imax", "equal_mass", "equal_width"}
    for bins in picture.schemes.values():
        inside = naive.bins_of(log_odds, bins.edges)
        np.testing.assert_array_equal(bins.count, [len(x) for x in inside])
        positives = [len(x) for x in naive.bins_of(log_odds[hits], bins.edges)]
        np.testing.assert_array_equal(bins.positives, positives)
        held = bins.count > 0
        np.testing.assert_allclose(
            bins.representatives[held], (np.array(positives) / np.maximum(bins.count, 1))[held]
        )
        said = [np.mean(1 / (1 + np.exp(-np.array(x)))) for x in inside if x]
        np.testing.assert_allclose(bins.predicted[held], said, rtol=1e-9)
        assert bins.mass.sum() == pytest.approx(1)
        np.testing.assert_allclose(bins.width[1:-1], np.diff(bins.edges))
        assert np.isinf(bins.width[[0, -1]]).all()
        assert bins.label_information <= picture.information


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_picture_shows_the_edges_of_a_fit_with_the_usual_options_of_two_classes_by_class_1(
    n_classes,
):
    logits, labels = simulate(300, n_classes)
    picture = binning_picture(logits, labels)
    assert (picture.target, picture.n_pairs) == ((1, 300) if n_classes == 2 else (None, 1500))
    np.testing.assert_array_equal(
        picture.schemes["imax"].edges, calib.calibrator("imax").fit(logits, labels).maps_[0].edges
    )


def test_of_many_pairs_those_of_some_rows_are_shown(monkeypatch):
    logits, labels = simulate(2000, 10)
    monkeypatch.setattr(picture_module, "MOST_PAIRS", 5000)
    some, same = binning_picture(logits, labels), binning_picture(logits[::4], labels[::4])
    assert (some.n_rows, some.n_pairs) == (500, 5000)
    np.testing.assert_array_equal(some.schemes["imax"].edges, same.schemes["imax"].edges)
    assert binning_picture(logits, labels, target=1).n_rows == 2000


def test_what_cannot_be_shown_is_said():
    logits, labels = simulate(50, 3)
    with pytest.raises(CalibrationError, match="None of the 50 rows are of class 1"):
        binning_picture(logits, np.zeros_like(labels), target=1)


# -- densities and information ---------------------------------------------------------------------------


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
        np.testing.assert_allclose(
            mine, scott(density.middles), atol=1e-4
        )  # cells shift pairs by 0.003
        assert mine.sum() * density.cell_width == pytest.approx(1, abs=1e-6)
    assert density.share_label == pytest.approx(300 / 2300)
    assert density.count_label.sum() == 300
    assert (density.count_label + density.count_other).sum() == 2300
    joint = density.joint()
    known = np.isfinite(density.posterior)
    np.testing.assert_allclose(
        density.posterior[known], joint[1, known] / joint[:, known].sum(axis=0)
    )
    assert known[joint.sum(axis=0).argmax()]


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


@settings(max_examples=10)
@given(st.integers(0, 50), st.lists(st.floats(-15, 10), min_size=1, max_size=12, unique=True))
def test_bins_keep_no_more_than_the_log_odds_and_these_no_more_than_the_label_has(seed, edges):
    density = log_odds_density(*some_pairs(500, seed))
    edges = np.array(sorted(edges))
    joint = joint_of_bins(density, edges)
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    assert (joint >= -1e-15).all()
    kept = information_of_bins(density, edges)
    assert kept <= information_of_log_odds(density) + 1e-12
    share = density.share_label
    assert information_of_log_odds(density) <= entropy(np.array([share, 1.0 - share])) + 1e-12
    assert kept <= information_of_bins(density, np.sort(np.append(edges, 0.123))) + 1e-12


@pytest.mark.parametrize("seed", [0, 1])
def test_no_scheme_keeps_more_than_the_log_odds_or_its_rate_and_imax_keeps_most(seed):
    plane = information_by_bins(
        log_odds_density(*some_pairs(20_000, seed)), n_bins=(2, 4, 8, 16, 64)
    )
    missing = {}
    for name, rate in plane.rate.items():
        assert (rate <= np.log(plane.n_bins) + 1e-12).all()
        assert (plane.label_information[name] <= np.minimum(rate, plane.information) + 1e-12).all()
        missing[name] = (plane.information - plane.label_information[name])[2:]
    assert (missing["imax"] < missing["equal_mass"]).all()
    assert (missing["imax"] < missing["equal_width"]).all()
    assert missing["imax"][-1] < 0.002 * plane.information
    np.testing.assert_allclose(plane.rate["equal_mass"], np.log(plane.n_bins), rtol=1e-6)


def test_the_uncertain_span_holds_its_share_of_the_labels_entropy():
    density = log_odds_density(*some_pairs())
    low, high = uncertain_span(density, 0.8)
    joint = density.joint()
    left = entr(joint).sum(axis=0) - entr(joint.sum(axis=0))  # P(cell) H(y | cell)
    inside = (density.middles > low) & (density.middles <= high)
    assert left[inside].sum() / left.sum() == pytest.approx(0.8, abs=0.01)
    assert left[density.middles <= low].sum() == pytest.approx(
        left[density.middles > high].sum(), rel=0.05
    )
    assert low < 0 < high  # where either outcome is as likely


@pytest.mark.parametrize("n", [1000, 5000])
def test_information_is_the_authors_to_their_digits(n):
    reference, ((probs, labels), _) = known("imax"), cifar(100, n)
    log_odds = one_vs_rest_log_odds(np.log(probs))
    density = log_odds_density(log_odds, log_odds[np.arange(n), labels])
    table = reference["scores"]["c100_wrn"]
    names = {"eqsize": "equal size sCW", "eqmass": "equal mass sCW", "imax": "I-Max sCW"}
    for key, name in names.items():
        if f"{name} {n}" not in table:
            continue
        edges = np.array(reference[f"c100_wrn|{key}_sCW_{n}_sample_based"]["edges"])
        assert information_of_bins(density, edges) / np.log(2) == pytest.approx(
            table[f"{name} {n}"][8], abs=6e-5
        )
    ours = scheme_edges(SigmoidSums.from_log_odds(log_odds), "imax", 15)
    assert information_of_bins(density, ours) > 0.99 * information_of_log_odds(density)
