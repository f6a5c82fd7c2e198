"""Every page in its states: nothing open, a sample, fits, odd data, and what goes wrong around a page."""

from __future__ import annotations

import json
import re
import runpy
from dataclasses import replace

import numpy as np
import pytest

from calib.data.samples import SAMPLES
from calib.ui import menu
from calib.ui.data.first import QUESTION
from calib.ui.session import OpenSession
from tests.conftest import ROOT, simulate
from tests.ui.conftest import PAGES, SAMPLE, clean, one_of, open_page, said, twice
from tests.ui.rendered import texts

NEEDS_DATA = [path for path in PAGES if path != "app.py"]


@pytest.mark.parametrize("path", NEEDS_DATA)
def test_without_data_a_page_says_so_and_leads_to_it(path: str) -> None:
    app = open_page(path)
    assert clean(app)
    assert "No data are open yet" in said(app)
    app.button(key="need/sample").click().run()
    assert clean(app)
    assert "No data are open yet" not in said(app)


@pytest.mark.parametrize("path", one_of(PAGES, "pages/2_Compare.py"))
def test_every_page_draws(path: str, with_sample: OpenSession, fits_to_read: OpenSession) -> None:
    for session in (with_sample, fits_to_read):
        app = open_page(path, session)
        assert clean(app)
        assert len(app.title) == 1
        divided = [text for _, text in texts(app) if re.search(r"\d %", text)]
        assert not divided, "a line may break between the number and the sign"


SURE = np.tile([4.0, 0.0, 0.0], (40, 1))
ODD = {
    "all right": (SURE, np.zeros(40, int)),
    "all wrong": (SURE, np.ones(40, int)),
    "never in doubt": (np.tile([900.0, 0.0], (100, 1)), (np.arange(100) < 20).astype(int)),
    "equal logits": (np.zeros((40, 3)), np.arange(40) % 3),
    "two rows": (np.array([[1.0, 0.0], [0.5, 0.0]]), np.array([0, 1])),
    "a class without rows": (simulate(300)[0], np.minimum(simulate(300)[1], 2)),
    "more classes than rows": simulate(300, 1000),
}


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("all right", "two rows") else pytest.param(name, marks=pytest.mark.long)
        for name in ODD
    ],
)
def test_odd_data_are_drawn_with_all_questions_open(name: str, all_unfolded: None) -> None:
    session = twice(*ODD[name])
    for number in (2, 3, 4, 6, 7, 9):
        app = open_page(
            next(path for path in PAGES if path.startswith(f"pages/{number}_")), session
        )
        assert clean(app), (number, app.exception, [error.value for error in app.error])
    app = open_page("pages/6_Over_underconfidence.py", session)
    words = {
        "all right": "None of 40",
        "all wrong": "+96.5 points",
        "never in doubt": "(u = 0)",
    }
    assert words.get(name, "") in said(app)


def test_other_data_are_shown_from_the_top(with_sample: OpenSession) -> None:
    app = open_page("app.py", with_sample)

    def scripts() -> list[str]:
        return [
            element.proto.body
            for element in app.get("html")
            if element.proto.unsafe_allow_javascript
        ]

    assert not scripts()
    app.button(key="sample/simulated-binary").click().run()
    first = scripts()
    assert len(first) == 1
    app.button(key=f"sample/{SAMPLE}").click().run()
    assert len(scripts()) == 1 and scripts() != first  # a browser would not run the same one again
    app.run()
    assert not scripts()


def test_a_page_that_the_data_do_not_allow_is_left_out_with_its_reason(
    sample_to_read: OpenSession,
) -> None:
    bare = replace(
        sample_to_read.data, features=None, train_features=None, train_labels=None, sha256="bare"
    )
    titles = [entry.title for entry in menu.entries()]
    assert len(titles) == 14
    for session, gone in (
        (sample_to_read, []),
        (OpenSession.from_data(bare), ["Geometry", "Active learning"]),
    ):
        app = open_page("pages/3_Reliability.py", session)
        links = [link.proto.label for link in app.sidebar.get("page_link")]
        assert links == [title for title in titles if title not in gone]
        reasons = [
            str(said.value) for said in app.sidebar.markdown if "**Geometry**" in str(said.value)
        ]
        assert bool(reasons) == bool(gone)
    assert "**Geometry** needs features and the training set." in reasons[0]
    assert "**Active learning** needs features." in reasons[0]


def test_the_first_page_invites_and_its_figure_is_of_the_sample() -> None:
    stored = json.loads((ROOT / "sample_data" / "before_and_after.json").read_text())
    made = runpy.run_path(str(ROOT / "sample_data" / "make_samples.py"))["before_and_after"]()
    assert stored.keys() == made.keys()
    for name in made:
        np.testing.assert_allclose(stored[name], made[name], atol=2e-4)
    app = open_page("app.py")
    assert not app.exception
    assert app.title[0].value == QUESTION
    assert len(app.get("plotly_chart")) == 1
    links = {link.proto.label: link.proto.disabled for link in app.sidebar.get("page_link")}
    assert [title for title, closed in links.items() if not closed] == ["Data"]
    assert len(links) == len(menu.entries())
    assert {f"sample/{name}" for name in SAMPLES} <= {button.key for button in app.button}


def test_a_page_that_fails_says_a_sentence_and_keeps_the_data(
    with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("calib.ui.fits.judged_fits", broken)
    app = open_page("pages/2_Compare.py", with_sample)
    assert not app.exception
    assert "could not be drawn (RuntimeError)" in app.error[0].value
    assert "secret" not in app.error[0].value


def test_parameters_that_do_not_go_together_are_said_and_the_others_start(
    with_sample: OpenSession,
) -> None:
    app = open_page("pages/1_Fit.py", with_sample)
    app.selectbox(key="param/geometric/distance").select("l1")
    app.toggle(key="param/geometric/exact").set_value(True).run()
    app.button(key="fit/start").click().run()
    assert not app.exception
    assert app.error[0].value.startswith("Geometric was not started: exact=True")
    methods = {spec.method for spec in with_sample.specs.values()}
    assert "temperature" in methods
    assert "geometric" not in methods


def test_a_server_with_a_wrong_setting_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIB_UPLOAD_MB", "1500")
    said = "CALIB_UPLOAD_MB is 1500 and Streamlit takes 1024; set STREAMLIT_SERVER_MAX_UPLOAD"
    with pytest.raises(SystemExit, match=said):
        runpy.run_path(str(ROOT / "app.py"), run_name="app")
