from __future__ import annotations

import base64
import hashlib
import io
import re

import numpy as np
import pandas as pd
import pytest

from calib.diagnostics.over_under import balances
from calib.evaluation import SCORES
from calib.formatting import number, signed
from calib.reporting import Source, html, verdict_paragraphs
from calib.reporting.scores import MAIN
from tests.reporting.conftest import HOSTILE, Reading, make_report

FETCHING = {"src", "srcset", "poster", "action", "formaction", "background", "xlink:href", "srcdoc", "style"}


def test_every_number_of_the_table_is_in_it(report, reading):
    n = 0
    for key in SCORES:
        rows = report.table[report.table["score"] == key]
        if not len(rows):
            continue
        cells = reading.tables[f"score-{key.replace(' ', '-')}"][1:]
        for row, written in zip(rows.to_dict("records"), cells, strict=True):
            if row["value"] != row["value"]:
                assert "–" in written[1]
                continue
            assert written[1].startswith(number(row["value"]))
            assert f"[{number(row['low'])}, {number(row['high'])}]" in written[1]
            for name, cell in zip(("difference", "to_best"), written[2:], strict=False):
                if cell == "reference":
                    assert row[name] == 0
                    continue
                assert cell.startswith(signed(row[name]))
                assert f"[{signed(row[name + '_low'])}, {signed(row[name + '_high'])}]" in cell
                n += 1
    assert n > 50


def test_the_overview_has_the_main_scores_and_their_marks(report, reading):
    cells = reading.cells("overview")
    for method in report.methods:
        for key in MAIN:
            row = report.table[(report.table["method"] == method.key) & (report.table["score"] == key)].iloc[0]
            written = cells[method.title][SCORES[key].title]
            assert written.startswith(number(row["value"]))
            assert ("✓" in written) == (row["beyond_chance"] == "better")
            assert ("✗" in written) == (row["beyond_chance"] == "worse")
    nll = report.table[(report.table["score"] == "NLL") & report.table["value"].notna()]
    starred = [title for title, row in cells.items() if "★" in row["NLL"]]
    assert starred == [nll.loc[nll["value"].idxmin(), "title"]]


def test_over_and_underconfidence_are_those_of_the_library(report, reading):
    cells = reading.cells("balance")
    for method, balance in zip(report.methods, balances([m.evaluation for m in report.methods]), strict=True):
        assert cells[method.title]["o"].startswith(number(balance.over.value))
        assert cells[method.title]["u"].startswith(number(balance.under.value))
        assert cells[method.title]["odds of the accuracy"].startswith(number(balance.odds.value))


def test_the_reliability_diagrams_show_the_tables_ece(report, document):
    captions = re.findall(r"<figcaption>ECE ([^<]+)</figcaption>", document)
    eces = report.table[(report.table["score"] == "ECE") & report.table["value"].notna()]["value"]
    assert captions == [number(value) for value in eces]


def test_it_says_everything_about_the_data_and_the_fits(report, reading):
    data = ("ab" * 32, "300 rows, 4 classes", "seed 2", "40 %", "The column ", "Drop ")
    fits = ("share_classes", "0.0123", "0.00456", "Make it again", np.__version__, "2026-03-04 at 05:06 UTC")
    for said in (*data, *fits):
        assert said in reading.text
    for paragraph in verdict_paragraphs(report.table):
        assert paragraph in reading.text


def test_all_numbers_in_full_travel_with_it(report, reading):
    (link,) = [a for tag, a in reading.elements if tag == "a" and a.get("download")]
    kind, packed = link["href"].split(",", 1)
    assert kind == "data:text/csv;base64"
    table = pd.read_csv(io.BytesIO(base64.b64decode(packed)))
    np.testing.assert_allclose(table["value"], report.table["value"], rtol=1e-12)


def test_nothing_in_it_is_fetched(reading):
    for tag, attributes in reading.elements:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
        assert not FETCHING & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes)
        if "href" in attributes:
            assert attributes["href"].startswith(("#", "data:text/csv"))


def test_its_policy_forbids_everything_but_its_own_style(document, reading):
    (policy,) = [a["content"] for tag, a in reading.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    (style,) = re.findall(r"<style>(.*?)</style>", document, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"url\(|@import|http", style)
    assert document.index("Content-Security-Policy") < document.index("<style>")


def test_hostile_names_are_text(document, reading):
    for name in HOSTILE[:3]:
        assert name in reading.text
        assert name not in document
    assert "a\ufffdb\ufffd</style><style>" in reading.text
    assert sum(tag == "style" for tag, _ in reading.elements) == 1
    assert "<script" not in document.lower()
    assert "\x00" not in document and "\u202e" not in document


def test_a_method_that_failed_is_there_with_its_reason(reading):
    assert f"failed: {HOSTILE[3][:1]}" in reading.tables["overview"][-1][0]
    assert set(reading.tables["overview"][-1][1:]) == {"–"}


@pytest.mark.parametrize(("sample", "simulated"), [("simulated-binary", True), ("digits-cnn", False), (None, False)])
def test_simulated_data_are_called_simulated(sample, simulated):
    text = Reading(html(make_report(("a", "b"), n=100, source=Source(sample=sample)))).text
    assert ("These data are simulated" in text) == simulated
    assert ("simulated data" in text) == simulated


def test_two_methods_take_little_room(document):
    assert len(document.encode()) < 600_000
