"""Texts of figures on a phone: inside the figure, apart from one another, and clear of plotly's buttons."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.latent import EffectCurve
from calib.plots.latent import effect_chart
from calib.plots.style import method_style
from tests.plots.boxes import PHONE, TOOL_BAR, boxes, legend, outside, overlaps
from tests.plots.test_every_figure import drawn, every_case

pytestmark = pytest.mark.usefixtures("few_simulations")


@every_case
def test_no_text_is_cut_or_lies_on_another_on_a_phone(case: str) -> None:
    found = {}
    for name, fig in drawn(case).items():
        width = 252 if name.endswith(" 252") else PHONE
        texts = boxes(fig, width)
        if wrong := [*overlaps(texts), *outside(texts, fig, width)]:
            found[name] = wrong
    assert not found


@pytest.mark.parametrize("case", ["two risks", "six levels"])
def test_a_legend_lies_beneath_the_tool_bar_on_a_phone(case: str) -> None:
    with_legend = [fig for fig in drawn(case).values() if fig.layout.showlegend]
    assert len(with_legend) == 3
    for fig in with_legend:
        box = legend(fig)
        assert not overlaps([box, TOOL_BAR])
        assert not overlaps([box, *boxes(fig)])
        assert box.top >= 0


def test_raw_confidences_do_not_touch_in_a_fold_on_a_phone() -> None:
    before = 1 - np.geomspace(0.5, 1e-7, 16)
    after = 1 - np.geomspace(0.5, 1e-3, 16)
    curve = EffectCurve(
        before=before, after=after, sd=np.zeros(16), bands=((after, after), (after, after)),
        accuracy=after, accuracy_low=after, accuracy_high=after, count=np.full(16, 25),
        temperature=after, truth=None, scale="logit",
    )  # fmt: skip
    lines = [("GPcalib", curve, method_style("gpcalib"))]
    axis = effect_chart(lines, method_style("temperature")).layout.xaxis
    low, high = axis.range
    middles = 190 * (np.array(axis.tickvals) - low) / (high - low)
    widths = np.array([6.0 * len(text) for text in axis.ticktext])
    assert len(widths) >= 3
    assert np.all(np.diff(middles) >= (widths[1:] + widths[:-1]) / 2)
