"""Figures of the page Geometry: separations, planes and images, each number where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from calib.calibrators.geometric.reductions import REDUCTIONS
from calib.diagnostics.separation import DecidingPlane, separation_histogram, success_rates
from calib.diagnostics.separation_study import Tradeoff
from calib.metrics.bootstrap import Interval
from calib.plots.annotations import figure_data
from calib.plots.geometry import LONGEST, Crowd, Neighbour, Zone, deciding_picture, image_grid, principal_picture
from calib.plots.geometry_success import (
    NAMES,
    SuccessMap,
    fast_against_exact,
    separation_densities,
    success_curve,
    tradeoff_ece,
    tradeoff_speed,
)
from calib.plots.style import alt_text, method_style, shorten
from tests.plots.conftest import traces, words

GRID = np.linspace(-1, 2, 31)


@pytest.fixture
def rows(rng):
    separation = rng.normal(0.5, 0.5, size=300)
    return separation, rng.random(300) < 1 / (1 + np.exp(-4 * separation))


def test_success_rates_stand_at_their_separation_between_both_maps(rows) -> None:
    rates = success_rates(*rows, 7)
    style = method_style("isotonic")
    lines = [SuccessMap("isotonic", style, np.linspace(0, 1, 31)), SuccessMap("sigmoid", style, np.full(31, 0.5))]
    fig = success_curve(rates, GRID, lines, "separation")
    (dots,) = traces(fig, "test rows")
    np.testing.assert_allclose(dots.x, rates.separation)
    np.testing.assert_allclose(np.array(dots.y) + dots.error_y.array, rates.high)
    np.testing.assert_allclose(np.array(dots.y) - dots.error_y.arrayminus, rates.low)
    np.testing.assert_allclose(traces(fig, "isotonic")[0].y, np.linspace(0, 1, 31))
    assert {"isotonic", "sigmoid", "← dangerous"} <= set(words(fig))
    assert "300 test rows in 7 bins" in alt_text(fig)
    assert figure_data(fig)["rows"].sum() == 300


def test_without_dangerous_rows_nothing_is_shaded() -> None:
    rates = success_rates(np.array([1.0, 2.0]), np.array([True, True]), 2)
    fig = success_curve(rates, np.linspace(0.5, 2, 5), [SuccessMap("sigmoid", method_style("platt"), np.ones(5))], "s")
    assert "← dangerous" not in words(fig)
    assert not fig.layout.shapes


def test_right_rows_point_up_and_wrong_ones_down(rows) -> None:
    histogram = separation_histogram(*rows)
    fig = separation_densities(histogram, "separation")
    (right,), (wrong,) = traces(fig, "right"), traces(fig, "wrong")
    assert max(right.y) == 1
    assert min(wrong.y) == -1
    assert sum(point[2] for point in right.customdata) == rows[1].sum()
    assert f"{int((~rows[1]).sum())} wrong" in words(fig)


def test_the_zone_touches_the_half_way_line() -> None:
    plane = DecidingPlane.through(np.zeros(3), np.array([-1.0, 2.0, 0.0]), np.array([3.0, 2.0, 0.0]))
    assert plane.border == 1
    fig = deciding_picture(plane, Zone(0.7, 1.0), Neighbour(3, "a <b>", 5**0.5), Neighbour(9, "c" * 30, 13**0.5))
    circles = [trace for trace in fig.data if trace.mode == "lines" and len(trace.x) > 100]
    np.testing.assert_allclose([np.hypot(circle.x, circle.y).max() for circle in circles], [1.0, 0.7])
    assert max(circles[0].x) == pytest.approx(plane.border)
    assert fig.layout.shapes[0].x0 == 1
    assert "a &lt;b&gt;" in words(fig)
    assert shorten("c" * 30, LONGEST) in words(fig)
    assert fig.layout.yaxis.scaleanchor == "x"
    low, high = fig.layout.xaxis.range
    assert low < -1 and high > 3
    assert figure_data(fig)["training row"].dropna().tolist() == [3, 9]


def test_zones_of_infinite_radius_are_not_drawn_and_colour_says_the_side() -> None:
    crowd = Crowd(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([4, 7]), np.array(["a", "b"]), np.array([True, False]))
    fig = principal_picture(crowd, np.zeros(2), Zone(np.inf, np.inf), [])
    assert not [trace for trace in fig.data if trace.mode == "lines"]
    assert traces(fig, "predicted class")[0].customdata[0][2] == 4
    assert traces(fig, "other classes")[0].customdata[0][2] == 7
    assert Zone(0.1, 0.2).color != Zone(-0.1, -0.2).color == Zone(0.0, 0.0).color


def test_exact_is_drawn_over_fast(rng) -> None:
    fast = rng.normal(size=20)
    right = rng.random(20) < 0.5
    fig = fast_against_exact(np.arange(20), fast, 2 * fast, right)
    np.testing.assert_allclose(traces(fig, "right")[0].x, fast[right])
    np.testing.assert_allclose(traces(fig, "wrong")[0].y, 2 * fast[~right])
    line = fig.data[0]
    assert line.x == line.y


@pytest.fixture
def measured() -> list[Tradeoff]:
    interval = Interval(0.02, 0.0, 0.03)
    settings = [("none", 1), *((name, t) for name in REDUCTIONS[1:] for t in (4, 2))]
    return [Tradeoff(name, t, 10, 5, interval, np.zeros(3), 1000.0 * t) for name, t in settings]


def test_each_reduction_is_a_line_over_t_in_a_colour_of_its_own(measured) -> None:
    assert set(NAMES) == set(REDUCTIONS)
    for draw in (tradeoff_speed, tradeoff_ece):
        fig = draw(measured)
        assert len({trace.line.color for trace in fig.data}) == len(REDUCTIONS)
        assert {"none", "k-means", "PCA"} <= set(words(fig))
        (pca,) = traces(fig, "PCA")
        assert [point[0] for point in pca.customdata] == [2, 4]
        alone = draw([one for one in measured if one.reduction in ("none", "pca")])
        assert traces(alone, "PCA")[0].line.color == pca.line.color
    np.testing.assert_allclose(traces(tradeoff_speed(measured), "PCA")[0].y, np.log10([2000, 4000]))
    (pca,) = traces(tradeoff_ece(measured), "PCA")
    np.testing.assert_allclose(pca.y, 0.02)
    np.testing.assert_allclose(pca.error_y.array, 0.01)


def test_every_image_lies_in_its_place(rng):
    images = rng.random((5, 3, 4))
    picture = image_grid(images, columns=2)
    assert picture.shape == (3 * 4 - 1, 2 * 5 - 1, 4) and picture.dtype == np.uint8
    low, span = images.min(), np.ptp(images)
    opaque = np.zeros(picture.shape[:2], bool)
    for i, image in enumerate(images):
        place = slice(4 * (i // 2), 4 * (i // 2) + 3), slice(5 * (i % 2), 5 * (i % 2) + 4)
        np.testing.assert_allclose(picture[place][..., 0], 255 * (image - low) / span, atol=0.5)
        opaque[place] = True
    np.testing.assert_array_equal(
        picture[..., 3], np.where(opaque, 255, 0), err_msg="gaps and the last place are clear"
    )


def test_colours_stay_and_grey_is_grey(rng):
    colours = rng.integers(0, 256, (2, 4, 4, 3), dtype=np.uint8)
    colours[0, 0, 0], colours[1, 0, 0] = 0, 255
    picture = image_grid(colours, columns=1)
    np.testing.assert_array_equal(picture[:4, :, :3], colours[0])
    grey = image_grid(rng.random((1, 4, 4, 1)), columns=1)
    assert (grey[..., 0] == grey[..., 1]).all() and (grey[..., 1] == grey[..., 2]).all()


def test_small_images_grow_by_whole_pixels(rng):
    images = rng.random((4, 3, 3))
    plain, grown = image_grid(images, columns=2), image_grid(images, columns=2, pixel=3)
    np.testing.assert_array_equal(grown[::3, ::3], plain)
    np.testing.assert_array_equal(grown[2::3, 2::3], plain)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_images_of_one_brightness_are_drawn(dtype):
    picture = image_grid(np.full((2, 2, 2), 7, dtype), columns=2)
    assert (picture[..., :3] == 0).all()
