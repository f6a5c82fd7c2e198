"""The report of a risk model: its numbers are the library's."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.auditing.compare import compare
from calib.data import Finding, Predictions
from calib.data.event import Event
from calib.data.samples import load_sample
from calib.formatting import number, percent, round_percent, with_interval
from calib.metrics import net_benefit, risk_model
from calib.metrics.risk_panel import RiskModelPanel
from calib.reporting import Report, Source, html, report_from_comparison
from calib.reporting.parts import scripts
from calib.reporting.risk_model import thresholds_of, useful
from tests.conftest import simulate
from tests.reporting.conftest import HOSTILE, Reading

pytestmark = pytest.mark.usefixtures("few_simulations")


def report_of(data: Predictions, *names: str) -> Report:
    """A comparison of these methods on halves of the data, or on the split that they came with; none is the raw model.

    Each panel is a bootstrap, so what is no matter of a calibrator is asked of the raw model alone.
    """
    part = 0.5 if data.given_split is None else None
    parts, methods = data.split(part), {name: calib.calibrator(name) for name in names}
    return report_from_comparison(
        compare(methods, *parts), data, parts, methods, source=Source(part=part)
    )


def small(n: int = 240, name: str = "died", rate: float = 0.4, **about) -> Predictions:
    """Simulated risks of two classes, some of them in the groups a and b."""
    logits, _ = simulate(n, 2)
    score = logits[:, 1] - logits[:, 0] + np.log(rate / (1 - rate))
    labels = (np.random.default_rng(1).random(n) < 1 / (1 + np.exp(-score / 2))).astype(int)
    given = {
        "groups": np.array(["a", "b", "b"])[np.arange(n) % 3],
        "event": Event(1, name, "as chosen"),
    } | about
    return Predictions(
        np.c_[np.zeros(n), score], labels, ("no", "yes"), name="ward", sha256="ab" * 32, **given
    )


@pytest.fixture(scope="module")
def loans() -> Report:
    """Part of the simulated loans: clusters, groups and exposure weights whose meaning was confirmed."""
    data = load_sample("simulated-loans")
    rows = np.flatnonzero(np.isin(data.clusters, np.unique(data.clusters)[:16]))
    return report_of(data.take(rows).decided(weight_kind="exposure"), "platt")


@pytest.fixture(scope="module")
def document(loans: Report) -> str:
    return html(loans)


@pytest.fixture(scope="module")
def page(document: str) -> Reading:
    return Reading(document)


@pytest.fixture(scope="module")
def panels(loans: Report) -> list[RiskModelPanel]:
    """What the library says of the two."""
    found = [method.evaluation for method in loans.before_and_after]
    assert all(one.weights is not None and one.clusters is not None for one in found)
    return [risk_model(*one.pair, one.weights, "exposure", one.clusters) for one in found]


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The raw model of a file with risks of 0 and two rows without an outcome."""
    made = small(200)
    risk = np.round(1 / (1 + np.exp(-made.logits[:, 1])), 1)
    lines = [
        f"{p:.1f},{'' if i in (3, 5) else y}"
        for i, (p, y) in enumerate(zip(risk, made.labels, strict=True))
    ]
    path = tmp_path_factory.mktemp("ward") / "ward.csv"
    path.write_text("risk,died\n" + "\n".join(lines) + "\n")
    return report_of(calib.load(path))


@pytest.fixture(scope="module")
def page_of_ward(ward: Report) -> Reading:
    return Reading(html(ward))


def test_the_panel_is_that_of_the_library(page, panels):
    cells = {row[0]: row[1:] for row in page.tables["panel"][1:]}
    for place, panel in enumerate(panels):
        for measure in panel.measures:
            assert cells[measure.title][place].startswith(with_interval(measure.interval))
            assert measure.meaning in cells[measure.title][place]
        z = number(panel.spiegelhalter.z)
        assert (
            cells["Spiegelhalter's z"][place].startswith(z)
            and cells["Spiegelhalter's z"][place].count(z) == 1
        )
        assert panel.spiegelhalter.meaning in cells["Spiegelhalter's z"][place]
        assert z in panel.spiegelhalter.sentence
        assert len(cells) == len(panel.measures) + 1


def test_the_first_page_has_four_measures_before_and_after_and_three_figures(document, panels):
    first = Reading(document.split("</section>", 1)[0])
    assert set(first.tables) == {"panel"}
    drawn = [figure["layout"]["meta"]["alt"] for figure in first.figures]
    assert [text.split(" ")[0] for text in drawn] == ["Calibration", "Calibration", "Net"]
    assert all(re.search(r"\d", text) for text in drawn)
    begin = first.text.split("The model's risks")[0]
    for key in ("oe", "slope", "auroc", "brier"):
        before, after = (panel[key] for panel in panels)
        assert f"{number(before.value)} → {number(after.value)}" in begin
        assert with_interval(after.interval).split(" ", 1)[1] in begin
    assert "<details open" not in document


def test_numbers_are_weighted_on_the_first_page_and_after(loans, page, panels, page_of_ward):
    one = loans.methods[0].evaluation
    events, rows = int(one.pair[1].sum()), len(one)
    rate = panels[0].event_rate
    begin = page.text.split("The model's risks")[0]
    assert (
        f"in {events} of them ({percent(events / rows)}), {percent(rate)} by weight. "
        "All numbers count rows by their exposure weights." in begin
    )
    assert f"{loans.before_and_after[-1].title}, weighted" in begin
    plain = page_of_ward.text
    assert "weighted" not in plain.lower() and "by weight" not in plain


