"""The app with nothing, a sample, or fitted calibrators open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from calib.data.samples import load_sample
from calib.jobs import FitQueue, FitSpec
from calib.ui import fits
from calib.ui.session import SESSION, Session
from tests.conftest import ROOT, finished

SAMPLE = "digits-cnn"
FITTED = ("temperature", "isotonic", "gpcalib")

Open = Callable[[str, Session | None], AppTest]


def open_page(path: str, session: Session | None = None) -> AppTest:
    """Run a page as a visitor with this session sees it."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    if session is not None:
        app.session_state[SESSION] = session
    app.run()
    if path != "app.py":
        app.switch_page(path).run()
    return app


@pytest.fixture(scope="session")
def queue() -> Iterator[FitQueue]:
    """The server's queue, ended with the tests."""
    made = fits.queue()
    yield made
    made.shutdown()


@pytest.fixture
def with_sample(queue: FitQueue) -> Session:
    return Session.opened(load_sample(SAMPLE), sample=SAMPLE)


@pytest.fixture
def with_fits(queue: FitQueue, with_sample: Session) -> Session:
    """A session whose fits are done; the queue pays each only once for all tests."""
    assert with_sample.calibration is not None
    for method in FITTED:
        spec = FitSpec(method, {}, data_key=with_sample.split_key)
        queue.submit(spec, with_sample.calibration.logits, with_sample.calibration.labels)
        with_sample.specs[spec.key] = spec
    assert [job.state for job in finished(queue, with_sample.specs)] == ["done"] * len(FITTED)
    return with_sample
