from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.plots.log_axis import log_axis


@given(st.floats(-4, 3), st.floats(0.4, 7))
def test_there_are_some_ticks_but_not_many_and_all_are_on_the_axis(low, span):
    axis = log_axis(low, low + span)
    ticks = np.array(axis["tickvals"])
    assert 2 <= len(ticks) <= 7
    assert np.all((10**low <= ticks * (1 + 1e-12)) & (ticks <= 10 ** (low + span) * (1 + 1e-12)))
    assert np.all(np.diff(ticks) > 0)
    np.testing.assert_allclose([float(text) for text in axis["ticktext"]], ticks)


def test_round_numbers_at_each_span():
    assert log_axis(-3.1, 0.0)["ticktext"] == ["0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"]
    assert log_axis(-4.1, -0.5)["ticktext"] == ["0.0001", "0.001", "0.01", "0.1"]
    assert log_axis(-1.0, -0.2)["ticktext"] == ["0.1", "0.2", "0.3", "0.5"]


def test_logarithms_that_are_drawn_as_they_are_keep_their_names():
    typed, drawn = log_axis(-2, 0), log_axis(-2, 0, typed=False)
    assert typed["ticktext"] == drawn["ticktext"]
    assert (typed["type"], drawn["type"]) == ("log", "linear")
    assert drawn["tickvals"] == pytest.approx(np.log10(typed["tickvals"]))
