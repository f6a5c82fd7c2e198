"""What the server lets in: addresses, messages, uploads, and so much memory for each visitor."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest

from calib.data import DataError, Predictions
from calib.isolation.sandbox import CLOSED_FILES, FILTER
from calib.ui import session as ui_session
from calib.ui.server import guard, memory, uploads
from calib.ui.server.memory import nbytes
from calib.ui.session import OpenSession, keep

ELSEWHERE = "192.168.1.5"


def scope_of(
    host: str, peer: str, kind: str = "http", method: str = "GET", path: str = "/"
) -> dict[str, Any]:
    return {
        "type": kind,
        "method": method,
        "path": path,
        "client": (peer, 5),
        "headers": [(b"host", host.encode())],
    }


def status_of(guarded: guard.Guard, scope: dict[str, Any]) -> int:
    """The status of the answer."""
    answered: list[Any] = []

    async def send(message: Any) -> None:
        answered.append(message)

    async def receive() -> Any:
        pytest.fail("it was read")

    asyncio.run(guarded(scope, receive, send))
    return answered[0]["status"]


OWN_NAMES = ("localhost", "localhost:8501", "LOCALHOST.:8501", "127.0.0.1:8501", "[::1]:8501")
OPTIONS = {
    "server.allowedHosts": ["localhost", "127.0.0.1", "::1", "calib.example.org"],
    "server.maxUploadSize": 1024,
}


@pytest.fixture(autouse=True)
def options() -> Iterator[None]:
    before = {name: config.get_option(name) for name in OPTIONS}
    for name, value in OPTIONS.items():
        config.set_option(name, value)
    yield
    for name, value in before.items():
        config.set_option(name, value)


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_names_of_this_machine_are_for_visitors_on_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(host: str, peer: str) -> int:
        return status_of(guard.Guard(app_of([200])), scope_of(host, peer, kind))

    for host in OWN_NAMES:
        assert (
            asked(host, ELSEWHERE)
            == asked(host, "::ffff:10.0.0.1")
            == asked(host, "fe80::1")
            == 403
        )
        assert (
            asked(host, "127.0.0.1") == asked(host, "::1") == asked(host, "::ffff:127.0.0.1") == 200
        )
    assert asked("calib.example.org", ELSEWHERE) == 200
    monkeypatch.setattr(guard, "TRUSTED", True)
    assert asked("localhost:8501", ELSEWHERE) == 200


@pytest.mark.parametrize(
    ("host", "missing", "taken"),
    [
        ("localhost:8501", [FILTER], True),
        ("calib.example.org", [FILTER], False),
        ("127.0.0.2:8501", [FILTER], False),  # not among the names that are served
        ("calib.example.org", [], True),
        ("calib.example.org", [CLOSED_FILES], True),
    ],
)
def test_files_of_other_machines_are_taken_only_where_readers_are_closed_in(
    host, missing, taken, monkeypatch
) -> None:
    monkeypatch.setattr(guard, "missing_protections", lambda: missing)
    monkeypatch.setattr(guard, "_uploaded", lambda: SimpleNamespace(file_storage={}))
    assert guard.takes_uploads(host) is taken
    sent = scope_of(host, "127.0.0.1", method="PUT", path="/_stcore/upload_file/mine/1")
    assert status_of(guard.Guard(app_of([204])), sent) == (204 if taken else 403)
    app = AppTest.from_function(page, default_timeout=300)
    monkeypatch.setattr(uploads.st, "context", SimpleNamespace(headers={"Host": host}))
    assert len(app.run().file_uploader) == taken
    assert ["its own machine alone" in info.value for info in app.info] == [True] * (not taken)
    monkeypatch.setattr(guard, "TRUSTED", True)
    assert guard.takes_uploads(host)


def test_messages_that_no_page_sends_are_dropped_and_a_page_counts_until_its_connection_ends() -> (
    None
):
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
        asyncio.run(guard.Guard(app)(scope_of("localhost", "::1", "websocket"), receive, send))
    assert handed_on == ["stop_script", "app_heartbeat"]
    assert not guard._open_pages


# -- uploads are counted while they come, go to disk once a page has them, and leave nothing that counts -----


def put(
    guarded: guard.Guard, length: str = "1000", session: str = "mine", **more_headers: str
) -> int:
    """The status of an upload that says its length."""
    scope = scope_of(
        "localhost", "127.0.0.1", method="PUT", path=f"/base/_stcore/upload_file/{session}/1"
    )
    headers = {"content-length": length} | more_headers
    scope["headers"] += [(name.encode(), value.encode()) for name, value in headers.items()]
    return status_of(guarded, scope)


def app_of(statuses: list[int]) -> Any:
    """Something that answers as Streamlit does."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": statuses.pop(0), "headers": []})

    return app


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    """Streamlit's files: 1,500 bytes of mine and 100 of others."""
    manager = MemoryUploadedFileManager("/upload")
    for session, size in (("mine", 1500), ("others", 100)):
        manager.add_file(session, UploadedFileRec(f"{session}'s", "a.csv", "text/csv", bytes(size)))
    monkeypatch.setattr(guard, "_uploaded", lambda: manager)
    return manager


