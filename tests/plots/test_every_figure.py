"""What holds for every figure on every data set: axes contain what is drawn, words tell it, names stay text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import plotly.graph_objects as go
import pytest

from calib.plots.annotations import figure_data
from calib.plots.reliability import SIDE
from calib.plots.style import PAGES, alt_text
from tests.plots.conftest import contrast
from tests.plots.zoo import CASES, zoo

pytestmark = pytest.mark.usefixtures("few_simulations")

TOLERANCE = 1e-6
"""Of the length of an axis."""

HOSTILE = "$x^$ <b>y</b> %{z} {value}"
LONG = "a class whose name does not fit " * 4
NAMES = dict.fromkeys(("two risks", "useless"), HOSTILE + LONG)
"""What classes, groups, columns and methods of a case are called, if not as usual."""


@cache
def drawn(case: str) -> dict[str, go.Figure]:
    return zoo(CASES[case](), NAMES.get(case, "GPcalib"))


def axis_of(fig: go.Figure, letter: str, reference: str | None) -> go.layout.XAxis:
    return fig.layout[f"{letter}axis{(reference or letter)[1:]}"]


def axes_of(fig: go.Figure) -> list[go.layout.XAxis]:
    return [fig.layout[key] for key in fig.layout if re.fullmatch(r"[xy]axis\d*", key)]


RARELY = ("100 classes", "perfect", "extremes", "mostly certain", "one in 200", "log-probabilities")
every_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.long) if case in RARELY else case for case in CASES],
)


def numbers(values: object) -> np.ndarray:
    """What a trace has as places: numbers, with nothing where a line has a gap."""
    return np.atleast_1d(np.array([] if values is None else values, dtype=float))


def places(trace: go.BaseTraceType, letter: str) -> np.ndarray:
    """All places of a trace on one axis: its points, the ends of its whiskers and both edges of its bars."""
    at = numbers(trace[letter])
    bars = trace.type == "bar"
    along = bars and letter == ("x" if trace.orientation == "h" else "y")
    if along:
        base = 0.0 if trace.base is None else numbers(trace.base)
        found = [base + 0 * at, base + at]
    elif bars:
        half = (numbers(trace.width) if trace.width is not None else 0.0) / 2
        found = [at - half, at + half]
    else:
        found = [at]
    error = trace[f"error_{letter}"]
    if error.array is not None:
        found += [at + numbers(error.array), at - numbers(error.arrayminus)]
    return np.concatenate(found)


def on_axes(fig: go.Figure) -> Iterator[tuple[str, go.layout.XAxis, np.ndarray]]:
    """What lies on which axis: all places of traces, shapes and texts that stand in units of the data."""
    for trace in fig.data:
        for letter in "xy":
            axis = axis_of(fig, letter, trace[f"{letter}axis"])
            if axis.type != "category":
                at = places(trace, letter)
                yield f"{trace.name} {letter}", axis, np.log10(at) if axis.type == "log" else at
    for shape in fig.layout.shapes:
        for letter in "xy":
            reference = shape[f"{letter}ref"] or letter
            if shape.type != "path" and re.fullmatch(rf"{letter}\d*", reference):
                axis, at = (
                    axis_of(fig, letter, reference),
                    numbers([shape[f"{letter}0"], shape[f"{letter}1"]]),
                )
                yield f"shape {letter}", axis, np.log10(at) if axis.type == "log" else at
    for note in fig.layout.annotations:
        for letter in "xy":
            reference = note[f"{letter}ref"] or letter
            if re.fullmatch(rf"{letter}\d*", reference):
                yield (
                    f"text {note.text} {letter}",
                    axis_of(fig, letter, reference),
                    numbers(note[letter]),
                )


def outside(fig: go.Figure) -> list[str]:
    """What is drawn beyond the ends of its axis."""
    found = []
    for what, axis, at in on_axes(fig):
        at = at[~np.isnan(at)]
        if axis.range is None or not at.size:
            continue
        low, high = sorted(axis.range)
        room = TOLERANCE * (high - low)
        if at.min() < low - room or at.max() > high + room:
            found.append(
                f"{what}: {at.min():.6g} to {at.max():.6g} on an axis from {low:.6g} to {high:.6g}"
            )
    return found


@pytest.mark.long
@every_case
def test_axes_contain_all_that_is_drawn(case) -> None:
    found = {name: lines for name, fig in drawn(case).items() if (lines := outside(fig))}
    assert not found, json.dumps(found, indent=1)


@every_case
def test_bars_of_counts_stand_on_an_axis_of_counts(case) -> None:
    for name, fig in drawn(case).items():
        for trace in fig.data:
            if trace.type == "bar" and "count" in (trace.meta or {}).get("columns", ()):
                axis, counts = axis_of(fig, "y", trace.yaxis), [row[2] for row in trace.customdata]
                if max(counts) >= 1:
                    ((value, text),) = [
                        (value, text)
                        for value, text in zip(axis.tickvals, axis.ticktext, strict=True)
                        if value * (min(trace.y) + max(trace.y)) > 0
                    ]
                    tallest = max(abs(min(trace.y)), max(trace.y))
                    share = int(text.replace(",", "")) / max(counts)
                    assert abs(value) / tallest == pytest.approx(np.sqrt(share), rel=1e-4), name


def test_a_legend_names_lines_and_no_bands() -> None:
    for name, fig in drawn("useless").items():
        if fig.layout.showlegend:
            shown = [trace for trace in fig.data if trace.showlegend is not False]
            assert shown and all(trace.name for trace in shown), name


def test_both_halves_of_a_histogram_have_one_scale() -> None:
    fig = drawn("one in 200")["threshold"]
    per_row = {}
    for trace in fig.data:
        if trace.type == "bar":
            counts = np.array([row[2] for row in trace.customdata], dtype=float)
            heights = np.square(np.array(trace.y, dtype=float))[counts > 0]
            per_row[trace.name] = heights / counts[counts > 0]
    first, second = per_row.values()
    np.testing.assert_allclose(np.r_[first, second], first[0], rtol=1e-4)


def test_a_rare_event_has_its_bins_apart() -> None:
    """On the linear axis, which holds 95 % of the rows, the largest risk is far from 0; on log-odds a bin without an
    event stands at the end."""
    fig = drawn("rare event")[f"reliability equal_mass linear {SIDE}"]
    (dots,) = [trace for trace in fig.data if trace.name == "bins"]
    assert max(dots.x) > 0.2 * fig.layout.xaxis.range[1]
    fig = drawn("rare event")[f"reliability equal_mass logit {SIDE}"]
    (dots,) = [trace for trace in fig.data if trace.name == "bins"]
    low = fig.layout.yaxis.range[0]
    assert [y == low for y in dots.y] == [row[3] == 0 for row in dots.customdata]
    assert np.ptp(dots.x) > 0.4 * np.ptp(fig.layout.xaxis.range)


@every_case
def test_the_text_alternative_says_a_finding_in_one_line(case) -> None:
    for name, fig in drawn(case).items():
        alt = alt_text(fig).replace(NAMES.get(case, "GPcalib"), "GPcalib")
        assert 20 < len(alt) < 400 and "\n" not in alt, (name, alt)
        assert re.search(r"\d|none wrong", alt) and not re.search(r"\bnan\b", alt), (name, alt)


@every_case
def test_the_data_of_each_trace_can_be_taken_as_a_table(case) -> None:
    for name, fig in drawn(case).items():
        table = figure_data(fig)
        carried = [trace for trace in fig.data if "columns" in (trace.meta or {})]
        assert len(table) == sum(len(trace.customdata) for trace in carried), name
        assert len(table) > 0 or "none wrong" in alt_text(fig), name
        # Plain lists: typed arrays would come back from a selection as dictionaries.
        rows = [trace.get("customdata") for trace in json.loads(fig.to_json())["data"]]
        assert all(isinstance(row, list) for block in rows if block is not None for row in block), (
            name
        )


@pytest.mark.long
@every_case
def test_marks_can_be_seen_on_both_pages_and_ink_is_left_to_the_theme(case) -> None:
    for name, fig in drawn(case).items():
        for trace in fig.data:
            shown = [trace.error_y.color, trace.error_x.color]
            if trace.type == "bar":
                shown.append(
                    trace.marker.line.color if trace.marker.line.width else trace.marker.color
                )
            elif "markers" in (trace.mode or "") and trace.marker.opacity != 0:
                shown.append(trace.marker.color)
            for color in shown:
                # Single rounds of active learning are faint beside their mean.
                if (
                    isinstance(color, str)
                    and not color.endswith(",0)")
                    and not (trace.name or "").endswith("rounds")
                ):
                    assert color.startswith("#"), (name, trace.name)
                    assert min(contrast(color, pages[0]) for pages in PAGES.values()) >= 3.0, (
                        name,
                        trace.name,
                    )
        layout = fig.layout
        assert layout.font.color is None and layout.title.font.color is None, name
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)", name
        assert all(axis.color is None and axis.tickfont.color is None for axis in axes_of(fig)), (
            name
        )
        # The template is plotly's own, or Streamlit's where that was imported; the theme replaces it anyway.
        assert "#000" not in go.Figure(fig).update_layout(template=None).to_json(engine="json"), (
            name
        )


def texts(fig: go.Figure) -> Iterator[str]:
    """All that the browser reads as plotly's small HTML, or as a formula between dollars."""
    layout = fig.layout
    yield layout.title.text or ""
    for note in layout.annotations:
        yield note.text or ""
    for axis in axes_of(fig):
        yield axis.title.text or ""
        yield from axis.ticktext or ()
    for trace in fig.data:
        yield trace.hovertemplate or ""
        yield from (
            part
            for part in np.atleast_1d(
                np.array(trace.text if trace.text is not None else "")
            ).tolist()
        )
        yield from np.atleast_1d(
            np.array(trace.hovertext if trace.hovertext is not None else "")
        ).tolist()


@pytest.mark.parametrize("case", ["two risks", "useless"])
def test_a_hostile_name_is_text_everywhere_and_a_long_one_is_shortened_in_the_picture(case) -> None:
    for name, fig in drawn(case).items():
        for text in texts(fig):
            assert "$" not in str(text) and "<b>y" not in str(text) and "%{z}" not in str(text), (
                name,
                text,
            )
        axes = axes_of(fig)
        shown = [fig.layout.title.text or "", *(note.text or "" for note in fig.layout.annotations)]
        shown += [axis.title.text or "" for axis in axes] + [
            text for axis in axes for text in axis.ticktext or ()
        ]
        written = [
            trace for trace in fig.data if trace.type == "scatter" and "text" in (trace.mode or "")
        ]
        shown += [text for trace in written for text in trace.text]
        assert not any("fit a class whose" in str(text) for text in shown), name
        assert fig.layout.margin.l + fig.layout.margin.r < 250, name
