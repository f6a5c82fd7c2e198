from __future__ import annotations

import numpy as np
import pytest

from calib.plots.data import figure_data
from calib.plots.objective import ObjectiveTrace, objective_traces
from calib.plots.style import alt_text
from tests.plots.latent_figures import STYLE, STYLES


def trace_of(values, name: str = "GPcalib", converged: bool = True, style=STYLE) -> ObjectiveTrace:
    return ObjectiveTrace(name, np.asarray(values, dtype=float), converged, style)


@pytest.mark.parametrize("length", [0, 1, 2, 5000])
def test_objective_traces_of_any_length(length: int) -> None:
    values = -1000 / np.arange(1.0, length + 1)
    fig = objective_traces([trace_of(values)])
    assert len(fig.data[0].x) == min(length, 500)
    if length:
        table = figure_data(fig)
        assert table["iteration"].iloc[[0, -1]].tolist() == [0, length - 1]
        assert table["objective"].iloc[-1] == pytest.approx(values[-1], rel=1e-5)
        assert fig.layout.annotations[0].text in alt_text(fig)


def test_an_objective_that_failed_is_drawn_as_far_as_it_goes() -> None:
    fig = objective_traces([trace_of([-10.0, -5.0, np.nan], converged=False)])
    assert "stopped unconverged at −5.0 nats" in alt_text(fig)
    assert (fig.data[1].x[0], fig.data[1].marker.symbol) == (1, "x")


def test_several_fits_are_named_and_all_in_the_picture() -> None:
    fig = objective_traces([trace_of([-300, -200.0], "one"), trace_of([-99, -90.0], "two", style=STYLES[1])])
    assert [note.text for note in fig.layout.annotations] == ["one", "two"]
    low, high = fig.layout.yaxis.range
    assert low < -200
    assert high > -90
    assert "one converged at −200.0 nats after 1 iterations; two converged" in alt_text(fig)
