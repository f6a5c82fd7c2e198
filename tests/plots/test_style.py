"""What all figures share: colours, titles, margins and size."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from html import unescape

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.plots.annotations import carry, figure_data
from calib.plots.style import (
    COLORS,
    DASHES,
    GLYPHS,
    GUIDE,
    NEUTRAL,
    PAGES,
    SYMBOLS,
    TRUTH,
    alt_text,
    color_at,
    colored,
    contrast,
    fade,
    key_entry,
    label,
    method_style,
    plain,
    text_color,
    text_shades,
    three_digits,
)
from calib.registry import METHODS
from tests.conftest import ROOT
from tests.plots.latent_figures import FIGURES as LATENT_FIGURES

FIGURES = (
    "reliability", "reliability logit", "reliability corp",
    "over", "under", "ratio", "densities", "theorem",
    "bands", "classes", "risk model", *LATENT_FIGURES,
)  # fmt: skip


def test_contrasts_are_those_of_the_standard() -> None:
    assert contrast("#000000", "#FFFFFF") == contrast("#ffffff", "#000000") == 21.0
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_backgrounds_are_those_of_the_app() -> None:
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]
    for name, pages in PAGES.items():
        assert pages == (theme[name]["backgroundColor"], theme[name]["sidebar"]["backgroundColor"])


@pytest.mark.parametrize("theme", PAGES)
def test_every_method_can_be_seen_and_read_in_both_themes(monkeypatch: pytest.MonkeyPatch, theme: str) -> None:
    monkeypatch.setattr("calib.plots.style.METHODS", {f"method {i}": None for i in range(24)})
    colors = [method_style(f"method {i}").color for i in range(24)]
    assert len(set(colors)) == 24
    for color in (*colors, TRUTH, NEUTRAL, GUIDE):
        assert contrast(color, PAGES[theme][0]) >= 3.0
        assert min(contrast(text_shades(color)[theme], page) for page in PAGES[theme]) >= 4.5


def test_text_keeps_its_hue_and_is_no_further_from_its_colour_than_it_must() -> None:
    assert text_shades("#0072B2")["light"] == "#0072B2"  # has 4.8 on the sidebar
    red, green, blue = (int(text_shades("#0072B2")["dark"][i : i + 2], 16) for i in (1, 3, 5))
    assert red < green < blue
    assert text_color("#0072B2") == f"light-dark(#0072B2,{text_shades('#0072B2')['dark']})"
    assert contrast(text_shades("#0072B2")["dark"], PAGES["dark"][1]) < 4.7


def test_coloured_text_is_what_the_report_and_plotly_read() -> None:
    assert colored("a", "#0072B2") == f'<span style="color:{text_color("#0072B2")}">a</span>'
    assert key_entry("■", "a<b", "#0072B2") == f"{colored('■', '#0072B2')} a&lt;b"


def test_the_truth_has_a_colour_that_no_method_has() -> None:
    assert TRUTH not in {color_at(place) for place in range(40)}


def test_methods_differ_in_colour() -> None:
    styles = [method_style(name) for name in METHODS]
    assert len({style.color for style in styles}) == len(METHODS)
    assert len(set(styles)) == len(METHODS)
    assert [style.color for style in styles].count(method_style("identity").color) == 1


def test_the_raw_model_is_grey_and_the_known_methods_keep_their_colours() -> None:
    colors = [method_style(name).color for name in ("identity", "temperature", "isotonic", "gpcalib")]
    assert colors == ["#7A8394", "#0072B2", "#009E73", "#D55E00"]


def test_every_method_has_a_mark_of_its_own_and_neighbours_differ_in_dash() -> None:
    styles = [method_style(name) for name in METHODS]
    assert len({style.symbol for style in styles}) == len(METHODS)
    assert all(a.dash != b.dash for a, b in itertools.pairwise(styles))
    assert len(set(GLYPHS.values())) == len(SYMBOLS)


@pytest.mark.parametrize("color", COLORS)
def test_marks_have_a_contrast_of_3_on_the_page_in_both_themes(color: str) -> None:
    assert min(contrast(color, pages[0]) for pages in PAGES.values()) >= 3


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


def test_names_are_neither_html_nor_formulas_nor_templates() -> None:
    assert plain("<script>&") == "&lt;script&gt;&amp;"
    assert plain("$x^$ %{y}") == "&#36;x^&#36; %&#123;y}"
    assert label("<" * 9, 3) == "&lt;&lt;…"


@given(st.text())
def test_a_browser_reads_an_escaped_name_as_it_was(name: str) -> None:
    assert unescape(plain(name)) == name or "\r" in name or "\0" in name or not name.isprintable()
    assert not set("<>${") & set(plain(name))


@pytest.mark.parametrize("name", FIGURES)
class TestEveryFigure:
    def test_has_one_line_of_text(self, figures, name) -> None:
        alt = alt_text(figures[name])
        assert 20 < len(alt) < 400
        assert "\n" not in alt

    def test_says_a_finding_with_a_number(self, figures, name) -> None:
        assert re.search(r"\d", alt_text(figures[name]))

    def test_names_its_axes(self, figures, name) -> None:
        layout = figures[name].layout
        for axis in (layout[key] for key in layout if re.fullmatch(r"[xy]axis\d*", key)):
            drawn = axis.visible is not False and axis.showticklabels is not False
            by_names = any(re.search("[a-z]", text) for text in axis.ticktext or ())
            assert not drawn or by_names or axis.title.text, axis.plotly_name

    @pytest.mark.parametrize("theme", PAGES)
    def test_marks_can_be_seen(self, figures, name, theme) -> None:
        for trace in figures[name].data:
            shown = [trace.error_y.color, trace.error_x.color]
            if trace.type == "bar":
                shown.append(trace.marker.line.color if trace.marker.line.width else trace.marker.color)
            elif "markers" in (trace.mode or "") and trace.marker.opacity != 0:
                shown.append(trace.marker.color)
            for color in shown:
                if isinstance(color, str) and not color.endswith(",0)"):
                    assert color.startswith("#") and contrast(color, PAGES[theme][0]) >= 3.0, trace.name

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


def test_titles_are_escaped_and_margins_do_not_depend_on_them(figures, titled_figures) -> None:
    for name, fig in titled_figures.items():
        assert fig.layout.title.text == "R&amp;D &lt;b&gt;x"
        assert figures[name].layout.margin == fig.layout.margin
        assert figures[name].layout.height == fig.layout.height


def test_carried_numbers_keep_six_digits_and_missing_ones_are_empty() -> None:
    carried = carry(mean_confidence=np.array([1 / 3, np.nan]), count=np.array([7, 8]))
    assert carried["customdata"] == [[0.333333, 7], [None, 8]]
    assert carried["meta"] == {"columns": ["mean confidence", "count"]}


def test_symbols_and_dashes_do_not_repeat() -> None:
    for values in (COLORS, SYMBOLS, DASHES):
        assert all(a != b for a, b in itertools.combinations(values, 2))
