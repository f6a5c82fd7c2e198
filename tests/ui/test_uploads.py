"""Uploads are counted while they come, go to disk once a page has them, and leave nothing that counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from calib.ui.server import guard, uploads


def put(guarded: guard.Guard, length: str = "1000", session: str = "mine", **more_headers: str) -> int:
    """The status of an upload that says its length."""
    headers = {"content-length": length} | more_headers
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "PUT", "path": f"/_stcore/upload_file/{session}/1", "headers": encoded}
    answered: list[Any] = []

    async def send(message: Any) -> None:
        answered.append(message)

    async def receive() -> Any:
        pytest.fail("it was read")

    asyncio.run(guarded(scope, receive, send))
    return answered[0]["status"]


def app_of(statuses: list[int]) -> Any:
    """Something that answers as Streamlit does."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": statuses.pop(0), "headers": []})

    return app


@pytest.mark.parametrize(
    ("length", "headers"), [("1000", {"transfer-encoding": "chunked"}), ("", {}), ("-1", {}), ("1e9", {})]
)
def test_one_that_says_no_size_is_refused_unread(length: str, headers: dict[str, str]) -> None:
    assert put(guard.Guard(app_of([])), length, **headers) == 411


def test_a_session_and_all_together_have_room_for_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = {"mine": {"1": SimpleNamespace(data=bytes(1500))}, "others": {"1": SimpleNamespace(data=bytes(100))}}
    monkeypatch.setattr(guard, "_file_storage", lambda: in_memory)
    monkeypatch.setattr(guard, "MOST_OF_ONE", 2000)
    guarded = guard.Guard(app_of([204, 204, 204]))
    assert put(guarded, "501") == 413
    assert put(guarded, "500") == 204
    assert put(guarded, "501", "others") == 204
    monkeypatch.setenv("CALIB_UPLOADS_GB", "0.000002")
    assert put(guarded, "401", "others") == 413
    assert put(guarded, "400", "others") == 204


def test_what_is_on_its_way_counts_until_it_is_there_or_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_OF_ONE", 1000)
    seen: list[Counter[str]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(guarded._arriving.copy())
        assert put_beside() == 413
        raise ConnectionError

    def put_beside() -> int:
        with ThreadPoolExecutor(1) as beside:
            return beside.submit(put, guarded, "600").result()

    guarded = guard.Guard(app)
    with pytest.raises(ConnectionError):
        put(guarded, "600")
    assert seen == [Counter(mine=600)] and not guarded._arriving


def page() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from calib.ui.server import uploads

    uploads.forget_unshown()
    if not st.session_state.get("elsewhere"):
        for file in uploads.uploaders("Files", "files"):
            st.text(f"{file.filename}: {file.read().decode()}")
    context = get_script_run_ctx()
    files = context.uploaded_file_mgr.file_storage[context.session_id].values()
    st.session_state["in memory"] = sum(len(file.data) for file in files)


def texts(app: AppTest) -> list[str]:
    assert not app.exception
    return [text.value for text in app.text]


def test_a_file_goes_to_disk_with_the_first_page_that_has_it_and_is_there_for_the_next_ones() -> None:
    app = AppTest.from_function(page).run()
    app.file_uploader[0].upload("a.csv", b"1,2").run()
    assert texts(app) == ["a.csv: 1,2"] and app.session_state["in memory"] == 0
    assert texts(app.run()) == ["a.csv: 1,2"]
    app.session_state["elsewhere"] = True
    app.run().run()  # the page was left
    assert not app.session_state[uploads.HELD]


def test_files_that_find_no_room_are_said_and_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_OF_ONE", 2 * uploads.LEAST)
    app = AppTest.from_function(page).run()
    app.file_uploader[0].set_value([(name, name.encode(), "text/csv") for name in ("one", "two", "three")]).run()
    assert app.session_state["in memory"] == 0
    for _ in range(2):
        assert texts(app) == ["one: one", "two: two"]
        assert "There is no room for this file: your uploaded files may take 32 MB" in app.error[0].value
        app.run()


def test_a_disk_that_is_full_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError

    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", full)
    app = AppTest.from_function(page).run()
    app.file_uploader[0].upload("a.csv", b"1,2").run()
    assert texts(app) == [] and "no room" in app.error[0].value
