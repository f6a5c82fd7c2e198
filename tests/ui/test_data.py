"""Uploads on the Data page: understood, mended in one click, refused in a sentence, never at the cost of open work."""

from __future__ import annotations

import io

import numpy as np
import pytest

from calib.data.samples import SAMPLES
from calib.ui.server.uploads import LARGEST
from calib.ui.session import SESSION, OpenSession
from tests.conftest import npz_bytes, simulate
from tests.ui.conftest import SAMPLE, clean, click, facts, open_page, upload_file


def test_rows_with_nan_are_left_out_in_one_click() -> None:
    logits, labels = simulate(n=300)
    logits[:3, 1] = np.nan
    app = upload_file("mine.npz", npz_bytes(logits=logits, labels=labels))
    assert "3 rows of 300" in app.error[0].value
    click(app, "Do this")
    assert not app.error
    assert facts(app)["Rows"] == "297"


def test_a_refused_upload_leaves_open_data_and_fits_alone(with_fits: OpenSession) -> None:
    app = upload_file("broken.npz", b"version https://git-lfs.github.com/spec/v1\n", with_fits)
    assert "git-lfs" in app.error[0].value
    assert facts(app)["Rows"] == f"{SAMPLES[SAMPLE].n_rows:,}"
    assert any("stays open" in caption.value for caption in app.caption)
    folded = {
        uploader.key for expander in app.expander for uploader in expander.get("file_uploader")
    }
    assert "upload/main" not in folded
    app.switch_page("pages/2_Compare.py").run()
    assert not app.error
    assert any("GPcalib" in markdown.value for markdown in app.markdown)


@pytest.fixture
def outputs() -> dict[str, np.ndarray]:
    logits, labels = simulate(n=300, n_classes=4)
    return {"logits": logits, "labels": labels}


def npy(array: np.ndarray) -> bytes:
    """An array as a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_two_files_come_in_one_go_and_their_names_or_shapes_say_what_they_are(
    outputs: dict[str, np.ndarray],
) -> None:
    given = [("b.npy", npy(outputs["labels"]), ""), ("a.npy", npy(outputs["logits"]), "")]
    app = open_page("app.py").file_uploader(key="upload/main").set_value(given).run()
    assert clean(app)
    data = app.session_state[SESSION].data
    np.testing.assert_array_equal(data.logits, outputs["logits"])
    np.testing.assert_array_equal(data.labels, outputs["labels"])
    assert {box.label: box.value for box in app.selectbox if str(box.key).startswith("upload/role/")} == {
        "b.npy": "labels", "a.npy": "source",
    }  # fmt: skip


def test_every_uploader_refuses_what_is_larger(
    with_sample: OpenSession, with_fits: OpenSession
) -> None:
    for page, session in (("app.py", with_sample), ("pages/11_Monitoring.py", with_fits)):
        uploaders = open_page(page, session).get("file_uploader")
        assert uploaders
        assert {uploader.proto.max_upload_size_mb for uploader in uploaders} == {LARGEST} == {1024}
