"""The gallery of the site: the lines beside a figure draw it where they are pasted."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from calib.plots import alt_text
from site_builder.gallery import FIGURES, lines_of, shared


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """Names after the imports and helpers of the page."""
    found: dict[str, Any] = {}
    exec(shared(), found)
    return found


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_the_lines_of_a_figure_draw_it_where_they_are_pasted(figure, names) -> None:
    lines = lines_of(figure)
    assert len(lines.splitlines()) <= 10
    pasted = dict(names)
    exec(lines, pasted)
    assert isinstance(pasted["figure"], go.Figure) and alt_text(pasted["figure"])
