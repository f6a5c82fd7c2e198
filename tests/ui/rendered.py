"""What the pages of an AppTest hand to the browser: texts that are read as Markdown, pieces of HTML, and tables.

Every text of every element counts as Markdown, but for those that Streamlit shows as they are: a real browser
said of each which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from streamlit.testing.v1 import AppTest

from calib.formatting import safe_cell
from calib.ui.shell import TO_THE_TOP

Text = tuple[str, str]
"""Where it stands, and what it is."""

PLAIN = {
    *(
        "id",
        "form_id",
        "element_id",
        "group_id",
        "key",
        "css_class",
        "url",
        "page",
        "query_string",
        "page_script_hash",
    ),
    *("Selectbox.options", "Selectbox.raw_value", "MultiSelect.options", "MultiSelect.raw_values"),
    *(
        "TextInput.default",
        "TextInput.value",
        "TextArea.default",
        "TextArea.value",
        "Code.code_text",
    ),
    *(
        "PlotlyChart.spec",
        "PlotlyChart.config",
        "PlotlyChart.alt",
        "ArrowData.data",
        "Arrow.data",
        "Styler.styles",
    ),
}
"""Fields of all elements, or of one, that are no Markdown."""

SCROLLS = re.compile(rf"<script>{re.escape(TO_THE_TOP)} // [0-9a-f]{{8}}</script>")
"""The one script of ours, whole: it holds nothing that came from a file."""

RAW = re.compile(
    r"(?<!\\)(\]\((//|https:)e\.vil|<a |:red\[|\$d\$)|(?<!\w)www\.e\.vil|:material/home:"
)
"""What of the hostile names is alive in Markdown as it stands; escaped, none of it is left whole."""
TAGS = re.compile(r"<(?!/?(?:div|span|strong|style|p)\b)/?[a-z]", re.IGNORECASE)
"""An element of HTML that was not written by the pages."""


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
        for each in (
            [value] if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") else value
        ):
            if isinstance(each, str):
                yield name, each
            elif hasattr(each, "ListFields"):
                yield from _strings(each)


def dangers(app: AppTest) -> list[Text]:
    """All that a name from a file became on a page: where, and what."""
    found = [(where, text) for where, text in texts(app) if RAW.search(text)]
    bodies = [node.proto.body for node in app.get("html")]
    found += [
        ("html", body) for body in bodies if TAGS.search(body) and not SCROLLS.fullmatch(body)
    ]
    for node in app.dataframe:
        table = node.value
        cells = [
            *table.columns,
            *table.index,
            *(cell for column in table for cell in table[column]),
        ]
        found += [("table", cell) for cell in cells if safe_cell(cell) is not cell]
    return found
