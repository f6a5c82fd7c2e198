"""Opening other data says what it stops; data that were open before come back with their fits.

Studies of the Compare page come back by the visitor's link; one that was cut short says so and can be run again.
"""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.decisions import AnswerAbove
from calib.engine import Engine, Job, TaskSpec
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
from calib.ui import fits
from calib.ui.compare import studies
from calib.ui.compare.studies import N_SPLITS
from calib.ui.session import SESSION, Carried, OpenSession
from tests.conftest import finished, simulate
from tests.ui.conftest import SAMPLE, fit, npz, open_page, said, unfold
from tests.ui.test_fit import add
from tests.ui.test_link import Server, finish, follow, kinds, server, submit, uploaded  # noqa: F401 - the fixture


@pytest.fixture
def two_fits(with_sample: OpenSession, queue: Engine) -> OpenSession:
    """Bayes-Iso takes half a second, so that a study of it is still running when it is looked at."""
    add(with_sample, queue, 10)
    return fit(queue, with_sample, "bayes_iso")


def told(app: AppTest) -> str:
    found = [element.value for element in app.info]
    return " ".join(text for text in found if not text.startswith("**What to look for.**"))


def opened(app: AppTest) -> OpenSession:
    return app.session_state[SESSION]


def other_rows(scale: float = 1.0) -> bytes:
    logits, labels = simulate(200)
    return npz(logits=logits * scale, labels=labels)


def test_what_is_stopped_is_named(queue: Engine, two_fits: OpenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "N_SPLITS", 1000)  # which no machine is through with before it is stopped
    app = unfold(open_page("pages/2_Compare.py", two_fits), "compare/splits")
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
    assert not opened(app).specs
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert not app.exception
    assert told(app).endswith("These data were open before: 2 fits, 1 decision and their split are back.")
    assert list(opened(app).specs) == keys
    assert opened(app).carried[keys[0]].decision.threshold == 0.9
    assert [job.state for job in fits.queue().snapshot(keys)] == ["done", "done"]


PAGE = "pages/2_Compare.py"
FOLDED = ("compare/splits", "compare/sizes")


@pytest.fixture
def fitted(server: Server) -> OpenSession:  # noqa: F811
    session = uploaded()
    submit(session, "temperature")
    finish(session)
    return session


def ended(key: str) -> Job:
    return finished(fits.queue(), [key])[0]


def with_studies(session: OpenSession) -> tuple[AppTest, dict[str, Job]]:
    """The page with both studies done."""
    app = unfold(open_page(PAGE, session), *FOLDED)
    for kind in STUDIES:
        app.button(key=f"study/{kind}/start").click().run()
    done = {kind: ended(session.studies[kind].key) for kind in STUDIES}
    assert {job.state for job in done.values()} == {"done"}
    return app, done


def asked(session: OpenSession) -> TaskSpec:
    """A study as the page asks for it, whose server died before it began."""
    methods = [(spec.title, spec.method, dict(spec.params)) for spec in session.specs.values()]
    arguments = (methods, len(session.calibration), N_SPLITS, session.seed)
    return TaskSpec(repeat_task, arguments, session.data.sha256, "Repeat on 10 splits: Temperature")


def test_finished_studies_are_back_after_a_restart_without_running_again(
    server: Server,  # noqa: F811
    fitted: OpenSession,
) -> None:
    app, done = with_studies(fitted)
    token = app.query_params["w"]
    server.forget()
    again = unfold(follow(token, PAGE), *FOLDED)
    assert not again.exception
    assert not again.error
    back = again.session_state[SESSION]
    for kind, before in done.items():
        (job,) = fits.queue().snapshot([back.studies[kind].key])
        assert (job.key, job.state, job.message) == (before.key, "done", before.message)  # with the seconds it took
        pd.testing.assert_frame_equal(job.result, before.result, check_exact=True)
    text = said(again)
    assert verdict(summarise_splits(done[SPLITS].result), "NLL", "over 10 splits") in text
    title = done[SIZES].result["method"].iloc[-1]
    assert labels_needed(summarise_sizes(done[SIZES].result), title).sentence in text
    assert not any(str(button.key).endswith("/retry") for button in again.button)
    assert "Brought back from your link: mine with 1 fit and 2 studies." in said(follow(token))
    # The same study asked for once more is not paid twice.
    again.button(key="study/splits/start").click().run()
    (job,) = fits.queue().snapshot([done[SPLITS].key])
    assert (job.state, job.message) == ("done", done[SPLITS].message)


def test_a_study_that_was_cut_short_says_so_and_can_be_run_again(server: Server, fitted: OpenSession) -> None:  # noqa: F811
    spec = fitted.studies[SPLITS] = asked(fitted)
    app = open_page("app.py", fitted)
    server.forget()
    token = app.query_params["w"]
    again = unfold(follow(token, PAGE), "compare/splits")
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
    unfold(follow(token, PAGE), "compare/splits")
    assert [job.state for job in fits.queue().snapshot([spec.key])] == ["done"]


def test_deleting_leaves_nothing_of_data_that_were_open_before(server: Server, fitted: OpenSession) -> None:  # noqa: F811
    app, _ = with_studies(fitted)
    cancelled = submit(fitted, "gpcalib")
    fits.queue().cancel(cancelled)
    app.switch_page("app.py").run()
    first = app.query_params["w"]
    app.file_uploader(key="upload/main").upload("other.npz", other_rows()).run()
    second = opened(app)
    submit(second, "temperature")
    finish(second)
    app.query_params["w"] = first  # the browser's Back
    app.run()
    app.button(key="sample/simulated-binary").click().run()
    # Opened again, and left once more.
    app.file_uploader(key="upload/main").upload("again.npz", other_rows()).run()
    assert opened(app).specs
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert len(fits.queue().snapshot()) == 5
    app.button("link/delete").click().run()
    assert not app.exception and not kinds(server)
    assert not fits.queue().snapshot()


def test_data_opened_again_have_their_studies(server: Server, fitted: OpenSession) -> None:  # noqa: F811
    app, done = with_studies(fitted)
    app.switch_page("app.py").run()
    app.button(key="sample/simulated-binary").click().run()
    assert not app.session_state[SESSION].studies
    app.file_uploader(key="upload/main").upload(
        "mine.npz", npz(logits=fitted.data.logits, labels=fitted.data.labels)
    ).run()
    assert not app.exception
    assert "These data were open before: 1 fit, 2 studies and their split are back." in said(app)
    assert {kind: spec.key for kind, spec in app.session_state[SESSION].studies.items()} == {
        kind: job.key for kind, job in done.items()
    }
