"""The report of a risk model: its numbers are the library's, its items those of TRIPOD+AI in their order."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.data import Finding, Predictions
from calib.data.event import Event
from calib.data.samples import load_sample
from calib.decisions.sample_size import rows_needed
from calib.diagnostics.group_panels import group_panels
from calib.evaluation.compare import compare_methods
from calib.formatting import NO_BREAK, number, round_percent, with_interval
from calib.metrics import net_benefit, risk_model
from calib.reporting import Report, commands, html
from calib.reporting.risk_model import thresholds_of
from calib.reporting.tripod import CHECKLIST, TO_ADD
from tests.conftest import simulate
from tests.reporting.conftest import HOSTILE, Reading


def report_of(data: Predictions, *names: str, **about) -> Report:
    """A comparison of these methods on halves of the data, or on the split that they came with."""
    part = 0.5 if data.given_split is None else None
    parts, methods = data.split(part), {name: calib.calibrator(name) for name in names}
    return Report.from_comparison(compare_methods(methods, *parts), data, parts, methods, part=part, **about)


def small(n: int = 240, name: str = "died", rate: float = 0.4, **about) -> Predictions:
    """Simulated risks of two classes, some of them in the groups a and b."""
    logits, _ = simulate(n, 2)
    score = logits[:, 1] - logits[:, 0] + np.log(rate / (1 - rate))
    labels = (np.random.default_rng(1).random(n) < 1 / (1 + np.exp(-score / 2))).astype(int)
    given = {"groups": np.array(["a", "b", "b"])[np.arange(n) % 3], "event": Event(1, name, "as chosen")} | about
    return Predictions(np.c_[np.zeros(n), score], labels, ("no", "yes"), name="ward", sha256="ab" * 32, **given)


@pytest.fixture(scope="module")
def loans() -> Report:
    """Part of the simulated loans: clusters, groups and exposure weights whose meaning was confirmed."""
    data = load_sample("simulated-loans")
    rows = np.flatnonzero(np.isin(data.clusters, np.unique(data.clusters)[:24]))
    return report_of(data.take(rows).decided(weight_kind="exposure"), "platt", "isotonic")


@pytest.fixture(scope="module")
def document(loans: Report) -> str:
    return html(loans)


@pytest.fixture(scope="module")
def page(document: str) -> Reading:
    return Reading(document)


def shown(report: Report) -> list:
    """The raw model and the recommended calibrator."""
    raw, *others = report.methods
    return [raw, next(method for method in others if method.key == report.recommendation.method)]


def test_the_checklist_is_the_published_one():
    """27 main items, 52 with their subitems (Collins et al. 2024, table 2)."""
    assert len(CHECKLIST) == 52
    assert list(dict.fromkeys(int(re.match(r"\d+", item)[0]) for item in CHECKLIST)) == list(range(1, 28))
    assert [CHECKLIST[item] for item in ("5a", "12g", "13", "16", "20c", "23a", "27c")] == [
        "Data", "Analytical methods", "Class imbalance", "Training versus evaluation", "Participants",
        "Model performance", "Usability of the model in the context of current care",
    ]  # fmt: skip
    assert set(TO_ADD) < set(CHECKLIST)


def test_items_are_in_order_and_all_others_are_left_to_the_authors(page):
    headings = re.findall(r"^(\d+[a-g]?) (.+)$", page.text, re.MULTILINE)
    filled = [(item, topic) for item, topic in headings if CHECKLIST.get(item) == topic]
    assert filled == [(item, topic) for item, topic in CHECKLIST.items() if (item, topic) in filled]
    items = [item for item, _ in filled]
    assert {"5a", "8a", "10", "11", "12d", "12e", "15", "18f", "20b", "21", "23a", "24"} <= set(items)
    line = re.search(
        r"To be written by the authors\s+items that outputs and labels do not tell\s+(.*?)\.\s", page.text
    )[1]
    by_authors = re.findall(r"\b\d+[a-g]?\b", line)
    assert sorted([*items, *by_authors]) == sorted(CHECKLIST)
    ids = [attributes["id"] for tag, attributes in page.elements if tag == "section" and "id" in attributes]
    assert ids == ["answer", *(f"item-{item}" for item in items)]


def test_the_panel_is_that_of_the_library(loans, page):
    cells = {row[0]: row[1:] for row in page.tables["panel"][1:]}
    for place, method in enumerate(shown(loans)):
        one = method.evaluation
        assert one.weights is not None and one.clusters is not None
        panel = risk_model(*one.pair, one.weights, "exposure", one.clusters)
        for measure in panel.measures:
            assert cells[measure.title][place].startswith(with_interval(measure.interval))
            assert measure.meaning in cells[measure.title][place]
        z = number(panel.spiegelhalter.z)
        assert cells["Spiegelhalter's z"][place].startswith(z) and cells["Spiegelhalter's z"][place].count(z) == 1
        assert panel.spiegelhalter.meaning in cells["Spiegelhalter's z"][place]
        assert z in panel.spiegelhalter.sentence
        assert len(cells) == len(panel.measures) + 1


def test_the_answer_is_one_section_with_three_figures(loans, document):
    answer, rest = document.split("</section>", 1)
    first = Reading(answer)
    assert set(first.tables) == {"panel"} and "<details" not in answer
    drawn = [attributes["aria-label"] for _, attributes in first.elements if attributes.get("role") == "img"]
    assert [text.split(" ")[0] for text in drawn] == ["Calibration", "Calibration", "Net"]
    assert all(re.search(r"\d", text) for text in drawn)
    raw = risk_model(*loans.methods[0].evaluation.pair, loans.methods[0].evaluation.weights, "exposure",
                     loans.methods[0].evaluation.clusters, n_resamples=0)  # fmt: skip
    for key in ("oe", "slope", "auroc"):
        assert with_interval(raw[key].interval) in first.text
    assert rest.count("<details") == 5 and "<details open" not in rest


def test_net_benefit_groups_and_rows_needed_are_those_of_the_library(loans, page):
    *_, last = shown(loans)
    one = last.evaluation
    said, came = one.pair
    _, few = thresholds_of(came.mean())
    found = net_benefit(said, came, few, one.weights, one.clusters)
    rows = page.tables["net-benefit"][1:]
    assert [row[0] for row in rows] == [round_percent(threshold) for threshold in few]
    assert [row[2] for row in rows] == [with_interval(found.model.at(place)) for place in range(len(few))]
    found = group_panels(said, came, loans.rows.test.groups, one.weights, "exposure", one.clusters).groups
    for group, (name, *cells) in zip(found, page.tables["groups"][1:], strict=True):
        assert [name, *cells[:2]] == [group.name, f"{group.rows:,}", f"{group.events:,}"]
        judged = [with_interval(group.measures[key]) for key in ("oe", "slope", "auroc")] if group.measures else []
        assert cells[2:] == judged or (not judged and group.too_few in cells[2])
    threshold = np.round(came.mean(), 2)
    for each, row in zip(
        rows_needed(said, came, threshold, clusters=one.clusters), page.tables["sample-size"][1:], strict=True
    ):
        assert row[:4] == [each.target, number(each.width), f"{each.rows:,}", f"{each.events:,}"]
        assert row[5] == ("enough" if float(row[4]) <= each.width else "too few")


def test_rows_and_events_of_each_analysis(loans, page):
    for part, row in zip((loans.rows.calibration, loans.rows.test), page.tables["parts"][1:], strict=True):
        assert row[1:] == [f"{len(part):,}", f"{part.labels.sum():,}", f"{len(np.unique(part.clusters))}"]
    said, came = loans.methods[0].evaluation.pair
    with_event = next(row for row in page.tables["distribution"][1:] if row[:2] == ["Uncalibrated", "with the event"])
    assert with_event[2:] == [number(value) for value in np.quantile(said[came], [0.05, 0.25, 0.5, 0.75, 0.95])]


def test_rows_left_out_are_told_with_their_reason(tmp_path):
    made = small(80)
    risk = 1 / (1 + np.exp(-made.logits[:, 1]))
    lines = [f"{p:.6f},{'' if i in (3, 5) else y}" for i, (p, y) in enumerate(zip(risk, made.labels, strict=True))]
    (tmp_path / "ward.csv").write_text("risk,died\n" + "\n".join(lines) + "\n")
    page = Reading(html(report_of(calib.load(tmp_path / "ward.csv"), "platt")))
    about = page.text.split("11 Missing data")[1].split("To be added")[0]
    assert "2 rows of 80 have no" in about and "nothing was filled in" in about
    assert "78 rows of the file" in page.text


def test_without_groups_clusters_or_calibrators_their_items_are_the_authors():
    page = Reading(html(report_of(small(groups=None))))
    for item in ("item-12d", "item-20b", "item-12f", "item-24"):
        assert item not in {attributes.get("id") for _, attributes in page.elements}
    assert [len(row) for row in page.tables["panel"]] == [2] * 13
    assert "12b, 12c, 12d and 12f Analytical methods" in page.text


def test_times_of_the_rows_are_told():
    data = small(times=np.array([f"2026-03-{1 + day % 28:02d}" for day in range(240)]))
    about = Reading(html(report_of(data))).text.split("5b Data")[1]
    assert "from 2026-03-01 to 2026-03-28" in about


def test_few_events_are_said_and_judged_by_nothing():
    page = Reading(html(report_of(small(80, rate=0.03), "platt")))
    verdict = page.text.split("Net benefit")[0]
    assert "cannot be judged on so few events" in verdict and "no miscalibration" not in verdict
    assert "Too few events" in page.text


def test_an_event_that_never_happened_has_a_report_too():
    data = small(60)
    split = np.arange(60) < 30
    labels = np.where(split, data.labels, 0)
    report = report_of(replace(data, labels=labels, given_split=split, groups=None), "temperature")
    page = Reading(html(report))
    assert "does not exist for these rows" in page.tables["panel"][1][1]
    assert "nan" not in page.text.lower().split()


def test_zeros_and_ones_of_the_file_are_counted(tmp_path):
    made = small(200)
    risk = np.round(1 / (1 + np.exp(-made.logits[:, 1])), 1)
    lines = [f"{p:.1f},{y}" for p, y in zip(risk, made.labels, strict=True)]
    (tmp_path / "ward.csv").write_text("risk,died\n" + "\n".join(lines) + "\n")
    report = report_of(calib.load(tmp_path / "ward.csv"), "platt")
    page = Reading(html(report))
    test = report.rows.test
    written = test.as_written(report.methods[0].evaluation.pair[0])
    panel = risk_model(written, test.labels, n_resamples=0)
    assert panel.clipping.zeros + panel.clipping.ones > 0
    assert panel.clipping.sentence in page.text
    for place, key in ((3, "citl"), (4, "slope")):
        assert page.tables["panel"][place][1].startswith(with_interval(panel[key].interval))


def test_hostile_names_are_text_and_nothing_is_fetched():
    groups = np.array(HOSTILE)[np.arange(240) % len(HOSTILE)]
    finding = Finding("warning", "rows_left_out", f"2 rows have {HOSTILE[0]}.", "")
    data = replace(small(name=HOSTILE[1], groups=groups, findings=(finding,)), name=HOSTILE[2])
    document = html(report_of(data, "platt"))
    page = Reading(document)
    for name in HOSTILE[:3]:
        assert name in page.text and name not in document
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "img", "iframe", "object", "form", "base"})
    assert sum(tag == "style" for tag, _ in page.elements) == 1
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    (policy,) = [each["content"] for _, each in page.elements if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "\x00" not in document and "\u202e" not in document


def test_it_is_small(document):
    assert 50_000 < len(document.encode()) < 400_000


def test_a_person_can_have_the_comparison_instead():
    report = report_of(small(), "platt", general=True)
    assert report.form == "comparison" and "--general-report" in commands(report)[-1]
    page = Reading(html(report))
    assert "panel" not in page.tables and "score-NLL" in page.tables
    again = replace(report, general=False)
    assert again.form == "risk model" and "--general-report" not in commands(again)[-1]
    assert replace(again, rows=None).form == "comparison"


def test_percentages_of_the_panel_do_not_break(page):
    said = " ".join(cell for row in page.tables["panel"] for cell in row)
    assert f"95{NO_BREAK}%" in said and " %" not in said
