"""What all figures share: colours, dashes, symbols and numbers as text."""

from __future__ import annotations

import itertools
import re
import tomllib
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.plots.style import (
    GLYPHS,
    GUIDE,
    NEUTRAL,
    PAGES,
    SYMBOLS,
    TRUTH,
    label,
    method_style,
    plain,
    text_color,
)
from calib.registry import METHODS
from tests.conftest import ROOT
from tests.plots.conftest import contrast


def test_backgrounds_are_those_of_the_app() -> None:
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]
    for name, pages in PAGES.items():
        assert pages == (theme[name]["backgroundColor"], theme[name]["sidebar"]["backgroundColor"])


@pytest.mark.parametrize("theme", PAGES)
def test_every_method_can_be_seen_and_read_in_both_themes(
    monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setattr("calib.plots.style.METHODS", {f"method {i}": None for i in range(24)})
    colors = [method_style(f"method {i}").color for i in range(24)]
    assert len(set(colors)) == 24
    for color in (*colors, TRUTH, NEUTRAL, GUIDE):
        assert contrast(color, PAGES[theme][0]) >= 3.0
        shade = re.findall("#[0-9A-F]{6}", text_color(color))[theme == "dark"]
        assert min(contrast(shade, page) for page in PAGES[theme]) >= 4.5


def test_every_method_has_a_mark_of_its_own_and_neighbours_differ_in_dash() -> None:
    styles = [method_style(name) for name in METHODS]
    assert len({style.symbol for style in styles}) == len(METHODS)
    assert all(a.dash != b.dash for a, b in itertools.pairwise(styles))
    assert len(set(GLYPHS.values())) == len(SYMBOLS)


def test_names_are_neither_html_nor_formulas_nor_templates() -> None:
    assert plain("<script>&") == "&lt;script&gt;&amp;"
    assert plain("$x^$ %{y}") == "&#36;x^&#36; %&#123;y}"
    assert label("<" * 9, 3) == "&lt;&lt;…"


@given(st.text())
def test_a_browser_reads_an_escaped_name_as_it_was(name: str) -> None:
    assert unescape(plain(name)) == name or "\r" in name or "\0" in name or not name.isprintable()
    assert not set("<>${") & set(plain(name))
