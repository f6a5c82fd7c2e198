"""A visitor's link brings back data, fits, studies and settings; private mode and deletion leave nothing.

Opening other data says what it stops; data that were open before come back with their fits.
"""

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
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.data import inspect
from calib.decisions import AnswerAbove
from calib.engine import Engine, FitSpec, Job, TaskSpec
from calib.evaluation.comparison_table import verdict
from calib.evaluation.studies import (
    SIZES,
    SPLITS,
    STUDIES,
    labels_needed,
    repeat_task,
    summarise_sizes,
    summarise_splits,
)
from calib.formatting import listed
from calib.store.contents import put_job
from calib.store.index import Store
from calib.ui import fits
from calib.ui.compare import studies
from calib.ui.session import SESSION, Carried, OpenSession, Reading
from tests.conftest import ROOT, finished, simulate
from tests.ui.conftest import SAMPLE, fit, npz, open_page, said, unfold


class Server:
    """What a server process holds: its engine and its store; starting anew forgets the first, and keeps the workers."""

    def __init__(self, root: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch):
        self.root, self.engine = root, engine
        store = Store(root)
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

    def remove(self, key: str) -> None:
        """Remove a record, as who makes room."""
        (self.root / "records" / key).unlink()


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
    for path in (root / "records").glob("*"):
        text = path.read_bytes()
        found.add(("data" if b"class_names" in text else "fit" if b"calibrator" in text else "study", path.name))
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
    assert "Brought back from your link: mine, as you left it." in said(again)
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


def test_a_fit_that_the_server_dropped_for_others_is_not_lost_from_the_page(server: Server) -> None:
    session = uploaded()
    app = open_page("pages/1_Fit.py", session)
    key = submit(session, "temperature")
    finish(session)
    app.run()
    fits.queue().forget(session.visitor, key)
    app.run()
    assert not app.exception
    assert [job.state for job in fits.queue().snapshot([key])] == ["done"]


def test_a_damaged_fit_and_one_that_was_removed_are_said_and_can_be_made_again(server: Server) -> None:
    session = uploaded()
    damaged, removed = submit(session, "temperature"), submit(session, "vector")
    finish(session)
    token = open_page("app.py", session).query_params["w"]
    server.spoil(damaged)
    server.remove(removed)
    server.forget()
    again = follow(token, "pages/1_Fit.py")
    assert said(again).count(fits.LOST) == 2
    for key in (damaged, removed):
        again.button(f"Try again/{key}").click().run()
    finish(again.session_state[SESSION])
    assert [job.state for job in fits.queue().snapshot([damaged, removed])] == ["done"] * 2


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
        assert "Not kept on disk, because the server's disk failed (No space left on device). Export" in said(app)
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


# -- other data, and studies ---------------------------------------------------------------------------


@pytest.fixture
def two_fits(with_sample: OpenSession, queue: Engine) -> OpenSession:
    """Bayes-Iso takes half a second, so that a study of it is still running when it is looked at."""
    return fit(queue, with_sample, "temperature", "bayes_iso")


def told(app: AppTest) -> str:
    found = [element.value for element in app.info]
    return " ".join(text for text in found if not text.startswith("**What to look for.**"))


def other_rows(scale: float = 1.0) -> bytes:
    logits, labels = simulate(200)
    return npz(logits=logits * scale, labels=labels)


def test_what_is_stopped_is_named(queue: Engine, two_fits: OpenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "N_SPLITS", 1000)  # which no machine is through with before it is stopped
    app = unfold(open_page(COMPARE, two_fits), "compare/splits")
    app.button(key="study/splits/start").click().run()
    asked = "Repeat on 1000 splits: " + listed([spec.title for spec in two_fits.specs.values()])
    assert asked in [caption.value for caption in app.caption]  # it names its methods while it runs
    app.switch_page("app.py").run()
    assert not told(app)
    app.button(key="sample/simulated-binary").click().run()
    assert not app.exception
    assert told(app) == (
        f"Now open: Binary scores, simulated, 4,000 rows, 2 classes. Stopped, because other data were opened: {asked}."
    )
    app.run()
    assert not told(app)


def test_a_sample_opened_again_has_its_fits_and_its_split(queue: Engine, two_fits: OpenSession) -> None:
    two_fits.split(0.3, 7)
    two_fits.split(0.5, 0)
    keys = list(two_fits.specs)
    two_fits.carried[keys[0]] = Carried(AnswerAbove(threshold=0.9))
    app = open_page("app.py", two_fits)
    app.button(key="sample/simulated-binary").click().run()
    assert not app.session_state[SESSION].specs
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert not app.exception
    assert told(app).endswith("These data were open before, and are as you left them.")
    assert list(app.session_state[SESSION].specs) == keys
    assert app.session_state[SESSION].carried[keys[0]].decision.threshold == 0.9
    assert [job.state for job in fits.queue().snapshot(keys)] == ["done", "done"]


