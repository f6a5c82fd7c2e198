from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.reporting.markup import Markup, element, text, together


class Parsed(HTMLParser):
    def __init__(self, document: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Cn"])), st.sampled_from(["p", "td", "title"]))
def test_a_browser_reads_back_every_text_as_it_was(written, name):
    parsed = Parsed(element(name, written, title=written))
    assert (parsed.tags, parsed.text, parsed.attributes) == ([name], written, [("title", written)])


@given(st.text())
def test_no_text_breaks_out_of_its_element(written):
    parsed = Parsed(element("p", written))
    assert parsed.tags == ["p"]
    element("p", written).encode("utf-8")


@pytest.mark.parametrize("mark", ["\x00", "\x1b", "\u202e", "\u2066", "\ud800"])
def test_controls_and_turned_text_become_visible(mark):
    assert text(f"a{mark}b") == "a\ufffdb"


def test_markup_stays_and_nothing_is_left_out_of_it():
    inner = element("b", "1 < 2")
    assert element("p", inner, None, " & ", 3) == "<p><b>1 &lt; 2</b> &amp; 3</p>"
    assert together("<", Markup("<br>")) == "&lt;<br>"


def test_attributes_by_their_names():
    assert element("path", stroke_width=2, class_="a b", fill=None) == '<path stroke-width="2" class="a b"></path>'
    assert element("meta", name="viewport") == '<meta name="viewport">'
