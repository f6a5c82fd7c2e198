"""What the server lets in: addresses, messages, uploads, and so much memory for each visitor."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.testing.v1 import AppTest

from calib.data import DataError, Predictions
from calib.isolation.sandbox import CLOSED_FILES, FILTER
from calib.ui import session as ui_session
from calib.ui.server import guard, memory, uploads
from calib.ui.server.memory import nbytes
from calib.ui.session import OpenSession, keep


@pytest.mark.parametrize(
    ("hosts", "missing", "starts"),
    [
        (["localhost", "127.0.0.1", "::1"], [FILTER], True),
        (["localhost"], [FILTER], True),
        (["localhost", "calib.example.org"], [FILTER], False),
        (["*"], [FILTER], False),
        ([], [FILTER], False),  # Streamlit then answers to every name
        (["calib.example.org"], [], True),
        (["calib.example.org"], [CLOSED_FILES], True),
    ],
)
def test_a_server_for_others_starts_only_where_readers_are_closed_in(hosts, missing, starts, monkeypatch) -> None:
    monkeypatch.setattr(guard, "missing_protections", lambda: missing)
    monkeypatch.setattr(guard.st, "get_option", {"server.allowedHosts": hosts}.__getitem__)
    if starts:
        guard.check_readers()
    else:
        with pytest.raises(SystemExit, match="Linux container"):
            guard.check_readers()


def test_messages_that_no_page_sends_are_dropped_and_a_page_counts_until_its_connection_ends() -> None:
    asked = (
        BackMsg(stop_script=True),
        BackMsg(clear_cache=True),
        BackMsg(app_heartbeat=True),
        BackMsg(debug_shutdown_runtime=True),
    )
    given = [{"type": "websocket.receive", "bytes": each.SerializeToString()} for each in asked]
    given.append({"type": "websocket.disconnect"})
    handed_on: list[str | None] = []

    async def app(scope, receive, send) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            handed_on.append(BackMsg.FromString(message["bytes"]).WhichOneof("type"))
        assert len(guard._open_pages) == 1
        raise ConnectionError

    async def receive():
        return given.pop(0)

    async def send(message) -> None: ...

    with pytest.raises(ConnectionError):
        asyncio.run(guard.Guard(app)({"type": "websocket", "headers": [(b"host", b"here")]}, receive, send))
    assert handed_on == ["stop_script", "app_heartbeat"]
    assert not guard._open_pages


# -- uploads are counted while they come, go to disk once a page has them, and leave nothing that counts -----


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
    app = AppTest.from_function(page, default_timeout=300).run()
    app.file_uploader[0].upload("a.csv", b"1,2").run()
    assert texts(app) == ["a.csv: 1,2"] and app.session_state["in memory"] == 0
    assert texts(app.run()) == ["a.csv: 1,2"]
    app.session_state["elsewhere"] = True
    app.run().run()  # the page was left
    assert not app.session_state[uploads.HELD]


def test_files_that_find_no_room_are_said_and_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_OF_ONE", 2 * uploads.LEAST)
    app = AppTest.from_function(page, default_timeout=300).run()
    app.file_uploader[0].set_value([(name, name.encode(), "text/csv") for name in ("one", "two", "three")]).run()
    assert app.session_state["in memory"] == 0
    for _ in range(2):
        assert texts(app) == ["one: one", "two: two"]
        assert "There is no room for this file: your uploaded files may take 32 MB" in app.error[0].value
        app.run()

    def full() -> None:
        raise OSError

    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", full)
    app = AppTest.from_function(page, default_timeout=300).run()
    app.file_uploader[0].upload("a.csv", b"1,2").run()
    assert texts(app) == [] and "the server's disk is full" in app.error[0].value


# -- each session stays within the memory set aside for it ---------------------------------------------------


def session(tenths: int) -> OpenSession:
    """Data of so many tenths of a megabyte; with the split they take twice that."""
    logits = np.zeros((tenths * 6_250, 2))
    return OpenSession.from_data(Predictions(logits, np.arange(len(logits)) % 2, ("0", "1"), sha256=str(tenths)))


def test_one_visitor_may_not_hold_more_than_there_is_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_OF_ONE", 4_000_000)
    memory.admit(session(13))  # 2 x (1.3 + 0.65) MB, labels included
    with pytest.raises(DataError, match=r"would hold 4,200,\d+ bytes .* may hold 4,000,000"):
        memory.admit(session(14))
    opened = session(10)
    memory.admit(opened, np.zeros(100_000))
    with pytest.raises(DataError, match="would hold"):
        memory.admit(opened, np.zeros(200_000))
    for name in ("built", "kept"):  # what is held beside the data
        held = session(10)
        getattr(held, name)["one"] = {"of many": np.zeros(200_000)}
        with pytest.raises(DataError, match="would hold"):
            memory.admit(held)


def test_figures_count_and_the_oldest_make_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = session(1)
    monkeypatch.setattr(ui_session, "find_session", lambda: now)
    monkeypatch.setattr(ui_session, "MOST_OF_ONE", 100_000)  # a tenth of it is for figures
    before = nbytes(now)
    for i in range(5):
        keep(i, lambda: {"curve": np.zeros(500)})
    assert list(now.kept) == [3, 4]
    assert nbytes(now) == pytest.approx(before + 8000, abs=1500)
    keep(3, lambda: pytest.fail("it is there"))
    keep("large", lambda: np.zeros(5000))
    assert list(now.kept) == ["large"], "what is shown now stays, however large"
    now.split(0.3, 1)
    assert not now.kept


def test_data_on_disk_count_as_those_in_memory_do(tmp_path) -> None:
    np.save(tmp_path / "logits.npy", np.zeros((62_500, 2)))
    mapped = np.asarray(np.load(tmp_path / "logits.npy", mmap_mode="r"))
    labels = np.arange(62_500) % 2
    opened = OpenSession.from_data(Predictions(mapped, labels, ("0", "1"), sha256="x"))
    # With the split's copies; a file's header counts too.
    assert nbytes(opened) == pytest.approx(2 * (labels.nbytes + mapped.nbytes), abs=1000)
