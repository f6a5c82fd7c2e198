"""Tables on the Data page: asked for in clicks where they are unclear, with an event, weights, clusters and models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from calib.data import Choices, Predictions, load
from calib.ui.data.roles import ROLES as TITLES
from calib.ui.session import SESSION, OpenSession
from tests.conftest import ROOT, two_scores
from tests.ui.conftest import clean, click, group, open_page, said, upload_file

LOANS = b"\n".join((ROOT / "sample_data" / "simulated-loans.csv").read_bytes().splitlines()[:401])
"""A table of 400 risks with everything beside the outputs: ids, clusters, weights and subgroups."""
ROLES = Choices(
    outputs="pd",
    labels="default",
    clusters="branch",
    weights="exposure",
    groups="segment",
    ignore=("loan_id",),
)


ROLE = {title: role for role, (title, _) in TITLES.items()}


@pytest.fixture(scope="module")
def loans_read() -> Predictions:
    return load(("loans.csv", LOANS), choices=ROLES)


@pytest.fixture
def binary(loans_read: Predictions) -> OpenSession:
    return OpenSession.from_data(loans_read)


def observed_rate(app: AppTest) -> float:
    """The observed rate of the level, in percent."""
    found = re.search(r"predicted, ([\d.]+)\u00a0% observed", said(app))
    assert found is not None
    return float(found[1])


def test_the_event_is_swapped_in_one_click_and_back(binary: OpenSession) -> None:
    app = open_page("app.py", binary)
    assert "**Event:** default" in said(app)
    rate = observed_rate(app)
    app.button(key="data/swap").click().run()
    assert clean(app)
    swapped = app.session_state[SESSION]
    assert (swapped.data.event.column, swapped.data.event.name) == (0, "no default")
    assert observed_rate(app) == pytest.approx(100 - rate, abs=0.11)
    assert "P(no default)" in " ".join(part.label for part in app.expander)
    assert (swapped.part, swapped.seed) == (binary.part, binary.seed)
    app.button(key="data/swap").click().run()
    assert app.session_state[SESSION].data.sha256 == binary.data.sha256


def test_weights_wait_until_their_kind_is_confirmed(binary: OpenSession) -> None:
    app = open_page("app.py", binary)
    weights = group(app, "data/weights")
    assert weights.value == "unused" and binary.data.weight_kind is None
    weights.set_value("exposure").run()
    assert clean(app)
    data = app.session_state[SESSION].data
    assert data.weight_kind == "exposure" and data.sha256 != binary.data.sha256
    group(app, "data/weights").set_value("unused").run()
    assert app.session_state[SESSION].data.sha256 == binary.data.sha256


@pytest.fixture
def asked(grid: Grid) -> AppTest:
    """The Data page with a question."""
    app = upload_file("churn.csv", two_scores())
    assert not app.exception and not app.error
    return app


class Grid:
    """Stands for the grid of roles, which AppTest shows and cannot edit."""

    def __init__(self) -> None:
        self.changes: dict[str, str] = {}
        self.roles: dict[str, str] = {}

    def __call__(self, table: pd.DataFrame, **looks: Any) -> pd.DataFrame:
        st.dataframe(table)
        edited = table.copy()
        for column, role in self.changes.items():
            edited.loc[table["column"] == column, "role"] = role
        self.roles = dict(zip(table["column"], edited["role"], strict=True))
        assert not (table == "").any().any()  # no cell is blank
        return edited


@pytest.fixture
def grid(monkeypatch: pytest.MonkeyPatch) -> Grid:
    found = Grid()
    monkeypatch.setattr(st, "data_editor", found)
    return found


def test_a_table_with_two_readings_is_asked_and_opens_as_the_chosen_one(
    asked: AppTest, grid: Grid
) -> None:
    assert SESSION not in asked.session_state
    (question,) = [radio for radio in asked.radio if str(radio.key).startswith("reading/")]
    assert 2 <= len(question.options) <= 3 and question.value == 0
    shown = {column: ROLE[title] for column, title in grid.roles.items()}
    assert shown["churned"] == "outcome" and shown["customer"] == "ignore"
    assert sorted((shown["score_a"], shown["score_b"])) == ["ignore", "outputs"]
    question.set_value(1).run()
    other = {column: ROLE[title] for column, title in grid.roles.items()}
    assert other["score_a"] == shown["score_b"] and other["score_b"] == shown["score_a"]
    click(asked, "Open")
    assert clean(asked)
    data = asked.session_state[SESSION].data
    taken = {role.column: role.role for role in data.roles}
    outputs = {column for column in ("score_a", "score_b") if taken[column] == "outputs"}
    assert outputs == {column for column in ("score_a", "score_b") if shown[column] == "ignore"}
    assert (len(data), data.event.name) == (200, "churned")


@pytest.mark.parametrize("name, by_name", [("survey_weight", True), ("weight", False)])
@pytest.mark.parametrize("counted", [True, False])
def test_weights_of_a_table_that_is_asked_about_count_as_the_switch_says(
    grid: Grid, name: str, by_name: bool, counted: bool
) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 300)
    table = pd.DataFrame(
        {
            "p_over": p.round(4),
            "income": np.where(rng.random(300) < p, ">50K", "<=50K"),
            name: rng.uniform(100, 900, 300).round(2),
            "region": rng.choice(["north", "south"], 300),
            "sex": rng.choice(["f", "m"], 300),
        }
    )
    app = upload_file("census.csv", table.to_csv(index=False).encode())
    assert any(radio.key.startswith("reading/") for radio in app.radio)
    assert app.toggle(key="roles/weighted").value is by_name
    assert (grid.roles["region"], grid.roles["sex"]) == ("group", "group")
    app.toggle(key="roles/weighted").set_value(counted)
    click(app, "Open")
    assert clean(app)
    data = app.session_state[SESSION].data
    assert data.weight_kind == ("sampling" if counted else None)
    assert {*data.group_columns()} == {"region", "sex"}
    assert (f"counted by {name} as sampling" in said(app).replace("\\", "")) is counted
    np.testing.assert_allclose(data.weights, table[name])
    assert data.event.name == ">50K"


def test_roles_are_chosen_by_hand_and_remembered_for_the_same_columns(
    asked: AppTest, grid: Grid
) -> None:
    grid.changes = {"score_a": "feature", "score_b": "model output", "age": "feature"}
    click(asked, "Open")
    assert clean(asked)
    data = asked.session_state[SESSION].data
    chosen = {role.column: role.role for role in data.roles}
    assert (chosen["score_b"], chosen["age"], chosen["churned"]) == (
        "outputs",
        "features",
        "outcome",
    )
    assert data.features.shape == (200, 2)
    grid.changes = {}
    other = two_scores(120)
    asked.file_uploader(key="upload/main").set_value(("next.csv", other, "text/csv")).run()
    assert clean(asked)
    assert len(asked.session_state[SESSION].data) == 120
    assert {role.column: role.role for role in asked.session_state[SESSION].data.roles} == chosen


def test_one_of_the_models_in_long_form_is_opened() -> None:
    generator = np.random.default_rng(3)
    lines = ["question,model,confidence,correct"]
    for i in range(150):
        for model in ("large", "small"):
            p = generator.choice([0.5, 0.7, 0.9])
            lines.append(f"Q{i:03d},{model},{p},{str(generator.random() < p).lower()}")
    app = upload_file("answers.csv", "\n".join(lines).encode())
    assert SESSION not in app.session_state
    app.selectbox(key="tasks/chosen").set_value("small").run()
    app.button(key="tasks/open").click().run()
    assert clean(app)
    data = app.session_state[SESSION].data
    assert (len(data), data.name) == (150, "small")
