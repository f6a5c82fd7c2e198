"""The Groups page, and the cohort to which it restricts all pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calib.auditing.findings import GroupFinding, Severity
from calib.data.roles import ColumnRole
from calib.data.samples import load_sample
from calib.diagnostics.group_panels import group_panels
from calib.engine import Engine
from calib.evaluation import evaluate
from calib.evaluation.view import EVENT
from calib.metrics.bootstrap import Interval
from calib.numerics import sigmoid, softmax
from calib.reporting import html_of_fits
from calib.ui.fits import judged_fits
from calib.ui.groups import gap_of_all, select_groups, sentence
from calib.ui.session import SESSION, OpenSession
from calib.ui.shell import OF_ALL_ROWS, SCOPE
from tests.conftest import ROOT
from tests.ui.conftest import charts, clean, fit, open_page, opened, said, table, twice, unfold

PAGE = "pages/13_Groups.py"
REGIONS = ("north", "south", "west")


def with_north_off(n: int = 1500) -> OpenSession:
    """Rows of two columns of groups, of which the north has an event twice as often as predicted."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.4, n)
    region = rng.choice(REGIONS, n)
    sex = rng.choice(["Female", "Male"], n)
    happened = rng.random(n) < np.where(region == "north", 2 * p, p)
    log_odds = np.log(p / (1 - p))
    session = twice(np.stack([0 * p, log_odds], 1), happened.astype(int), region)
    data = replace(session.data, metadata={"sex": np.r_[sex, sex]}).decided(event="class 1")
    return OpenSession.from_data(data)


def test_the_page_opens_with_the_group_that_is_off_and_has_every_group() -> None:
    session = with_north_off()
    app = open_page(PAGE, session)
    assert clean(app)
    data = session.data
    shown = table(unfold(app, "groups/numbers"), "against all rows").set_index("group")
    assert len(shown) == 11  # three regions, two sexes and six pairs
    inside = data.groups == "north"
    probs = sigmoid(data.logits[:, 1])
    gap = (probs[inside] - data.labels[inside]).mean()
    assert shown.loc["north", "gap"] == pytest.approx(gap, abs=1e-4)
    assert shown.loc["north", "rows"] == inside.sum()
    assert shown.loc["north", "against all rows"] == "risk underestimated"
    assert shown["gap"].idxmin() != "north"  # a pair of it, of fewer rows
    assert "most of all north:" in app.header[0].value
    (figure,) = charts(app)
    lines = [trace.get("line", {}) for trace in json.loads(figure.spec)["data"]]
    assert [line["dash"] for line in lines if "dash" in line].count("dot") == 1
    assert gap_of_all(session, judged_fits(session)[0]) == pytest.approx(
        (probs - data.labels).mean()
    )


def test_one_group_that_is_off_is_not_the_worst_of_several() -> None:
    north = GroupFinding("north", 900, 0.1, 0.2, Interval(0.1, 0.05, 0.15), "problem")
    east = replace(north, name="east", predicted=0.15, gap=Interval(0.05, 0.01, 0.09))
    fine = replace(north, name="west", severity="fine")
    means = "north: predicted 10.0\u00a0%, observed 20.0\u00a0%."
    assert sentence([north, fine], EVENT) == f"1 of 2 groups differs from the others: {means}"
    others = "differ from the others, most of all"
    assert sentence([north, east], EVENT) == f"2 of 2 groups {others} {means}"
    pair = replace(north, name="south × F", gap=Interval(0.3, -0.1, 0.7), columns=("ward", "sex"))
    assert f"{others} north:" in sentence([pair, replace(north, columns=("ward",))], EVENT)
    assert f"{others} south × F:" in sentence([pair, replace(pair, gap=north.gap)], EVENT)


