"""Of very many calibration rows a sample is fitted on; the pages say so, and another number can be asked for."""

from __future__ import annotations

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.data import Predictions
from calib.ui.restore import entry_of
from calib.ui.session import OpenSession
from tests.ui.conftest import open_page, said


def many() -> Predictions:
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(420_000, 2)).astype(np.float32)
    return Predictions(logits, (generator.uniform(size=420_000) < 0.5).astype(np.int64), ("no", "yes"), name="many")


def test_a_sample_is_fitted_on_and_said_and_can_be_changed() -> None:
    session = OpenSession.from_data(many())
    assert (len(session.calibration), len(session.test)) == (50_000, 210_000)
    sentence = "50,000 of the 210,000 calibration rows were drawn at random"
    app = open_page("app.py", session)
    assert sentence in said(app)
    assert sentence in said(open_page("pages/1_Fit.py", session))
    before = session.split_key
    ask(app, 210_000)
    assert len(session.calibration) == 210_000 and not session.drawn and session.split_key != before
    assert entry_of(session).most == 210_000
    ask(app, 50_000)
    assert session.split_key == before
    app.slider[0].set_value(48)
    ask(app, 210_000)  # more rows than there are then
    assert not app.exception
    assert len(session.calibration) == len(session.data) - len(session.test) < 210_000


def ask(app: AppTest, rows: int) -> None:
    """Fit on so many rows."""
    next(each for each in app.number_input if each.label == "Rows to fit on").set_value(rows)
    app.button(key="split/again").click().run()
