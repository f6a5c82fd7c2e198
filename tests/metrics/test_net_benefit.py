"""Net benefit against row-by-row counts and other packages' numbers, and the coverage of its intervals."""

import numpy as np
import pytest

from calib.errors import CalibrationError
from calib.metrics import net_benefit
from calib.metrics.bootstrap import wilson_interval
from calib.metrics.decision_curve import net_benefit_difference
from calib.numerics import sigmoid
from tests.published import known, risks

THRESHOLDS = np.array([0.05, 0.1, 0.2, 0.3, 0.5])


@pytest.fixture
def rows(rng):
    score = rng.normal(-1.0, 1.5, 400)
    return np.round(sigmoid(score), 2), rng.random(400) < sigmoid(0.2 + 0.7 * score)


def counted(probs, labels, threshold, weights=None):
    """Net benefit row by row, as Vickers and Elkin (2006) define it."""
    weights = np.ones(len(probs)) if weights is None else weights
    total = 0.0
    for p, y, w in zip(probs, labels, weights, strict=True):
        if p >= threshold:
            total += w * (1.0 if y else -threshold / (1.0 - threshold))
    return total / weights.sum()


def test_it_is_what_rows_count(rows, rng):
    probs, labels = rows
    weights = rng.uniform(0.2, 3.0, len(probs))
    for weighted in (None, weights):
        found = net_benefit(probs, labels, THRESHOLDS, weighted)
        wanted = [counted(probs, labels, t, weighted) for t in THRESHOLDS]
        everyone = np.array([counted(np.ones(len(probs)), labels, t, weighted) for t in THRESHOLDS])
        np.testing.assert_allclose(found.model.value, wanted, atol=1e-12)
        np.testing.assert_allclose(found.treat_all.value, everyone, atol=1e-12)
        odds = THRESHOLDS / (1.0 - THRESHOLDS)
        np.testing.assert_allclose(found.avoided.value, (wanted - everyone) / odds, atol=1e-12)


def test_a_model_is_of_use_between_its_lowest_and_its_highest_probability(rng):
    # Below the lowest it acts on all rows, above the highest on none; calibrated, it gains between them.
    probs = rng.choice([0.2, 0.8], 4000)
    labels = rng.random(4000) < probs
    thresholds = np.arange(0.05, 1.0, 0.05)
    low, high = net_benefit(probs, labels, thresholds).useful_range
    assert (low, high) == pytest.approx((0.25, 0.75)), "where the interval of the gain lies above 0"
    assert net_benefit(rng.random(4000), labels, thresholds).useful_range is None


def test_the_interval_is_that_of_zou_huang_and_zhang(rows):
    probs, labels = rows
    n, t = len(probs), 0.2
    acts = probs >= t
    hits, alarms = (acts & labels).mean(), (acts & ~labels).mean()
    (hit_low, alarm_low), (hit_high, alarm_high) = wilson_interval([n * hits, n * alarms], [n, n])
    correlation = -np.sqrt(hits * alarms / ((1 - hits) * (1 - alarms)))
    odds = t / (1 - t)

    def reach(up, down):
        return np.sqrt(up**2 - 2 * correlation * up * down + down**2)

    band = net_benefit(probs, labels, t).model
    value = hits - odds * alarms
    assert band.low[0] == pytest.approx(
        value - reach(hits - hit_low, odds * (alarm_high - alarms)), abs=1e-12
    )
    assert band.high[0] == pytest.approx(
        value + reach(hit_high - hits, odds * (alarms - alarm_low)), abs=1e-12
    )


def test_equal_weights_are_none_and_unequal_ones_widen(rows, rng):
    probs, labels = rows
    each = net_benefit(probs, labels, THRESHOLDS).model
    equal = net_benefit(probs, labels, THRESHOLDS, weights=np.full(len(probs), 3.0)).model
    np.testing.assert_allclose(equal.low, each.low, atol=1e-12)
    uneven = net_benefit(
        probs, labels, THRESHOLDS, weights=rng.choice([0.1, 3.0], len(probs))
    ).model
    assert np.all(uneven.high - uneven.low > 1.2 * (each.high - each.low))


def test_a_difference_is_paired(rows):
    probs, labels = rows
    thresholds = np.linspace(0.05, 0.5, 10)
    other = np.clip(probs**1.3, 0, 1)
    found = net_benefit_difference(probs, other, labels, thresholds)
    first, second = (
        net_benefit(probs, labels, thresholds).model,
        net_benefit(other, labels, thresholds).model,
    )
    np.testing.assert_allclose(found.value, first.value - second.value, atol=1e-12)
    apart = (first.high - first.low) + (second.high - second.low)
    assert np.all(found.high - found.low < 0.5 * apart)


