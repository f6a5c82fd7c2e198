"""Studies of the Compare page come back by the visitor's link; one that was cut short says so and can be run again."""

from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.evaluation.kinds import SIZES, SPLITS, STUDIES
from calib.evaluation.labels_needed import labels_needed
from calib.evaluation.summary import summarise_splits
from calib.evaluation.verdict import verdict
from calib.jobs import FitQueue, Job, TaskSpec
from calib.ui import fits, restore
from calib.ui.session import SESSION, Session
from tests.ui.conftest import open_page
from tests.ui.test_link import Server, files, finish, follow, said, server, submit, uploaded  # noqa: F401

PAGE = "pages/5_Compare.py"


@pytest.fixture
def fitted(server: Server, monkeypatch: pytest.MonkeyPatch) -> Session:  # noqa: F811
    monkeypatch.setattr(FitQueue, "warm_up", lambda queue: None)  # no fit here needs TensorFlow
    session = uploaded()
    submit(session, "temperature")
    finish(session)
    return session


def restart(server: Server) -> None:  # noqa: F811
    """End the workers with their queue, and begin anew from what is on disk."""
    server.started[-1][0].shutdown()
    server.start()


def ended(key: str) -> Job:
    until = time.monotonic() + 60
    while (job := fits.queue().snapshot([key])[0]).active:
        assert time.monotonic() < until
        time.sleep(0.05)
    return job


def with_studies(session: Session) -> tuple[AppTest, dict[str, Job]]:
    """The page with both studies done."""
    app = open_page(PAGE, session)
    app.button_group(key="compare/splits/number").set_value(5).run()
    for kind in STUDIES:
        app.button(key=f"study/{kind}/start").click().run()
    done = {kind: ended(session.studies[kind].key) for kind in STUDIES}
    assert {job.state for job in done.values()} == {"done"}
    return app, done


def asked(session: Session) -> TaskSpec:
    """A study as the page asks for it, whose server died before it began."""
    methods = [(spec.title, spec.method, dict(spec.params)) for spec in session.specs.values()]
    arguments = (methods, len(session.calibration), 5, session.seed)
    return TaskSpec(STUDIES[SPLITS].function, arguments, session.data.sha256, "Repeat on 5 splits: Temperature")


def test_finished_studies_are_back_after_a_restart_without_running_again(
    server: Server,  # noqa: F811
    fitted: Session,
) -> None:
    app, done = with_studies(fitted)
    token = app.query_params["w"]
    server.written()
    restart(server)
    again = follow(token, PAGE)
    assert not again.exception
    assert not again.error
    back = again.session_state[SESSION]
    for kind, before in done.items():
        (job,) = fits.queue().snapshot([back.studies[kind].key])
        assert (job.key, job.state, job.message) == (before.key, "done", before.message)  # with the seconds it took
        pd.testing.assert_frame_equal(job.result, before.result, check_exact=True)
    text = said(again)
    assert verdict(summarise_splits(done[SPLITS].result), "NLL", "over 5 splits") in text
    title = done[SIZES].result["method"].iloc[-1]
    assert labels_needed(done[SIZES].result, title).sentence in text
    assert not any(str(button.key).endswith("/retry") for button in again.button)
    assert "Brought back from your link: mine with 1 fit and 2 studies." in said(follow(token))
    # The same study asked for once more is not paid twice.
    again.button_group(key="compare/splits/number").set_value(5).run()
    again.button(key="study/splits/start").click().run()
    (job,) = fits.queue().snapshot([done[SPLITS].key])
    assert (job.state, job.message) == ("done", done[SPLITS].message)


def test_a_study_that_ends_while_nobody_looks_is_back(server: Server, fitted: Session) -> None:  # noqa: F811
    app = open_page(PAGE, fitted)
    app.button_group(key="compare/splits/number").set_value(5).run()
    app.button(key="study/splits/start").click().run()
    key = fitted.studies[SPLITS].key
    ended(key)  # and the page is not drawn again
    server.written()
    restart(server)
    follow(app.query_params["w"])
    assert [job.state for job in fits.queue().snapshot([key])] == ["done"]


def test_a_study_that_was_cut_short_says_so_and_can_be_run_again(server: Server, fitted: Session) -> None:  # noqa: F811
    spec = fitted.studies[SPLITS] = asked(fitted)
    app = open_page("app.py", fitted)
    server.written()
    restart(server)
    token = app.query_params["w"]
    assert "Not finished: 1 study; try again on the page Compare." in said(follow(token))
    again = follow(token, PAGE)
    assert not again.exception
    assert restore.INTERRUPTED in said(again)
    assert spec.title in [caption.value for caption in again.caption]
    again.button("study/splits/retry").click().run()
    assert not again.exception
    job = ended(spec.key)
    assert job.state == "done"
    again.run()
    assert restore.INTERRUPTED not in said(again)
    assert verdict(summarise_splits(job.result), "NLL", "over 5 splits") in said(again)
    server.written()
    restart(server)
    follow(token)
    assert [job.state for job in fits.queue().snapshot([spec.key])] == ["done"]


def test_a_damaged_study_and_one_that_was_removed_are_told_apart(
    server: Server,  # noqa: F811
    fitted: Session,
    tmp_path: Path,
) -> None:
    app, done = with_studies(fitted)
    app.run()
    server.written()
    record = tmp_path / "workspace" / "studies" / done[SPLITS].key / "record.json"
    record.write_bytes(record.read_bytes()[:-20])
    server.started[0][1]._items.remove("studies", done[SIZES].key)
    restart(server)
    again = follow(app.query_params["w"], PAGE)
    assert not again.exception
    assert restore.DAMAGED in said(again)
    assert restore.GONE in said(again)
    assert [again.button(f"study/{kind}/retry").label for kind in STUDIES] == ["Try again"] * 2


def test_what_is_no_table_is_left_out(server: Server, fitted: Session) -> None:  # noqa: F811
    fitted.studies["active/1"] = TaskSpec(max, (), fitted.data.sha256)
    app = open_page("app.py", fitted)
    server.written()
    restart(server)
    assert not follow(app.query_params["w"]).session_state[SESSION].studies


def test_deleting_and_private_mode_leave_no_study(server: Server, fitted: Session, tmp_path: Path) -> None:  # noqa: F811
    app, done = with_studies(fitted)
    server.written()
    assert {path.name for path in (tmp_path / "workspace" / "studies").iterdir()} == {job.key for job in done.values()}
    app.switch_page("app.py").run()
    app.toggle("link/private").set_value(True).run()
    server.written()
    assert not files(tmp_path)
    app.toggle("link/private").set_value(False).run()
    server.written()
    app.run()
    assert len(list((tmp_path / "workspace" / "studies").iterdir())) == 2
    app.button("link/delete").click().run()
    server.written()
    assert not files(tmp_path)
    assert not fits.queue().snapshot()


def test_data_opened_again_have_their_studies(server: Server, fitted: Session) -> None:  # noqa: F811
    app, done = with_studies(fitted)
    app.switch_page("app.py").run()
    app.button(key="sample/simulated-binary").click().run()
    assert not app.session_state[SESSION].studies
    app.file_uploader(key="upload/main").upload("mine.npz", npz_of(fitted)).run()
    assert not app.exception
    assert "These data were open before: 1 fit, 2 studies and their split are back." in said(app)
    assert {kind: spec.key for kind, spec in app.session_state[SESSION].studies.items()} == {
        kind: job.key for kind, job in done.items()
    }


def npz_of(session: Session) -> bytes:
    file = io.BytesIO()
    np.savez(file, logits=session.data.logits, labels=session.data.labels)
    return file.getvalue()
