"""The Monitoring page: with nothing open, with fits, with exported files, and with files that are none."""

from __future__ import annotations

import io
import pickle
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.diagnostics import sequential_tests
from calib.engine import Engine
from calib.export import writer
from calib.registry import METHODS
from calib.ui.session import EXPORTED, OpenSession
from tests.conftest import npz_bytes, simulate
from tests.ui.conftest import charts, clean, fit, open_page, said, table, twice

PAGE = "pages/11_Monitoring.py"
NAMES = ("cat", "dog", "hen", "owl")


def give(app: AppTest, files: list[tuple[str, bytes]]) -> AppTest:
    uploads = [(name, content, "application/octet-stream") for name, content in files]
    return app.file_uploader(key="monitoring/files").set_value(uploads).run()


def give_rows(app: AppTest, name: str, content: bytes) -> AppTest:
    return app.file_uploader(key="monitoring/new-data").upload(name, content).run()


@pytest.fixture(scope="module")
def exported() -> list[tuple[str, bytes]]:
    logits, labels = simulate(n=800)
    fitted = calib.calibrator("temperature").fit(logits, labels)
    scores = {"NLL": {"before": [1.2, 1.1, 1.3], "after": [0.9, 0.8, 1.0]}}
    return [
        (
            "calibrator.npz",
            writer.to_bytes("npz", fitted, {"class_names": NAMES, "scores": scores, "n_test": 500}),
        )
    ]


@pytest.fixture(scope="module")
def rows() -> bytes:
    logits, labels = simulate(n=600, seed=1)
    return npz_bytes(logits=logits, labels=np.array(NAMES)[labels])


def new_data_of(session: OpenSession, factor: float = 1.0) -> bytes:
    names = np.array(session.test.class_names)
    return npz_bytes(
        logits=factor * session.test.logits, labels=session.test.labels, class_names=names
    )


def test_without_data_an_exported_calibrator_can_still_be_checked(exported, rows) -> None:
    app = open_page(PAGE)
    assert clean(app)
    assert "can be checked without them" in said(app)
    app = give(app, exported)
    assert clean(app)
    assert "Is **Temperature** still calibrated?" in said(app)
    today = datetime.now(UTC).date().isoformat()
    record = f"The file holds **Temperature** for 4 classes, exported on {today}."
    assert record in said(app)
    app = give_rows(app, "new.npz", rows)
    assert clean(app)
    assert record in said(app)
    assert "No significant miscalibration of Temperature" in app.markdown[0].value
    assert "No column is named" in said(app)
    assert len(charts(app)) == 3
    assert "Before: 500 test rows" in said(app)
    assert table(app, "now")["before"].tolist()[:2] == ["0.900 [0.800, 1.00]", "–"]


def test_a_finished_fit_is_compared_with_the_test_rows_it_was_judged_on(
    fits_to_read: OpenSession,
) -> None:
    offered = open_page("pages/5_Export.py", fits_to_read).selectbox(key=EXPORTED).value
    app = open_page(PAGE, fits_to_read)
    assert clean(app)
    assert app.selectbox(key="monitoring/calibrator").value == offered
    assert f"Is **{METHODS[fits_to_read.specs[offered].method].title}** still calibrated?" in said(
        app
    )
    app = give_rows(app, "new.npz", new_data_of(fits_to_read, factor=3.0))
    assert clean(app)
    assert "is **overconfident by" in app.markdown[0].value
    assert "To correct it" in said(app)
    assert len(charts(app)) == 5
    assert len(table(app, "now")) == 5


