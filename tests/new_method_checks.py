"""Where a newly registered method appears; ``test_new_method`` runs this in a copy that has one, as its last method."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib import compare
from calib.cli import main
from calib.data import Predictions
from calib.export import runtime, writer
from calib.plots.style import method_style
from calib.registry import METHODS
from calib.ui.fit.view import CHOSEN
from calib.ui.session import SESSION, OpenSession
from tests.conftest import simulate

NAME = list(METHODS)[-1]
METHOD = METHODS[NAME]


@pytest.fixture
def data() -> Predictions:
    logits, labels = simulate(n=400)
    return Predictions(logits, labels, tuple("abcd"))


def test_the_fit_page_offers_it_with_its_parameters(data):
    app = AppTest.from_file(str(Path(__file__).resolve().parents[1] / "app.py"), default_timeout=60)
    app.session_state[SESSION] = OpenSession.from_data(data)
    app.run().switch_page("pages/1_Fit.py").run()
    methods = next(group for group in app.button_group if str(group.key) == CHOSEN)
    methods.set_value([NAME]).run()
    assert not app.exception
    assert any(METHOD.summary in expander.label for expander in app.expander)
    assert "n steps" in {number.label.lower() for number in app.number_input}


def test_it_has_a_colour_of_its_own_in_the_comparison(data):
    others = {name: method_style(name) for name in METHODS if name != NAME}
    style = method_style(NAME)
    assert style.color not in {other.color for other in others.values()}
    table = compare({NAME: calib.calibrator(NAME)}, *data.split(0.5))
    assert METHOD.title in set(table["title"])


def test_the_command_line_compares_it(data, tmp_path, capsys):
    np.savez(tmp_path / "outputs.npz", logits=data.logits, labels=data.labels)
    assert main(["compare", str(tmp_path / "outputs.npz"), "--method", f"{NAME}:n_steps=20"]) == 0
    assert METHOD.title in capsys.readouterr().out


def test_its_exports_give_its_probabilities(data, tmp_path):
    fitted = calib.calibrator(NAME).fit(data.logits, data.labels)
    for suffix in (".npz", ".pkl", ".zip"):
        again = runtime.load(writer.save(fitted, tmp_path / f"made{suffix}"))
        assert again.method == NAME
        np.testing.assert_allclose(
            again.calibrator.predict_proba(data.logits), fitted.predict_proba(data.logits), rtol=0, atol=1e-12
        )


def test_nothing_of_this_needs_tensorflow():
    assert "tensorflow" not in sys.modules
