"""Texts of figures on a phone: inside the figure, apart from one another, and clear of plotly's buttons."""

from __future__ import annotations

import pytest

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
