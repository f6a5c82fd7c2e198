"""What the pages of an AppTest hand to the browser, and what it would make of it; figures have tests of their own.

Every text of every element counts as Markdown, but for those that Streamlit shows as they are: a real browser
said of each which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from calib.formatting import safe_cell
from calib.ui.shell import TO_THE_TOP

Text = tuple[str, str]
"""Where it stands, and what it is."""

PLAIN = {
    *("id", "form_id", "element_id", "group_id", "key", "css_class", "url", "page", "query_string", "page_script_hash"),
    *("Selectbox.options", "Selectbox.raw_value", "MultiSelect.options", "MultiSelect.raw_values"),
    *("TextInput.default", "TextInput.value", "TextArea.default", "TextArea.value", "Code.code_text"),
    *("PlotlyChart.spec", "PlotlyChart.config", "PlotlyChart.alt", "ArrowData.data", "Arrow.data", "Styler.styles"),
}
"""Fields of all elements, or of one, that are no Markdown."""

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

SCROLLS = re.compile(rf"<script>{re.escape(TO_THE_TOP)} // [0-9a-f]{{8}}</script>")
"""The one script of ours, whole: it holds nothing that came from a file."""

# What Streamlit, or GitHub, makes of text beside CommonMark: with backslashes as they stand, and after they were read.
EARLY = re.compile(r"(?<!\\):(red|blue)\[|(?<!\\)\$d\$")
LATE = re.compile(r"https?://|www\.|[\w.+-]@[\w-]+\.|:material[/_]\w*home|:smile:", re.IGNORECASE)


def texts(app: AppTest) -> list[Text]:
    """Every text that is read as Markdown, with the element and the field."""
    found: list[Text] = []
    for root in (app.main, app.sidebar):
        for node in root:
            if (proto := getattr(node, "proto", None)) is not None and node.type != "html":
                found += [(f"{node.type}: {field}", text) for field, text in _strings(proto)]
    return found


def _strings(proto: Any) -> Iterator[Text]:
    kind = type(proto).__name__
    for field, value in proto.ListFields():
        name = f"{kind}.{field.name}"
        if name in PLAIN or field.name in PLAIN:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        for each in [value] if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") else value:
            if isinstance(each, str):
                yield name, each
            elif hasattr(each, "ListFields"):
                yield from _strings(each)


def live(text: str) -> str | None:
    """What of a text is more than text to a parser of Markdown; None for nothing."""
    if found := EARLY.search(text):
        return found[0]
    for token in MARKDOWN.parse(text):
        for part in (token, *(token.children or ())):
            if part.type in ("image", "link_open", "html_inline", "html_block"):
                return f"{part.type} {part.content} {part.attrs}"
            if part.type in ("text", "code_inline") and (found := LATE.search(part.content)):
                return found[0]
    return None


def live_html(document: str) -> list[str]:
    """Elements of a piece of HTML that were not written by the pages."""
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.append(tag)

    Reader().feed(document)
    return sorted(set(tags) - {"div", "span", "strong", "style", "p"})


def dangers(app: AppTest) -> list[Text]:
    """All that a name from a file became on a page: where, and what."""
    found = [(where, f"{alive} in {text!r}") for where, text in texts(app) if (alive := live(text))]
    for node in app.get("html"):
        if SCROLLS.fullmatch(node.proto.body):
            continue
        found += [("html", tag) for tag in live_html(node.proto.body)]
    for node in app.dataframe:
        table = node.value
        cells = [*table.columns, *table.index, *(cell for column in table for cell in table[column])]
        found += [("table", cell) for cell in cells if safe_cell(cell) is not cell]
    return found
