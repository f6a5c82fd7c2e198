"""Images side by side: each pixel where it belongs, all on one scale."""

from __future__ import annotations

import numpy as np
import pytest

from calib.plots.image_grid import image_grid


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
