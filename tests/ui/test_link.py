"""A visitor's link brings back data, fits, studies and settings; private mode and deletion leave nothing."""

from __future__ import annotations

import errno
import io
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data import inspect
from calib.decisions import AnswerAbove
from calib.diagnostics.judgement import fit_method_and_judge
from calib.jobs import FitQueue, FitSpec
from calib.jobs.executor import Executor
from calib.ui import fits, link, restore
from calib.ui.server import memory
from calib.ui.session import SESSION, VIEWPOINT, Carried, OpenSession, Reading
from calib.workspace import Configuration, Keeper, entry_id
from tests.conftest import ROOT, finished, simulate, wait_until
from tests.ui.conftest import SAMPLE, group, npz, open_page, said


class Server:
    """What a server process holds: its queue and its keeper; starting anew forgets both, and keeps the workers."""

    def __init__(self, root: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch):
        self.root, self._executor, self._monkeypatch = root, executor, monkeypatch
        monkeypatch.setattr(FitQueue, "warm_up", lambda queue: None)  # no fit here waits for imports
        monkeypatch.setattr(link, "visitor_address", str)  # AppTest has no connection
        self.started: list[tuple[FitQueue, Keeper]] = []
        self.start()

    def start(self) -> None:
        keeper = Keeper(Configuration(self.root), pause=lambda failures: 0.01)
        queue = FitQueue(self._executor, fit=fit_method_and_judge, on_done=keeper.keep_fit)
        self.started.append((queue, keeper))
        self._monkeypatch.setattr(fits, "queue", lambda: queue)
        self._monkeypatch.setattr(link, "keeper", lambda: keeper)
        self._monkeypatch.setattr("calib.ui.link.keeper", lambda: keeper)
        self._monkeypatch.setattr("calib.ui.restore.keeper", lambda: keeper)

    def written(self) -> None:
        """Wait until everything handed over is on disk."""
        keeper = self.started[-1][1]
        for queue in (keeper._small, keeper._large):
            queue.put("the end", int).result(timeout=300)


