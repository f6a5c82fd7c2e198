"""The report of methods: every number is the table's, every figure the pages', every name a text."""

from __future__ import annotations

import base64
import io
import re
import shlex
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli.arguments import method_with_parameters
from calib.evaluation import SCORES
from calib.evaluation.comparison_table import verdict_paragraphs
from calib.formatting import NO_BREAK, number, signed
from calib.registry import calibrator
from calib.reporting import Source, command, html, method_option, report_from_comparison
from calib.reporting.parts import MAIN, policy, scripts
from calib.reporting.sections import GAINED
from tests.reporting.conftest import HOSTILE, Reading


def test_every_score_is_in_it_and_every_difference_of_the_main_ones(report, reading):
    tables = [
        reading.cells(name)
        for name in reading.tables
        if name == "overview" or name.startswith("others-")
    ]
    n, changes = 0, reading.cells("changes")
    for row in report.table.to_dict("records"):
        title = SCORES[row["score"]].title
        if row["title"] == HOSTILE[-2]:
            continue  # it failed, as another test looks at
        (written,) = [
            cells[row["title"]][title] for cells in tables if title in cells.get(row["title"], {})
        ]
        if row["value"] != row["value"]:
            assert written.startswith("–")
            continue
        assert written.startswith(number(row["value"]))
        assert f"[{number(row['low'])}, {number(row['high'])}]" in written
        if row["score"] in MAIN:
            assert ("✓" in written, "✗" in written) == (
                row["verdict"] == "better",
                row["verdict"] == "worse",
            )
        if row["score"] in MAIN and row["title"] in changes:
            change = changes[row["title"]][title]
            assert change.startswith(signed(row["difference"])) and change.endswith(row["verdict"])
            assert f"[{signed(row['difference_low'])}, {signed(row['difference_high'])}]" in change
            n += 1
    assert n == 2 * len(MAIN)
    nll = report.table[(report.table["score"] == "NLL") & report.table["value"].notna()]
    starred = [title for title, row in reading.cells("overview").items() if "★" in row["NLL"]]
    assert starred == [nll.loc[nll["value"].idxmin(), "title"]]
    (link,) = [a for tag, a in reading.elements if tag == "a" and a.get("download")]
    kind, packed = link["href"].split(",", 1)
    assert kind == "data:text/csv;base64"
    saved = pd.read_csv(io.BytesIO(base64.b64decode(packed)))
    np.testing.assert_allclose(saved["value"], report.table["value"], rtol=1e-12)


def test_the_table_of_methods_has_their_scores_and_a_dot_for_each(report, document):
    page = document.split('<table id="methods" class="methods">')[1].split("</table>")[0]
    rows = report.table[report.table["score"] == "NLL"].set_index("title")
    for method in report.methods:
        assert f"NLL {rows.loc[method.title, 'value']:.3f}" in page
    assert page.count("<circle") <= len(report.methods) - 1


def test_marks_beneath_do_not_use_have_no_colour():
    rng = np.random.default_rng(0)
    confident = np.eye(3)[rng.integers(0, 3, 600)] * 0.8 + 0.2 / 3
    data = calib.from_outputs(confident, rng.integers(0, 3, 600))
    parts = data.split(0.5)
    methods = {name: calib.calibrator(name) for name in ("identity", "temperature")}
    comparison = calib.compare(methods, *parts)
    useless = report_from_comparison(comparison, data, parts, methods, audit=calib.audit(data))
    assert useless.audit.of("remedy").severity == "problem"
    marks = re.findall('<span class="mark"><span(.*?)>', html(useless))
    assert marks and set(marks) == {""}


def test_it_says_everything_about_the_data_and_the_fits(report, reading):
    data = ("ab" * 32, "300 rows, 4 classes", "seed 2", "40 %", "The column ", "Drop ")
    fits = (
        "share_classes",
        "0.0123",
        "0.00456",
        "Make it again",
        np.__version__,
        "2026-03-04 at 05:06 UTC",
    )
    for said in (*data, *fits):
        assert said in reading.text.replace(NO_BREAK, " ")
    for paragraph in verdict_paragraphs(report.table, report.recommendation):
        assert paragraph.replace("\x00", "\ufffd").replace("\u202e", "\ufffd") in reading.text


