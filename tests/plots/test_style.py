"""What all figures share: colours, titles, margins and size."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from calib.plots.data import carry, figure_data
from calib.plots.style import COLORS, DASHES, SYMBOLS, alt_text, fade, method_style, plain, three_digits
from calib.registry import METHODS
from tests.plots.latent_figures import FIGURES as LATENT_FIGURES

FIGURES = (
    "reliability", "reliability logit", "reliability smooth", "reliability corp", "gap",
    "over", "under", "ratio", "plane", "densities", "theorem",
    "theorem by bins", "bands", "classes", "scores", *LATENT_FIGURES,
)  # fmt: skip


def luminance(color: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
def test_colours_are_readable_on_both_backgrounds(color: str, background: str) -> None:
    assert contrast(color, background) >= 3.0


def test_methods_differ_in_colour() -> None:
    styles = [method_style(name) for name in METHODS]
    assert len({style.color for style in styles}) == len(METHODS)
    assert len(set(styles)) == len(METHODS)
    assert [style.color for style in styles].count(method_style("identity").color) == 1


def test_the_raw_model_is_grey_and_the_known_methods_keep_their_colours() -> None:
    colors = [method_style(name).color for name in ("identity", "temperature", "isotonic", "gpcalib")]
    assert colors == ["#7A8394", "#0072B2", "#009E73", "#D55E00"]


def test_any_number_of_methods_differ_in_colour_and_neighbours_in_symbol_and_dash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("calib.plots.style.METHODS", {f"method {i}": None for i in range(60)})
    styles = [method_style(f"method {i}") for i in range(60)]
    assert [style.color for style in styles[:16]] == list(COLORS)
    assert len({style.color for style in styles}) == 60
    assert all(a.symbol != b.symbol and a.dash != b.dash for a, b in itertools.pairwise(styles))
    for style in styles[16:]:
        assert min(contrast(style.color, background) for background in ("#ffffff", "#0e1117")) >= 3.6


@pytest.mark.parametrize("name", [*METHODS, "something new"])
def test_fits_of_one_method_share_the_colour_and_differ_otherwise(name: str) -> None:
    styles = [method_style(name, index) for index in range(6)]
    assert len({style.color for style in styles}) == 1
    assert len(set(styles)) == 6
    assert len({style.symbol for style in styles}) == 6
    assert len({style.dash for style in styles[: len(DASHES)]}) == len(DASHES)


def test_unknown_names_get_something_stable_that_is_not_the_raw_models_grey() -> None:
    for name in ("mine", "yours", "", "ünïcode"):
        style = method_style(name)
        assert style == method_style(name)
        assert style.color in COLORS[1:]
        assert style.symbol in SYMBOLS
        assert style.dash in DASHES


def test_fade_keeps_the_colour() -> None:
    assert fade("#0072B2", 0.25) == "rgba(0,114,178,0.25)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.9653, "0.965"),
        (0.05432, "0.0543"),
        (12345.0, "12,345"),
        (0.0, "0"),
        (-0.5, "−0.500"),
        (1.0, "1.00"),
        (1.41e-6, "1.41e−06"),
        (2.5e6, "2,500,000"),
    ],
)
def test_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


def test_names_are_escaped() -> None:
    assert plain("<script>&") == "&lt;script&gt;&amp;"


@pytest.mark.parametrize("name", FIGURES)
class TestEveryFigure:
    def test_has_one_line_of_text(self, figures, name) -> None:
        alt = alt_text(figures[name])
        assert 20 < len(alt) < 400
        assert "\n" not in alt

    def test_leaves_ink_and_paper_to_the_theme(self, figures, name) -> None:
        layout = figures[name].layout
        assert layout.font.color is None
        assert layout.title.font.color is None
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
        axes = [layout[key] for key in layout if re.fullmatch(r"[xy]axis\d*", key)]
        assert all(axis.color is None and axis.tickfont.color is None and not axis.showline for axis in axes)
        # The template is plotly's own, or Streamlit's where that was imported; the theme replaces it anyway.
        own = go.Figure(figures[name]).update_layout(template=None)
        assert "#000" not in own.to_json(engine="json")

    def test_is_small(self, figures, name) -> None:
        assert len(figures[name].to_json()) < 100_000
        assert all(len(trace.x) <= 2_000 for trace in figures[name].data)

    def test_margins_do_not_depend_on_the_title(self, figures, titled_figures, name) -> None:
        assert figures[name].layout.margin == titled_figures[name].layout.margin
        assert figures[name].layout.height == titled_figures[name].layout.height

    def test_titles_are_escaped(self, titled_figures, name) -> None:
        assert titled_figures[name].layout.title.text == "R&amp;D &lt;b&gt;x"

    def test_gives_its_data_as_a_table(self, figures, name) -> None:
        fig = figures[name]
        table = figure_data(fig)
        carried = [trace for trace in fig.data if trace.customdata is not None]
        assert len(table) == sum(len(trace.customdata) for trace in carried) > 0
        assert set(table["trace"]) == {trace.name for trace in carried}
        assert not table.drop(columns="trace").isna().all().any()

    def test_survives_json(self, figures, name) -> None:
        rows = [trace.get("customdata") for trace in json.loads(figures[name].to_json())["data"]]
        # Plain lists: typed arrays would come back from a selection as dictionaries.
        assert all(isinstance(row, list) for block in rows if block is not None for row in block)


def test_carried_numbers_keep_six_digits_and_missing_ones_are_empty() -> None:
    carried = carry(mean_confidence=np.array([1 / 3, np.nan]), count=np.array([7, 8]))
    assert carried["customdata"] == [[0.333333, 7], [None, 8]]
    assert carried["meta"] == {"columns": ["mean confidence", "count"]}


def test_symbols_and_dashes_do_not_repeat() -> None:
    for values in (COLORS, SYMBOLS, DASHES):
        assert all(a != b for a, b in itertools.combinations(values, 2))
