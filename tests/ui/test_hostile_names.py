"""Names from an upload are text on every page: no markup, no links, no pictures from elsewhere.

Names from files within Markdown.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.predictions import Predictions
from calib.jobs import FitQueue
from calib.ui.session import OpenSession
from calib.ui.text import JOINER, literal
from tests.conftest import simulate
from tests.ui.conftest import PAGES, fit, open_page

NAMES = ("<script>alert(1)</script>", "![a](//b.c/d.png)", "[a](javascript:1)", "**b** :red[c] $d$ `e`")

# What Streamlit reads as Markdown: these elements' texts, and the labels of widgets and of their choices.
MARKDOWN = (
    *("markdown", "caption", "title", "header", "subheader", "info", "warning", "error", "success", "toast", "metric"),
    *("button", "download_button", "checkbox", "toggle", "radio", "button_group", "selectbox", "multiselect", "slider"),
    *("number_input", "text_input", "expander", "expandable", "tab", "popover"),
)
LIVE = re.compile(r"(?<!\\)!\[a\]|(?<!\\)\[a\](?<!\\)\(|(?<!\\)\*\*b\*\*|(?<![\\\u2060]):red\[c\]|(?<!\\)\$d\$")


@pytest.fixture(scope="module")
def hostile(queue: FitQueue) -> OpenSession:
    logits, labels = simulate(n=400)
    groups = np.array(NAMES)[np.arange(400) % 4]
    data = Predictions(logits, labels, NAMES, name=NAMES[1] + NAMES[0], groups=groups, sha256="names that are scripts")
    session = OpenSession.from_data(data)
    return fit(queue, session, "temperature", "isotonic")


def texts(app: AppTest) -> list[tuple[str, str]]:
    """Kind and text of everything that is read as Markdown."""
    found = []
    for kind in MARKDOWN:
        for element in app.get(kind):
            proto = element.proto
            if getattr(proto, "is_caption", False) or not getattr(proto, "allow_html", False):
                found += [(kind, str(text)) for name in ("body", "label") if (text := getattr(proto, name, ""))]
            else:
                found.append((f"{kind} with HTML", str(proto.body)))
            if kind in ("radio", "button_group"):
                options = getattr(proto, "options", ())
                found += [(kind, str(getattr(option, "content", option))) for option in options]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_names_are_text_on_every_page(hostile, page):
    app = open_page(page, hostile)
    assert not app.exception
    for kind, text in texts(app):
        assert not LIVE.search(text), (kind, text)
        assert "with HTML" not in kind or "<script" not in text
    for element in app.get("html"):
        assert "<script" not in element.proto.body


def test_what_is_live_is_recognised():
    assert all(LIVE.search(f"of {name} only") for name in NAMES[1:])
    assert not LIVE.search(r"of \!\[a\]\(//b.c\) and \*\*b\*\* \:red\[c\] \$d\$")


@pytest.mark.parametrize(
    "name", ["*bold*", "[l](http://e.vil)", "$x^2$", "a_b_c", "1. list", "- item", ":red[x]", "![i](u)"]
)
def test_every_mark_is_escaped_and_nothing_else_is_lost(name):
    made = literal(name)
    for position, char in enumerate(made):
        if char in "*_[]()$:!":
            assert made[position - 1] == "\\"
    assert made.replace("\\", "").replace(JOINER, "") == name


@pytest.mark.parametrize("name", ["http://e.vil", "HTTPS://e.vil", "www.e.vil", "a@e.vil"])
def test_no_address_stays_whole(name):
    """Markdown makes links of addresses, whatever is escaped in them."""
    made = literal(name).replace("\\", "")
    assert JOINER in made
    assert "://" not in made and "www." not in made and "@e" not in made


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_a_name_without_words_is_called_empty(name):
    assert literal(name) == "(empty)"


def test_a_long_name_is_cut():
    assert len(literal("x" * 100)) == 40
