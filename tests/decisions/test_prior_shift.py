"""Another base rate: closed forms, EM steps written out, and numbers of other packages."""

from __future__ import annotations

import numpy as np
import pytest

from calib.decisions import estimate_rate, shift_prior
from calib.decisions.prior_shift import cut_at_rate, likeliest_rate
from calib.decisions.recalibration import recalibrate
from calib.errors import CalibrationError
from calib.metrics.risk_panel import default_floor
from calib.numerics import log_odds_of, sigmoid
from tests.published import known, risks

# The first rows of simulated loans with a default rate of 0.079, and the same for a rate of 0.02, as two other packages
# give them (probcal 0.4.0, calzone); the first eight of a label-shifted half of them before and after EM (QuaPy 0.2.3).
LOANS = [0.047601, 0.039502, 0.038345, 0.039968, 0.010597, 0.034574, 0.007059, 0.004732]
LOANS_AT_2 = [
    0.0117516728411, 0.00969014287533, 0.00939777849612, 0.00980804746078,
    0.00254179708081, 0.00844855330186, 0.00168858231011, 0.00112992640005,
]  # fmt: skip
OLD, EM_RATE = 0.0835, 0.202493795853
BEFORE = [
    0.0104617293235, 0.0770585382674, 0.105826956255, 0.0140425171845,
    0.074447026785, 0.0324354067527, 0.0891317320298, 0.182243429986,
]  # fmt: skip
AFTER = [
    0.0286208998601, 0.188763400046, 0.248027714663, 0.0381773197551,
    0.183117315532, 0.0854425170106, 0.214274800763, 0.383129441611,
]  # fmt: skip


def scores(n, rate, generator, distance=1.5):
    """Normal scores with variance 1 whose means are apart by the distance, and labels."""
    labels = generator.random(n) < rate
    return generator.normal(distance * labels), labels


def em(probs, old):
    """The steps of Saerens et al. (2002), as they are written there."""
    new, before = np.array(old, dtype=float), np.zeros(len(old))
    while np.abs(new - before).max() > 1e-13:
        shifted, before = probs * (new / old), new
        new = (shifted / shifted.sum(axis=1, keepdims=True)).mean(axis=0)
    return new


def test_a_known_rate_gives_what_other_packages_give():
    np.testing.assert_allclose(shift_prior(LOANS, 0.079, 0.02), LOANS_AT_2, atol=1e-12)
    np.testing.assert_allclose(shift_prior(BEFORE, OLD, EM_RATE), AFTER, atol=1e-9)
    odds = log_odds_of(np.array(LOANS)) + np.log(0.02 / 0.98) - np.log(0.079 / 0.921)
    np.testing.assert_allclose(shift_prior(LOANS, 0.079, 0.02), sigmoid(odds), atol=1e-14)


def test_classes_shift_as_an_event_does_and_back(rng):
    probs = rng.dirichlet([1, 2, 3], size=50)
    old, new = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.1, 0.3])
    np.testing.assert_allclose(
        shift_prior(shift_prior(probs, old, new), new, old), probs, atol=1e-14
    )
    two = shift_prior(np.column_stack([1 - probs[:, 0], probs[:, 0]]), [0.7, 0.3], [0.9, 0.1])
    np.testing.assert_allclose(two[:, 1], shift_prior(probs[:, 0], 0.3, 0.1), atol=1e-15)
    np.testing.assert_array_equal(shift_prior([0.0, 0.4, 1.0], 0.3, 0.0)[:2], 0.0)


def test_the_likeliest_rate_is_where_em_ends(rng):
    score, _ = scores(500, 0.3, rng)
    probs = sigmoid(1.5 * score - 2.0)
    two = np.column_stack([1 - probs, probs])
    assert likeliest_rate(probs, 0.2) == pytest.approx(em(two, [0.8, 0.2])[1], abs=1e-9)
    assert (likeliest_rate([0.01, 0.02, 0.05], 0.1), likeliest_rate([0.5, 0.9, 0.6], 0.1)) == (
        0.0,
        1.0,
    )
    counts = rng.integers(3, size=500)
    assert likeliest_rate(probs, 0.2, counts) == pytest.approx(
        likeliest_rate(np.repeat(probs, counts), 0.2), abs=1e-9
    )


def test_the_cut_is_where_the_shifted_probability_reaches_that_of_the_costs():
    p = np.linspace(0.001, 0.999, 2000)
    np.testing.assert_array_equal(
        p >= cut_at_rate(1 / 7, 0.3, 0.05), shift_prior(p, 0.3, 0.05) >= 1 / 7
    )
    assert cut_at_rate(1 / 7, 0.3, 0.3) == pytest.approx(1 / 7)


