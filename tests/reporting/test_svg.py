from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.plots.style import SYMBOLS as STYLE_SYMBOLS
from calib.plots.style import quiet
from calib.reporting.svg import SYMBOLS, figure_svg, path
from calib.reporting.svg_axes import frame, round_step


def quiet_figure(*traces, height=182, **axes) -> go.Figure:
    """A plot area of 200 x 100 pixels at a width of 264: margins are 52, 12, 34 and 48."""
    fig = go.Figure(list(traces))
    quiet(fig, height, alt="A sentence.")
    fig.update_layout(**axes)
    return fig


def parsed(fig, width=264) -> ElementTree.Element:
    return ElementTree.fromstring(figure_svg(fig, width))


def circles(root) -> list[tuple[float, float]]:
    return [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("circle")]


def test_points_are_where_their_values_say():
    trace = go.Scatter(x=[0, 5, 10], y=[0, 1, 2], mode="markers", marker_color="#000000")
    fig = quiet_figure(trace, xaxis_range=[0, 10], yaxis_range=[0, 2])
    assert circles(parsed(fig)) == [(52, 134), (152, 84), (252, 34)]


def test_logarithmic_axes_and_turned_ones():
    trace = go.Scatter(x=[1, 10, 100], y=[0, 0, 1], mode="markers")
    fig = quiet_figure(trace, xaxis={"type": "log", "range": [0, 2]}, yaxis_range=[1, 0])
    assert circles(parsed(fig)) == [(52, 34), (152, 34), (252, 134)]


def test_a_range_that_is_not_given_holds_all_marks_and_intervals():
    trace = go.Scatter(
        x=[1.0, 2.0], y=[0, 1], error_x={"type": "data", "symmetric": False, "array": [0.5, 3], "arrayminus": [4, 0]}
    )
    low, high = frame(quiet_figure(trace), 264).axes["x"].range
    assert low < -3 and high > 5
    assert high - low < 1.2 * 8


def test_whiskers_end_where_their_interval_ends_and_at_the_axis_where_it_does_not():
    error = {"type": "data", "symmetric": False, "array": [2, np.inf], "arrayminus": [1, 1], "color": "#123456"}
    trace = go.Scatter(x=[5, 5], y=[0, 1], mode="markers", error_x=error)
    fig = quiet_figure(trace, xaxis_range=[0, 10], yaxis_range=[0, 1])
    (whiskers,) = [p.get("d") for p in parsed(fig).iter("path") if p.get("stroke") == "#123456"]
    assert whiskers == "M132 134L192 134M132 34L252 34"


def test_square_axes_have_the_same_unit():
    trace = go.Scatter(x=[0, 1], y=[0, 1])
    fig = quiet_figure(
        trace, xaxis={"range": [0, 1], "constrain": "domain"},
        yaxis={"range": [0, 1], "scaleanchor": "x", "constrain": "domain", "constraintoward": "bottom"},
    )  # fmt: skip
    x, y = (frame(fig, 264).axes[name] for name in "xy")
    assert x.end - x.start == pytest.approx(100) and y.start - y.end == pytest.approx(100)
    assert (x.start + x.end) / 2 == pytest.approx(152)


@given(st.floats(1e-6, 1e6), st.integers(1, 10))
def test_steps_are_round_and_no_more_than_asked_for(span, most):
    step = round_step(span, most)
    digits = step / 10.0 ** np.floor(np.log10(step) + 1e-9)
    assert np.isclose(digits, [1, 2, 5, 10]).any()
    assert span / step <= most * (1 + 1e-6)
    assert span / step > most / 2.6


def test_every_symbol_of_a_method_has_an_outline():
    assert set(STYLE_SYMBOLS) - {"circle"} == set(SYMBOLS)


def test_lines_stop_at_points_without_a_place():
    assert path([(0, 0), (1, 1), (float("nan"), 0), (2, 2)]) == "M0 0L1 1M2 2"


def test_names_stay_text_in_every_place():
    name = "<script>&amp;</script>"
    fig = quiet_figure(
        go.Scatter(x=[0], y=[0], name=name, mode="markers", customdata=[[1.5]], meta={"columns": [name]})
    )
    from calib.plots.style import plain

    fig.update_layout(title_text=plain(name), xaxis_title_text=plain(name))
    fig.update_yaxes(tickvals=[0], ticktext=[plain(name)])
    fig.add_annotation(text=plain(name) + "<br>below", x=0, y=0, showarrow=False)
    root = parsed(fig)
    written = ["".join(found.itertext()) for tag in ("text", "title") for found in root.iter(tag)]
    assert sum(name in each for each in written) == 5
    assert not list(root.iter("script"))


def test_what_cannot_be_drawn_is_not_left_out_unseen():
    with pytest.raises(NotImplementedError, match="heatmap"):
        figure_svg(quiet_figure(go.Heatmap(z=[[1]])), 264)
    fig = quiet_figure(go.Scatter(x=[0], y=[0]))
    fig.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1)
    with pytest.raises(NotImplementedError, match="rect"):
        figure_svg(fig, 264)


def test_the_figure_says_what_it_shows_and_needs_nothing():
    drawn = figure_svg(quiet_figure(go.Scatter(x=[0, 1], y=[0, 1])), 264)
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == "A sentence."
    assert (root.get("width"), root.get("height")) == ("264", "182")
    assert not re.search("http|href|style=|url\\(", drawn)