def test_a_session_and_all_together_have_room_for_so_much(
    in_memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_OF_ONE", 2000)
    guarded = guard.Guard(app_of([204, 204, 204, 204]))
    assert put(guarded, "501") == 413
    assert put(guarded, "500") == 204
    assert put(guarded, "501", "others") == 204
    monkeypatch.setenv("CALIB_UPLOADS_GB", "0.000002")
    assert put(guarded, "401", "others") == 413
    assert put(guarded, "400", "others") == 204
    monkeypatch.setenv("CALIB_UPLOADS_GB", "0.0000032")  # of which one session may take half
    assert put(guarded, "101") == 413
    assert put(guarded, "100") == 204


def test_one_in_chunks_counts_as_the_largest_that_streamlit_takes(
    in_memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_OF_ONE", 2**30 + 1499)
    guarded = guard.Guard(app_of([204]))
    assert put(guarded, "1", **{"transfer-encoding": "chunked"}) == 413
    monkeypatch.setattr(guard, "MOST_OF_ONE", 2**30 + 1500)
    assert put(guarded, "1", **{"transfer-encoding": "chunked"}) == 204


def test_what_is_on_its_way_counts_until_it_is_there_or_given_up(
    in_memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_OF_ONE", 2500)
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


def test_what_no_page_takes_is_dropped_once_the_session_has_uploaded_nothing_for_a_while(
    in_memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "UNCLAIMED_SECONDS", 0.2)
    in_memory.add_file(
        "mine", UploadedFileRec("taken", "a.csv", "text/csv", b"")
    )  # to which a page reduced it

    def sizes() -> dict[str, int]:
        return {
            name: len(file.data)
            for files in in_memory.file_storage.values()
            for name, file in files.items()
        }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(float(scope["path"].rpartition("/")[2]))

    async def upload(seconds: float) -> None:
        scope = scope_of(
            "localhost", "127.0.0.1", method="PUT", path=f"/_stcore/upload_file/mine/{seconds}"
        )
        scope["headers"] += [(b"content-length", b"1")]
        await guarded(scope, None, None)  # type: ignore[arg-type]

    async def several() -> None:
        await asyncio.gather(upload(0), upload(0.5))
        await asyncio.sleep(0.1)
        assert sizes() == {"mine's": 1500, "taken": 0, "others's": 100}, (
            "0.5 s after the first, 0.1 after the last"
        )
        await upload(0)
        await asyncio.sleep(0.15)
        assert sizes()["mine's"] == 1500, "counted from the last one on"
        await asyncio.sleep(0.3)
        assert sizes() == {"taken": 0, "others's": 100}

    guarded = guard.Guard(app)
    asyncio.run(several())
    assert not guarded._drops


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


def test_a_file_goes_to_disk_with_the_first_page_that_has_it_and_is_there_for_the_next_ones() -> (
    None
):
    app = AppTest.from_function(page, default_timeout=300).run()
    app.file_uploader[0].upload("a.csv", b"1,2").run()
    assert texts(app) == ["a.csv: 1,2"] and app.session_state["in memory"] == 0
    assert texts(app.run()) == ["a.csv: 1,2"]
    app.session_state["elsewhere"] = True
    app.run().run()  # the page was left
    assert not app.session_state[uploads.HELD]


def test_a_file_that_was_dropped_before_a_page_had_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = AppTest.from_function(page, default_timeout=300).run()
    monkeypatch.setattr(MemoryUploadedFileManager, "get_files", lambda *_, **__: [])
    app.file_uploader[0].upload("a.csv", b"1,2").run()
    assert texts(app) == [] and "waited for more than a minute" in app.error[0].value


def test_files_that_find_no_room_are_said_and_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_OF_ONE", 2 * uploads.LEAST)
    app = AppTest.from_function(page, default_timeout=300).run()
    app.file_uploader[0].set_value(
        [(name, name.encode(), "text/csv") for name in ("one", "two", "three")]
    ).run()
    assert app.session_state["in memory"] == 0
    for _ in range(2):
        assert texts(app) == ["one: one", "two: two"]
        assert (
            "There is no room for this file: your uploaded files may take 32 MB"
            in app.error[0].value
        )
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
    return OpenSession.from_data(
        Predictions(logits, np.arange(len(logits)) % 2, ("0", "1"), sha256=str(tenths))
    )


def test_one_visitor_may_not_hold_more_than_there_is_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "MOST_OF_ONE", 4_000_000)
    memory.admit(session(13))  # 2 x (1.3 + 0.65) MB, labels included
    with pytest.raises(DataError, match=r"need 4,200,\d+ bytes .* visitor is 4,000,000"):
        memory.admit(session(14))
    opened = session(10)
    memory.admit(opened, np.zeros(100_000))
    with pytest.raises(DataError, match="These data need"):
        memory.admit(opened, np.zeros(200_000))
    for name in ("built", "cached"):  # what is held beside the data
        held = session(10)
        getattr(held, name)["one"] = {"of many": np.zeros(200_000)}
        with pytest.raises(DataError, match="These data need"):
            memory.admit(held)


def test_figures_count_and_the_oldest_make_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = session(1)
    monkeypatch.setattr(ui_session, "find_session", lambda: now)
    monkeypatch.setattr(ui_session, "MOST_OF_ONE", 100_000)  # a tenth of it is for figures
    before = nbytes(now)
    for i in range(5):
        keep(i, lambda: {"curve": np.zeros(500)})
    assert list(now.cached) == [3, 4]
    assert nbytes(now) == pytest.approx(before + 8000, abs=1500)
    keep(3, lambda: pytest.fail("it is there"))
    keep("large", lambda: np.zeros(5000))
    assert list(now.cached) == ["large"], "what is shown now stays, however large"
    now.split(0.3, 1)
    assert not now.cached


def test_data_on_disk_count_as_those_in_memory_do(tmp_path) -> None:
    np.save(tmp_path / "logits.npy", np.zeros((62_500, 2)))
    mapped = np.asarray(np.load(tmp_path / "logits.npy", mmap_mode="r"))
    labels = np.arange(62_500) % 2
    opened = OpenSession.from_data(Predictions(mapped, labels, ("0", "1"), sha256="x"))
    # With the split's copies; a file's header counts too.
    assert nbytes(opened) == pytest.approx(2 * (labels.nbytes + mapped.nbytes), abs=1000)
