"""Uploaded files: on disk from their first byte, and gone when no page shows them any more.

Streamlit keeps the bytes of every upload in memory for as long as a session lives, whether or not anything reads them:
eight files of 200 MB took 1.9 GB. Here they are written to a file without a name in the temporary folder while they
arrive, and Streamlit is handed an empty file in their place: its checks of the token and the session and its widget
work as always.
"""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from weakref import WeakSet

import streamlit as st
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.uploaded_file_manager import UploadedFile

from calib.data.limits import MAX_UPLOAD, megabytes
from calib.settings import limit
from calib.ui.server.memory import MOST_OF_ONE
from calib.ui.server.presence import session_id

Place = tuple[str, str]
"""A session and one of its files, by Streamlit's names."""

LARGEST = max(1, MAX_UPLOAD // 2**20)
"""Of one file, in Streamlit's unit; an uploader that is given it says so and refuses what is larger by itself."""
SURROUNDINGS = 1 << 20
"""Bytes that a form may have beside its file."""
LEAST = 16_000_000
"""Bytes that a file counts at least: it takes one of the files that a process may have open."""
ON_DISK = "on disk"
"""What Streamlit knows every file as that this server took in."""
STAND_IN = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{ON_DISK}"\r\n\r\n\r\n--x--\r\n'.encode()
"""The form that Streamlit is handed in place of one with a file."""


@dataclass(eq=False)
class Claim:
    """Bytes of a session's on disk or on their way there; counted for as long as this object lives."""

    session: str
    nbytes: int


class StoredUpload(io.BufferedReader):
    """An uploaded file on disk, to be read; it has no name there and is gone with this object.

    Attributes
    ----------
    file_id : tells it from every other upload.
    filename : as the visitor's browser called it.
    key : of the widget that shows it, once a page has drawn it.
    made : what a page keeps of what it read, as long as the file is there.
    """

    def __init__(self, file_id: str, filename: str, descriptor: int, claim: Claim | None = None):
        super().__init__(io.FileIO(descriptor, "rb"))
        self.file_id, self.filename, self.key, self._claim = file_id, filename, "", claim
        self.made: Any = None

    def __del__(self) -> None:
        self.close()


_claims: WeakSet[Claim] = WeakSet()
_arriving: set[Place] = set()
_stored: dict[Place, StoredUpload] = {}


def uploaders(label: str, key: str, help: str | None = None, several: bool = True) -> list[StoredUpload]:
    """A place for files of at most :data:`LARGEST` MB, and those that were put there, each at its beginning."""
    given = st.file_uploader(label, key=key, help=help, accept_multiple_files=several, max_upload_size=LARGEST)
    files = given if isinstance(given, list) else [given]
    found = [_find(file, key) for file in files if isinstance(file, UploadedFile)]
    if None in found:
        st.error(
            f"There is no room for this file: your uploaded files may take {megabytes(MOST_OF_ONE)} together, and "
            f"those of all visitors {megabytes(int(limit('CALIB_UPLOADS_GB') * 1e9))}; a small file counts "
            f"{megabytes(LEAST)}. Remove files that you no longer need, or try again in some minutes.",
            icon=":material/error:",
        )
    return [file for file in found if file is not None]


def uploader(label: str, key: str, help: str | None = None) -> StoredUpload | None:
    """The same for one file."""
    return next(iter(uploaders(label, key, help, several=False)), None)


def all_made() -> list[Any]:
    """What pages keep of what they read of the visitor's files."""
    return [stored.made for place, stored in list(_stored.items()) if place[0] == session_id()]


def forget_unshown() -> None:
    """Drop the visitor's files whose uploader is empty or on a page that was left; called on every run."""
    for place, stored in list(_stored.items()):
        if place[0] == session_id() and stored.key and place[1] not in _shown(stored.key):
            _stored.pop(place, None)  # another visitor's thread may have found it ended
    forget_ended()


def forget_ended() -> None:
    """Drop files that Streamlit knows no more: their session has ended, or they were taken away in the browser."""
    if not runtime.exists():
        return
    known = runtime.get_instance().uploaded_file_mgr.get_files
    for place in list(_stored):
        if place not in _arriving and not known(place[0], [place[1]]):
            _stored.pop(place, None)


def _shown(key: str) -> list[str]:
    """The files that an uploader shows."""
    value = st.session_state.get(key)
    return [file.file_id for file in (value if isinstance(value, list) else [value]) if isinstance(file, UploadedFile)]


def _find(file: UploadedFile, key: str) -> StoredUpload | None:
    """The file behind one that Streamlit knows; None if there was no room for it."""
    place = session_id(), file.file_id
    if file.name != ON_DISK and place not in _stored:  # no server took it in: the page runs by itself, in a test
        with tempfile.TemporaryFile() as copy:
            copy.write(file.getvalue())
            copy.flush()
            _stored[place] = StoredUpload(file.file_id, file.name, os.dup(copy.fileno()))
    stored = _stored.get(place)
    if stored is not None:
        stored.key = key
        stored.seek(0)
    return stored


def _has_room(claim: Claim) -> bool:
    """Whether the session, and all together, may have so many bytes more on disk."""
    forget_ended()
    claims = list(_claims)
    own = sum(other.nbytes for other in claims if other.session == claim.session)
    everybodys = sum(other.nbytes for other in claims)
    return own + claim.nbytes <= MOST_OF_ONE and everybodys + claim.nbytes <= limit("CALIB_UPLOADS_GB") * 1e9


async def take_in(app: ASGIApp, scope: Scope, receive: Receive, send: Send, session: str, file_id: str) -> None:
    """Answer an upload: let Streamlit check and note it, and keep its bytes on disk.

    What says no size, or is larger than a file may be, is refused before any of it is read. What there is no room for
    is read and kept nowhere, and answered as if it were: of another answer, Streamlit's page shows the status alone,
    and the sentence of :func:`uploaders` would not be seen.
    """
    headers = Headers(scope=scope)
    announced = headers.get("content-length", "")
    if not announced.isdecimal() or "transfer-encoding" in headers:  # in chunks any number of bytes may come
        refusal = PlainTextResponse("An upload must say its size, in Content-Length alone.", HTTPStatus.LENGTH_REQUIRED)
        return await refusal(scope, receive, send)
    if int(announced) > LARGEST * 2**20 + SURROUNDINGS:
        refusal = PlainTextResponse(
            f"A file may have {LARGEST:,} MB of 2^20 bytes.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        )
        return await refusal(scope, receive, send)
    place, claim = (session, file_id), Claim(session, max(int(announced), LEAST))

    async def emptied() -> Message:
        """Called once Streamlit has checked the token and the session."""
        request = Request(scope, receive)
        if place not in _arriving and place not in _stored and _has_room(claim):
            _claims.add(claim)
            _arriving.add(place)
            _stored[place] = await _read(request, file_id, claim)
        else:
            async for _ in request.stream():
                pass
        return {"type": "http.request", "body": STAND_IN, "more_body": False}

    try:
        with suppress(ClientDisconnect):  # the visitor gave it up
            await app(_with_form(scope), emptied, send)
    finally:
        if claim in _claims:
            _arriving.discard(place)
        if place not in _stored:
            _claims.discard(claim)  # at once: what failed may live on in a traceback
        if runtime.exists() and not runtime.get_instance().is_active_session(session):  # it ended meanwhile
            _stored.pop(place, None)
        forget_ended()


def _with_form(scope: Scope) -> Scope:
    """The request with the headers of :data:`STAND_IN`."""
    own = {b"content-type": b"multipart/form-data; boundary=x", b"content-length": b"%d" % len(STAND_IN)}
    return {**scope, "headers": [(name, own.get(name, value)) for name, value in scope["headers"]]}


async def _read(request: Request, file_id: str, claim: Claim) -> StoredUpload:
    """Read a form with one file to disk."""
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=0)
    parser.spool_max_size = 1  # all of it on disk
    try:
        form = await parser.parse()
    except OSError as error:
        no_room = "The server has no room for this file now. Try again in some minutes."
        raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, no_room) from error
    file = next(iter(form.values()), None)
    if not isinstance(file, UploadFile):
        raise HTTPException(HTTPStatus.BAD_REQUEST, "An upload is a form with one file.")
    with file.file:
        file.file.flush()
        return StoredUpload(file_id, file.filename or "", os.dup(file.file.fileno()), claim)
