"""What waits says so, and what there is no room for is refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calib.engine import Engine
from calib.ui import fits
from calib.ui.session import OpenSession
from tests.ui.conftest import open_page


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine in which fits wait for ever, in the order asked, and what pages draw is computed."""
    made = Engine(most_waiting=2)
    follow = made._follow

    def follow_pages(task: Any) -> None:
        if task.job is None:
            follow(task)

    monkeypatch.setattr(made, "_follow", follow_pages)
    monkeypatch.setattr(fits, "queue", lambda: made)
    yield made
    made.shutdown()


def start(session: OpenSession, *methods: str) -> AppTest:
    app = open_page("pages/1_Fit.py", session)
    app.session_state["fit/methods"] = list(methods)
    app.run()
    return app.button("fit/start").click().run()


def said(app: AppTest) -> list[str]:
    return [element.proto.text for element in app.get("progress")]


def test_what_waits_says_so_and_what_there_is_no_room_for_is_named_in_one_sentence(
    queue: Engine, with_sample: OpenSession
) -> None:
    app = start(with_sample, "platt", "beta", "isotonic", "temperature")
    assert not app.exception
    assert len(with_sample.specs) == 2
    assert said(app) == [
        "Waiting for a free worker.",
        "Waiting for a free worker.",
        "2 waiting · 0%",
    ]
    (error,) = app.error
    assert error.value == (
        "Isotonic and Temperature were not started: 2 fits and studies of yours are waiting, and a visitor may have 2. "
        "Cancel some, or start the rest when these are done."
    )
