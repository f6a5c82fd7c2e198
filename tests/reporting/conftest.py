"""A finished comparison whose every name is hostile, and what its report says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from calib.auditing.compare import compare
from calib.base import Calibrator
from calib.data import Choices, Finding, Predictions
from calib.errors import CalibrationError
from calib.registry import calibrator
from calib.reporting import Report, Source, html, report_from_comparison
from tests.conftest import simulate

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=http://example.org/x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "a\x00b\u202e</style><style>body{background:url(//example.org)}",
)
MADE = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


class Reading(HTMLParser):
    """The document as a browser's parser would see it: elements, texts, scripts, and tables as lists of rows."""

    def __init__(self, document: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self.scripts: list[tuple[str, str]] = []
        """Type and text of each."""
        self._rows: list[list[str]] = []
        self._in_cell = False
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "script":
            self.scripts.append((dict(attrs).get("type") or "", ""))
        elif tag == "table":
            self._rows = self.tables.setdefault(
                dict(attrs).get("id") or f"table {len(self.tables)}", []
            )
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td") and self._rows:
            self._rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag):
        if tag == "table":
            self._rows = []
        elif tag in ("th", "td"):
            self._in_cell = False

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        if self.cdata_elem:
            return
        self.text += data
        if self._in_cell and self._rows and self._rows[-1]:
            self._rows[-1][-1] += data

    def cells(self, table: str) -> dict[str, dict[str, str]]:
        """Cells by row and column heading."""
        head, *rows = self.tables[table]
        return {row[0]: dict(zip(head, row, strict=True)) for row in rows}

    @property
    def figures(self) -> list[dict[str, Any]]:
        """What plotly draws."""
        return [json.loads(text) for kind, text in self.scripts if kind == "application/json"]

    def command(self) -> str:
        """The last shell command, on one line."""
        return re.findall(r"python -m calib compare.*?--report report.html", self.text, re.DOTALL)[
            -1
        ].replace("\\\n", "")


class Fails(Calibrator):
    """Cannot be fitted, for a reason that is HTML."""

    def _fit(self, logits, labels, *, progress):
        raise CalibrationError(HOSTILE[-1])


def make_report(names=HOSTILE) -> Report:
    logits, labels = simulate(n=300, n_classes=len(names))
    groups = np.array(names)[np.arange(300) % len(names)]
    finding = Finding("warning", "odd", f"The column {names[0]} is odd.", f"Drop {names[1]}.")
    data = Predictions(
        logits,
        labels,
        tuple(names),
        sha256="ab" * 32,
        name=names[0],
        groups=groups,
        findings=(finding,),
    )
    parts = data.split(0.4, random_state=2)
    methods = {
        "Temperature": calibrator("temperature"), "Isotonic": calibrator("isotonic", share_classes=False),
        names[-2]: Fails(),
    }  # fmt: skip
    source = Source({"source": f"{names[0]}.npz"}, Choices(labels=names[1]), part=0.4, seed=2)
    made = report_from_comparison(
        compare(methods, *parts), data, parts, methods, source=source, created=MADE
    )
    timed = [
        replace(method, fit_seconds=0.0123, predict_seconds=0.00456) for method in made.methods
    ]
    return replace(made, methods=timed)


@pytest.fixture(scope="session")
def report() -> Report:
    return make_report()


@pytest.fixture(scope="session")
def document(report: Report) -> str:
    return html(report)


@pytest.fixture(scope="session")
def reading(document: str) -> Reading:
    return Reading(document)