def first_page(document: str) -> Reading:
    return Reading(document.split("</section>", 1)[0])


def test_the_first_page_begins_with_what_the_recommended_method_changes(report, document):
    page = first_page(document)
    assert report.recommended is not report.methods[0]
    table = report.table.set_index(["method", "score"])
    begin = page.text.split(report.recommendation.sentences()[0])[0]
    for score in GAINED:
        before, after = (
            table.loc[(method.key, score)] for method in (report.methods[0], report.recommended)
        )
        assert f"{number(before['value'])} → {number(after['value'])}" in begin
        assert f"[{signed(after['difference_low'])}, {signed(after['difference_high'])}]" in begin
    assert set(page.tables) == {"methods", "overview"} and len(page.figures) == 2
    assert document.count("<details") == 6 and "<details open" not in document


def test_a_report_without_a_recommendation_shows_the_raw_model_before_all(report):
    page = first_page(html(replace(report, recommendation=None)))
    assert "paired change" not in page.text and len(page.figures) == 1


def test_its_policy_stands_before_all_scripts_and_allows_them_alone(document, reading):
    (given,) = [
        a["content"]
        for tag, a in reading.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert given == policy()
    assert (
        document.index("Content-Security-Policy")
        < document.index("<style>")
        < document.index("<script")
    )
    assert [text for kind, text in reading.scripts if kind != "application/json"] == list(scripts())
    (style,) = re.findall(r"<style>(.*?)</style>", document, re.DOTALL)
    assert not re.search(r"url\(|@import|http", style)


def test_hostile_names_are_text_also_in_the_reason_of_a_method_that_failed(document, reading):
    without = document.replace(scripts()[0], "")
    for name in HOSTILE[:3]:
        assert name in reading.text
        assert name not in without
    assert "a\ufffdb\ufffd</style><style>" in reading.text
    assert sum(tag == "style" for tag, _ in reading.elements) == 1
    assert "\x00" not in without and "\u202e" not in without
    assert (
        HOSTILE[3].replace("\x00", "\ufffd").replace("\u202e", "\ufffd")
        in reading.tables["overview"][-1][0]
    )
    assert set(reading.tables["overview"][-1][1:]) == {"–"}


@pytest.mark.parametrize(
    ("sample", "simulated"), [("simulated-binary", True), ("digits-cnn", False)]
)
def test_simulated_data_are_called_simulated(sample, simulated, report):
    text = Reading(html(replace(report, source=Source(sample=sample)))).text
    assert ("These data are simulated" in text) == simulated
    assert ("simulated data" in text) == simulated


def test_it_is_plotly_and_little_more(document):
    assert (
        len(scripts()[0].encode())
        < len(document.encode())
        < len(scripts()[0].encode()) + 400_000
        < 6_000_000
    )


@pytest.mark.parametrize("name", calib.METHODS)
def test_every_parameter_comes_back_from_the_command_line(name):
    for field in fields(calib.METHODS[name].cls):
        values = field.metadata["choices"] or [
            field.metadata["low"],
            field.metadata["high"],
            field.default,
        ]
        values = (
            [True, False]
            if isinstance(field.default, bool)
            else [value for value in values if value is not None]
        )
        for value in values:
            made = calib.METHODS[name].cls(**{field.name: value})
            again, params = method_with_parameters(method_option(name, made, seed=0))
            assert again == name
            assert calibrator(again, **params).get_params() == made.get_params()


def test_its_command_has_each_name_as_one_word_and_what_was_said_to_matter(report):
    def words(**changes):
        return shlex.split(command(replace(report, **changes)).replace("\\\n", ""))

    given = words()
    assert given[:5] == ["python", "-m", "calib", "compare", report.source.files["source"]]
    assert given[given.index("--read") + 1] == f"labels={report.source.choices.labels}"
    assert "--relevant" not in given
    dashed = words(source=Source({"source": "-x.npz", "labels": "my labels.csv"}))
    assert dashed[4:7] == ["./-x.npz", "--labels", "my labels.csv"]
    table = report.table
    changed = words(
        table=table.assign(relevant=table["relevant"].where(table["score"] != "sharpness", 0.25))
    )
    assert (
        changed[changed.index("--relevant") + 1] == "sharpness=0.25"
        and changed.count("--relevant") == 1
    )
