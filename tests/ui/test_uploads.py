"""Uploads that are given up on the way, or taken away while their page runs, leave nothing that counts."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from calib.ui.server import uploads
from calib.ui.server.uploads import Receive, Scope, Send, StoredUpload, take_in

BEGUN = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n' + b"1,2\n" * 1000
WHOLE = BEGUN + b"\r\n--x--\r\n"


@pytest.fixture(autouse=True)
def nobody_else() -> Iterator[None]:
    uploads.claims.clear()
    uploads._stored.clear()
    gc.disable()  # nothing here may wait for the collector
    yield
    gc.enable()
    uploads.claims.clear()
    uploads._stored.clear()


def upload(*messages: dict[str, Any], nbytes: int = 900_000, status: int = 204) -> list[dict[str, Any]]:
    """Send messages to the endpoint; what it answers, with an app that reads all and answers with a status."""
    headers = [(b"content-length", b"%d" % nbytes), (b"content-type", b"multipart/form-data; boundary=x")]
    scope = {"type": "http", "method": "PUT", "path": "/", "headers": headers, "client": ("192.0.2.1", 1)}
    coming, answered = iter(messages), []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        answered.append(message)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": []})

    asyncio.run(take_in(app, scope, receive, send, "session", "file"))
    return answered


def part(body: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


GONE = {"type": "http.disconnect"}


def test_one_that_is_given_up_counts_no_more() -> None:
    assert upload(part(BEGUN, more=True), GONE) == []
    assert uploads.claims.holders() == [] and not uploads._stored


def test_one_that_streamlit_refuses_counts_no_more() -> None:
    assert [message["status"] for message in upload(part(WHOLE), status=400)] == [400]
    assert uploads.claims.holders() == [] and not uploads._stored


def test_one_that_finds_no_room_may_be_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_OF_ONE", 1)
    upload(part(BEGUN, more=True), GONE)
    assert uploads.claims.holders() == []


def test_one_that_arrives_counts_until_it_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    upload(part(WHOLE))
    (claim,) = uploads.claims.holders()
    assert claim.nbytes == uploads.LEAST
    uploads._stored["session", "file"].key = "upload/main"
    del claim
    monkeypatch.setattr(uploads, "_session_id", lambda: "session")
    monkeypatch.setattr(uploads, "_shown", lambda key: [SimpleNamespace(file_id="file")])
    uploads.forget_unshown()
    assert len(uploads.claims.holders()) == 1

    def taken_away_meanwhile(key: str) -> list[StoredUpload]:
        uploads._stored.clear()
        return []

    monkeypatch.setattr(uploads, "_shown", taken_away_meanwhile)
    uploads.forget_unshown()
    assert uploads.claims.holders() == []
