"""Where the examples of CONTRIBUTING.md appear; ``test_guide`` runs this in a copy that has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.cli import main
from calib.data import Predictions
from calib.plots.style import method_style
from calib.registry import METHODS
from calib.ui.compare.studies import SHOWN
from calib.ui.menu import MENU
from calib.ui.session import SESSION, OpenSession
from tests.conftest import simulate

METHOD = METHODS["bias"]


@pytest.fixture(scope="module")
def data() -> Predictions:
    logits, labels = simulate(n=400)
    return Predictions(logits, labels, tuple("abcd"))


def open_page(path: str, data: Predictions) -> AppTest:
    app = AppTest.from_file(
        str(Path(__file__).resolve().parents[1] / "app.py"), default_timeout=300
    )
    app.session_state[SESSION] = OpenSession.from_data(data)
    return app.switch_page(path).run()


def test_the_method_is_offered_with_its_parameters_and_compared_in_a_colour_of_its_own(data):
    app = open_page("pages/1_Fit.py", data)
    app.checkbox(key="fit/use/bias").check().run()
    assert not app.exception
    assert any(METHOD.summary in text.value for text in app.markdown)
    assert "n steps" in {number.label.lower() for number in app.number_input}
    assert method_style("bias").color not in {
        method_style(name).color for name in METHODS if name != "bias"
    }


def test_the_command_line_compares_the_method(data, tmp_path, capsys):
    np.savez(tmp_path / "outputs.npz", logits=data.logits, labels=data.labels)
    assert main(["compare", str(tmp_path / "outputs.npz"), "--method", "bias:n_steps=20"]) == 0
    assert METHOD.title in capsys.readouterr().out


def test_the_score_is_compared_with_intervals(data):
    calibration, test = data.split(0.5)
    table = calib.compare({"temperature": calib.calibrator("temperature")}, calibration, test).table
    of_raw = table[(table["score"] == "confident errors") & (table["method"] == "identity")].iloc[0]
    probs = np.exp(test.logits) / np.exp(test.logits).sum(axis=1, keepdims=True)
    wrong = probs.argmax(axis=1) != test.labels
    assert of_raw["value"] == pytest.approx(np.mean(wrong & (probs.max(axis=1) >= 0.9)))
    assert 0 <= of_raw["low"] < of_raw["value"] < of_raw["high"] < 1
    assert "confident errors" in SHOWN


def test_the_page_draws_and_is_in_the_menu(data):
    app = open_page("pages/15_Surest_errors.py", data)
    assert not app.exception and not app.error
    _, test = data.split(0.5)
    shown = app.dataframe[0].value
    assert (np.diff(shown["confidence"]) <= 0).all()
    assert shown["label"].tolist() == [
        test.class_names[label] for label in test.labels[shown["row"]]
    ]
    assert "Surest errors" in {entry.title for entries in MENU.values() for entry in entries}


def test_the_role_is_read_split_and_chosen(tmp_path):
    logits, labels = simulate(n=60)
    rows = [
        [*scores, label, 1 + i]
        for i, (scores, label) in enumerate(zip(logits, labels, strict=True))
    ]
    text = "\n".join(["p_0,p_1,p_2,p_3,label,cost", *(",".join(map(str, row)) for row in rows)])
    (tmp_path / "rows.csv").write_text(text)
    data = calib.load(tmp_path / "rows.csv")
    costs = np.arange(1, 61) / 30.5
    np.testing.assert_allclose(data.costs, costs)
    assert data.n_classes == 4 and data.features is None
    np.testing.assert_allclose(data.split([5, 3])[0].costs, costs[[5, 3]])
    assert calib.load(tmp_path / "rows.csv", costs="").costs is None
    np.savez(tmp_path / "bad.npz", logits=logits, labels=labels, costs=-np.ones(60))
    refused = calib.load(tmp_path / "bad.npz")
    assert refused.costs is None and "costs" in {finding.code for finding in refused.findings}


def test_the_check_is_part_of_the_audit():
    probs = np.repeat([0.3, 0.1, 0.6, 0.2], [700, 100, 100, 100])
    happened = np.random.default_rng(0).random(1000) < probs
    assert calib.audit(probs, happened).of("ties").severity == "caution"
