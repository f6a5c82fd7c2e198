"""Uploads through the page: understood, mended in one click, refused in a sentence, never at the cost of open work."""

from __future__ import annotations

import io

import numpy as np
from streamlit.testing.v1 import AppTest

from calib.data.samples import SAMPLES
from calib.ui.session import Session
from tests.conftest import simulate
from tests.ui.conftest import SAMPLE, open_page


def npz(**arrays: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue()


def upload(app: AppTest, name: str, content: bytes) -> AppTest:
    return app.file_uploader[0].upload(name, content).run()


def facts(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_an_upload_is_understood() -> None:
    logits, labels = simulate(n=300, n_classes=5)
    app = upload(open_page("app.py"), "mine.npz", npz(logits=logits, labels=labels))
    assert not app.error
    assert facts(app)["Rows"] == "300"
    assert facts(app)["Recognised as"] == "logits"
    assert facts(app)["Accuracy"] == f"{100 * np.mean(logits.argmax(axis=1) == labels):.1f} %"


def test_rows_with_nan_are_left_out_in_one_click() -> None:
    logits, labels = simulate(n=300)
    logits[:3, 1] = np.nan
    app = upload(open_page("app.py"), "mine.npz", npz(logits=logits, labels=labels))
    assert "3 rows of 300" in app.error[0].value
    next(button for button in app.button if button.label == "Do this").click().run()
    assert not app.error
    assert facts(app)["Rows"] == "297"


def test_a_refused_upload_leaves_open_data_and_fits_alone(with_fits: Session) -> None:
    app = upload(open_page("app.py", with_fits), "broken.npz", b"version https://git-lfs.github.com/spec/v1\n")
    assert "git-lfs" in app.error[0].value
    assert facts(app)["Rows"] == f"{SAMPLES[SAMPLE].n_rows:,}"
    assert any("stays open" in caption.value for caption in app.caption)
    app.switch_page("pages/5_Compare.py").run()
    assert not app.error
    assert any("GPcalib" in markdown.value for markdown in app.markdown)


def test_the_kind_is_changed_by_hand() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), 200)
    app = upload(open_page("app.py"), "mine.npz", npz(outputs=probs, labels=probs.argmax(axis=1)))
    assert facts(app)["Recognised as"] == "probabilities"
    next(box for box in app.selectbox if box.label == "Outputs are").select("logits")
    next(button for button in app.button if button.label == "Read again with these choices").click().run()
    assert not app.exception
    assert facts(app)["Recognised as"] == "logits"
