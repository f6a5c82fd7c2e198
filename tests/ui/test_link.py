"""A visitor's link brings back data, fits, studies and settings; private mode and deletion leave nothing."""

from __future__ import annotations

import errno
import io
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data import inspect
from calib.decisions import AnswerAbove
from calib.engine import Engine, FitSpec
from calib.store.contents import link_name, put_job
from calib.store.index import Store
from calib.ui import fits
from calib.ui.server import memory
from calib.ui.session import SESSION, Carried, OpenSession, Reading
from tests.conftest import ROOT, finished, simulate
from tests.ui.conftest import SAMPLE, npz, open_page, said


class Server:
    """What a server process holds: its engine and its store; starting anew forgets the first, and keeps the workers."""

    def __init__(self, root: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch):
        self.root, self.engine = root, engine
        store = Store(root)
        monkeypatch.setattr("calib.ui.link.AGAIN", 0.0)
        monkeypatch.setattr(engine, "_on_done", partial(put_job, store))
        for page in ("link", "fits", "keeping"):
            monkeypatch.setattr(f"calib.ui.{page}.server_store", lambda: store)
        self.forget()

    def forget(self) -> None:
        """Forget all fits, as a process that ended."""
        for job in self.engine.snapshot():
            self.engine.cancel(job.key)
        self.engine._tasks.clear()

    def names(self, kind: str) -> set[str]:
        """The keys of what is stored of a kind."""
        return {key for found, key in stored(self.root) if found == kind}

    def spoil(self, key: str) -> None:
        """Change one bit of a record's file."""
        path = self.root / "records" / key
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    def change(self, statement: str, *values: object) -> None:
        """Change the index as an accident would."""
        with closing(sqlite3.connect(self.root / "index.sqlite")) as db, db:
            db.execute(statement, values)


