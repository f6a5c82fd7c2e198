"""Figures of the page Geometry: success by separation and images, each number where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.reliability import sided_counts
from calib.diagnostics.separation import success_rates
from calib.plots.annotations import figure_data
from calib.plots.geometry import image_grid, success_curve
from calib.plots.style import alt_text, method_style
from tests.plots.conftest import traces, words

GRID = np.linspace(-1, 2, 31)
STYLE = method_style("isotonic")


def test_success_rates_stand_at_their_separation_between_both_maps_over_the_rows(rng) -> None:
    separation = rng.normal(0.5, 0.5, size=300)
    right_rows = rng.random(300) < 1 / (1 + np.exp(-4 * separation))
    rates = success_rates(separation, right_rows, 7)
    lines = [("isotonic", STYLE, np.linspace(0, 1, 31)), ("sigmoid", STYLE, np.full(31, 0.5))]
    fig = success_curve(rates, sided_counts(separation, right_rows, 0.0), GRID, lines, "separation")
    (dots,) = traces(fig, "test rows")
    np.testing.assert_allclose(dots.x, rates.score)
    np.testing.assert_allclose(np.array(dots.y) + dots.error_y.array, rates.high)
    np.testing.assert_allclose(np.array(dots.y) - dots.error_y.arrayminus, rates.low)
    np.testing.assert_allclose(traces(fig, "isotonic")[0].y, np.linspace(0, 1, 31))
    assert {"isotonic", "sigmoid", "← dangerous", f"{(~right_rows).sum()} wrong"} <= set(words(fig))
    assert "300 test rows" in alt_text(fig) and "in 7 bins" in alt_text(fig)
    assert figure_data(fig)["rows"].sum() == 300
    (right,), (wrong,) = traces(fig, "right"), traces(fig, "wrong")
    assert (max(right.y), min(wrong.y)) == (1, -1)
    assert sum(point[2] for point in right.customdata) == right_rows.sum()


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


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_images_of_one_brightness_are_drawn(dtype):
    picture = image_grid(np.full((2, 2, 2), 7, dtype), columns=2)
    assert (picture[..., :3] == 0).all()
