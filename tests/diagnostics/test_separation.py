"""Success by separation, planes through one input, time limits, and the cost of reductions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.calibrators.geometric.reductions import REDUCTIONS
from calib.calibrators.geometric.search import DISTANCES, TrainingSet, exact, nearest
from calib.data.samples import load_sample
from calib.diagnostics.separation import (
    EXACT,
    LEAST,
    DecidingPlane,
    Sides,
    explain_among,
    principal_plane,
    separation_histogram,
    success_rates,
    timed_separation,
    within_finite,
)
from calib.diagnostics.separation_study import MOST_NUMBERS, MOST_ROWS, measure_reduction, offered_reductions, subsets
from calib.evaluation import Evaluation, score_intervals
from calib.metrics import ece
from calib.metrics.bootstrap import wilson_interval
from calib.registry import calibrator

VALUES = st.one_of(st.floats(-3, 3, width=32), st.sampled_from([0.0, 1.0, -1.0, np.inf, -np.inf]))


@st.composite
def rows(draw) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 60))
    return draw(arrays(float, n, elements=VALUES)), draw(arrays(bool, n))


@given(rows(), st.integers(1, 12))
def test_bins_hold_every_row_once_and_equal_values_together(given_rows, n_bins) -> None:
    separation, right = given_rows
    rates = success_rates(separation, right, n_bins)
    finite = within_finite(separation)
    assert len(rates.rows) <= n_bins
    assert np.all(rates.rows > 0)
    assert np.all(rates.least[1:] > rates.largest[:-1])
    for b in range(len(rates.rows)):
        inside = (finite >= rates.least[b]) & (finite <= rates.largest[b])
        assert rates.rows[b] == inside.sum()
        assert rates.right[b] == right[inside].sum()
        assert rates.separation[b] == pytest.approx(finite[inside].mean(), abs=1e-9)
        low, high = wilson_interval(right[inside].sum(), inside.sum())
        assert (rates.low[b], rates.high[b]) == (low, high)
    assert rates.rows.sum() == len(separation)


def test_bins_of_distinct_values_are_of_equal_size(rng) -> None:
    rates = success_rates(rng.normal(size=100), np.ones(100, dtype=bool), 10)
    assert rates.rows.tolist() == [10] * 10
    assert rates.rate.tolist() == [1.0] * 10


@given(rows())
def test_sides_are_what_counting_finds(given_rows) -> None:
    separation, right = given_rows
    sides = Sides.from_separations(separation, right)
    assert sides.everyone.rows == len(right)
    assert sides.safe.rows == sum(value > 0 for value in separation)
    assert sides.safe.rows + sides.dangerous.rows == len(right)
    assert sides.dangerous.right == sum(bool(r) for value, r in zip(separation, right, strict=True) if not value > 0)
    assert sides.inside.rows == sum(value >= sides.threshold for value in separation)
    assert sides.inside.rows >= len(right) / 2
    assert sides.threshold in separation
    for share in (sides.everyone, sides.safe, sides.dangerous, sides.inside):
        if share.rows:
            assert share.rate.low <= share.rate.value == share.right / share.rows <= share.rate.high
        else:
            assert np.isnan(share.rate.value)


@given(rows())
def test_histograms_keep_safe_and_dangerous_rows_apart(given_rows) -> None:
    separation, right = given_rows
    histogram = separation_histogram(separation, right)
    edges = histogram.edges
    assert histogram.right.sum() == right.sum()
    assert histogram.wrong.sum() == (~right).sum()
    assert len(edges) <= 43
    finite = within_finite(separation)
    assert edges[0] <= finite.min() and finite.max() <= edges[-1]
    both = histogram.right + histogram.wrong
    assert both[edges[1:] <= 0].sum() == np.count_nonzero(finite < 0)


@pytest.mark.parametrize("value", [0.0, -2.0, 1e-30, 1e18])
def test_values_that_differ_by_rounding_alone_have_few_bins(value) -> None:
    histogram = separation_histogram(np.array([value, np.nextafter(value, 1e20)]), np.array([True, False]))
    assert len(histogram.edges) <= 3
    assert histogram.right.sum() == histogram.wrong.sum() == 1


def test_infinite_values_take_the_ends() -> None:
    np.testing.assert_array_equal(within_finite(np.array([np.inf, 2.0, -1.0, -np.inf])), [2, 2, -1, -1])
    np.testing.assert_array_equal(within_finite(np.array([np.inf, -np.inf])), [1, -1])


POINTS = st.integers(1, 6).flatmap(lambda d: arrays(float, (3, d), elements=st.floats(-5, 5, width=16)))


@given(POINTS)
def test_distances_among_the_three_are_true(points) -> None:
    feature, same, other = points
    assume(np.linalg.norm(same - other) > 1e-3)
    plane = DecidingPlane.through(feature, same, other)
    assert np.linalg.norm(plane.same) == pytest.approx(np.linalg.norm(same - feature), abs=1e-8)
    assert np.linalg.norm(plane.other) == pytest.approx(np.linalg.norm(other - feature), abs=1e-8)
    assert np.linalg.norm(plane.same - plane.other) == pytest.approx(np.linalg.norm(same - other), abs=1e-8)
    assert plane.same[0] < plane.other[0]
    gap = ((feature - other) ** 2).sum() - ((feature - same) ** 2).sum()
    assert plane.border == pytest.approx(gap / (2 * np.linalg.norm(same - other)), abs=1e-8)


def test_the_border_is_the_exact_separation_of_the_pair_that_decides(rng) -> None:
    train, labels = rng.normal(size=(80, 5)), np.arange(80) % 3
    training = TrainingSet.from_arrays(train, labels)
    for feature in rng.normal(size=(20, 5)):
        why = explain_among(training, feature, 1)
        plane = DecidingPlane.through(feature, train[why.deciding_same_row], train[why.deciding_other_row])
        assert plane.border == pytest.approx(why.exact, abs=1e-9)


@pytest.mark.parametrize("shape", [(200, 5), (30, 90)])
def test_components_are_those_of_scikit_learn(rng, shape) -> None:
    from sklearn.decomposition import PCA

    features = rng.normal(size=shape) * np.linspace(3, 0.1, shape[1])
    plane = principal_plane(TrainingSet.from_arrays(features, np.arange(len(features)) % 2))
    fitted = PCA(2, svd_solver="full").fit(features)
    assert plane.kept == pytest.approx(fitted.explained_variance_ratio_.sum())
    np.testing.assert_allclose(np.abs(plane.places), np.abs(fitted.transform(features)), atol=1e-8)
    np.testing.assert_allclose(plane.place(features), plane.places, atol=1e-8)


def test_places_are_never_farther_apart_than_the_inputs(rng) -> None:
    features = rng.normal(size=(50, 8))
    plane = principal_plane(TrainingSet.from_arrays(features, np.arange(50) % 2))
    others = rng.normal(size=(40, 8))
    apart = np.linalg.norm(others[:, None] - features, axis=2)
    drawn = np.linalg.norm(plane.place(others)[:, None] - plane.places, axis=2)
    assert np.all(drawn <= apart + 1e-9)


@pytest.mark.parametrize("features", [np.zeros((1, 3)), np.zeros((5, 4)), np.arange(6.0)[:, None]])
def test_data_of_fewer_dimensions_have_zeros_for_the_rest(features) -> None:
    plane = principal_plane(TrainingSet.from_arrays(features, np.zeros(len(features), dtype=int)))
    assert plane.places.shape == (len(features), 2)
    assert np.all(plane.places[:, 1] == 0)
    assert plane.kept == pytest.approx(1.0)


def test_of_many_inputs_a_seeded_draw_is_shown(rng) -> None:
    training = TrainingSet.from_arrays(rng.normal(size=(3000, 2)), np.arange(3000) % 2)
    first, second = principal_plane(training), principal_plane(training)
    assert len(first.rows) == len(np.unique(first.rows)) == 1000
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_allclose(first.place(training.features[first.rows]), first.places, atol=1e-9)


@pytest.fixture(scope="module")
def searched() -> tuple[TrainingSet, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    training = TrainingSet.from_arrays(generator.normal(size=(60, 3)), np.arange(60) % 3)
    return training, *training.queries(generator.normal(size=(150, 3)), generator.integers(0, 3, 150))


@pytest.mark.parametrize("kind", [*DISTANCES, EXACT])
def test_with_time_enough_all_rows_are_reached_in_their_order(searched, kind) -> None:
    training, features, predicted = searched
    timed = timed_separation(training, features, predicted, kind, 3600.0)
    assert timed.whole
    np.testing.assert_array_equal(timed.rows, np.arange(150))
    distance = "l2" if kind == EXACT else kind
    np.testing.assert_allclose(timed.fast, nearest(training, features, predicted, distance).fast, rtol=1e-12)
    expected = exact(training, features, predicted).exact if kind == EXACT else timed.fast
    np.testing.assert_allclose(timed.separation, expected, rtol=1e-12)
    assert np.all(np.abs(timed.fast) <= np.abs(timed.separation))
    assert timed.per_second > 0


@pytest.mark.parametrize("kind", ["l1", EXACT])
def test_without_time_the_least_are_reached_in_a_seeded_order(searched, kind) -> None:
    training, features, predicted = searched
    timed = timed_separation(training, features, predicted, kind, 0.0)
    again = timed_separation(training, features, predicted, kind, 0.0)
    other = timed_separation(training, features, predicted, kind, 0.0, random_state=1)
    assert len(timed.rows) == LEAST
    assert timed_separation(training, features[:9], predicted[:9], kind, 0.0).whole
    assert not timed.whole
    assert timed.n == 150
    np.testing.assert_array_equal(timed.rows, again.rows)
    assert set(timed.rows) != set(other.rows)
    whole = timed_separation(training, features, predicted, kind, 3600.0)
    np.testing.assert_allclose(timed.separation, whole.separation[timed.rows], rtol=1e-12)


@pytest.fixture(scope="module")
def parts():
    return load_sample("digits-forest").split(0.5, random_state=0)


@pytest.mark.parametrize(("reduction", "factor"), [("none", 1), ("pca", 2), ("kmeans", 3)])
def test_the_error_is_that_of_the_calibrator_and_its_size_that_of_the_reduction(parts, reduction, factor) -> None:
    calibration, test = parts
    found = measure_reduction(calibration, test, reduction, factor)
    made = calibrator("geometric", reduction=reduction, factor=factor).fit(
        calibration.logits, calibration.labels, features=calibration.features,
        train_features=calibration.train_features, train_labels=calibration.train_labels,
    )  # fmt: skip
    confidence = made.predict_confidence(test.logits, features=test.features)
    expected = ece(confidence, test.logits.argmax(axis=1) == test.labels)
    assert found.ece.value == pytest.approx(expected)
    among_all = score_intervals(Evaluation.from_calibrator(made, test.logits, test.labels, test.features))["ECE"]
    assert found.ece == pytest.approx(among_all, abs=1e-12)
    assert found.per_second > 0
    rows, numbers = {"none": (250, 64), "pca": (250, 16), "kmeans": (None, 64)}[reduction]
    assert found.numbers == numbers
    assert found.rows == rows or (rows is None and 20 <= found.rows <= 40)


def test_differences_are_paired(parts) -> None:
    first, second = (measure_reduction(*parts, "random_set", 2) for _ in range(2))
    assert first.difference(second) == (0.0, 0.0, 0.0)
    other = measure_reduction(*parts, "random_set", 4).difference(first)
    assert other.low <= other.value <= other.high


@pytest.mark.parametrize(
    ("shape", "images"),
    [((9, 8, 8), True), ((9, 8, 8, 3), True), ((9, 64), True), ((9, 30), False), ((9, 8, 8, 2), False)],
)
def test_reductions_of_images_are_offered_for_images_and_squares(shape, images) -> None:
    offered = offered_reductions(np.zeros(shape))
    assert {"pca", "kmeans", "random_set"} <= set(offered)
    assert "none" not in offered
    assert ({"mean_pool", "max_pool", "bilinear"} <= set(offered)) is images
    assert not images or set(offered) == set(REDUCTIONS) - {"none"}


def test_every_offered_reduction_can_be_made(parts) -> None:
    calibration, test = (part.take(np.arange(60)) for part in parts)
    for name in offered_reductions(test.features):
        assert measure_reduction(calibration, test, name, 2).reduction == name


def test_small_data_are_taken_whole_and_large_ones_drawn(parts) -> None:
    assert [len(part) for part in subsets(*parts)] == [len(part) for part in parts]
    n, d = 30_000, 100
    train = np.arange(n * d, dtype=np.float32).reshape(n, d)
    test = replace(parts[1], train_features=train, train_labels=np.arange(n) % 10).take(np.arange(1500) % 700)
    again, drawn = subsets(replace(parts[0], train_features=train, train_labels=np.arange(n) % 10), test)
    assert len(drawn) == MOST_ROWS
    assert again.train_features is drawn.train_features
    assert drawn.train_features.size == MOST_NUMBERS
    rows = (drawn.train_features[:, 0] / d).astype(int)
    assert len(np.unique(rows)) == len(rows)
    np.testing.assert_array_equal(drawn.train_labels, rows % 10)


def test_progress_that_raises_ends_it(parts) -> None:
    def stop(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_reduction(*parts, "none", 1, stop)