def test_a_difference_at_a_threshold_depends_on_that_threshold_alone(rng):
    """No decision changes at .02. It once counted as seen on the rows that the clusters are worth at the others."""
    labels, other = rng.random(1200) < 0.15, rng.choice([0.05, 0.15, 0.4], 1200)
    probs = np.where(rng.random(1200) < 0.2, 0.05, other)
    thresholds = [0.02, 0.1, 0.3]
    for options in (
        {},
        {"clusters": np.arange(1200) % 60},
        {"weights": rng.uniform(0.2, 3.0, 1200)},
    ):
        found = net_benefit_difference(probs, other, labels, thresholds, **options)
        for k, threshold in enumerate(thresholds):
            alone = net_benefit_difference(probs, other, labels, threshold, **options)
            np.testing.assert_allclose(found.at(k), alone.at(0), rtol=0, atol=1e-12)


def test_thresholds_lie_between_0_and_1_and_an_event_has_two_outcomes():
    for thresholds in ([0.0], []):
        with pytest.raises(CalibrationError, match="between 0 and 1"):
            net_benefit([0.2, 0.3], [0, 1], thresholds)
    with pytest.raises(CalibrationError, match=r"probs\[:, k\]"):
        net_benefit([[0.2, 0.3, 0.5]], [1], [0.5])


DRAWS = 1000
SETTINGS = [
    (n, rate, n_clusters)
    for n_clusters in (0, 40)
    for n in (200, 1000, 5000)
    for rate in (0.02, 0.1, 0.5)
    if n * rate >= 20
]


def of_rate(rate, spread, generator):
    """Intercept of logits with this event rate, the slope 0.7 and cluster effects; scores, effects of many rows."""
    score, effect = generator.normal(0, 1.3, 200_000), generator.normal(0, 1, 200_000) * spread
    low, high = -12.0, 12.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (
            (low, middle)
            if sigmoid(middle + 0.7 * score + effect).mean() > rate
            else (middle, high)
        )
    return middle, score, sigmoid(middle + 0.7 * score + effect)


@pytest.mark.long
@pytest.mark.parametrize(("n", "rate", "n_clusters"), SETTINGS)
def test_the_interval_holds_the_truth_in_95_of_100_draws(n, rate, n_clusters):
    # On the scale of the logit an intraclass correlation of 0.05 is a variance of 0.05 / 0.95 pi^2 / 3.
    spread = np.sqrt(0.05 / 0.95 * np.pi**2 / 3) if n_clusters else 0.0
    generator = np.random.default_rng(round(1000 * rate) + n + n_clusters)
    intercept, score, chance = of_rate(rate, spread, generator)
    shift = np.log(rate / (1 - rate))
    thresholds = np.array([rate / 2, rate, min(0.9, 1.6 * rate)])
    acts = sigmoid(score + shift)[:, None] >= thresholds
    truth = (acts * (chance[:, None] - (1 - chance)[:, None] * thresholds / (1 - thresholds))).mean(
        axis=0
    )
    clusters = np.arange(n) % n_clusters if n_clusters else None
    held = np.zeros(3)
    for _ in range(DRAWS):
        x = generator.normal(0, 1.3, n)
        effect = generator.normal(0, spread, n_clusters)[clusters] if n_clusters else 0.0
        came = generator.random(n) < sigmoid(intercept + 0.7 * x + effect)
        band = net_benefit(sigmoid(x + shift), came, thresholds, clusters=clusters).model
        held += (band.low <= truth) & (truth <= band.high)
    assert np.all((held / DRAWS >= 0.92) & (held / DRAWS <= 0.98)), held / DRAWS


@pytest.mark.parametrize("name", ["breast", "credit"])
def test_decision_curves_are_those_of_dcurves(name):
    (probs, labels), numbers = risks(name), known("risk_model")[name]
    printed = numbers["net_benefit"]["thresholds"]
    found = net_benefit(probs, labels, [float(t) for t in printed])
    for place, (threshold, row) in enumerate(printed.items()):
        t = float(threshold)
        assert found.model.value[place] == pytest.approx(
            row["model"], abs=1e-11
        )  # printed with 12 digits
        assert found.treat_all.value[place] == pytest.approx(row["treat_all"], abs=1e-11)
        assert found.avoided.value[place] == pytest.approx(
            row["net_interventions_avoided_per_row"], abs=1e-11
        )
        cost = numbers["expected_cost"]["thresholds"][threshold]["normalised_cost_at_theoretical"]
        assert (1 - t) * (labels.mean() - found.model.value[place]) == pytest.approx(
            cost, abs=1e-11
        )


def test_a_difference_is_covered_where_the_event_comes_in_whole_clusters(rng):
    """Rows that change are alone in their clusters, the event is in all rows of one cluster in 50."""
    clusters, held = np.repeat(np.arange(60), 20), 0
    truth = 0.3 * (0.02 - 0.98 * 0.02 / 0.98)
    for _ in range(100):
        came = (rng.random(60) < 0.02)[clusters]
        new = np.where(rng.random(len(clusters)) < 0.3, 0.03, 0.01)
        found = net_benefit_difference(
            new, np.full(len(clusters), 0.01), came, [0.02], clusters=clusters
        )
        low, high = found.at(0)[1:]
        held += low <= truth <= high
    assert held >= 90