def test_clusters_are_drawn_whole(rng):
    (score, labels), (new, _) = scores(150, 0.3, rng), scores(150, 0.3, rng)
    once = estimate_rate(sigmoid(score), labels, sigmoid(new), n_resamples=120).rate
    repeated = [*(np.repeat(of, 4) for of in (sigmoid(score), labels)), sigmoid(new)]
    groups = np.repeat(np.arange(150), 4)
    whole = estimate_rate(*repeated, clusters=groups, n_resamples=120).rate
    apart = estimate_rate(*repeated, n_resamples=120).rate
    assert whole.value == pytest.approx(once.value, abs=1e-6)
    assert whole.high - whole.low == pytest.approx(once.high - once.low, rel=0.25)
    # A fourth of the variance that the calibration rows have; that of the new rows stays.
    assert apart.high - apart.low < 0.95 * (whole.high - whole.low)


def test_a_rate_as_small_as_numbers_go_is_none_without_a_result():
    assert shift_prior([0.0, 0.5], 1e-310, 0.5).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", ["breast", "credit"])
def test_rates_are_those_that_quapy_finds(name):
    (probs, labels), numbers = risks(name), known("risk_model")[name]["recalibration_split"]
    order = np.random.default_rng(7).permutation(len(probs))
    fit, test = np.split(order, [len(order) // 2])
    assert fit.tolist() == numbers["calibration_rows_zero_based"]
    kept = np.sort(np.r_[np.flatnonzero(labels[test] == 1), np.flatnonzero(labels[test] == 0)[::3]])
    new = test[kept]
    score = log_odds_of(probs, default_floor(probs))
    intercept, slope = recalibrate(score[fit], labels[fit] == 1)
    said, found = sigmoid(intercept + slope * score[new]), numbers["saerens_em"]
    assert len(new) == found["n"] and labels[new].mean() == pytest.approx(
        found["true_prevalence"], abs=1e-11
    )
    np.testing.assert_allclose(said[:8], found["first8_input"], atol=2e-8)
    old = labels[fit].mean()
    rate = likeliest_rate(said, old)
    assert rate == pytest.approx(found["em_prevalence"], abs=1e-8)
    np.testing.assert_allclose(
        shift_prior(said, old, rate)[:8], found["first8_corrected"], atol=2e-8
    )
    interval = estimate_rate(probs[fit], labels[fit], probs[new], n_resamples=50).rate
    assert (
        interval.value == pytest.approx(rate, abs=1e-8)
        and interval.low < labels[new].mean() < interval.high
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: shift_prior([0.2], 0.0, 0.1), "ends excluded"),
        (lambda: shift_prior([0.2], 0.2, 1.5), "from 0 to 1"),
        (lambda: shift_prior([[0.2, 0.8]], [0.5, 0.6], [0.5, 0.5]), "sum to 1"),
        (lambda: shift_prior([[0.2, 0.8]], 0.5, 0.2), "2 numbers"),
        (lambda: estimate_rate([0.2, 0.3], [0, 0], [0.4]), "of one kind"),
        (lambda: cut_at_rate(1.2, 0.5, 0.1), "cut=1.2 must lie between 0 and 1"),
        (lambda: cut_at_rate(0.5, 0.3, 1.0), r"new_rate=1\.0 must lie between 0 and 1"),
        (lambda: shift_prior([1.9], 0.5, 0.1), "1 of 1 rows of probabilities leave 0 to 1"),
        (lambda: shift_prior([0.5], "a", 0.1), "base rates must be numbers"),
        (lambda: likeliest_rate([], 0.5), "no rows"),
        (
            lambda: likeliest_rate([[0.2, 0.3, 0.5]], 0.5),
            "An event has two outcomes; got 3 columns",
        ),
        (
            lambda: likeliest_rate([0.5], 0.0),
            "old_rate=0.0 must lie between 0 and 1, ends excluded",
        ),
        (lambda: likeliest_rate([0.5], 0.5, [-1.0]), "weights must be finite numbers from 0"),
    ],
)
def test_what_is_no_rate_or_probability_is_refused_in_a_sentence(call, said):
    with pytest.raises(CalibrationError, match=said):
        call()


def test_a_sample_of_cases_and_controls_gives_the_rate_by_its_weights(rng):
    """Of 40,000 rows of a population with a rate of 10 % all events and a tenth of the others are sampled."""
    score, labels = scores(40_000, 0.1, rng)
    sampled = labels | (rng.random(40_000) < 0.1)
    weights = np.where(labels, 1.0, 10.0)[sampled]
    new, _ = scores(20_000, 0.03, rng)
    arrays = sigmoid(score[sampled] - 3.0), labels[sampled], sigmoid(new - 3.0)
    found = estimate_rate(*arrays, weights=weights, n_resamples=100)
    assert found.rate.low < 0.03 < found.rate.high < 0.06
    alike = estimate_rate(*arrays, weights=np.full(sampled.sum(), 3.0), n_resamples=3)
    assert alike.rate.value == pytest.approx(estimate_rate(*arrays, n_resamples=3).rate.value)
    intercept, slope = recalibrate(score[sampled], labels[sampled], weights)
    assert (intercept, slope) == (
        pytest.approx(np.log(0.1 / 0.9) - 1.5**2 / 2, abs=0.15),
        pytest.approx(1.5, abs=0.08),
    )
