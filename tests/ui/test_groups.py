"""Groups on the Over- and underconfidence page: which are off, with every shape of data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.data.samples import load_sample
from calib.diagnostics.subgroups import gap_sentence, group_panels, subgroups
from calib.evaluation import evaluate
from calib.formatting import percent
from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import charts, clean, open_page, said, table, twice, unfold

PAGE = "pages/6_Over_underconfidence.py"


def groups_of(session: OpenSession) -> AppTest:
    """The page with its groups opened."""
    return unfold(open_page(PAGE, session), "confidence/groups", "groups/numbers")


def test_without_groups_it_says_so_and_takes_the_predicted_classes(sample_to_read: OpenSession) -> None:
    app = groups_of(sample_to_read)
    assert "These data have no subgroups" in said(app)
    assert len(table(app, "verdict")) == 10


def test_a_group_that_is_off_is_named_and_small_ones_are_not_judged() -> None:
    logits, labels = simulate(n=3000, scale=1.0)
    groups = np.array([f"site {k % 6}" for k in range(3000)])
    groups[:4] = "tiny"
    wrong = (groups == "site 2") & (np.random.default_rng(0).random(3000) < 0.5)
    labels = np.where(wrong, (labels + 1) % 4, labels)
    app = groups_of(twice(logits, labels, groups))
    assert clean(app)
    assert "in site 2 Uncalibrated is overconfident by" in app.markdown[0].value
    assert "1 group with fewer than 10 rows: too few to judge" in said(app)
    numbers = table(app, "verdict").set_index("group")
    assert numbers.index[0] == "site 2"
    assert numbers.loc["site 2", "verdict"] == "overconfident"
    assert numbers.loc["tiny", "verdict"] == "too few rows"


def test_known_groups_are_said_on_compare_and_here_without_opening_anything() -> None:
    logits, labels = simulate(n=3000, scale=1.0)
    groups = np.array([f"site {k % 6}" for k in range(3000)])
    wrong = (groups == "site 2") & (np.random.default_rng(0).random(3000) < 0.5)
    session = twice(logits, np.where(wrong, (labels + 1) % 4, labels), groups)
    found = subgroups(evaluate(softmax(session.test.logits), session.test.labels), session.test.groups)
    sentence = gap_sentence(found.average, found.off, len(found.names), strong="**")
    assert "site 2" in sentence
    app = open_page("pages/2_Compare.py", session)
    assert clean(app)
    assert sentence in said(app)
    app = open_page(PAGE, session)  # it opens with the group, and draws all of them without a click
    assert clean(app)
    worst = found.off[0]
    near, far = sorted(100 * abs(end) for end in worst.gap[1:])
    headline = app.markdown[0].value
    assert f"in site 2 Uncalibrated is overconfident by {100 * worst.gap.value:.1f} points**" in headline
    assert f"{near:.1f} to {far:.1f}" in headline and percent(worst.observed) in headline
    assert any("By group of the data" in str(chart) for chart in charts(app))


def test_of_hundreds_of_groups_the_worst_are_drawn() -> None:
    logits, labels = simulate(n=6000, scale=1.0)
    groups = np.array([f"customer {k % 300}" for k in range(6000)])
    app = groups_of(twice(logits, labels, groups))
    assert clean(app)
    assert "pooled in the last row" in said(app)
    assert len(table(app, "verdict")) == 300


def test_a_class_whose_name_is_a_number_is_called_a_class() -> None:
    logits, labels = simulate(n=3000, n_classes=3, scale=1.0)
    labels = np.where(logits.argmax(axis=1) == 2, (labels + 1) % 3, labels)
    app = groups_of(twice(logits, labels, class_names=("0", "1", "2")))
    assert clean(app)
    assert "class 2 +" in said(app)


def test_more_rows_than_any_group_has() -> None:
    logits, labels = simulate(n=300)
    app = groups_of(twice(logits, labels, np.where(np.arange(300) < 100, "a", "b")))
    before = len(charts(app))
    app.number_input(key="groups/least").set_value(10_000).run()
    assert clean(app)
    assert "No group has 10,000 rows; the largest has 200." in said(app)
    assert len(charts(app)) == before - 1


def test_names_of_groups_are_text_and_nothing_else() -> None:
    logits, labels = simulate(n=600, scale=4.0)
    labels[:300] = (logits[:300].argmax(axis=1) + 1) % 4  # so that this group is named
    app = groups_of(twice(logits, labels, np.where(np.arange(600) < 300, "**bold** :red[x]", "<b>$y$</b>")))
    assert clean(app)
    assert "\\*\\*bold\\*\\*" in said(app)


def test_one_group_alone(sample_to_read: OpenSession) -> None:
    data = replace(sample_to_read.data, groups=np.full(len(sample_to_read.data), "all"), sha256="one group")
    app = groups_of(OpenSession.from_data(data))
    assert clean(app)
    assert "any of 1 group." in said(app)


def test_groups_of_an_event_have_their_panel_and_a_recalibration() -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    app = unfold(open_page(PAGE, session), "confidence/group panel")
    assert clean(app)
    found = group_panels(softmax(session.test.logits)[:, 1], session.test.labels, session.test.groups)
    shown = table(app, "O:E")
    assert list(shown["group"]) == [group.name for group in found.groups]
    assert list(shown["rows"]) == [group.rows for group in found.groups]
    text = said(app)
    assert f"of {len(found.judged)} groups" in text
    assert all(group.name in text for group in (*found.small, *found.off("oe")))
    app = unfold(open_page(PAGE, session), "confidence/by group")
    assert clean(app)
    text = said(app)
    assert "**undecided**" in text or "shared one (" in text or "**tie**" in text


def test_without_an_event_there_is_no_panel_of_groups(sample_to_read: OpenSession) -> None:
    labels = [part.label for part in open_page(PAGE, sample_to_read).expander]
    assert not [label for label in labels if "O:E" in label]
