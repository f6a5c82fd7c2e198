"""The figures of calibration maps show their numbers where they belong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.diagnostics.calibration_maps import balanced_edges, class_pairs
from calib.diagnostics.reliability import frequencies
from calib.plots.maps import (
    MapLine,
    MapPicture,
    calibration_maps,
)
from calib.plots.style import method_style
from tests.conftest import simulate
from tests.plots.conftest import traces, words
from tests.plots.zoo import map_picture

STYLE = method_style("isotonic")
GRID = np.linspace(-4, 4, 81)


@pytest.fixture(scope="module")
def binary():
    return simulate(300, 2)


@pytest.fixture(scope="module")
def picture(binary) -> MapPicture:
    log_odds, positives = class_pairs(*binary)
    seen = frequencies(log_odds, positives, balanced_edges(log_odds, positives, 6))
    return map_picture("R&D <b>x", "rank", GRID, log_odds, positives, seen)


def ranks_of(log_odds: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Share of the pairs below each log-odds, with half of those at it."""
    below, upto = (np.searchsorted(np.sort(pairs), log_odds, side=side) for side in ("left", "right"))
    return (below + upto) / (2 * len(pairs))


def test_maps_lie_at_the_ranks_of_their_scores(picture, binary) -> None:
    fig = calibration_maps(picture, [MapLine("raw", STYLE, expit(GRID / 2))])
    (raw,), (truth,) = traces(fig, "raw"), traces(fig, "truth")
    log_odds, _ = class_pairs(*binary)
    np.testing.assert_allclose(raw.x, ranks_of(GRID, log_odds), atol=1 / 300 + 1e-9)
    np.testing.assert_allclose(raw.y, expit(GRID / 2))
    np.testing.assert_allclose(truth.y, expit(GRID))
    labels = set(words(fig))
    assert {"raw", "truth"} <= labels
    assert "<b>" not in fig.layout.yaxis.title.text


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_whiskers_are_the_intervals_of_the_frequencies(picture, scale) -> None:
    fig = calibration_maps(picture, [MapLine("raw", STYLE, expit(GRID))], scale)
    (dots,) = traces(fig, "frequency")
    seen = picture.frequencies
    low, high = fig.layout.yaxis.range
    ends = (dots.y - dots.error_y.arrayminus, dots.y, dots.y + dots.error_y.array)
    for end, expected in zip(ends, (seen.low, seen.frequency, seen.high), strict=True):
        if scale == "linear":
            np.testing.assert_allclose(end, expected)
        else:
            inside = (expected > expit(low) * 2) & (expected < 1 - expit(low) * 2)
            np.testing.assert_allclose(np.asarray(end)[inside], logit(expected[inside]))
            assert np.isfinite(end).all()
            assert (np.asarray(end) >= low).all()
            assert (np.asarray(end) <= high).all()
