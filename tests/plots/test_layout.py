"""Parts of a layout, against plotly's own ways to set them."""

import plotly.graph_objects as go
import pytest

from calib.plots.layout import set_layout, set_x, set_y


def figure():
    return go.Figure(
        [go.Scatter(x=[1, 2], y=[3, 4])],
        {
            "title": {"text": "before", "font": {"size": 20}},
            "xaxis": {"title": {"text": "x", "standoff": 3}, "range": [0, 1]},
            "annotations": [{"text": "kept", "x": 0, "y": 0}],
        },
    )


@pytest.mark.parametrize(
    "values",
    [
        {"height": 300, "showlegend": False, "meta": {"alt": "a picture"}},
        {"title": {"font": {"color": "red"}}},
        {"margin": {"l": 1}, "margin_r": 40},
        {"yaxis2": {"domain": [0, 0.2], "visible": False}},
        {"xaxis": {"title_text": "new", "tickvals": [1, 2]}, "yaxis": {"range": None}},
    ],
)
def test_layout_is_as_plotly_updates_it(values):
    mine, theirs = figure(), figure()
    set_layout(mine, **values)
    theirs.update_layout(**values)
    assert mine == theirs
    assert mine != figure()


def test_axes_are_as_plotly_updates_them():
    mine, theirs = figure(), figure()
    for values in ({"nticks": 5, "title_standoff": 12}, {"title": {"font": {"size": 9}}, "range": [2, 3]}):
        set_x(mine, **values)
        set_y(mine, **values)
        theirs.update_xaxes(**values)
        theirs.update_yaxes(**values)
    assert mine == theirs
    assert mine.layout.xaxis.title.text == "x"


def test_an_unknown_property_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        set_x(figure(), nonsense=1)
