""""""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shlex
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.cli.arguments import method_with_parameters
from calib.data import Choices
from calib.data.samples import load_sample
from calib.diagnostics.over_under import over_under_confidence
from calib.evaluation import SCORES, Evaluation
from calib.evaluation.compare import compare_evaluations
from calib.formatting import NO_BREAK, number, signed
from calib.plots.style import method_style
from calib.registry import calibrator, title_of
from calib.reporting import (
    DataSummary,
    Report,
    ReportedMethod,
    Source,
    commands,
    html,
    method_option,
    verdict_paragraphs,
)
from calib.reporting.sections import GAINED, MAIN
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
            assert ("✓" in written) == (row["verdict"] == "better")
            assert ("✗" in written) == (row["verdict"] == "worse")
    nll = report.table[(report.table["score"] == "NLL") & report.table["value"].notna()]
    starred = [title for title, row in cells.items() if "★" in row["NLL"]]
    assert starred == [nll.loc[nll["value"].idxmin(), "title"]]


def test_over_and_underconfidence_are_those_of_the_library(report, reading):
    cells = reading.cells("over-under")
    results = over_under_confidence([method.evaluation for method in report.methods])
    for method, result in zip(report.methods, results, strict=True):
        assert cells[method.title]["o"].startswith(number(result.over.value))
        assert cells[method.title]["u"].startswith(number(result.under.value))
        assert cells[method.title]["odds of the accuracy"].startswith(number(result.odds.value))


def test_the_reliability_diagrams_show_the_tables_ece(report, document):
    captions = re.findall(r"<figcaption>ECE ([^<]+)</figcaption>", document)
    eces = report.table[(report.table["score"] == "ECE") & report.table["value"].notna()]["value"]
    assert captions == [number(value) for value in eces]


def test_it_says_everything_about_the_data_and_the_fits(report, reading):
    data = ("ab" * 32, "300 rows, 4 classes", "seed 2", "40 %", "The column ", "Drop ")
    fits = ("share_classes", "0.0123", "0.00456", "Make it again", np.__version__, "2026-03-04 at 05:06 UTC")
    for said in (*data, *fits):
        assert said in reading.text.replace(NO_BREAK, " ")
    for paragraph in verdict_paragraphs(report.table, report.recommendation):
        assert paragraph in reading.text


def test_the_first_page_has_the_recommendation_and_what_it_changes(report, document):
    answer, rest = document.split("</section>", 1)
    page = Reading(answer)
    recommended = next(method for method in report.methods if method.key == report.recommendation.method)
    assert recommended is not report.methods[0]
    assert report.recommendation.sentences()[0] in page.text
    table = report.table.set_index(["method", "score"])
    for score in GAINED:
        before, after = (table.loc[(method.key, score)] for method in (report.methods[0], recommended))
        for said in (number(before["value"]), number(after["value"]), signed(after["difference"])):
            assert said in page.text
        assert f"[{signed(after['difference_low'])}, {signed(after['difference_high'])}]" in page.text
    assert set(page.tables) == {"overview"}
    assert sum(tag == "figure" for tag, _ in page.elements) == 3
    assert "<details" not in answer and rest.count("<details") == 6 and "<details open" not in rest


def test_a_report_without_a_recommendation_shows_the_raw_model_alone(report):
    page = Reading(html(replace(report, recommendation=None)).split("</section>", 1)[0])
    assert sum(tag == "figure" for tag, _ in page.elements) == 2
    assert "paired change" not in page.text


