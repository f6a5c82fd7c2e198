"""The figures of the I-Max binning page against the numbers they were given."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.binning import BinningPicture, binning_picture
from calib.plots.annotations import figure_data
from calib.plots.binning import (
    Rail,
    bins_over_densities,
)
from tests.conftest import simulate
from tests.plots.zoo import rails_of

UNSAFE = "R&D <b>"


@pytest.fixture(scope="module")
def picture() -> BinningPicture:
    given = {UNSAFE: (np.array([-1.0, 2.0]), np.array([0.1, 0.4, 0.9]))}
    return binning_picture(*simulate(500, 6), n_bins=8, given=given)


@pytest.fixture(scope="module")
def rails(picture) -> list[Rail]:
    return rails_of(picture, UNSAFE)


def test_rails_have_their_edges_and_their_pairs(picture, rails) -> None:
    fig = bins_over_densities(picture.density, rails)
    table = figure_data(fig)
    low, high = fig.layout.xaxis.range
    for name, bins, _ in rails:
        bar = next(trace for trace in fig.data if trace.type == "bar" and trace.name == name)
        np.testing.assert_allclose(np.array(bar.base[1:], float), bins.edges)
        np.testing.assert_allclose(np.add(np.array(bar.base, float), bar.x)[:-1], bins.edges)
        assert (bar.base[0], bar.base[-1] + bar.x[-1]) == pytest.approx((low, high))
        rows = table[table["trace"] == name]
        assert rows["pairs"].tolist() == bins.count.tolist()
        assert rows["share"].sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(rows["representative"].astype(float), bins.representatives, rtol=1e-5)
