"""The figures of the I-Max binning page against the numbers they were given."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from calib.diagnostics.binning import BinningPicture, binning_picture, information_by_bins
from calib.plots.annotations import figure_data
from calib.plots.binning import (
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    bins_over_densities,
    representatives,
)
from calib.plots.information_by_bins import information_chart
from calib.plots.style import method_style
from tests.conftest import simulate

UNSAFE = "R&D <b>"
N, K, BINS = 500, 6, 8


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return simulate(n=N, n_classes=K)


@pytest.fixture(scope="module")
def picture(data) -> BinningPicture:
    given = {UNSAFE: (np.array([-1.0, 2.0]), np.array([0.1, 0.4, 0.9]))}
    logits, labels = data
    return binning_picture(logits, labels, n_bins=BINS, given=given)


@pytest.fixture(scope="module")
def rails(picture) -> list[Rail]:
    rails = [(SCHEME_NAMES[name], picture.schemes[name], SCHEME_STYLES[name]) for name in SCHEME_NAMES]
    return [*rails, (UNSAFE, picture.schemes[UNSAFE], method_style("imax", 1))]


@pytest.fixture(scope="module")
def figures(picture, rails) -> dict[str, go.Figure]:
    return {
        "bins": bins_over_densities(picture.density, rails),
        "steps": representatives(picture.density, rails),
        "logit steps": representatives(picture.density, rails, "logit"),
        "numbers": information_chart(information_by_bins(picture.density, (2, 4, 8))),
    }


def traces_of(fig: go.Figure) -> dict[str, go.BaseTraceType]:
    return {trace.name: trace for trace in fig.data if trace.customdata is not None}


def test_rails_have_their_edges_and_their_pairs(figures, rails) -> None:
    fig = figures["bins"]
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


def test_a_density_has_an_area_of_one(figures) -> None:
    for y in ("y = 0", "y = 1"):
        line = next(t for t in figures["bins"].data if t.name == y and t.type == "scatter")
        assert np.trapezoid(line.y, line.x) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("name", ["steps", "logit steps"])
def test_steps_are_the_representatives(figures, rails, name) -> None:
    low, high = figures[name].layout.xaxis.range
    for title, bins, _ in rails:
        line = traces_of(figures[name])[title]
        assert line.line.shape == "hv"
        np.testing.assert_allclose(line.x[1:-1], bins.edges[(bins.edges > low) & (bins.edges < high)])
        middles = (np.array(line.x[:-1]) + line.x[1:]) / 2
        expected = bins.representatives[np.searchsorted(bins.edges, middles)]
        np.testing.assert_allclose([row[1] for row in line.customdata[:-1]], expected, rtol=1e-5)


def test_on_a_logit_scale_the_sigmoid_is_the_diagonal(figures) -> None:
    line = traces_of(figures["logit steps"])["sigmoid"]
    x, y = np.array(line.x), np.array(line.y)
    inside = (y > y.min() + 1e-9) & (y < y.max() - 1e-9)
    np.testing.assert_allclose(y[inside], x[inside], atol=1e-9)


def test_what_bins_keep_lies_over_their_number_beneath_what_there_is(figures, picture) -> None:
    marks = traces_of(figures["numbers"])
    for name in SCHEME_NAMES.values():
        np.testing.assert_allclose(marks[name].x, np.log10([2, 4, 8]))
        assert np.all(np.array(marks[name].y) <= picture.information + 1e-12)
