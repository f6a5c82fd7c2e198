"""Figures of a page: their numbers as JSON that no name can leave, a sentence beside each, and the policy."""

from __future__ import annotations

import base64
import hashlib
import re

import plotly.graph_objects as go

from calib.plots.style import quiet
from calib.reporting.parts import figure_html, figures_html, policy, scripts
from tests.reporting.conftest import HOSTILE, Reading

NAMES = (*HOSTILE, "$x^$", "<!--<script>", "\u2028\u2029", "&lt;b&gt;")


def drawn(names=NAMES) -> go.Figure:
    fig = go.Figure(
        go.Scatter(x=[0.0, float("nan"), 2.0], y=[1, 2, 3], text=list(names[:3]), name=names[0])
    )
    return quiet(fig, 300, alt=" ".join(names), title=names[1])


def test_the_numbers_of_a_figure_come_back_from_its_page():
    reading = Reading(str(figure_html(drawn(("a", "b", "c")))))
    (figure,) = reading.figures
    assert figure["data"][0]["text"] == ["a", "b", "c"] and figure["data"][0]["x"] == [0, None, 2]
    assert figure["layout"]["title"]["text"] == "b" and figure["layout"]["height"] == 300
    assert figure["layout"]["template"] == {}


def test_no_name_leaves_its_script_or_attribute():
    document = str(figures_html([(drawn(), NAMES[1])]))
    reading = Reading(document)
    assert {tag for tag, _ in reading.elements} == {
        "div",
        "figure",
        "figcaption",
        "script",
        "noscript",
    }
    ((kind, text),) = reading.scripts
    assert kind == "application/json" and not re.search("[<>&\u2028\u2029]", text)
    assert reading.figures[0]["data"][0]["name"] == NAMES[0]
    (place,) = [given for _, given in reading.elements if given.get("role") == "img"]
    assert set(place) == {"class", "role", "aria-label"} and NAMES[2] in place["aria-label"]


def test_the_policy_allows_the_two_scripts_by_their_hashes_and_nothing_else_to_run_or_load():
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts()
    ]
    directives = dict(part.split(" ", 1) for part in policy().split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert set(directives) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    assert not re.search("</script|<!--", "".join(scripts()), re.IGNORECASE)
