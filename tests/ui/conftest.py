"""The app with nothing, a sample, or fitted calibrators open."""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from calib.base import extras_for
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.diagnostics.judgement import arrays_to_judge
from calib.engine import Data, Engine, FitSpec
from calib.registry import calibrator, title_of
from calib.ui import fits, widgets
from calib.ui.session import SESSION, OpenSession
from tests.conftest import ROOT, finished

SAMPLE = "digits-cnn"
FITTED = ("temperature", "isotonic", "gpcalib")

PAGES = ["app.py", *sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))]


@pytest.fixture(scope="session", autouse=True)
def only_what_a_server_does() -> Iterator[None]:
    """Streamlit has Keras collect garbage after each run where it is loaded, which here costs as much as most pages.

    No server of the app loads it; other tests in this process do. And AppTest looks in every installed package for
    components, which no page needs.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script_runner, "_clean_problem_modules", lambda: None)
        patch.setattr(manifest_scanner, "scan_component_manifests", list)
        yield


def one_of(pages: Iterable[str], representative: str) -> list[Any]:
    """Pages to repeat a test on: one in ``make test``, the others in ``make test-long``."""
    return [
        page if page == representative else pytest.param(page, marks=pytest.mark.long)
        for page in pages
    ]


def open_page(path: str, session: OpenSession | None = None) -> AppTest:
    """Run a page as a visitor with this session sees it."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    if session is not None:
        app.session_state[SESSION] = session
    return app.switch_page(path).run() if path != "app.py" else app.run()


def fit(
    queue: Engine, session: OpenSession, *wanted: str | tuple[str, dict[str, Any]]
) -> OpenSession:
    """The session with these methods, or methods with parameters, fitted by the worker processes."""
    part = session.calibration
    for method, params in ((each, {}) if isinstance(each, str) else each for each in wanted):
        unfitted = calibrator(method, **params)
        spec = FitSpec(
            method,
            params,
            data_key=session.split_key,
            label=title_of(unfitted, method, session.calibration.n_classes),
        )
        extras = extras_for(unfitted, part) | arrays_to_judge(session.test, unfitted)
        queue.submit(spec, Data.of(spec.data_key, logits=part.logits, labels=part.labels, **extras))
        session.specs[spec.key] = spec
    assert {job.state for job in finished(queue, session.specs)} <= {"done"}
    return session


def twice(
    logits: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None, **about: Any
) -> OpenSession:
    """A session whose rows are all calibration rows first and the same rows again as test rows."""
    n, n_classes = logits.shape
    about = {
        "class_names": tuple(f"class {k}" for k in range(n_classes)),
        "groups": None if groups is None else np.r_[groups, groups],
        "sha256": hashlib.sha256(
            b"".join(part.tobytes() for part in (logits, labels, groups) if part is not None)
        ).hexdigest(),
    } | about
    split = np.arange(2 * n) < n
    data = Predictions(np.r_[logits, logits], np.r_[labels, labels], given_split=split, **about)
    return OpenSession.from_data(data)


def opened(monkeypatch: pytest.MonkeyPatch, session: OpenSession) -> None:
    """Have it open without a page."""
    for name in ("current_session", "find_session", "find_visitor"):
        monkeypatch.setattr(fits, name, lambda: session)


def said(app: AppTest) -> str:
    """All that a page says in sentences."""
    return " ".join(
        str(element.value) for element in (*app.markdown, *app.info, *app.caption, *app.warning)
    )


def clean(app: AppTest) -> bool:
    """Whether a page was drawn without an error, and says no "nan"."""
    return not app.exception and not app.error and "nan" not in said(app).lower().split()


def group(app: AppTest, key: str) -> Any:
    """The first group of buttons whose key begins so."""
    return next(each for each in app.button_group if str(each.key).startswith(key))


def menu(app: AppTest, key: str) -> Any:
    """The first menu whose key begins so."""
    return next(each for each in app.selectbox if str(each.key).startswith(key))


def click(app: AppTest, label: str) -> AppTest:
    """Click the first button with this label."""
    return next(button for button in app.button if button.label == label).click().run()


def unfold(app: AppTest, *keys: str) -> AppTest:
    """Open further questions by their keys; see :func:`calib.ui.widgets.folded`."""
    for key in keys:
        app.session_state[key] = True
    return app.run()


