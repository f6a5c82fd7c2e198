"""The Risk and groups page: what can be answered, and which groups are off, with every shape of data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calib.diagnostics.risk_coverage import answerable, risk_coverage
from calib.evaluation import evaluate
from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.conftest import simulate
from tests.ui.conftest import FITTED, charts, clean, open_page, said, table, twice

PAGE = "pages/10_Risk_and_groups.py"


def test_it_opens_with_what_can_be_answered(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    assert clean(app)
    test = sample_to_read.test
    found = answerable(risk_coverage(*evaluate(softmax(test.logits), test.labels).pair), 0.02)
    share, low, high = (f"{100 * part:.1f} %" for part in found.coverage)
    assert f"If you accept **2 % error**, you can answer **{share} of inputs**" in app.markdown[0].value
    assert f"from {low} to {high}" in app.markdown[0].value
    assert len(charts(app)) == 2


def test_another_error_is_another_answer(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    app.number_input(key="risk/accepted").set_value(90.0).run()
    assert clean(app)
    assert "can answer **all inputs**" in app.markdown[0].value
    app.number_input(key="risk/accepted").set_value(0.0).run()
    assert clean(app)
    assert "0 % error" in app.markdown[0].value


def test_every_method_has_its_share_and_its_order(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    assert clean(app)
    assert len(charts(app)) == 3
    numbers = table(app, "AURC")
    assert len(numbers) == 1 + len(FITTED)
    assert np.isnan(numbers["change of AURC"].iloc[0])
    assert "order" in app.markdown[1].value


def test_a_closer_look_at_another_method(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    assert "with Temperature" in app.markdown[0].value
    closer = next(control for control in app.segmented_control if control.label == "Method")
    closer.set_value("raw").run()
    assert clean(app)
    assert "with Uncalibrated" in app.markdown[0].value


def test_without_groups_it_says_so_and_takes_the_predicted_classes(sample_to_read: OpenSession) -> None:
    app = open_page(PAGE, sample_to_read)
    assert "These data have no subgroups" in said(app)
    assert len(table(app, "verdict")) == 10


def test_a_group_that_is_off_is_named_and_small_ones_are_not_judged() -> None:
    logits, labels = simulate(n=3000, scale=1.0)
    groups = np.array([f"site {k % 6}" for k in range(3000)])
    groups[:4] = "tiny"
    wrong = (groups == "site 2") & (np.random.default_rng(0).random(3000) < 0.5)
    labels = np.where(wrong, (labels + 1) % 4, labels)
    app = open_page(PAGE, twice(logits, labels, groups))
    assert clean(app)
    assert "site 2 +" in said(app)
    assert "of 6 groups: **overconfident in 1 group**" in said(app)
    assert "1 group with fewer than 10 rows: too few to judge" in said(app)
    numbers = table(app, "verdict").set_index("group")
    assert numbers.index[0] == "site 2"
    assert numbers.loc["site 2", "verdict"] == "overconfident"
    assert numbers.loc["tiny", "verdict"] == "too few rows"


def test_hundreds_of_groups_are_folded() -> None:
    logits, labels = simulate(n=6000, scale=1.0)
    groups = np.array([f"customer {k % 300}" for k in range(6000)])
    app = open_page(PAGE, twice(logits, labels, groups))
    assert clean(app)
    assert "All 300 groups" in {expander.label for expander in app.expander}
    assert "pooled in the last row" in said(app)
    assert len(table(app, "verdict")) == 300


def test_more_rows_than_any_group_has() -> None:
    logits, labels = simulate(n=300)
    app = open_page(PAGE, twice(logits, labels, np.where(np.arange(300) < 100, "a", "b")))
    app.number_input(key="groups/least").set_value(10_000).run()
    assert clean(app)
    assert "No group has 10,000 rows; the largest has 200." in said(app)
    assert len(charts(app)) == 1


def test_names_of_groups_are_text_and_nothing_else() -> None:
    logits, labels = simulate(n=600, scale=4.0)
    app = open_page(PAGE, twice(logits, labels, np.where(np.arange(600) < 300, "**bold** :red[x]", "<b>$y$</b>")))
    assert clean(app)
    assert "\\*\\*bold\\*\\*" in said(app)


@pytest.mark.parametrize(
    ("logits", "labels"),
    [
        (np.tile([4.0, 0.0, 0.0], (40, 1)), np.zeros(40, int)),
        (np.tile([4.0, 0.0, 0.0], (40, 1)), np.ones(40, int)),
        (np.array([[1.0, 0.0], [0.5, 0.0]]), np.array([0, 1])),
        (np.array([[1.0, 0.0], [0.5, 0.0]]), np.array([1, 1])),
        (np.array([[900.0, 0.0]] * 30), (np.arange(30) < 4).astype(int)),
    ],
    ids=["all right", "all wrong", "two rows", "two wrong rows", "never in doubt"],
)
def test_odd_data(logits: np.ndarray, labels: np.ndarray) -> None:
    assert clean(open_page(PAGE, twice(logits, labels)))


def test_one_group_alone(sample_to_read: OpenSession) -> None:
    data = replace(sample_to_read.data, groups=np.full(len(sample_to_read.data), "all"), sha256="one group")
    app = open_page(PAGE, OpenSession.from_data(data))
    assert clean(app)
    assert "stands out" not in said(app)