def of_columns(rows: dict[str, int], severity: Severity, *columns: str) -> list[GroupFinding]:
    """Groups of the same gap with these rows."""
    gap = Interval(0.1, 0.05, 0.15)
    return [
        GroupFinding(name, n, 0.1, 0.2, gap, severity, columns, n // 5) for name, n in rows.items()
    ]


@pytest.mark.parametrize(("size", "whole"), [(6, True), (8, True), (9, False)])
def test_a_column_of_few_values_of_which_one_is_off_is_drawn_whole(size: int, whole: bool) -> None:
    off = of_columns({"ward 0": 500}, "problem", "ward")
    wards = of_columns({f"ward {k}": 50 for k in range(1, size)}, "fine", "ward")
    larger = of_columns({f"age {k}": 900 for k in range(20)}, "fine", "age")
    pairs = of_columns({f"pair {k}": 300 for k in range(20)}, "problem", "age", "ward")
    for others in (larger, pairs, larger + pairs):
        drawn = [group.name for group in select_groups(others + wards + off)]
        assert "ward 0" in drawn
        assert {group.name for group in wards}.issubset(drawn) == whole
        assert len(drawn) == len(set(drawn)) == 18


def test_a_cohort_restricts_the_pages_until_its_chip_is_clicked(queue: Engine) -> None:
    session = fit(queue, with_north_off(), "temperature")
    app = open_page(PAGE, session)
    app.selectbox(key="groups/cohort").set_value("sex × group: Female × north").run()
    assert clean(app)
    inside = (session.data.groups == "north") & (session.data.metadata["sex"] == "Female")
    chip = app.button(key="cohort/clear")
    assert chip.label == f"Female × north · {inside.sum():,} rows"
    assert table(app, "these")["these"].tolist()[0] == f"{inside.sum():,}"

    app.switch_page("pages/2_Compare.py").run()
    assert clean(app)
    session = app.session_state[SESSION]
    test = session.whole_test
    part = (test.groups == "north") & (test.metadata["sex"] == "Female")
    assert len(session.test) == part.sum()
    np.testing.assert_array_equal(session.data.labels[session.test_numbers - 1], test.labels[part])
    nll = evaluate(softmax(test.logits[part]), test.labels[part]).row_nll.mean()
    (methods,) = [element.proto.json for element in app.get("bidi_component")]
    assert f"{nll:.3f}" in methods

    app.button(key="cohort/clear").click().run()
    assert session.test is session.whole_test
    assert not [button for button in app.button if button.key == "cohort/clear"]


@pytest.mark.parametrize(
    "path", ["3_Reliability", "4_Decide", "6_Over_underconfidence", "7_Calibration_maps"]
)
def test_pages_draw_the_rows_of_a_cohort(path: str, all_unfolded: None) -> None:
    session = with_north_off(600)
    assert session.show_cohort(("group",), "north")
    assert clean(open_page(f"pages/{path}.py", session))


def test_the_split_and_its_fits_are_of_all_rows() -> None:
    session = with_north_off()
    assert session.show_cohort(("group",), "north")
    app = open_page("app.py", session)
    assert clean(app)
    assert "Calibration and test rows: 1,500 and 1,500" in [part.label for part in app.expander]
    with session.all_rows():
        assert session.test is session.whole_test
    assert len(session.test) < len(session.whole_test)


@pytest.mark.parametrize("path", ["2_Compare", "5_Export"])
def test_the_report_covers_all_rows_of_whatever_group_the_pages_show(
    path: str, queue: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = fit(queue, with_north_off(), "temperature")
    assert session.show_cohort(("group",), "north")
    offered: list[Callable[[], dict[str, Any]]] = []

    def offer(*arguments: Any, **_: Any) -> None:
        offered.append(arguments[4])

    monkeypatch.setattr("calib.ui.compare.recommendation.offer_file", offer)
    app = open_page(f"pages/{path}.py", session)
    assert clean(app)
    caption = "The report covers all rows, not north alone."
    assert (caption in said(app)) == (path == "2_Compare")
    session = app.session_state[SESSION]
    assert session.cohort.name == "north"
    opened(monkeypatch, session)
    monkeypatch.setattr("calib.ui.session.find_session", lambda: session)
    contents = offered[0]()  # a click calls it, before the page is drawn
    test = session.whole_test
    assert contents["report"].n_test == len(test)
    scores = contents["resampled"]["Temperature"].values
    probs = judged_fits(session)[1].calibrator.predict_proba(test.logits)
    assert scores["NLL"] == pytest.approx(evaluate(probs, test.labels).row_nll.mean())
    html = html_of_fits(data=contents, callback=lambda *_: None)
    assert f"{len(session.data):,} rows" in html
    assert f"{len(session.cohort.data):,} rows" not in html


def test_a_cohort_too_small_to_show_is_refused() -> None:
    session = with_north_off()
    assert not session.show_cohort(("group",), "east")
    assert session.cohort is None


def test_groups_of_an_event_have_their_panel() -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    app = unfold(open_page(PAGE, session), "groups/panel")
    assert clean(app)
    found = group_panels(
        softmax(session.test.logits)[:, 1], session.test.labels, session.test.groups
    )
    shown = table(app, "O:E")
    assert list(shown["group"]) == [group.name for group in found]
    assert list(shown["rows"]) == [group.rows for group in found]
    assert all(group.name in said(app) for group in found if group.off("oe"))
    assert "One map for all rows may leave groups off." in said(app)


def test_the_panel_names_its_columns_and_the_rows_it_is_of() -> None:
    session = with_north_off()
    data = session.data
    cells = np.char.add(np.char.add(data.groups, " · "), data.metadata["sex"])
    roles = (ColumnRole("region", "group", ""), ColumnRole("sex_given", "group", ""))
    session = OpenSession.from_data(replace(data, groups=cells, metadata={}, roles=roles))
    text = said(unfold(open_page(PAGE, session), "groups/panel"))
    assert "of 6 groups** by region × sex_given, on 1,500 test rows: north · " in text
    assert len(session.whole_test) == 1500


@pytest.mark.parametrize(("column", "fitted"), [("group", True), ("sex", False)])
def test_a_map_for_each_group_is_offered_until_it_is_fitted(
    column: str, fitted: bool, queue: Engine
) -> None:
    session = with_north_off()
    offered = [button.key for button in open_page(PAGE, session).button]
    assert "groups/fit by group" in offered
    app = open_page(PAGE, fit(queue, session, ("by_group", {"column": column})))
    assert clean(app)
    assert ("groups/fit by group" not in [button.key for button in app.button]) == fitted
    assert ("A map for each group is fitted." in said(app)) == fitted


def test_the_page_and_the_docs_name_the_pages_that_no_group_restricts() -> None:
    app = open_page(PAGE, with_north_off(600))
    assert all(title in SCOPE for title in OF_ALL_ROWS)
    assert SCOPE in said(app)
    assert SCOPE in (ROOT / "docs" / "pages.md").read_text()


def test_without_groups_the_page_says_so(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    assert clean(app)
    assert "no column of groups" in said(app)
