"""The Ranks page: what it says of the chosen methods, and how it gets a fit of its own."""

from __future__ import annotations

import pytest

from calib.calibrators.order_preserving import OrderPreservingScaling
from calib.data.samples import load_sample
from calib.diagnostics.rank_reliability import of_rows
from calib.engine import Engine
from calib.formatting import percent
from calib.ui.session import OpenSession
from tests.ui.conftest import charts, clean, click, fit, open_page, said

PAGE = "pages/13_Ranks.py"


@pytest.fixture
def session(queue: Engine) -> OpenSession:
    return fit(queue, OpenSession.from_data(load_sample("digits-cnn")), "temperature", "order_preserving")


def test_it_opens_with_the_ranks_of_order_preserving_scaling(session: OpenSession):
    app = open_page(PAGE, session)
    assert clean(app)
    assert len(charts(app)) == 2
    part = session.calibration
    fitted = OrderPreservingScaling().fit(part.logits, part.labels)
    found = of_rows(fitted, data={"logits": session.test.logits, "labels": session.test.labels})
    assert f"of Order-preserving in {percent(found.observed[0])}" in said(app)
    assert f"{int(found.off.sum())} with Order-preserving" in said(app)


def test_without_such_a_fit_it_shows_the_raw_model_and_offers_one(queue: Engine):
    app = open_page(PAGE, OpenSession.from_data(load_sample("digits-cnn")))
    assert clean(app)
    assert "rank 1 of Uncalibrated" in said(app)
    assert len(charts(app)) == 1
    click(app, "Fit Order-preserving")
    assert clean(app)


def test_two_classes_are_sent_to_reliability(queue: Engine):
    app = open_page(PAGE, OpenSession.from_data(load_sample("clinic-tumours")))
    assert clean(app)
    assert "order-preserving scaling is temperature scaling" in said(app)
    assert not charts(app)
