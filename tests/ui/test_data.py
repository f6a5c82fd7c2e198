"""Uploads on the Data page: understood, mended in one click, refused in a sentence, never at the cost of open work."""

from __future__ import annotations

import io

import numpy as np
import pytest

import calib
from calib.data import Predictions
from calib.data.samples import SAMPLES, load_sample
from calib.ui.server.uploads import LARGEST
from calib.ui.session import SESSION, OpenSession
from tests.conftest import npz_bytes, simulate
from tests.ui.conftest import SAMPLE, charts, clean, click, open_page, said, upload_file


def test_rows_with_nan_are_left_out_in_one_click() -> None:
    logits, labels = simulate(n=300)
    logits[:3, 1] = np.nan
    app = upload_file("mine.npz", npz_bytes(logits=logits, labels=labels))
    assert "3 rows of 300" in app.error[0].value
    click(app, "Do this")
    assert not app.error
    assert "297 rows." in said(app)


def test_a_refused_upload_leaves_open_data_and_fits_alone(with_fits: OpenSession) -> None:
    app = upload_file("broken.npz", b"version https://git-lfs.github.com/spec/v1\n", with_fits)
    assert "git-lfs" in app.error[0].value
    assert f"{SAMPLES[SAMPLE].n_rows:,} rows." in said(app)
    assert any("stays open" in caption.value for caption in app.caption)
    folded = {
        uploader.key for expander in app.expander for uploader in expander.get("file_uploader")
    }
    assert "upload/main" not in folded
    app.switch_page("pages/2_Compare.py").run()
    assert not app.error
    assert any("GPcalib" in markdown.value for markdown in app.markdown)


def test_the_subtitle_counts_the_rows_of_the_verdict_below_it(with_sample: OpenSession) -> None:
    app = open_page("app.py", with_sample)
    n, n_test = len(with_sample.data), len(with_sample.test)
    assert n_test < n
    assert f"{n:,} predictions, {n_test:,} of them to test on" in said(app)
    assert calib.audit(with_sample.data).of("rows").sentence.startswith(f"{n:,} rows, ")
    assert f"{n:,} rows, " in said(app)


@pytest.fixture
def outputs() -> dict[str, np.ndarray]:
    logits, labels = simulate(n=300, n_classes=4)
    return {"logits": logits, "labels": labels}


def npy(array: np.ndarray) -> bytes:
    """An array as a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_two_files_come_in_one_go_and_their_names_say_what_they_are(
    outputs: dict[str, np.ndarray],
) -> None:
    given = [("labels.npy", npy(outputs["labels"]), ""), ("a.npy", npy(outputs["logits"]), "")]
    given += [("features.npy", npy(outputs["logits"][:, :2]), "")]
    app = open_page("app.py").file_uploader(key="upload/main").set_value(given).run()
    assert clean(app)
    data = app.session_state[SESSION].data
    np.testing.assert_array_equal(data.logits, outputs["logits"])
    np.testing.assert_array_equal(data.labels, outputs["labels"])
    assert {box.label: box.value for box in app.selectbox if str(box.key).startswith("upload/role/")} == {
        "labels.npy": "labels", "a.npy": "source", "features.npy": "",
    }  # fmt: skip
    (advice,) = [info.value for info in app.info if "np.savez" in info.value]
    assert "put all arrays into one file" in advice


def test_every_uploader_refuses_what_is_larger(
    with_sample: OpenSession, with_fits: OpenSession
) -> None:
    for page, session in (("app.py", with_sample), ("pages/11_Monitoring.py", with_fits)):
        uploaders = open_page(page, session).get("file_uploader")
        assert uploaders
        assert {uploader.proto.max_upload_size_mb for uploader in uploaders} == {LARGEST} == {1024}


@pytest.mark.parametrize("step", ["fit", "groups", "weights", "labels"])
def test_one_primary_button_follows_from_the_remedy(step: str) -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.6, 4000)
    region = rng.choice(["north", "south"], 4000)
    shift = {"fit": 0.1, "groups": np.where(region == "north", 0.1, -0.1) * (p > 0.15)}
    happened = (rng.random(4000) < p + shift.get(step, 0.0)).astype(int)
    about: dict[str, np.ndarray] = {}
    if step == "groups":
        about["groups"] = region
    if step == "weights":
        about["weights"] = np.where(happened == 1, 0.3, 1.0)
    if step == "labels":
        happened = 1 - happened
    log_odds = np.log(p / (1 - p))
    data = Predictions(
        np.stack([0 * p, log_odds], axis=1),
        happened,
        class_names=("no", "yes"),
        sha256=step,
        **about,
    )
    session = OpenSession.from_data(data.decided(event="yes"))
    app = open_page("app.py", session)
    assert clean(app)
    keys = {
        "fit": "data/fit",
        "groups": "data/groups",
        "weights": "data/weigh",
        "labels": "data/labels",
    }
    primary = [button.key for button in app.button if button.proto.type == "primary"]
    assert primary == [keys[step]]
    (fit,) = [button for button in app.button if button.key == "data/fit"]
    assert not fit.help, "a tooltip would cover the primary button above it"
    assert "ecommended: " in said(app), "their names stand in a line of their own"
    pictures = [part.proto.body for part in app.get("html") if 'role="img"' in part.proto.body]
    if step in ("fit", "groups"):
        assert pictures, "the worst findings have their intervals beside them"
    if step == "groups":
        assert all(name in " ".join(pictures) for name in ("north", "south", "gap of all rows"))
    if step == "weights":
        app.button(key="data/weigh").click().run()
        assert clean(app)
        assert app.session_state[SESSION].data.weight_kind == "sampling"
    if step == "labels":
        app.button(key="data/labels").click().run()
        assert clean(app)
        assert app.session_state["data/read as"]


def test_figures_call_the_event_what_the_visitor_calls_it() -> None:
    app = open_page("app.py", OpenSession.from_data(load_sample("simulated-loans")))
    (name,) = [box for box in app.text_input if box.label == "What figures call the event"]
    assert name.placeholder == "default" and "P(default)" in charts(app)[0].spec
    name.set_value("unpaid loan").run()
    assert clean(app)
    assert "P(unpaid loan)" in charts(app)[0].spec
    app.switch_page("pages/3_Reliability.py").run()
    assert clean(app)
    assert "P(unpaid loan)" in charts(app)[0].spec and "P(default)" not in charts(app)[0].spec


def test_the_line_of_columns_names_what_was_left_aside() -> None:
    rows = "\n".join(
        f"{k},{0.1 + 0.8 * (k % 9) / 9:.3f},{k % 3 // 2},a{k % 2},{k}" for k in range(200)
    )
    app = upload_file("loans.csv", f"id,p_default,default,region,note\n{rows}".encode())
    assert clean(app)
    (line,) = [part.label for part in app.expander if part.label.startswith("Read as: ")]
    assert "is P(default)" in line
    assert "groups region" in line.replace("\\", "")
    assert "left aside" in line


def test_no_tile_links_to_the_page_that_it_stands_on(with_sample: OpenSession) -> None:
    app = open_page("app.py", with_sample)
    links = {link.proto.label: link.proto.page for link in app.main.get("page_link")}
    assert "Level?" in links and "Ranks?" not in links
    # As small as the labels of the links.
    assert ":small[Ranks?]" in said(app)
