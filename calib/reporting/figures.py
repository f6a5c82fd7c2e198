"""Figures of a page that needs nothing but itself: plotly's script once, and each figure's numbers as JSON.

The policy of the page allows its own scripts by their hashes, and no request. plotly writes ``style`` elements and
attributes while it draws, whose texts are not known before, so that styles are allowed without a hash: no style can
load anything under this policy, and names from uploads are escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

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