def test_net_benefit_is_that_of_the_library(loans, page, panels):
    *_, last = loans.before_and_after
    one = last.evaluation
    said, came = one.pair
    _, few = thresholds_of(panels[0].event_rate)
    found = net_benefit(said, came, few, one.weights, one.clusters)
    rows = page.tables["net-benefit"][1:]
    assert [row[0] for row in rows] == [round_percent(threshold) for threshold in few]
    assert [row[2] for row in rows] == [
        with_interval(found.model.at(place)) for place in range(len(few))
    ]


def test_a_title_in_the_sentence_on_net_benefit_is_its_subject():
    scores = np.linspace(0.05, 0.95, 400)
    labels = np.random.default_rng(0).random(400) < scores
    title = "By group (column=sex)"
    assert useful(title, net_benefit(scores, labels, [0.3, 0.5])).startswith(f"{title} has ")
    none = useful(title, net_benefit(np.full(400, 0.5), labels, [0.3, 0.5]))
    assert none.startswith(f"{title} is at no threshold") and "by By" not in none


def test_rows_left_out_are_told_with_their_reason(page_of_ward):
    assert (
        "2 rows of 200 have no" in page_of_ward.text
        and "nothing was filled in" in page_of_ward.text
    )


def test_few_events_are_said_and_judged_by_nothing():
    page = Reading(html(report_of(small(80, rate=0.03))))
    verdict = page.text.split("Net benefit")[0]
    assert (
        "The model's risks of “died” on 40 test rows: Too few events" in verdict
        and "Calibration slope is" not in verdict
    )


def test_an_event_that_never_happened_has_a_report_too():
    data = small(60)
    split = np.arange(60) < 30
    labels = np.where(split, data.labels, 0)
    logits = np.clip(
        np.rint(data.logits), -1, 0
    )  # two risks, for a curve without events takes the longest to fit
    report = report_of(replace(data, logits=logits, labels=labels, given_split=split, groups=None))
    page = Reading(html(report))
    assert "does not exist for these rows" in page.tables["panel"][1][1]
    assert "nan" not in page.text.lower().split()


def test_log_loss_is_the_nll_of_the_table_where_the_file_has_zeros(ward, page_of_ward):
    """The panel's measures that are scores too are those of the table, with its ends but for Student's t there."""
    (method,) = ward.methods
    panel, of_table = page_of_ward.cells("panel"), page_of_ward.cells("overview")[method.title]
    for measure, score in (("Log loss", "NLL"), ("Brier score", "Brier score")):
        theirs, ours = (
            re.findall(r"[-+\d.e]+(?=[\s,\]\[✓]|$)", text)[:3]
            for text in (of_table[score], panel[measure][method.title])
        )
        assert ours[0] == theirs[0], (measure, score)
        (low, high), ends = map(float, theirs[1:]), [float(end) for end in ours[1:]]
        assert ends == pytest.approx([low, high], abs=0.02 * (high - low)), (measure, score)


def test_log_loss_is_the_nll_of_the_table_where_a_calibrator_says_0_and_1():
    rng = np.random.default_rng(0)
    labels = (rng.random(300) < 0.4).astype(int)
    risk = np.where(labels, 0.99, 0.01) + rng.normal(0, 0.001, 300)
    data = replace(small(300), logits=np.log(np.c_[1 - risk, risk]), labels=labels)
    report = report_of(data, "temperature")
    scaled = report.methods[1]
    assert scaled.evaluation.pair[0].min() < 1e-50 and scaled.evaluation.pair[0].max() == 1
    rows = report.table[report.table["method"] == scaled.key].set_index("score")
    nll = rows.loc["NLL", "value"]
    assert risk_model(*scaled.evaluation.pair, n_resamples=0)["log_loss"].value == pytest.approx(
        nll, abs=1e-12
    )


def test_hostile_names_are_text_and_nothing_is_fetched():
    groups = np.array(HOSTILE)[np.arange(240) % len(HOSTILE)]
    finding = Finding("warning", "rows_left_out", f"2 rows have {HOSTILE[0]}.", "")
    data = replace(small(name=HOSTILE[1], groups=groups, findings=(finding,)), name=HOSTILE[2])
    document = html(report_of(data))
    page, without = Reading(document), document.replace(scripts()[0], "")
    for name in HOSTILE[:3]:
        assert name in page.text and name not in without
    assert {tag for tag, _ in page.elements}.isdisjoint(
        {"link", "img", "svg", "iframe", "object", "form", "base"}
    )
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "\x00" not in without and "\u202e" not in without


def test_slopes_of_all_rows_and_of_test_rows_stand_beside_their_rows():
    data = small()
    _, test = data.split(0.5)
    page = Reading(html(report_of(data, "platt")))
    of_all, of_test = (
        number(risk_model(part.probs[:, 1], part.labels)["slope"].value) for part in (data, test)
    )
    assert of_all != of_test
    assert page.cells("panel")["Calibration slope"]["Uncalibrated"].startswith(of_test)
    assert f"slope {of_all}" in str(page.tables["findings"])
    assert "On all 240 rows: " in page.text
    assert "every check of the raw model on all 240 rows; all other numbers" in page.text
    assert "The model's risks of “died” on 120 test rows: " in page.text