@pytest.fixture
def server(queue: FitQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server(tmp_path / "workspace", queue._executor, monkeypatch)
    yield made
    for each, keeper in made.started:
        for job in each.snapshot():
            each.cancel(job.key)
        keeper.close()


def uploaded(name: str = "mine.npz", seed: int = 1, rows: int = 300) -> OpenSession:
    """A session as an upload opens it."""
    logits, labels = simulate(rows, 4, seed=seed)
    inspection = inspect((name, io.BytesIO(npz(logits=logits, labels=labels))))
    assert inspection.predictions is not None
    return OpenSession.from_data(inspection.predictions, reading=Reading(inspection))


def submit(session: OpenSession, method: str, **params: object) -> str:
    spec = FitSpec(method, params, data_key=session.split_key)
    fits.queue().submit(spec, session.calibration.logits, session.calibration.labels, owner=session.visitor)
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


def files(root: Path) -> set[str]:
    return {path.parent.name for path in root.rglob("*") if path.is_file() and path.name != "lock"}


def test_nothing_is_kept_before_data_are_open(server: Server, tmp_path: Path) -> None:
    app = open_page("app.py")
    server.written()
    assert "w" not in app.query_params
    assert not files(tmp_path)


def test_a_link_brings_back_data_split_fits_and_settings_after_a_restart(server: Server) -> None:
    session = uploaded()
    session.split(0.3, 7)
    submit(session, "temperature")
    submit(session, "isotonic", share_classes=False)
    finish(session)
    decided = next(iter(session.specs))
    session.carried[decided] = Carried(AnswerAbove(threshold=0.9, chosen="by hand"))
    app = open_page("app.py", session)
    token = app.query_params["w"]
    app.session_state["fit/methods"] = ["temperature", "beta"]
    app.run()
    server.written()
    server.start()

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
    jobs, before = fits.queue().snapshot(back.specs), server.started[0][0].snapshot(session.specs)
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


def test_a_link_keeps_what_of_two_classes_is_looked_at(server: Server) -> None:
    logits, labels = simulate(300, 2, seed=1)
    inspection = inspect(("two.npz", io.BytesIO(npz(logits=logits, labels=labels))))
    assert inspection.predictions is not None
    app = open_page("app.py", OpenSession.from_data(inspection.predictions, reading=Reading(inspection)))
    assert app.session_state[SESSION].view.is_event
    group(app, VIEWPOINT).set_value("top-label").run()
    token = app.query_params["w"]
    server.written()
    server.start()
    again = follow(token)
    assert not again.exception
    assert not again.session_state[SESSION].view.is_event
    assert group(again, VIEWPOINT).value == "top-label"


def test_a_fit_that_was_running_says_so_and_can_be_tried_again(server: Server) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    spec = FitSpec("temperature", {}, data_key=session.split_key)
    session.specs[spec.key] = spec  # asked for, and the server died before it began
    app.run()
    server.written()
    server.start()
    again = follow(app.query_params["w"], "pages/1_Fit.py")
    assert restore.INTERRUPTED in said(again)
    again.button(f"Try again/{spec.key}").click().run()
    finish(again.session_state[SESSION])
    (job,) = fits.queue().snapshot([spec.key])
    assert job.state == "done"


def test_a_fit_that_was_cancelled_is_not_called_interrupted(server: Server) -> None:
    session = uploaded()
    key = submit(session, "gpcalib")
    fits.queue().cancel(key)
    finish(session)
    token = open_page("app.py", session).query_params["w"]
    server.written()
    server.start()
    again = follow(token, "pages/1_Fit.py")
    assert "Cancelled." in said(again)
    assert restore.INTERRUPTED not in said(again)
    assert again.button(f"Try again/{key}")


def test_a_fit_that_this_version_cannot_do_is_left_out(server: Server) -> None:
    session = uploaded()
    for method, params in (("temperature", {"gone": 1}), ("no_such_method", {}), ("geometric", {})):
        spec = FitSpec(method, params, data_key=session.split_key)
        session.specs[spec.key] = spec
    kept = submit(session, "vector")
    finish(session)
    app = open_page("app.py")
    app.session_state[SESSION] = session
    app.run()
    server.written()
    server.start()
    again = follow(app.query_params["w"])
    assert not again.exception
    assert list(again.session_state[SESSION].specs) == [kept]


def test_a_refresh_while_a_fit_runs_follows_the_same_fit(server: Server) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    key = submit(session, "temperature")
    app.run()
    server.written()
    back = follow(app.query_params["w"]).session_state[SESSION]
    assert list(back.specs) == [key]
    finish(back)


def test_a_damaged_fit_and_one_that_was_removed_are_told_apart(server: Server, tmp_path: Path) -> None:
    session = uploaded()
    damaged, removed = submit(session, "temperature"), submit(session, "vector")
    finish(session)
    token = open_page("app.py", session).query_params["w"]
    server.written()
    record = tmp_path / "workspace" / "fits" / damaged
    record.write_bytes(record.read_bytes()[:-20])
    server.started[0][1]._items.remove("fits", removed)
    server.start()
    again = follow(token, "pages/1_Fit.py")
    assert restore.DAMAGED in said(again)
    assert restore.GONE in said(again)


@pytest.mark.long
def test_damaged_data_are_said_and_the_next_upload_stores_them_anew(server: Server, tmp_path: Path) -> None:
    session = uploaded()
    token = open_page("app.py", session).query_params["w"]
    server.written()
    file = tmp_path / "workspace" / "data" / session.data.sha256
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    again = follow(token)
    assert not again.exception
    assert "damaged on disk" in " ".join(element.value for element in (*again.warning, *again.error, *again.info))
    assert "w" not in again.query_params
    token = open_page("app.py", uploaded()).query_params["w"]
    server.written()
    assert SESSION in follow(token).session_state


def test_a_sample_comes_back_without_a_copy(server: Server, with_sample: OpenSession, tmp_path: Path) -> None:
    token = open_page("app.py", with_sample).query_params["w"]
    server.written()
    assert files(tmp_path) == {"links"}
    assert follow(token).session_state[SESSION].sample == SAMPLE


@pytest.mark.parametrize("token", ["", "../../etc/passwd", "a" * 10_000, "é" * 43, "\x00" * 43, "A" * 43])
def test_a_link_that_leads_nowhere_is_said_and_never_adopted(server: Server, token: str) -> None:
    app = follow(token)
    assert not app.exception
    assert "Nothing is kept under this link" in said(app)
    assert "w" not in app.query_params
    app.session_state[SESSION] = uploaded()
    app.run()
    assert app.query_params["w"] != token


def test_other_data_get_another_link_and_the_first_still_leads_to_the_first(server: Server) -> None:
    app = open_page("app.py", uploaded("first.npz", 1))
    first = app.query_params["w"]
    app.session_state[SESSION] = uploaded("second.npz", 2)
    app.run()
    second = app.query_params["w"]
    assert first != second
    server.written()
    names = [follow(token).session_state[SESSION].data.name for token in (first, second)]
    assert names == ["first", "second"]


def test_the_same_bytes_are_stored_once_and_names_stay_with_their_owner(server: Server, tmp_path: Path) -> None:
    mine, theirs = (open_page("app.py", uploaded(name)).query_params["w"] for name in ("mine.npz", "secret.npz"))
    server.written()
    assert len(list((tmp_path / "workspace" / "data").iterdir())) == 1
    assert "secret" not in said(follow(mine))
    # One deletes: the other's data stay.
    app = follow(theirs)
    app.button("link/delete").click().run()
    assert "deleted" in said(app)
    assert "w" not in app.query_params
    assert "Nothing is kept" in said(follow(theirs))
    assert SESSION in follow(mine).session_state


def test_large_data_leave_the_memory_once_they_are_on_disk_and_are_shared(server: Server) -> None:
    sessions = [uploaded(f"{number}.npz", rows=50_000) for number in range(2)]
    before = sessions[0].data.logits
    for session in sessions:
        app = open_page("app.py", session)
        server.written()
        app.run()
        assert not app.exception
    for session in sessions:
        assert session.reading.inspection.predictions is session.data
        assert memory.nbytes(session.data.logits) == 0
        assert not session.data.logits.flags.writeable
        np.testing.assert_array_equal(session.data.logits, before)
    assert [session.data.name for session in sessions] == ["0", "1"]
    assert len(list((server.root / "data").iterdir())) == 1


def test_a_link_waits_while_the_server_has_no_room(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    server.written()
    most = memory.MOST_OF_ONE
    monkeypatch.setattr(memory, "MOST_OF_ONE", 1000)
    app = follow(token)
    assert not app.exception
    assert "you would hold" in said(app)
    assert app.query_params["w"] == token
    monkeypatch.setattr(memory, "MOST_OF_ONE", most)
    assert SESSION in follow(token).session_state


def test_deleting_leaves_no_file_and_nothing_open(server: Server, tmp_path: Path) -> None:
    app = open_page("app.py", uploaded("first.npz", 1))
    session = app.session_state[SESSION] = uploaded("second.npz", 2)
    submit(session, "temperature")
    finish(session)
    app.run()
    server.written()
    assert files(tmp_path) - {"links"} != set()
    app.button("link/delete").click().run()
    assert not app.exception
    server.written()
    assert not files(tmp_path)
    assert SESSION not in app.session_state
    assert not fits.queue().snapshot()
    app.run()
    assert "w" not in app.query_params


def test_private_mode_removes_what_was_written_and_writes_nothing(server: Server, tmp_path: Path) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    token = app.query_params["w"]
    server.written()
    app.toggle("link/private").set_value(True).run()
    assert "Private: nothing is kept" in said(app)
    assert "w" not in app.query_params
    submit(session, "temperature")
    finish(session)
    app.run()
    app.session_state[SESSION] = uploaded("other.npz", 3)
    app.run()
    server.written()
    assert not files(tmp_path)
    assert "private mode was chosen" in said(follow(token))
    app.toggle("link/private").set_value(False).run()
    server.written()
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
    server.written()
    for token, name, keys in ((tokens[0], "mine", [key]), (tokens[1], "other", []), (tokens[0], "mine", [key])):
        app.query_params["w"] = token  # as the browser's Back and Forward do
        app.run()
        assert not app.exception
        assert (app.session_state[SESSION].data.name, list(app.session_state[SESSION].specs)) == (name, keys)
        assert app.query_params["w"] == token
        server.written()
    app.query_params["w"] = "A" * 43  # of nobody here: what is open stays
    app.run()
    assert app.session_state[SESSION].data.name == "mine"
    assert app.query_params["w"] == tokens[0]


def test_back_to_data_that_are_gone_says_so_and_stops_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("app.py", uploaded())
    gone, keeper = app.query_params["w"], server.started[-1][1]
    second = uploaded("other.npz", 3)
    app.session_state[SESSION] = second
    app.run()
    server.written()
    keeper.forget(entry_id(gone))
    stopped = []
    monkeypatch.setattr(fits, "stop", lambda session, why="": stopped.append(session))
    app.query_params["w"] = gone
    app.run()
    assert not app.exception and app.session_state[SESSION] is second and stopped == []
    assert "could not be opened again. Nothing is kept under this link" in said(app)


def test_nothing_is_written_while_nothing_changes(server: Server, tmp_path: Path) -> None:
    app = open_page("pages/1_Fit.py", uploaded())
    server.written()
    (file,) = (tmp_path / "workspace" / "links").iterdir()
    assert file.stem == entry_id(app.query_params["w"])
    before = file.stat().st_ino
    app.run()
    app.switch_page("pages/3_Reliability.py").run()
    server.written()
    assert file.stat().st_ino == before


def broken(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/srv/workspace/making/0")


KEEPER = sys.modules["calib.workspace.keeper"]


def test_a_full_disk_is_said_without_its_place_and_saving_goes_on_by_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(KEEPER, "put_data", broken)
        app = open_page("app.py", uploaded())
        server.written()
        app.run()
        assert not app.exception
        assert "Not kept on disk: the data, because the server's disk is full." in said(app)
        assert "/srv" not in said(app)
        assert "Saved." not in said(app)
        app.switch_page("pages/3_Reliability.py").run()
        assert "Not kept on disk" in said(app)  # on every page, until it is
    session = app.session_state[SESSION]
    wait_until(lambda: (server.root / "data" / session.data.sha256).exists())
    server.written()
    app.switch_page("app.py").run()
    assert "Not kept on disk" not in said(app)
    assert "Saved." in said(app)


@pytest.mark.parametrize("before", [True, False], ids=["before a link wanted it", "while a link wants it"])
def test_a_fit_that_was_not_kept_is_never_called_saved(
    server: Server, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    session = uploaded()
    app = None if before else open_page("app.py", session)
    with monkeypatch.context() as full:
        full.setattr(KEEPER, "put_fit", broken)
        key = submit(session, "temperature")
        if app is not None:
            app.run()  # the link leads to it before it is done
        finish(session)
        app = app.run() if app is not None else open_page("app.py", session)
        server.written()
        app.run()
        assert "Not kept on disk: 1 fit" in said(app)
        assert "Saved." not in said(app)
        app.button("link/save/again").click().run()
        server.written()
        assert "Saved." not in said(app.run())
    app.button("link/save/again").click().run()
    server.written()
    assert "Saved." in said(app.run())
    server.start()
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
    server.written()
    with monkeypatch.context() as disk:
        disk.setattr("calib.workspace.files.Items.remove", read_only)
        app.button("link/delete").click().run()
        assert not app.exception
        assert "were deleted" not in said(app)
        assert "Still on the server's disk: the data, 1 fit and the link; the server's folder cannot be" in said(app)
        assert "/srv" not in said(app)
        assert app.query_params["w"] == token
        assert SESSION in app.session_state
        app.toggle("link/private").set_value(True).run()
        assert "Private: nothing is kept" not in said(app)
        assert "Not deleted" in said(app)
        app.toggle("link/private").set_value(False).run()
        assert SESSION in follow(token).session_state
    app.button("link/delete/again").click().run()
    assert "were deleted" in said(app)
    assert "w" not in app.query_params
    server.written()
    assert not files(server.root)
    assert "Nothing is kept" in said(follow(token))


def test_what_was_deleted_in_another_window_is_not_written_again(server: Server) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    server.written()
    mine, other = follow(token), follow(token)
    mine.button("link/delete").click().run()
    other.run()
    server.written()
    assert not files(server.root)
    assert "deleted in another window" in said(other)
    assert "Saved." not in said(other)


def test_a_workspace_that_vanished_is_written_anew(server: Server) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    submit(session, "temperature")
    finish(session)
    app.run()
    server.written()
    before = {path.name for path in server.root.rglob("*") if path.is_file()}
    assert len(before) == 4  # the data, the fit, the link and the lock
    shutil.rmtree(server.root)
    app.run()
    server.written()
    assert {path.name for path in server.root.rglob("*") if path.is_file()} == before
    assert "Saved." in said(app.run())


def test_a_link_that_cannot_be_read_now_stays_in_the_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    server.written()
    with monkeypatch.context() as disk:
        disk.setattr("calib.workspace.files.open", broken, raising=False)
        app = follow(token)
        assert not app.exception
        assert SESSION not in app.session_state
        assert app.query_params["w"] == token
        assert "open it again later" in said(app)
    assert SESSION in follow(token).session_state


def test_a_link_counts_to_its_address_which_nobody_can_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def owner(address: str, *earlier: str) -> str:
        monkeypatch.setattr(link, "visitor_address", lambda: address)
        return link._owner(link.Link("token", "name", uploaded(), earlier=earlier))

    assert owner("203.0.113.7") == owner("203.0.113.7", "first") != owner("203.0.113.8")
    assert set(owner("203.0.113.7")) <= set("0123456789abcdef")
    assert (owner(""), owner("", "first", "second")) == ("name", "first")
    monkeypatch.setattr(link, "visitor_address", lambda: "203.0.113.7")
    token = open_page("app.py", uploaded()).query_params["w"]
    server.written()
    entry = server.started[-1][1].recall(entry_id(token))
    assert entry.owner == owner("203.0.113.7")