@pytest.fixture
def server(queue: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    of_other_tests = dict(queue._tasks)
    made = Server(tmp_path / "workspace", queue, monkeypatch)
    yield made
    made.forget()
    queue._tasks.update(of_other_tests)


def stored(root: Path) -> set[tuple[str, str]]:
    """Kind and key of all that is stored."""
    if not (root / "index.sqlite").exists():
        return set()
    with closing(sqlite3.connect(root / "index.sqlite")) as db:
        found = {("link", name) for (name,) in db.execute("SELECT name FROM links WHERE entry NOT NULL")}
        for (key,) in db.execute("SELECT key FROM records"):
            text = (root / "records" / key).read_bytes()
            found.add(("data" if b"class_names" in text else "fit" if b"calibrator" in text else "study", key))
    return found


def uploaded(name: str = "mine.npz", seed: int = 1, rows: int = 300) -> OpenSession:
    """A session as an upload opens it."""
    logits, labels = simulate(rows, 4, seed=seed)
    inspection = inspect((name, io.BytesIO(npz(logits=logits, labels=labels))))
    assert inspection.predictions is not None
    return OpenSession.from_data(inspection.predictions, reading=Reading(inspection))


def submit(session: OpenSession, method: str, **params: object) -> str:
    spec = FitSpec(method, params, data_key=session.split_key)
    fits.queue().submit(spec, fits._data_of(session, spec), owner=session.visitor)
    session.specs[spec.key] = spec
    return spec.key


def finish(session: OpenSession) -> None:
    finished(fits.queue(), session.specs)


def follow(token: str, page: str = "app.py") -> AppTest:
    """A browser that opens the link anew."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.query_params["w"] = token
    app.run()
    if page != "app.py":
        app.switch_page(page).run()
    return app


def kinds(server: Server) -> set[str]:
    """Of what something is stored."""
    return {kind for kind, _ in stored(server.root)}


def test_a_link_brings_back_data_split_fits_and_settings_after_a_restart(server: Server) -> None:
    session = uploaded()
    session.split(0.3, 7)
    submit(session, "temperature")
    submit(session, "isotonic", share_classes=False)
    finish(session)
    decided, before = next(iter(session.specs)), fits.queue().snapshot(session.specs)
    session.carried[decided] = Carried(AnswerAbove(threshold=0.9, chosen="by hand"))
    app = open_page("app.py", session)
    token = app.query_params["w"]
    app.session_state["fit/methods"] = ["temperature", "beta"]
    app.run()
    server.forget()

    again = follow(token)
    assert not again.exception
    assert not again.error
    assert "Brought back from your link: mine with 2 fits and 1 decision." in said(again)
    back = again.session_state[SESSION]
    assert (back.part, back.seed, back.data.name, back.visitor) == (0.3, 7, "mine", session.visitor)
    np.testing.assert_array_equal(back.data.logits, session.data.logits)
    np.testing.assert_array_equal(back.test.labels, session.test.labels)
    assert back.data.sha256 == session.data.sha256
    assert [(f.level, f.message) for f in back.data.findings] == [(f.level, f.message) for f in session.data.findings]
    assert again.session_state["fit/methods"] == ["temperature", "beta"]
    jobs = fits.queue().snapshot(back.specs)
    assert [job.state for job in jobs] == ["done", "done"]
    for now, then in zip(jobs, before, strict=True):
        assert (now.key, now.seconds) == (then.key, then.seconds)
        np.testing.assert_array_equal(
            now.calibrator.predict_proba(back.test.logits), then.calibrator.predict_proba(session.test.logits)
        )
    assert list(back.carried) == [decided]
    assert back.carried[decided].decision.as_state() == {"threshold": 0.9, "chosen": "by hand"}
    assert again.query_params["w"] == token
    for page in ("pages/1_Fit.py", "pages/2_Compare.py"):
        other = follow(token, page)
        assert not other.exception
        assert not other.error


@pytest.mark.parametrize("kept", [True, False])
def test_a_fit_that_the_server_dropped_for_others_is_not_lost_from_the_page(server: Server, kept: bool) -> None:
    session = uploaded()
    app = open_page("pages/1_Fit.py", session)
    key = submit(session, "temperature")
    finish(session)
    app.run()
    if not kept:
        server.change("DELETE FROM records WHERE key = ?", key)
    fits.queue().forget(key, owner=session.visitor)
    app.run()
    assert not app.exception
    if kept:
        assert [job.state for job in fits.queue().snapshot([key])] == ["done"]
        return
    assert fits.LOST in said(app)
    app.button(f"Try again/{key}").click().run()
    finish(session)
    (job,) = fits.queue().snapshot([key])
    assert job.state == "done"


def test_a_damaged_fit_and_one_that_was_removed_are_told_apart(server: Server) -> None:
    session = uploaded()
    damaged, removed = submit(session, "temperature"), submit(session, "vector")
    finish(session)
    token = open_page("app.py", session).query_params["w"]
    server.spoil(damaged)
    server.change("DELETE FROM records WHERE key = ?", removed)
    server.forget()
    again = follow(token, "pages/1_Fit.py")
    assert "damaged on disk" in said(again)
    assert fits.LOST in said(again)


def test_a_sample_comes_back_without_a_copy(server: Server, with_sample: OpenSession) -> None:
    token = open_page("app.py", with_sample).query_params["w"]
    assert kinds(server) == {"link"}
    assert follow(token).session_state[SESSION].sample == SAMPLE


@pytest.mark.parametrize("token", ["../../etc/passwd", "A" * 43])
def test_a_link_that_leads_nowhere_is_said_and_never_adopted(server: Server, token: str) -> None:
    app = follow(token)
    assert not app.exception
    assert "Nothing is kept under this link" in said(app)
    app.session_state[SESSION] = uploaded()
    app.run()
    assert app.query_params["w"] != token


def test_the_same_data_read_once_more_keep_their_link(server: Server) -> None:
    logits, labels = simulate(50_000, 4, seed=1)
    app = open_page("app.py")
    app.file_uploader(key="upload/main").upload("mine.npz", npz(logits=logits, labels=labels)).run()
    first, token = app.session_state[SESSION], app.query_params["w"]
    app.file_uploader(key="upload/main").upload("again.npz", npz(logits=logits, labels=labels)).run()
    assert not app.exception
    session = app.session_state[SESSION]
    assert session is not first
    assert app.query_params["w"] == token
    app.run()
    assert server.names("link") == {link_name(token)}
    assert memory.nbytes(session.data.logits) == 0  # read from the disk too
    assert follow(token).session_state[SESSION].data.name == "again"


def test_the_same_bytes_are_stored_once_and_names_stay_with_their_owner(server: Server) -> None:
    mine, theirs = (open_page("app.py", uploaded(name)).query_params["w"] for name in ("mine.npz", "secret.npz"))
    assert len(server.names("data")) == 1
    assert "secret" not in said(follow(mine))
    # One deletes: the other's data stay.
    app = follow(theirs)
    app.button("link/delete").click().run()
    assert "deleted" in said(app)
    assert "w" not in app.query_params
    assert "Nothing is kept" in said(follow(theirs))
    assert SESSION in follow(mine).session_state


def test_private_mode_removes_what_was_written_and_writes_nothing(server: Server) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    token = app.query_params["w"]
    app.toggle("link/private").set_value(True).run()
    assert "Private: nothing is kept" in said(app)
    assert "w" not in app.query_params
    submit(session, "temperature")
    finish(session)
    app.run()
    app.session_state[SESSION] = uploaded("other.npz", 3)
    app.run()
    assert not kinds(server)
    assert "private mode was chosen" in said(follow(token))
    app.toggle("link/private").set_value(False).run()
    assert follow(app.query_params["w"]).session_state[SESSION].data.name == "other"


def test_back_leads_to_the_data_that_were_open_before(server: Server) -> None:
    first, second = uploaded(), uploaded("other.npz", 3)
    key = submit(first, "temperature")
    finish(first)
    app = open_page("app.py", first)
    tokens = [app.query_params["w"]]
    app.session_state[SESSION] = second
    app.run()
    tokens.append(app.query_params["w"])
    for token, name, keys in ((tokens[0], "mine", [key]), (tokens[1], "other", []), (tokens[0], "mine", [key])):
        app.query_params["w"] = token  # as the browser's Back and Forward do
        app.run()
        assert not app.exception
        assert (app.session_state[SESSION].data.name, list(app.session_state[SESSION].specs)) == (name, keys)
        assert app.query_params["w"] == token
    app.query_params["w"] = "A" * 43  # of nobody here: what is open stays
    app.run()
    assert app.session_state[SESSION].data.name == "mine"
    assert app.query_params["w"] == tokens[0]


def broken(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/srv/workspace/records/0")


def test_a_fit_that_was_not_kept_is_never_called_saved(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    with monkeypatch.context() as full:
        full.setattr("calib.store.index._write", broken)
        key = submit(session, "temperature")
        app.run()  # the link leads to it before it is done
        finish(session)
        app.run()
        assert "Not kept on disk, because the server's disk failed (No space left on device). Saving" in said(app)
        assert "Saved." not in said(app) and "/srv" not in said(app)
        assert "Saved." not in said(app.run())
    app.run()
    assert "Saved." in said(app.run())
    server.forget()
    assert follow(app.query_params["w"]).session_state[SESSION].specs.keys() == {key}


def test_deleting_on_a_disk_that_cannot_be_written_says_so_and_can_be_done_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*args: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "/srv/workspace")

    session = uploaded()
    app = open_page("app.py", session)
    submit(session, "temperature")
    finish(session)
    app.run()
    token = app.query_params["w"]
    with monkeypatch.context() as disk:
        disk.setattr(Store, "_tidy", read_only)
        app.button("link/delete").click().run()
        assert not app.exception
        assert "were deleted" not in said(app)
        assert "still on the server's disk, because the server's disk failed (Read-only file system)" in said(app)
        assert "/srv" not in said(app)
        assert app.query_params["w"] == token
        assert SESSION in app.session_state
        app.toggle("link/private").set_value(True).run()
        assert "Private: nothing is kept" not in said(app) and not app.toggle("link/private").value
        assert "Not deleted" in said(app)
        assert SESSION in follow(token).session_state
    app.button("link/delete").click().run()
    assert "were deleted" in said(app)
    assert "w" not in app.query_params
    assert not kinds(server)
    assert "Nothing is kept" in said(follow(token))


def test_two_tabs_of_one_link_lose_nothing_of_each_other(server: Server) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    one, other = follow(token, "pages/1_Fit.py"), follow(token, "pages/1_Fit.py")
    keys = []
    for app, method in ((one, "temperature"), (other, "vector"), (one, "isotonic")):
        keys.append(submit(app.session_state[SESSION], method))
        finish(app.session_state[SESSION])
        app.run()
    other.run()
    for app in (one, other, follow(token)):
        assert set(app.session_state[SESSION].specs) == set(keys)
        assert not app.exception
    assert {job.state for job in fits.queue().snapshot(keys)} == {"done"}
    one.button(f"Remove/{keys[0]}").click().run()
    assert set(follow(token).session_state[SESSION].specs) == set(keys[1:])


def test_what_was_deleted_on_one_of_two_servers_is_not_written_again_by_the_other(server: Server) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    token = app.query_params["w"]
    Store(server.root).delete([link_name(token)])  # another process on the same folder
    submit(session, "temperature")
    finish(session)
    app.run()
    assert not kinds(server)
    assert "deleted in another window" in said(app.run())
    server.forget()
    assert "Nothing is kept under this link" in said(follow(token))


def test_a_workspace_that_vanished_is_written_anew(server: Server) -> None:
    session = uploaded(rows=50_000)
    app = open_page("app.py", session)
    submit(session, "temperature")
    finish(session)
    app.run()
    before = stored(server.root)
    assert sorted(kind for kind, _ in before) == ["data", "fit", "link"]
    shutil.rmtree(server.root)
    app.run()
    assert stored(server.root) == before
    assert "Saved." in said(app.run())


def test_a_link_that_cannot_be_read_now_stays_in_the_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    with monkeypatch.context() as disk:
        disk.setattr(Store, "_connected", broken)
        app = follow(token)
        assert not app.exception
        assert SESSION not in app.session_state
        assert app.query_params["w"] == token
        assert "open it again later" in said(app)
    assert SESSION in follow(token).session_state
