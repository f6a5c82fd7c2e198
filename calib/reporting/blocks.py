"""Parts of a report's sections, its figures, and the templates that write them as HTML.

A report is one file that makes no request: plotly's script once, and the numbers of each figure as JSON. Its content
security policy allows its own scripts by their hashes. plotly writes ``style`` elements and attributes while it draws,
whose texts are not known before, so that styles are allowed without a hash: no style can load anything under this
policy, and names from uploads are escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

from calib.formatting import NO_BREAK
from calib.plots import alt_text

TEMPLATES = Path(__file__).parent / "templates"
FONT = {"family": 'system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif', "size": 12}
_IN_SCRIPT = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""What could end a script element, or begin another, as JSON writes it without these characters."""


@cache
def scripts() -> tuple[Markup, Markup]:
    """plotly's script, 4.8 MB, and the one that draws all figures of a page."""
    return Markup(get_plotlyjs()), Markup((TEMPLATES / "draw.js").read_text(encoding="utf-8"))


@cache
def policy() -> str:
    """The content security policy of a page with these two scripts."""
    hashes = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts()
    )
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def figure_html(fig: Any, caption: str = "") -> Markup:
    """The place of a figure with its numbers, and the sentence that stands for it where it cannot be seen.

    Without scripts the sentence is shown in its place.
    """
    spec = fig.to_plotly_json()
    layout = {**spec["layout"], "template": {}, "font": FONT | spec["layout"].get("font", {})}
    numbers = to_json_plotly({"data": spec["data"], "layout": layout}).translate(
        str.maketrans(_IN_SCRIPT)
    )
    above = Markup("<figcaption>{}</figcaption>").format(caption) if caption else ""
    return Markup(
        '<figure>{}<div class="chart" role="img" aria-label="{}"></div><script type="application/json">{}</script>'
        "<noscript>{}</noscript></figure>"
    ).format(above, alt_text(fig), Markup(numbers), alt_text(fig))


def figures_html(figures: Sequence[Any]) -> Markup:
    """Figures side by side, as many as the width has room for; each, or each with its caption."""
    made = [figure_html(*one) if isinstance(one, tuple) else figure_html(one) for one in figures]
    return Markup('<div class="row">{}</div>').format(Markup("").join(made))


_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""Controls and lone surrogates, which are no HTML, and marks that turn the direction of the text around them."""


class Cell(NamedTuple):
    """A cell of a table: a text, what stands small behind it, and whether it is emphasised."""

    text: str
    small: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of which is the row's heading; ``note`` stands beneath."""

    id: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""


class Tile(NamedTuple):
    """One number of the raw model and after calibration, and what is said of the change."""

    title: str
    before: str
    after: str
    change: str


@dataclass(frozen=True)
class Tiles:
    """Numbers before and after, in large print; ``said`` is of what."""

    tiles: Sequence[Tile]
    said: str


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    note: str


Block = str | Markup | Table | Tiles | Note | Sequence[str]
"""What a section is made of: a paragraph, HTML made here, a table, tiles, small print, or a list of sentences."""


@dataclass(frozen=True)
class Section:
    """A question and its answer; all but the first fold."""

    id: str
    title: str
    about: str
    blocks: Sequence[Block] = field(default=())


def printable(value: Any) -> Any:
    """Markup as it is, and anything else as text without characters that HTML cannot hold; None is empty.

    No line break divides a number and its %.
    """
    if hasattr(value, "__html__"):
        return value
    return (
        ""
        if value is None
        else re.sub(r"(?<=\d) %", f"{NO_BREAK}%", _UNPRINTABLE.sub("\ufffd", str(value)))
    )


@cache
def environment() -> Environment:
    """The templates, in which every text is escaped unless it is markup made here."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
