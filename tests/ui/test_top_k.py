"""The app with the top k logits of very many classes open."""

from __future__ import annotations

import io

import numpy as np
import pytest

import calib
from calib.base import NEEDS_CLASSES
from calib.data import Predictions
from calib.engine import Engine
from calib.registry import METHODS
from calib.top_k import TopK
from calib.ui.session import SESSION, OpenSession
from tests.ui.conftest import PAGES, clean, facts, fit, open_page, said, upload_file

NEED_ALL = ("Decide", "Over_under", "Calibration_maps", "Latent_GP", "IMax", "Monitoring")


def a_file(n: int = 400, n_classes: int = 2000, kept: int = 30) -> bytes:
    """Simulated outputs of a language model, labels at another temperature."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.normal(size=(n, n_classes)) - 1.5 * np.log(np.arange(1, n_classes + 1))
    labels = np.argmax(logits / 1.3 + generator.gumbel(size=logits.shape), axis=1)
    outputs, stream = TopK.from_matrix(logits, kept, labels), io.BytesIO()
    np.savez(stream, **outputs.arrays(), labels=labels, n_classes=n_classes)
    return stream.getvalue()


@pytest.fixture(scope="module")
def data() -> Predictions:
    return calib.load(("model.npz", a_file()))


@pytest.fixture
def session(data: Predictions) -> OpenSession:
    return OpenSession.from_data(data)


def test_a_file_opens_and_is_said_to_be_a_top_k():
    app = upload_file("model.npz", a_file())
    assert clean(app)
    assert "the largest logits of very many classes" in said(app)
    assert facts(app)["Classes"] == "2,000"
    assert isinstance(app.session_state[SESSION].data.logits, TopK)


@pytest.mark.long
def test_every_page_works_or_says_why_not(queue: Engine, session: OpenSession):
    fit(queue, session, "temperature", "isotonic", "imax")
    for path in PAGES:
        app = open_page(path, session)
        assert clean(app), (path, [error.value for error in app.error])
        refused = "This page needs the outputs of all classes" in said(app)
        assert refused == any(name in path for name in NEED_ALL), path


def test_the_fit_page_offers_the_methods_that_can_and_says_which_cannot(session: OpenSession):
    text = said(open_page("pages/1_Fit.py", session))
    for method in METHODS.values():
        if NEEDS_CLASSES in method.cls.traits:
            assert method.title in text
    assert "hold the largest of 2,000" in text
