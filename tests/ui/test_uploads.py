"""Uploads that are given up on the way, or taken away while their page runs, leave nothing that counts."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from calib.ui.server import uploads
from calib.ui.server.uploads import take_in

BEGUN = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n' + b"1,2\n" * 1000
WHOLE = BEGUN + b"\r\n--x--\r\n"


@pytest.fixture(autouse=True)
def nobody_else() -> Iterator[None]:
    uploads._claims.clear()
    uploads._stored.clear()
    gc.disable()  # nothing here may wait for the collector
    yield
    gc.enable()
    uploads._claims.clear()
    uploads._stored.clear()


def upload(
    *messages: dict[str, Any], file: str = "file", status: int = 204, **more_headers: str
) -> list[dict[str, Any]]:
    """Send messages to the endpoint; what it answers, with an app that reads all and answers with a status."""
    named = {"content-length": "900000", "content-type": "multipart/form-data; boundary=x"} | more_headers
    headers = [(name.encode(), value.encode()) for name, value in named.items()]
    scope = {"type": "http", "method": "PUT", "path": "/", "headers": headers, "client": ("192.0.2.1", 1)}
    coming, answered = iter(messages), []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        answered.append(message)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with Request(scope, receive).form() as form:  # as Streamlit does
            assert [(value.filename, value.size) for value in form.values()] == [(uploads.ON_DISK, 0)]
        await send({"type": "http.response.start", "status": status, "headers": []})

    asyncio.run(take_in(app, scope, receive, send, "session", file))
    return answered


def part(body: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


GONE = {"type": "http.disconnect"}


def test_one_that_is_given_up_counts_no_more() -> None:
    assert upload(part(BEGUN, more=True), GONE) == []
    assert not uploads._claims and not uploads._stored


def test_one_that_finds_no_room_is_read_and_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_OF_ONE", 1)
    assert [message["status"] for message in upload(part(WHOLE))] == [204]
    upload(part(BEGUN, more=True), GONE)
    assert not uploads._claims and not uploads._stored


def test_a_session_has_room_for_so_much_and_no_name_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_OF_ONE", 2 * uploads.LEAST)
    for file in ("one", "one", "two", "three"):
        upload(part(WHOLE), file=file)
    assert [file for _, file in uploads._stored] == ["one", "two"]
    assert sum(claim.nbytes for claim in uploads._claims) == uploads.MOST_OF_ONE


def test_all_sessions_together_have_room_for_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIB_UPLOADS_GB", "0.017")
    for file in ("one", "two"):
        upload(part(WHOLE), file=file)
    assert len(uploads._stored) == 1


@pytest.mark.parametrize("headers", [{"transfer-encoding": "chunked"}, {"content-length": ""}])
def test_one_that_says_no_size_is_refused_unread(headers: dict[str, str]) -> None:
    assert [message.get("status") for message in upload(**headers)] == [411, None]


@pytest.mark.parametrize(
    "body", [b"nothing", b"--x--\r\n", BEGUN.replace(b'; filename="a.csv"', b"") + b"\r\n--x--\r\n"]
)
def test_what_is_no_file_is_kept_nowhere(body: bytes) -> None:
    with pytest.raises((MultiPartException, HTTPException), match=r"multipart|a form with one file|Too many fields"):
        upload(part(body))  # Streamlit answers either with 400
    assert not uploads._claims and not uploads._stored


def test_one_that_arrives_counts_until_it_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    upload(part(WHOLE))
    stored = uploads._stored["session", "file"]
    assert stored.filename == "a.csv" and stored.read() == b"1,2\n" * 1000
    stored.key = "upload/main"
    monkeypatch.setattr(uploads, "session_id", lambda: "session")
    monkeypatch.setattr(uploads, "_shown", lambda key: ["file"])
    uploads.forget_unshown()
    assert uploads._stored

    def taken_away_meanwhile(key: str) -> list[str]:
        uploads._stored.clear()
        return []

    monkeypatch.setattr(uploads, "_shown", taken_away_meanwhile)
    uploads.forget_unshown()
    assert not uploads._stored
    assert [claim.nbytes for claim in uploads._claims] == [uploads.LEAST], "who still reads it has it on disk"
    del stored
    assert not uploads._claims
