"""What goes by rows is computed by workers; pages draw it when it is there."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future, wait
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1.element_tree import Block

from calib.base import Calibrator
from calib.engine import Data, Engine
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.export import writer
from calib.metrics.estimate import JOINT_DRAWS
from calib.ui import fits, ready
from calib.ui.ready import awaited
from calib.ui.session import OpenSession
from tests.ui.conftest import PAGES, clean, fit, open_page
from tests.ui.test_hostile_names import everything

N = JOINT_DRAWS + 1
"""Rows of each part: more than any figure has points, or an interval of several differences has draws."""
LOOKED_AT = ("pages/11_Monitoring.py", "pages/7_Calibration_maps.py", "pages/5_Export.py")


@pytest.fixture
def nothing_over_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process, which is the server's, neither predicts nor judges rows, nor packs an export."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed in the server's process")

    def few_predicted(self: Calibrator, logits: Any, *arguments: Any, **options: Any) -> Any:
        return refuse() if len(logits) >= N else predict(self, logits, *arguments, **options)

    predict = Calibrator.predict_proba
    monkeypatch.setattr(Calibrator, "predict_proba", few_predicted)
    for name in ("from_calibrator", "from_predictions"):
        monkeypatch.setattr(Evaluation, name, refuse)
    monkeypatch.setattr(writer, "to_bytes", refuse)


@pytest.fixture(scope="module")
def many_rows(queue: Engine) -> OpenSession:
    """A session of many rows with all that pages ask for, and fits."""
    data = replace(
        everything(2 * N, 4), clusters=None, weights=None, given_split=np.arange(2 * N) < N
    )
    return fit(queue, OpenSession.from_data(data), "temperature", "isotonic")


@pytest.mark.parametrize(
    "path",
    [page if page in LOOKED_AT else pytest.param(page, marks=pytest.mark.long) for page in PAGES],
)
def test_a_page_is_drawn_without_computing_over_rows(
    many_rows: OpenSession, nothing_over_rows: None, all_unfolded: None, path: str
) -> None:
    app = open_page(path, many_rows)
    assert clean(app), [error.value for error in app.error]


def test_a_computation_that_failed_says_why_and_is_tried_again(with_sample: OpenSession) -> None:
    failed: Future[int] = Future()
    failed.set_exception(CancelledError())
    with pytest.raises(CalibrationError, match=r"Computing the curve was stopped"):
        awaited(with_sample, "key", "the curve", lambda: failed)
    done: Future[int] = Future()
    done.set_result(3)
    assert awaited(with_sample, "key", "the curve", lambda: done) == 3
    assert not with_sample.waiting


def test_what_was_stopped_is_asked_for_anew(with_sample: OpenSession) -> None:
    futures = [Future[int](), Future[int]()]
    given = iter(futures)
    assert ready.request(with_sample, "key", lambda: next(given)) is futures[0]
    futures[0].cancel()
    assert ready.request(with_sample, "key", lambda: next(given)) is futures[1]
    with_sample.waiting.clear()


def test_what_is_computed_for_a_visitor_who_has_gone_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It went on for as long as it took: 100,000 steps, five minutes after their visitor had left."""
    looks = iter([True, True, False])
    server = SimpleNamespace(is_active_session=lambda session_id: next(looks))
    monkeypatch.setattr(ready, "GONE_SECONDS", 0.01)
    monkeypatch.setattr(ready.runtime, "exists", lambda: True)
    monkeypatch.setattr(ready.runtime, "get_instance", lambda: server)
    computed: Future[int] = Future()
    ready.end_with_session(computed, "a session")
    assert computed.cancelled() and next(looks, None) is None
    done: Future[int] = Future()
    done.set_result(3)
    ready.end_with_session(done, "a session")
    assert not done.cancelled()


def test_pages_over_many_rows_and_uploaded_calibrators_do_not_take_the_places_of_others(
    with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page over 3 million rows had those of others wait for 6 to 24 s."""
    kinds = []
    engine = SimpleNamespace(
        compute=lambda *given, kind, **more: kinds.append((kind, more["most_seconds"]))
    )
    monkeypatch.setattr(fits, "queue", lambda: engine)
    few, many = np.zeros((300, 4)), np.zeros((3_000_000, 4), np.float32)
    for rows in (few, many):
        fits.compute(with_sample, sum, data=Data("rows", {"logits": rows}))
        fits.compute(with_sample, sum, rows)
    fits.compute(with_sample, sum, few, most_seconds=30.0)
    assert kinds == [("page", 0.0)] * 2 + [("file", 0.0)] * 2 + [("file", 30.0)]


def places(block: Block, at: tuple[int, ...] = ()) -> set[tuple[tuple[int, ...], str]]:
    """Where each element of a page stands, and what it is; an empty one is not shown."""
    found = set()
    for place, child in block.children.items():
        inside = isinstance(child, Block)
        found |= (
            places(child, (*at, place))
            if inside
            else {((*at, place), child.type)} - {((*at, place), "empty")}
        )
    return found


def test_what_is_drawn_keeps_its_place_when_nothing_is_awaited_any_more(
    with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def first_in_vain(futures: list[Future[Any]], seconds: float) -> Any:
        waits.append(seconds)
        return SimpleNamespace(done=set()) if seconds == ready.SAY_AFTER else wait(futures, seconds)

    monkeypatch.setattr(ready, "wait", first_in_vain)
    app = open_page("pages/3_Reliability.py", with_sample)
    assert clean(app) and waits
    drawn, asked = places(app.main), len(waits)
    app.run()
    assert clean(app) and len(waits) == asked, "all that was awaited is kept"
    assert places(app.main) == drawn
