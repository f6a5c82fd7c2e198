"""Opening other data says what it stops; data that were open before come back with their fits."""

from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.formatting import listed
from calib.jobs import FitQueue, FitSpec
from calib.ui import fits
from calib.ui.session import SESSION, Session
from tests.conftest import simulate
from tests.ui.conftest import SAMPLE, open_page
from tests.ui.test_fits_come_and_go import add
from tests.ui.test_link import Server, finish, follow, server, submit  # noqa: F401 - the fixture


@pytest.fixture
def two_fits(with_sample: Session, queue: FitQueue) -> Session:
    """Bayes-Iso takes half a second, so that a study of it is still running when it is looked at."""
    add(with_sample, queue, 10)
    fits_on = with_sample.calibration
    spec = FitSpec("bayes_iso", {}, data_key=with_sample.split_key)
    queue.submit(spec, fits_on.logits, fits_on.labels)
    with_sample.specs[spec.key] = spec
    until = time.monotonic() + 60
    while queue.snapshot([spec.key])[0].active and time.monotonic() < until:
        time.sleep(0.05)
    return with_sample


def told(app: AppTest) -> str:
    found = [element.value for element in app.info]
    return " ".join(text for text in found if not text.startswith("**What to look for.**"))


def opened(app: AppTest) -> Session:
    return app.session_state[SESSION]


def npz(scale: float = 1.0) -> bytes:
    logits, labels = simulate(200)
    file = io.BytesIO()
    np.savez(file, logits=logits * scale, labels=labels)
    return file.getvalue()


def test_what_is_stopped_is_named(queue: FitQueue, two_fits: Session) -> None:
    app = open_page("pages/5_Compare.py", two_fits)
    app.button_group(key="compare/splits/number").set_value(50).run()
    app.button(key="study/splits/start").click().run()
    asked = "Repeat on 50 splits: " + listed([spec.title for spec in two_fits.specs.values()])
    assert asked in [caption.value for caption in app.caption]  # it names its methods while it runs
    app.switch_page("app.py").run()
    assert not told(app)
    app.button(key="sample/simulated-binary").click().run()
    assert not app.exception
    assert told(app) == f"Stopped, because other data were opened: {asked}."
    app.run()
    assert not told(app)


def test_a_split_that_is_changed_says_what_it_stops(queue: FitQueue, two_fits: Session) -> None:
    app = open_page("pages/5_Compare.py", two_fits)
    app.button(key="study/sizes/start").click().run()
    app.switch_page("app.py").run()
    app.number_input[0].set_value(3).run()
    assert not app.exception
    assert "Stopped, because the split was changed: Try 6 sizes" in told(app)


def test_a_sample_opened_again_has_its_fits_and_its_split(queue: FitQueue, two_fits: Session) -> None:
    two_fits.split(0.3, 7)
    two_fits.split(0.5, 0)
    keys = list(two_fits.specs)
    app = open_page("app.py", two_fits)
    app.button(key="sample/simulated-binary").click().run()
    assert not opened(app).specs
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert not app.exception
    assert told(app) == "These data were open before: 2 fits and their split are back."
    assert list(opened(app).specs) == keys
    assert [job.state for job in fits.queue().snapshot(keys)] == ["done", "done"]


def test_the_same_data_opened_once_more_go_on(queue: FitQueue, two_fits: Session) -> None:
    app = open_page("pages/5_Compare.py", two_fits)
    app.button_group(key="compare/splits/number").set_value(50).run()
    app.button(key="study/splits/start").click().run()
    app.switch_page("app.py").run()
    app.button(key=f"sample/{SAMPLE}").click().run()
    now = opened(app)
    assert not told(app)
    assert now is not two_fits
    assert (list(now.specs), now.visitor) == (list(two_fits.specs), two_fits.visitor)
    (job,) = queue.snapshot([now.studies["splits"].key])
    assert job.active
    queue.cancel(job.key)


@pytest.mark.parametrize("restarted", [False, True])
def test_an_upload_opened_again_has_its_fits(server: Server, restarted: bool, tmp_path: Path) -> None:  # noqa: F811
    app = open_page("app.py")
    app.file_uploader(key="upload/main").upload("mine.npz", npz()).run()
    app.slider[0].set_value(30).run()
    app.number_input[0].set_value(5).run()
    session = opened(app)
    submit(session, "temperature")
    submit(session, "histogram", n_bins=7)
    finish(session)
    keys = list(session.specs)
    app.run()
    app.file_uploader(key="upload/main").upload("other.npz", npz(2.0)).run()
    assert not opened(app).specs
    if restarted:
        server.written()
        token = app.query_params["w"]
        server.start()
        app = follow(token)
    app.file_uploader(key="upload/main").upload("again.npz", npz()).run()
    assert not app.exception
    back = opened(app)
    assert (back.part, back.seed, list(back.specs)) == (0.3, 5, keys)
    assert [job.state for job in fits.queue().snapshot(keys)] == ["done", "done"]
    assert "These data were open before: 2 fits and their split are back." in told(app)
