"""Whoever starts the app on their own machine is shown it."""

from __future__ import annotations

import asyncio

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from calib.isolation.sandbox import CLOSED_FILES, FILTER
from calib.ui.server import guard


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


def test_messages_that_no_page_sends_are_dropped() -> None:
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

    async def receive():
        return given.pop(0)

    async def send(message) -> None: ...

    asyncio.run(guard.Guard(app)({"type": "websocket", "headers": [(b"host", b"here")]}, receive, send))
    assert handed_on == ["stop_script", "app_heartbeat"]


def test_a_page_counts_from_its_connection_to_its_end() -> None:
    counted: list[int] = []

    async def app(scope, receive, send) -> None:
        counted.append(len(guard._open_pages))
        raise ConnectionError

    async def nothing(message=None) -> None: ...

    with pytest.raises(ConnectionError):
        asyncio.run(guard.Guard(app)({"type": "websocket", "headers": []}, nothing, nothing))
    assert counted == [1]
    assert not guard._open_pages
