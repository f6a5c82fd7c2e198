"""Figures of the tests after every batch: lines, limits, texts and the numbers behind them."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.sequential_tests import SequentialTests, batches_of, sequential_tests
from calib.plots import alt_text, figure_data
from calib.plots.monitoring import e_value_chart
from calib.plots.style import method_style

STYLE = method_style("temperature")


@pytest.fixture(scope="module")
def found() -> SequentialTests:
    generator = np.random.default_rng(2)
    probs = generator.beta(1, 6, 4000)
    came = generator.random(4000) < np.minimum(1.6 * probs, 1.0)
    return sequential_tests(probs, came, *batches_of(4000, size=100))


def test_the_e_values_and_the_batch_of_the_alarm_are_shown(found) -> None:
    fig = e_value_chart(found, STYLE)
    numbers = figure_data(fig)
    assert numbers["e value"].iloc[len(found) - 1] == pytest.approx(np.exp(found.log_e[-1]), rel=1e-4)
    assert f"alarm at batch {found.alarm + 1}" in alt_text(fig)
    assert fig.layout.shapes[0].y0 == pytest.approx(np.log10(20))