def test_headings_skip_no_level(reading):
    levels = [int(tag[1]) for tag, _ in reading.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_every_figure_has_a_text_alternative(reading):
    drawn = [attributes for tag, attributes in reading.elements if attributes.get("role") == "img"]
    assert len(drawn) > 9
    assert all(len(attributes["aria-label"]) > 20 for attributes in drawn)


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


@pytest.mark.parametrize(("sample", "simulated"), [("simulated-binary", True), ("digits-cnn", False)])
def test_simulated_data_are_called_simulated(sample, simulated):
    text = Reading(html(make_report(("a", "b"), n=100, source=Source(sample=sample)))).text
    assert ("These data are simulated" in text) == simulated
    assert ("simulated data" in text) == simulated


def test_two_methods_take_little_room(document):
    assert len(document.encode()) < 400_000


@pytest.mark.parametrize("name", calib.METHODS)
def test_every_parameter_comes_back_from_the_command_line(name):
    for field in fields(calib.METHODS[name].cls):
        values = field.metadata["choices"] or [field.metadata["low"], field.metadata["high"], field.default]
        values = [True, False] if isinstance(field.default, bool) else [value for value in values if value is not None]
        for value in values:
            made = calib.METHODS[name].cls(**{field.name: value})
            again, params = method_with_parameters(method_option(name, made, seed=0))
            assert again == name
            assert calibrator(again, **params).get_params() == made.get_params()


def test_a_seed_is_left_out_where_it_is_the_command_s_own():
    made = calibrator("isotonic", random_state=3)
    assert method_option("isotonic", made, seed=3) == "isotonic"
    assert method_option("isotonic", made, seed=0) == "isotonic:random_state=3"
    assert method_option("isotonic", calibrator("isotonic"), seed=3) == "isotonic:random_state=0"


def test_names_from_outside_are_one_word_for_the_shell():
    report = make_report(n=100)
    words = shlex.split(commands(report)[-1].replace("\\\n", ""))
    assert words[:4] == ["python", "-m", "calib", "compare"]
    assert words[4] == report.source.files["source"]
    assert words[words.index("--read") + 1] == f"labels={report.source.choices.labels}"
    dashed = make_report(n=100, source=Source({"source": "-x.npz", "labels": "my labels.csv"}))
    words = shlex.split(commands(dashed)[-1].replace("\\\n", ""))
    assert words[4:7] == ["./-x.npz", "--labels", "my labels.csv"]


@pytest.mark.long
def test_the_commands_give_the_same_numbers(tmp_path, monkeypatch, overconfident):
    """Files apart, choices by hand, another seed and split, parameters and a seed of a method's own."""
    logits, labels = overconfident
    monkeypatch.chdir(tmp_path)
    np.savez("my outputs.npz", scores=logits, other=logits[:, ::-1])
    np.save("my labels.npy", labels + 1)
    choices = Choices(outputs="scores", kind="logits", label_values=tuple(range(1, logits.shape[1] + 1)))
    data = calib.load("my outputs.npz", labels="my labels.npy", choices=choices)
    calibration, test = data.split(0.35, random_state=7)
    methods = []
    for name, params in (
        ("identity", {}),
        ("temperature", {"random_state": 7}),
        ("isotonic", {"share_classes": False}),
        ("bayes_iso", {"n_maps": 300, "random_state": 5}),
    ):
        made = calibrator(name, **params).fit(calibration.logits, calibration.labels)
        evaluation = Evaluation.from_calibrator(made, test.logits, test.labels)
        title = title_of(made, name, data.n_classes)
        methods.append(ReportedMethod.from_fitted(title, name, title, method_style(name), made, evaluation))
    table = compare_evaluations({m.key: m.evaluation for m in methods}, baseline=methods[0].key)
    source = Source({"source": "my outputs.npz", "labels": "my labels.npy"}, choices)
    report = Report(DataSummary.from_parts(data, calibration, test), 0.35, 7, methods, table, source)
    (line,) = commands(report)
    words = shlex.split(line.replace("\\\n", ""))
    assert words[:3] == ["python", "-m", "calib"]
    assert main(words[3:]) == 0
    again = pd.read_csv("comparison.csv")
    assert len(again) == len(table)
    numbers = ["value", "low", "high", "difference", "difference_low", "to_best", "to_best_high"]
    np.testing.assert_allclose(again[numbers].to_numpy(float), table[numbers].to_numpy(float), rtol=1e-9, atol=1e-12)
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_its_command_repeats_what_was_said_to_matter():
    report = make_report(n=100)
    assert "--relevant" not in commands(report)[-1]
    table = report.table
    larger = table["relevant"].where(table["score"] != "smooth ECE", 0.25)
    changed = replace(report, table=table.assign(relevant=larger))
    words = shlex.split(commands(changed)[-1].replace("\\\n", ""))
    assert words[words.index("--relevant") + 1] == "smooth ECE=0.25" and words.count("--relevant") == 1


def test_a_sample_is_found_in_the_repository_or_made():
    report = make_report(n=100, source=Source(sample="digits-cnn"))
    assert commands(report)[0].startswith("python -m calib compare sample_data/digits-cnn.npz ")
    made, compared = commands(make_report(n=100, source=Source(sample="simulated-1000")))
    assert compared.startswith("python -m calib compare simulated-1000.npz ")
    assert shlex.split(made)[:2] == ["python", "-c"]


def test_a_sample_that_is_made_is_the_same_one(tmp_path, monkeypatch):
    made = commands(make_report(n=100, source=Source(sample="simulated-1000")))[0]
    monkeypatch.chdir(tmp_path)
    exec(shlex.split(made)[2], {})
    assert calib.load("simulated-1000.npz").sha256 == load_sample("simulated-1000").sha256