def table(app: AppTest, column: str) -> pd.DataFrame:
    """The first table that has this column."""
    return next(frame.value for frame in app.dataframe if column in frame.value.columns)


def facts(app: AppTest) -> dict[str, str]:
    """What a page says in large numbers."""
    return {metric.label: metric.value for metric in app.metric}


def upload_file(name: str, content: bytes, session: OpenSession | None = None) -> AppTest:
    """The Data page after an upload."""
    return open_page("app.py", session).file_uploader(key="upload/main").upload(name, content).run()


def features_of(name: str = "active", n: int = 150) -> Predictions:
    """Simulated Gaussian clusters that overlap; the model's outputs say nothing."""
    generator = np.random.default_rng(0)
    labels, train_labels = np.arange(n) % 3, np.arange(120) % 3
    centres = 1.5 * generator.normal(size=(3, 4))
    features, train_features = (
        centres[of] + generator.normal(size=(len(of), 4)) for of in (labels, train_labels)
    )
    training = {"train_features": train_features, "train_labels": train_labels}
    return Predictions(
        np.zeros((n, 3)), labels, ("a", "b", "c"), sha256=name, features=features, **training
    )


def charts(app: AppTest) -> list[Any]:
    """The figures of a page."""
    return [element.proto for element in app.get("plotly_chart")]


@pytest.fixture(scope="session", autouse=True)
def raw_models_judged_once() -> Iterator[None]:
    """Every session has its raw model judged by a worker; of the same rows, the worker's answer is given again."""
    answers: dict[bytes, bytes] = {}
    judge = fits._judge_raw

    def once(session: OpenSession) -> Future[Any]:
        rows = fits.rows_to_predict(session, fits.raw_model(session.data)).arrays
        key = hashlib.sha256(pickle.dumps(rows)).digest()
        if key in answers:
            known: Future[Any] = Future()
            known.set_result(pickle.loads(answers[key]))
            return known
        future = judge(session)
        future.add_done_callback(lambda done: _remember(answers, key, done))
        return future

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits, "_judge_raw", once)
        yield


def _remember(answers: dict[bytes, bytes], key: bytes, done: Future[Any]) -> None:
    if not done.cancelled() and done.exception() is None:
        answers[key] = pickle.dumps(done.result())


@pytest.fixture(scope="session")
def queue() -> Iterator[Engine]:
    """The server's queue, ended with the tests."""
    made = fits.queue()
    yield made
    made.shutdown()


@pytest.fixture
def with_sample(queue: Engine) -> OpenSession:
    return OpenSession.from_data(load_sample(SAMPLE), sample=SAMPLE)


@pytest.fixture(scope="session")
def shared(queue: Engine) -> tuple[OpenSession, OpenSession]:
    """A sample open without and with fits; what one page has computed is there for the next."""
    bare, fitted = (OpenSession.from_data(load_sample(SAMPLE), sample=SAMPLE) for _ in range(2))
    return bare, fit(queue, fitted, *FITTED)


@pytest.fixture
def sample_to_read(shared: tuple[OpenSession, OpenSession]) -> OpenSession:
    """The sample, for tests that change nothing but what is shown."""
    shared[0].picked.clear()
    return shared[0]


@pytest.fixture
def fits_to_read(shared: tuple[OpenSession, OpenSession]) -> OpenSession:
    """The same with fits."""
    shared[1].picked.clear()
    return shared[1]


@pytest.fixture
def with_fits(shared: tuple[OpenSession, OpenSession]) -> OpenSession:
    """A visitor's own session with the same fits, which has what pages computed of them."""
    known = shared[1]
    own: dict[str, Any] = {
        name: {} for name in ("waiting", "studies", "built", "picked", "carried")
    }
    own["cached"] = dict(known.cached)
    own["specs_of_splits"] = {split: dict(held) for split, held in known.specs_of_splits.items()}
    return replace(known, visitor=uuid4().hex, **own)


@pytest.fixture
def all_unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every further question of a page is open."""

    def draw_now(label: str, key: str, draw: Callable[[], object]) -> None:
        draw()

    for place in [place for name, place in sys.modules.items() if name.startswith("calib.ui")]:
        if vars(place).get("folded") is widgets.folded:
            monkeypatch.setattr(place, "folded", draw_now)
