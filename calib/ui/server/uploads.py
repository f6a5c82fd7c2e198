"""Uploaded files: on disk from their first byte, counted by visitor, and gone when no page shows them any more.

Streamlit keeps the bytes of an upload in memory until two minutes after its page was closed, whether or not anything
has read them. Here they are written to a file without a name in the temporary folder while they arrive, and Streamlit
is handed the same form with an empty file: its checks of the token and the session, its bookkeeping and its widget work
as always, and what it holds is a name.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile

from calib.data import DataError, Finding
from calib.data.limits import MAX_UPLOAD, megabytes
from calib.settings import limit
from calib.ui.server.memory import MOST_OF_ONE
from calib.ui.server.shares import Shares, network

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST = max(1, MAX_UPLOAD // 2**20)
"""Of one file, in Streamlit's unit; an uploader that is given it says so and refuses what is larger by itself."""
SURROUNDINGS = 1 << 20
"""Bytes that a form may have beside its file."""
NO_CONTENT, LENGTH_REQUIRED, TOO_LARGE, NO_SPACE = 204, 411, 413, 507
"""Statuses of HTTP."""


LEAST = 16_000_000
"""Bytes that a file counts at least: it takes one of the files that a process may have open."""
MOST_REFUSED = 256
"""Refusals that are remembered until their page asks for them."""


@dataclass(eq=False)
class Claim:
    """Bytes of a visitor's that are on disk or on their way there; counted for as long as this object lives."""

    nbytes: int
    session_id: str


class StoredUpload(io.BufferedReader):
    """An uploaded file on disk, to be read; it has no name there and is gone with this object.

    Attributes
    ----------
    file_id : tells it from every other upload.
    filename : as the visitor's browser called it.
    key : of the widget that shows it, once a page has drawn it.
    """

    def __init__(self, file_id: str, filename: str, descriptor: int, claim: Claim | None = None):
        super().__init__(io.FileIO(descriptor, "rb"))
        self.file_id, self.filename, self.key, self._claim = file_id, filename, "", claim

    def __del__(self) -> None:
        self.close()


claims: Shares[Claim] = Shares()
_stored: dict[tuple[str, str], StoredUpload] = {}
"""By session and file."""
_refused: dict[tuple[str, str], str] = {}
"""Why, by session and file."""


def uploaders(label: str, key: str, help: str | None = None, several: bool = True) -> list[StoredUpload]:
    """A place for files of at most :data:`LARGEST` MB, and those that were put there, each at its beginning.

    Below it stands why any of them was refused.
    """
    st.file_uploader(label, key=key, help=help, accept_multiple_files=several, max_upload_size=LARGEST)
    for sentence in {_refused.get((_session_id(), file.file_id)): None for file in _shown(key)}:
        if sentence:
            st.error(sentence, icon=":material/error:")
    return [_find(file, key) for file in _shown(key) if isinstance(file, UploadedFile)]


def uploader(label: str, key: str, help: str | None = None) -> StoredUpload | None:
    """The same for one file."""
    return next(iter(uploaders(label, key, help, several=False)), None)


def forget_unshown() -> None:
    """Drop the visitor's files whose uploader is empty or on a page that was left; called on every run."""
    mine = [(place, stored.key) for place, stored in list(_stored.items()) if place[0] == _session_id()]
    for place, key in mine:
        if key and place[1] not in [file.file_id for file in _shown(key)]:
            _stored.pop(place, None)  # another visitor's thread may have found it taken away
    forget_ended()


def forget_ended() -> None:
    """Drop files that Streamlit knows no more: their session has ended, or they were taken away in the browser."""
    known = runtime.get_instance().uploaded_file_mgr.get_files if runtime.exists() else None
    for place in list(_stored):
        if known is not None and not known(place[0], [place[1]]):
            _stored.pop(place, None)


def _session_id() -> str:
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def _shown(key: str) -> list[UploadedFile | DeletedFile]:
    """What an uploader shows; of refused files Streamlit knows nothing and takes them for deleted ones."""
    value = st.session_state.get(key)
    files = value if isinstance(value, list) else [value]
    return [file for file in files if isinstance(file, (UploadedFile, DeletedFile))]