COMPARE = "pages/2_Compare.py"
FOLDED = ("compare/splits", "compare/sizes")


@pytest.fixture
def fitted(server: Server) -> OpenSession:
    session = uploaded()
    submit(session, "temperature")
    finish(session)
    return session


def ended(key: str) -> Job:
    return finished(fits.queue(), [key])[0]


def with_studies(session: OpenSession) -> tuple[AppTest, dict[str, Job]]:
    """The page with both studies done."""
    app = unfold(open_page(COMPARE, session), *FOLDED)
    for kind in STUDIES:
        app.button(key=f"study/{kind}/start").click().run()
    done = {kind: ended(session.studies[kind].key) for kind in STUDIES}
    assert {job.state for job in done.values()} == {"done"}
    return app, done


def asked(session: OpenSession) -> TaskSpec:
    """A study as the page asks for it, whose server died before it began."""
    methods = [(spec.title, spec.method, dict(spec.params)) for spec in session.specs.values()]
    arguments = (methods, len(session.calibration), studies.N_SPLITS, session.seed)
    return TaskSpec(repeat_task, arguments, session.data.sha256, "Repeat on 10 splits: Temperature")


def test_finished_studies_are_back_after_a_restart_without_running_again(
    server: Server,
    fitted: OpenSession,
) -> None:
    app, done = with_studies(fitted)
    token = app.query_params["w"]
    server.forget()
    again = unfold(follow(token, COMPARE), *FOLDED)
    assert not again.exception
    assert not again.error
    back = again.session_state[SESSION]
    for kind, before in done.items():
        (job,) = fits.queue().snapshot([back.studies[kind].key])
        assert (job.key, job.state, job.message) == (before.key, "done", before.message)  # with the seconds it took
        pd.testing.assert_frame_equal(job.result, before.result, check_exact=True)
    text, splits = said(again), summarise_splits(done[SPLITS].result)
    assert verdict(splits, "NLL", "over 10 splits") in text
    shown = next(frame.value for frame in again.dataframe if len(frame.value) == 2)  # the raw model and the fit
    assert shown["NLL"].to_numpy() == pytest.approx(splits[splits["score"] == "NLL"]["value"].to_numpy())
    title = done[SIZES].result["method"].iloc[-1]
    assert labels_needed(summarise_sizes(done[SIZES].result), title).sentence in text
    assert not any(str(button.key).endswith("/retry") for button in again.button)
    assert "Brought back from your link: mine, as you left it." in said(follow(token))
    # The same study asked for once more is not paid twice.
    again.button(key="study/splits/start").click().run()
    (job,) = fits.queue().snapshot([done[SPLITS].key])
    assert (job.state, job.message) == ("done", done[SPLITS].message)


@pytest.mark.long
def test_a_study_that_was_cut_short_says_so_and_can_be_run_again(server: Server, fitted: OpenSession) -> None:
    spec = fitted.studies[SPLITS] = asked(fitted)
    app = open_page("app.py", fitted)
    server.forget()
    token = app.query_params["w"]
    again = unfold(follow(token, COMPARE), "compare/splits")
    assert not again.exception
    assert fits.LOST in said(again)
    assert spec.title in [caption.value for caption in again.caption]
    again.button("study/splits/retry").click().run()
    assert not again.exception
    job = ended(spec.key)
    assert job.state == "done"
    again.run()
    assert fits.LOST not in said(again)
    assert verdict(summarise_splits(job.result), "NLL", "over 10 splits") in said(again)
    server.forget()
    unfold(follow(token, COMPARE), "compare/splits")
    assert [job.state for job in fits.queue().snapshot([spec.key])] == ["done"]


def test_deleting_leaves_nothing_of_data_that_were_open_before(server: Server, fitted: OpenSession) -> None:
    app, _ = with_studies(fitted)
    cancelled = submit(fitted, "gpcalib")
    fits.queue().cancel(cancelled)
    app.switch_page("app.py").run()
    first = app.query_params["w"]
    app.file_uploader(key="upload/main").upload("other.npz", other_rows()).run()
    second = app.session_state[SESSION]
    submit(second, "temperature")
    finish(second)
    app.query_params["w"] = first  # the browser's Back
    app.run()
    app.button(key="sample/simulated-binary").click().run()
    # Opened again, and left once more.
    app.file_uploader(key="upload/main").upload("again.npz", other_rows()).run()
    assert app.session_state[SESSION].specs
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert len(fits.queue().snapshot()) == 5
    app.button("link/delete").click().run()
    assert not app.exception and not kinds(server)
    assert not fits.queue().snapshot()