def test_times_of_the_open_file_are_followed_without_another_upload(queue: Engine) -> None:
    logits, labels = simulate(n=600)
    days = np.char.add("2026-03-", np.char.zfill((1 + np.arange(600) // 30).astype(str), 2))
    session = twice(logits, labels, times=np.r_[days, days])
    app = open_page(PAGE, fit(queue, session, "temperature"))
    assert clean(app)
    (spec,) = session.specs
    (job,) = queue.snapshot([spec])
    found = sequential_tests.tests_over_time(*job.judgement.evaluation.pair, days)
    assert len(found) == 20 and found.sentence in said(app)
    assert len(charts(app)) == 2


def test_an_open_file_with_a_time_for_every_row_keeps_the_page(queue: Engine) -> None:
    logits, labels = simulate(n=2100)
    seconds = np.arange(2100).astype(str)
    session = twice(logits, labels, times=np.r_[seconds, seconds])
    app = open_page(PAGE, fit(queue, session, "temperature"))
    assert clean(app), "more batches than a test takes are no error of the page"
    assert "batches" in said(app) and not charts(app)


def test_the_data_it_was_fitted_on_are_no_new_rows() -> None:
    logits, labels = simulate(n=500)
    content = npz_bytes(logits=logits, labels=labels)
    data = calib.load(("mine.npz", io.BytesIO(content)))
    fitted = calib.calibrator("temperature").fit(data)
    app = give(open_page(PAGE), [("a.npz", writer.to_bytes("npz", fitted))])
    app = give_rows(app, "mine.npz", content)
    assert clean(app)
    assert "These are the data that the calibrator was fitted on" in said(app)
    assert "nothing to compare with" in said(app)
    assert list(table(app, "now").columns) == ["score", "now"]


def test_a_file_that_is_no_calibrator_is_refused_in_a_sentence() -> None:
    app = give(open_page(PAGE), [("calibrator.pkl", pickle.dumps({}, protocol=4))])
    assert not app.exception
    assert ["is a pickle, which can run code" in error.value for error in app.error] == [True]


def test_rows_without_labels_are_not_judged_but_expected(fits_to_read: OpenSession) -> None:
    app = open_page(PAGE, fits_to_read)
    app = give_rows(app, "new.npz", npz_bytes(logits=fits_to_read.test.logits))
    assert clean(app)
    n = len(fits_to_read.test)
    assert app.markdown[0].value.startswith(f"{n:,} rows without labels.")
    assert "is not significantly different" in app.markdown[0].value
    assert "assumes" in app.warning[0].value
    assert f"come from {n:,} labelled rows" in said(app)
    assert len(charts(app)) == 1
    assert not [frame for frame in app.dataframe if "now" in frame.value.columns]


def test_weeks_are_followed_and_without_times_the_order_of_the_file(exported) -> None:
    logits, labels = simulate(n=500, seed=3)
    frame = pd.DataFrame(3 * logits, columns=list(NAMES)).assign(label=np.array(NAMES)[labels])
    weeks = frame.assign(week=np.arange(500) // 25)
    app = give_rows(give(open_page(PAGE), exported), "new.csv", weeks.to_csv(index=False).encode())
    assert clean(app)
    assert "of 20** (" in said(app)
    assert "20 batches: weeks" in said(app)
    app = give_rows(app, "again.csv", frame.to_csv(index=False).encode())
    assert clean(app)
    assert "25 batches: rows" in said(app)


def test_a_table_that_can_be_read_in_two_ways_asks_once_and_opens() -> None:
    logits, labels = simulate(n=400, n_classes=2)
    names = ("<=50K", ">50K")
    fitted = calib.calibrator("temperature").fit(logits, labels)
    about = {"class_names": names, "kind": "binary_probability", "n_test": 200}
    frame = pd.DataFrame(
        {
            "sex": np.arange(400) % 2,
            "survey_weight": 100_000 + np.arange(400),
            "p_over_50k": 1 / (1 + np.exp(logits[:, 0] - logits[:, 1])),
            "income": np.array(names)[labels],
        }
    )
    app = give(open_page(PAGE), [("calibrator.npz", writer.to_bytes("npz", fitted, about))])
    app = give_rows(app, "new.csv", frame.to_csv(index=False).encode())
    assert clean(app)
    (question,) = app.main.radio
    assert question.label.startswith("**One question about new")
    (button,) = [button for button in app.button if button.label == "Open"]
    app = button.click().run()
    assert clean(app)
    assert "of Temperature" in app.markdown[0].value
