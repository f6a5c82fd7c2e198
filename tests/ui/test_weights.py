"""Pages whose figures count each row once, for rows with weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.samples import load_sample
from calib.engine import Engine
from calib.ui.session import OpenSession
from tests.ui.conftest import charts, clean, fit, open_page, said


@pytest.fixture(scope="module")
def weighted(queue: Engine) -> OpenSession:
    """Loans with sampling weights and years, and a calibrator that learned from them."""
    loans = load_sample("simulated-loans")
    years = np.where(np.arange(len(loans)) % 2, "2001", "2002")
    data = replace(loans, times=years, weight_kind="sampling", sha256="").identified()
    return fit(queue, OpenSession.from_data(data), "platt")


def opened(page: str, session: OpenSession) -> AppTest:
    app = open_page(page, replace(session, picked={}))
    assert clean(app)
    return app


def test_maps_of_weighted_rows_are_not_called_off(weighted: OpenSession) -> None:
    text = said(opened("pages/7_Calibration_maps.py", weighted))
    assert "count each row once" in text and "are off in" not in text


def test_no_test_over_time_without_the_weights_raises_an_alarm(weighted: OpenSession) -> None:
    app = opened("pages/11_Monitoring.py", weighted)
    assert "takes no weights" in said(app) and not charts(app)


def test_no_page_offers_a_fit_that_cannot_take_the_weights(weighted: OpenSession) -> None:
    app = opened("pages/8_Latent_GP.py", weighted)
    assert "GPcalib" in app.info[0].value and "take no weights" in app.info[0].value
    assert "Fit GPcalib" not in [button.label for button in app.button]