def _find(file: UploadedFile, key: str) -> StoredUpload:
    stored = _stored.get((_session_id(), file.file_id))
    if stored is None:  # no server took it in: the page runs by itself, in a test
        with tempfile.TemporaryFile() as copy:
            copy.write(file.getvalue())
            copy.flush()
            stored = StoredUpload(file.file_id, file.name, os.dup(copy.fileno()))
    stored.key = key
    stored.seek(0)
    return stored


async def take_in(app: Asgi, scope: Scope, receive: Receive, send: Send, session_id: str, file_id: str) -> None:
    """Answer an upload: let Streamlit check and note it, and keep its bytes on disk.

    What says no size, or is larger than a file may be, is refused before any of it is read. What would take more of the
    temporary folder than there is for the session, the address or everybody is read and kept nowhere, and answered as
    if it were: of another answer, Streamlit's page shows the status alone, and our sentence would not be seen.
    """
    headers = Headers(scope=scope)
    announced = headers.get("content-length", "")
    if not announced.isdecimal() or "transfer-encoding" in headers:  # in chunks any number of bytes may come
        refusal = PlainTextResponse("An upload must say its size, in Content-Length alone.", LENGTH_REQUIRED)
        return await refusal(scope, receive, send)
    if int(announced) > LARGEST * 2**20 + SURROUNDINGS:
        refusal = PlainTextResponse(f"A file may have {LARGEST:,} MB of 2^20 bytes.", TOO_LARGE)
        return await refusal(scope, receive, send)
    try:
        claim = _claim(max(int(announced), LEAST), session_id, scope["client"])
    except DataError as error:
        with suppress(ClientDisconnect):
            async for _ in Request(scope, receive).stream():
                pass
        _refused[session_id, file_id] = str(error)
        while len(_refused) > MOST_REFUSED:
            del _refused[next(iter(_refused))]
        return await Response(status_code=NO_CONTENT)(scope, receive, send)
    arrived: list[StoredUpload] = []
    kept = False

    async def emptied() -> MutableMapping[str, Any]:
        form, stored = await _read(Request(scope, receive), file_id, claim)
        arrived.extend(stored)
        return {"type": "http.request", "body": form, "more_body": False}

    async def noted(message: MutableMapping[str, Any]) -> None:
        nonlocal kept
        if message["type"] == "http.response.start" and message["status"] == NO_CONTENT and arrived:
            _stored[session_id, file_id], kept = arrived.pop(), True
        await send(message)

    try:
        await app(scope, emptied, noted)
    except ClientDisconnect:
        pass  # the visitor gave it up
    finally:
        if not kept:
            claims.dismiss(claim)  # at once: what failed may live on in a traceback


def _claim(nbytes: int, session_id: str, client: tuple[str, int] | None) -> Claim:
    """Count what is announced, or raise DataError if there is no room for it."""
    forget_ended()
    claim = Claim(nbytes, session_id)
    own = sum(other.nbytes for other in claims.holders() if other.session_id == session_id)
    if own + nbytes > MOST_OF_ONE:
        raise DataError([Finding("error", "session_full", (
            f"This file takes {megabytes(nbytes)} and your other uploaded files {megabytes(own)}, of the "
            f"{megabytes(MOST_OF_ONE)} that one visitor may take on disk; a small file counts {megabytes(LEAST)}."
        ), "Remove files that you no longer need, or upload a smaller one.")])  # fmt: skip
    address, most = network(client and client[0]), limit("CALIB_UPLOADS_GB") * 1e9
    claims.admit(claim, address, most, what="This upload needs", things="uploaded files")
    return claim


async def _read(request: Request, file_id: str, claim: Claim) -> tuple[bytes, list[StoredUpload]]:
    """Read a form; the same form with empty files, and the files, which are on disk."""
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=0)
    parser.spool_max_size = 1  # all of it on disk
    try:
        form = await parser.parse()
    except OSError as error:
        raise HTTPException(NO_SPACE, "The server has no room for this file now. Try again in some minutes.") from error
    boundary = b"--" + parse_options_header(request.headers["content-type"])[1][b"boundary"]
    empty, stored = b"", []
    for file in form.values():
        assert isinstance(file, UploadFile)
        with file.file:
            file.file.flush()
            stored.append(StoredUpload(file_id, file.filename or "", os.dup(file.file.fileno()), claim))
        header = b"\r\n".join(name + b": " + value for name, value in file.headers.raw)
        empty += boundary + b"\r\n" + header + b"\r\n\r\n\r\n"
    return empty + boundary + b"--\r\n", stored
