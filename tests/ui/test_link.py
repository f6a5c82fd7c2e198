"""A visitor's link brings back data, fits, studies and settings; private mode and deletion leave nothing.

Opening other data says what it stops; data that were open before come back with their fits.
"""

from __future__ import annotations

import errno
import io
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.data import inspect
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove
from calib.engine import Engine, FitSpec
from calib.evaluation.comparison_table import verdict
from calib.evaluation.studies import SPLITS, summarise_splits
from calib.formatting import escape_markdown, listed
from calib.store.contents import put_job
from calib.store.index import Store
from calib.ui import fits, link
from calib.ui.audit import audit_of, plain
from calib.ui.compare import studies
from calib.ui.session import SESSION, Carried, OpenSession, Reading
from tests.conftest import ROOT, finished, npz_bytes, simulate
from tests.ui.conftest import SAMPLE, charts, clean, open_page, said, unfold


@pytest.fixture
def records(queue: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of what a server keeps that has a store of its own and knows no fit."""
    of_other_tests, store = dict(queue._tasks), Store(tmp_path / "workspace")
    monkeypatch.setattr(queue, "_on_done", partial(put_job, store))
    for page in ("link", "fits", "shell"):
        monkeypatch.setattr(f"calib.ui.{page}.server_store", lambda: store)
    restart()
    yield store.root / "records"
    restart()
    queue._tasks.update(of_other_tests)


def restart() -> None:
    """Forget all fits, as a server that ended; the workers go on."""
    for job in fits.queue().snapshot():
        fits.queue().cancel(job.key)
    fits.queue()._tasks.clear()


def kept(records: Path) -> set[str]:
    """The keys of all that is stored."""
    return {path.name for path in records.glob("*")}


def uploaded(name: str = "mine.npz", seed: int = 1, rows: int = 300) -> OpenSession:
    """A session as an upload opens it."""
    logits, labels = simulate(rows, 4, seed=seed)
    inspection = inspect((name, io.BytesIO(npz_bytes(logits=logits, labels=labels))))
    assert inspection.predictions is not None
    return OpenSession.from_data(inspection.predictions, reading=Reading(inspection))


def submit(session: OpenSession, method: str, **params: object) -> str:
    spec = FitSpec(method, params, data_key=session.split_key)
    fits.queue().submit(spec, fits._data_of(session, spec), owner=session.visitor)
    session.specs[spec.key] = spec
    return spec.key


def finish(session: OpenSession, *methods: str) -> None:
    """Submit these too, and wait for all."""
    for method in methods:
        submit(session, method)
    finished(fits.queue(), session.specs)


def follow(token: str, page: str = "app.py") -> AppTest:
    """A browser that opens the link anew."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.query_params["w"] = token
    app.run()
    if page != "app.py":
        app.switch_page(page).run()
    return app


def test_a_link_brings_back_data_split_fits_and_settings_after_a_restart(records: Path) -> None:
    session = uploaded()
    session.split(0.3, 7)
    submit(session, "isotonic", share_classes=False)
    finish(session, "temperature")
    decided, before = next(iter(session.specs)), fits.queue().snapshot(session.specs)
    session.carried[decided] = Carried(AnswerAbove(threshold=0.9, chosen="by hand"))
    app = open_page("app.py", session)
    token = app.query_params["w"]
    app.session_state["fit/methods"] = ["temperature", "beta"]
    app.run()
    restart()

    again = follow(token)
    assert not again.exception
    assert not again.error
    (toast,) = again.toast
    assert toast.value == "Brought back from your link: mine, as you left it."
    assert not again.run().toast, "it leaves after the first look"
    back = again.session_state[SESSION]
    assert (back.part, back.seed, back.data.name, back.visitor) == (0.3, 7, "mine", session.visitor)
    np.testing.assert_array_equal(back.data.logits, session.data.logits)
    np.testing.assert_array_equal(back.test.labels, session.test.labels)
    assert back.data.sha256 == session.data.sha256
    assert [(f.level, f.message) for f in back.data.findings] == [
        (f.level, f.message) for f in session.data.findings
    ]
    assert again.session_state["fit/methods"] == ["temperature", "beta"]
    jobs = fits.queue().snapshot(back.specs)
    assert [job.state for job in jobs] == ["done", "done"]
    for now, then in zip(jobs, before, strict=True):
        assert (now.key, now.seconds) == (then.key, then.seconds)
        np.testing.assert_array_equal(
            now.calibrator.predict_proba(back.test.logits),
            then.calibrator.predict_proba(session.test.logits),
        )
    assert list(back.carried) == [decided]
    decision = back.carried[decided].decision
    assert (decision.threshold, decision.chosen) == (0.9, "by hand")
    assert again.query_params["w"] == token
    other = follow(token, "pages/2_Compare.py")
    assert not other.exception and not other.error


def test_what_memory_or_disk_lost_is_there_again_or_can_be_made_again(records: Path) -> None:
    session = uploaded(rows=50_000)  # which lie in files of their own
    app = open_page("pages/1_Fit.py", session)
    key = submit(session, "temperature")
    finish(session)
    app.run()
    fits.queue().forget(session.visitor, key)  # for others
    app.run()
    assert not app.exception
    assert [job.state for job in fits.queue().snapshot([key])] == ["done"]
    before = kept(records)
    assert before == {key, session.data.sha256}
    shutil.rmtree(records.parent)
    app.run()
    assert kept(records) == before
    (records / key).unlink()
    restart()
    again = follow(app.query_params["w"], "pages/1_Fit.py")
    assert fits.LOST in said(again)
    again.button(f"Try again/{key}").click().run()
    finish(again.session_state[SESSION])
    assert [job.state for job in fits.queue().snapshot([key])] == ["done"]


def test_a_sample_comes_back_without_a_copy(records: Path, with_sample: OpenSession) -> None:
    token = open_page("app.py", with_sample).query_params["w"]
    assert not kept(records)
    assert follow(token).session_state[SESSION].sample == SAMPLE


def test_a_link_that_leads_nowhere_is_said_and_never_adopted(records: Path) -> None:
    token = "A" * 43
    app = follow(token)
    assert not app.exception
    assert "Nothing is kept under this link" in said(app)
    app.session_state[SESSION] = uploaded()
    app.run()
    assert app.query_params["w"] != token


def test_the_same_bytes_are_stored_once_and_names_stay_with_their_owner(records: Path) -> None:
    mine, theirs = (
        open_page("app.py", uploaded(name)).query_params["w"] for name in ("mine.npz", "secret.npz")
    )
    assert len(kept(records)) == 1
    assert "secret" not in said(follow(mine))
    # One deletes: the other's data stay.
    app = follow(theirs)
    app.button("link/delete").click().run()
    assert "deleted" in said(app)
    assert "w" not in app.query_params
    assert "Nothing is kept" in said(follow(theirs))
    assert SESSION in follow(mine).session_state


def test_private_mode_removes_what_was_written_and_writes_nothing(records: Path) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    token = app.query_params["w"]
    app.toggle("link/private").set_value(True).run()
    assert "Private: nothing is kept" in said(app)
    assert "w" not in app.query_params
    finish(session, "temperature")
    app.run()
    app.session_state[SESSION] = uploaded("other.npz", 3)
    app.run()
    assert not kept(records)
    assert "private mode was chosen" in said(follow(token))
    app.toggle("link/private").set_value(False).run()
    assert follow(app.query_params["w"]).session_state[SESSION].data.name == "other"


def test_back_leads_to_the_data_that_were_open_before(records: Path) -> None:
    first, second = uploaded(), uploaded("other.npz", 3)
    key = submit(first, "temperature")
    finish(first)
    app = open_page("app.py", first)
    tokens = [app.query_params["w"]]
    app.session_state[SESSION] = second
    app.run()
    tokens.append(app.query_params["w"])
    for token, name, keys in (
        (tokens[0], "mine", [key]),
        (tokens[1], "other", []),
        (tokens[0], "mine", [key]),
    ):
        app.query_params["w"] = token  # as the browser's Back and Forward do
        app.run()
        assert not app.exception
        assert (app.session_state[SESSION].data.name, list(app.session_state[SESSION].specs)) == (
            name,
            keys,
        )
        assert app.query_params["w"] == token
    app.query_params["w"] = "A" * 43  # of nobody here: what is open stays
    app.run()
    assert app.session_state[SESSION].data.name == "mine"
    assert app.query_params["w"] == tokens[0]


def broken(*args: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/srv/workspace/records/0")


def test_a_fit_that_was_not_kept_is_never_called_saved(
    records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    with monkeypatch.context() as full:
        full.setattr("calib.store.index._written", broken)
        key = submit(session, "temperature")
        app.run()  # the link leads to it before it is done
        finish(session)
        app.run()
        assert (
            "Not kept on disk, because the server's disk failed (No space left on device). Export"
            in said(app)
        )
        assert "Saved." not in said(app) and "/srv" not in said(app)
        assert "Saved." not in said(app.run())
    app.run()
    assert "Saved." in said(app.run())
    restart()
    assert follow(app.query_params["w"]).session_state[SESSION].specs.keys() == {key}


def test_deleting_on_a_disk_that_cannot_be_written_says_so_and_can_be_done_again(
    records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = uploaded()
    app = open_page("app.py", session)
    finish(session, "temperature")
    app.run()
    token = app.query_params["w"]
    with monkeypatch.context() as disk:
        disk.setattr(Store, "_drop", broken)
        app.button("link/delete").click().run()
        assert not app.exception
        assert "were deleted" not in said(app)
        assert (
            "still on the server's disk, because the server's disk failed (No space left on device)"
            in said(app)
        )
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
    assert not kept(records)
    assert "Nothing is kept" in said(follow(token))


def test_two_tabs_of_one_link_lose_nothing_of_each_other(records: Path) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    one, other = follow(token, "pages/1_Fit.py"), follow(token, "pages/1_Fit.py")
    keys = []
    for app, method in ((one, "temperature"), (other, "isotonic")):
        keys.append(submit(app.session_state[SESSION], method))
        finish(app.session_state[SESSION])
        app.run()
    one.run()
    for app in (one, other, follow(token)):
        assert set(app.session_state[SESSION].specs) == set(keys)
        assert not app.exception
    assert {job.state for job in fits.queue().snapshot(keys)} == {"done"}
    one.button(f"Remove/{keys[0]}").click().run()
    assert set(follow(token).session_state[SESSION].specs) == set(keys[1:])


def test_a_link_that_cannot_be_read_now_stays_in_the_address(
    records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = open_page("app.py", uploaded()).query_params["w"]
    with monkeypatch.context() as disk:
        disk.setattr("calib.store.index._read", broken)
        app = follow(token)
        assert not app.exception
        assert SESSION not in app.session_state
        assert app.query_params["w"] == token
        assert "open it again later" in said(app)
    assert SESSION in follow(token).session_state


# -- other data, and studies ---------------------------------------------------------------------------


def told(app: AppTest) -> str:
    found = [element.value for element in app.info]
    return " ".join(text for text in found if not text.startswith("**What to look for.**"))


def test_a_study_is_cancelled_by_hand_or_by_other_data_and_the_first_come_back_as_they_were(
    with_fits: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        studies, "N_SPLITS", 1000
    )  # which no machine is through with before it is stopped
    with_fits.split(0.3, 7)
    with_fits.split(0.5, 0)
    keys = list(with_fits.specs)
    with_fits.carried[keys[0]] = Carried(AnswerAbove(threshold=0.9))
    app = unfold(open_page(COMPARE, with_fits), "compare/splits")
    app.button(key="study/splits/start").click().run()
    key = with_fits.studies[SPLITS].key
    app.button(key=f"Cancel/{key}").click().run()
    assert not app.exception and not app.error and not with_fits.studies
    assert finished(fits.queue(), [key])[0].state == "cancelled"
    app.button(key="study/splits/start").click().run()
    asked = "Repeat on 1000 splits: " + listed([spec.title for spec in with_fits.specs.values()])
    (bar,) = [part.proto.text for part in app.get("progress") if part.proto.text]
    assert escape_markdown(asked) in bar  # it names its methods while it runs
    app.switch_page("app.py").run()
    assert not told(app)
    app.button(key="sample/simulated-binary").click().run()
    assert not app.exception and not app.session_state[SESSION].specs
    assert told(app) == (
        f"Now open: Binary scores, simulated, 4,000 rows, 2 classes. Stopped, because other data were opened: {asked}."
    )
    app.run()
    assert not told(app)
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert not app.exception
    assert told(app).endswith("These data were open before, and are as you left them.")
    assert list(app.session_state[SESSION].specs) == keys
    assert app.session_state[SESSION].carried[keys[0]].decision.threshold == 0.9


COMPARE = "pages/2_Compare.py"
FOLDED = "compare/splits"


def test_a_finished_study_comes_back_without_running_again_and_a_lost_one_can_be_run_again(
    records: Path,
) -> None:
    session = uploaded()
    finish(session, "temperature")
    app = unfold(open_page(COMPARE, session), FOLDED)
    app.button(key="study/splits/start").click().run()
    keys = [session.studies[SPLITS].key]
    before = finished(fits.queue(), keys)
    assert {job.state for job in before} == {"done"}
    restart()
    again = unfold(follow(app.query_params["w"], COMPARE), FOLDED)
    assert not again.exception
    assert not again.error
    for job, then in zip(fits.queue().snapshot(keys), before, strict=True):
        assert (job.key, job.state, job.message) == (
            then.key,
            "done",
            then.message,
        )  # with the seconds it took
        pd.testing.assert_frame_equal(job.result, then.result, check_exact=True)
    splits = summarise_splits(before[0].result)
    assert verdict(splits, "NLL", "over 10 splits") in said(again)
    shown = next(
        frame.value for frame in again.dataframe if len(frame.value) == 2
    )  # the raw model and the fit
    assert shown["NLL"].to_numpy() == pytest.approx(
        splits[splits["score"] == "NLL"]["value"].to_numpy()
    )
    assert not any(str(button.key).startswith("Try again") for button in again.button)

    (records / keys[0]).unlink()
    restart()
    again = unfold(follow(app.query_params["w"], COMPARE), FOLDED)
    assert fits.LOST in said(again)
    again.button(f"Try again/{keys[0]}").click().run()
    assert not again.exception
    assert finished(fits.queue(), keys[:1])[0].state == "done"
    assert fits.LOST not in said(again.run())


def test_deleting_leaves_nothing_of_data_that_were_open_before(records: Path) -> None:
    first, rows = uploaded(), simulate(200)
    app = open_page("app.py", first)
    finish(first, "temperature")
    app.run()
    token = app.query_params["w"]
    other = npz_bytes(logits=rows[0], labels=rows[1])
    app.file_uploader(key="upload/main").upload("other.npz", other).run()
    second = app.session_state[SESSION]
    finish(second, "temperature")
    app.query_params["w"] = token  # the browser's Back
    app.run()
    app.button(key="sample/simulated-binary").click().run()
    # Opened again, and left once more.
    app.file_uploader(key="upload/main").upload("again.npz", other).run()
    assert app.session_state[SESSION].specs
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert len(fits.queue().snapshot()) == 2 and kept(records)
    app.button("link/delete").click().run()
    assert not app.exception and not kept(records)
    assert not fits.queue().snapshot()


def test_a_reload_shows_the_audit_and_the_name_of_the_event_again(records: Path) -> None:
    app = open_page("app.py", OpenSession.from_data(load_sample("simulated-loans")))
    (name,) = [box for box in app.text_input if box.label == "What figures call the event"]
    name.set_value("unpaid loan").run()
    verdict = audit_of(app.session_state[SESSION]).verdict
    figures = [text.value for text in app.markdown if text.value.endswith("**]")]
    tiles = [figure for figure in figures if "AUROC" in figure or "NLL" in figure]
    assert plain(verdict) in [header.value for header in app.header] and len(tiles) >= 2
    restart()
    again = follow(app.query_params["w"])
    assert clean(again)
    assert plain(verdict) in [header.value for header in again.header]
    assert set(tiles) <= {text.value for text in again.markdown}
    assert all("NLL" not in tile or re.search("[<>]\u00a0", tile) for tile in tiles)
    (back,) = [box for box in again.text_input if box.label == "What figures call the event"]
    assert back.value == "unpaid loan"
    assert "P(unpaid loan)" in charts(again)[0].spec


def test_a_server_that_keeps_nothing_says_what_to_do_after_a_reload() -> None:
    assert link.server_store() is None
    advice = "after a reload, upload your files again"
    app = open_page("app.py")
    assert advice in said(app).lower()
    assert "w" not in open_page("app.py", uploaded()).query_params
    gone = follow("A" * 43)
    assert clean(gone)
    assert "keeps nothing on disk" in said(gone) and "Upload your files again" in said(gone)


def test_a_link_brings_back_the_cohort(records: Path) -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"), sample="simulated-loans")
    name = str(session.data.groups[0])
    (column,) = [entry.column for entry in session.data.roles if entry.role == "group"]
    assert session.show_cohort((column,), name)
    token = open_page("app.py", session).query_params["w"]
    restart()
    back = follow(token).session_state[SESSION]
    assert (back.cohort.columns, back.cohort.name) == ((column,), name)
    np.testing.assert_array_equal(back.test.labels, session.test.labels)
