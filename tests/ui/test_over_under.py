"""The Over- and underconfidence page: its numbers and its groups."""

from __future__ import annotations

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.data.samples import load_sample
from calib.diagnostics.gaps import gap_sentence
from calib.diagnostics.group_panels import group_panels
from calib.diagnostics.subgroups import subgroups
from calib.evaluation import evaluate
from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import FITTED, charts, clean, group, open_page, said, table, twice, unfold

PAGE = "pages/6_Over_underconfidence.py"
FIRST, ALL = 3, 6
"""Figures at first sight, which are the ratio, u and o, and with all questions opened; a density for each is extra."""
FOLDED = ("numbers", "bands", "groups", "densities", "theorem")


def opened(session: OpenSession, *parts: str) -> AppTest:
    """The page with some further questions opened, or all."""
    app = open_page(PAGE, session)
    assert clean(app)
    assert len(charts(app)) == FIRST
    return unfold(app, *(f"confidence/{part}" for part in parts or FOLDED))


def finding(app: AppTest) -> str:
    return " ".join(element.value for element in app.markdown[:5])


def test_every_method_is_shown_before_and_after(fits_to_read: OpenSession) -> None:
    app = opened(fits_to_read)
    assert clean(app)
    assert len(charts(app)) == ALL + 1 + len(FITTED)
    assert f"of {len(FITTED)} calibrators" in finding(app) or all(
        m in finding(app) for m in ("is off by **+", "is off by **−")
    )
    numbers = table(app, "change of o / u")
    assert len(numbers) == 1 + len(FITTED)
    assert numbers["change of o"].tolist()[0] == "–"
    assert all(cell.startswith(("+", "-")) for cell in numbers["change of o"].tolist()[1:])
    assert all(cell.startswith("×") for cell in numbers["change of o / u"].tolist()[1:])


def test_classes_by_label_and_with_more_rows_than_any_has(fits_to_read: OpenSession) -> None:
    app = opened(fits_to_read, "groups")
    group(app, "groups/by").set_value("label").run()
    assert clean(app)
    assert "even a calibrated model is overconfident" in said(app)
    app = unfold(app, "groups/numbers")
    shown, test = table(app, "verdict").set_index("group"), fits_to_read.test
    assert shown["rows"].sum() == len(test)
    assert shown.loc["digit 3", "rows"] == (test.labels == 3).sum()
    n_charts = len(charts(app))
    app.number_input(key="groups/least").set_value(10_000).run()
    assert clean(app)
    assert "No group has 10,000 rows; the largest has" in said(app)
    assert len(charts(app)) == n_charts - 1


def with_site_2_off() -> OpenSession:
    """Six sites of 500 rows, of which one is overconfident, and four rows of another."""
    logits, labels = simulate(n=3000, scale=1.0)
    groups = np.array([f"site {k % 6}" for k in range(3000)])
    groups[:4] = "tiny"
    wrong = (groups == "site 2") & (np.random.default_rng(0).random(3000) < 0.5)
    return twice(logits, np.where(wrong, (labels + 1) % 4, labels), groups)


def test_a_group_that_is_off_leads_here_and_on_compare_and_small_ones_are_not_judged() -> None:
    session = with_site_2_off()
    found = subgroups(
        evaluate(softmax(session.test.logits), session.test.labels), session.test.groups
    )
    sentence = gap_sentence(found.average, found.off, int(found.enough.sum()), strong="**")
    assert "site 2" in sentence
    assert sentence in said(open_page("pages/2_Compare.py", session))
    app = open_page(PAGE, session)
    assert clean(app)
    assert "**Groups:** site 2 +" in finding(app)
    assert "tiny" not in finding(app)
    assert any("By group of the data" in str(chart) for chart in charts(app))
    numbers = table(unfold(app, "groups/numbers"), "verdict").set_index("group")
    assert numbers.index[0] == "site 2"
    assert numbers.loc["site 2", "verdict"] == "overconfident"
    assert numbers.loc["tiny", "verdict"] == "too few rows"


def test_groups_of_an_event_have_their_panel_and_a_recalibration() -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    app = unfold(open_page(PAGE, session), "confidence/group panel", "confidence/by group")
    assert clean(app)
    found = group_panels(
        softmax(session.test.logits)[:, 1], session.test.labels, session.test.groups
    )
    shown = table(app, "O:E")
    assert list(shown["group"]) == [group.name for group in found]
    assert list(shown["rows"]) == [group.rows for group in found]
    text = said(app)
    assert f"of {sum(bool(group.measures) for group in found)} groups" in text
    assert all(group.name in text for group in found if group.off("oe"))
    assert "**undecided**" in text or "shared one (" in text or "**tie**" in text
