"""What a request must pass before Streamlit sees it: where it comes from, what it asks for, how much it brings."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import threading
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
import uvicorn
from google.protobuf.message import DecodeError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.server_util import get_url

from calib.isolation.sandbox import FILTER, missing_protections
from calib.settings import limit
from calib.ui.server.memory import MOST_OF_ONE

OPEN = {"health", "host-config", "stream", "upload_file"}
"""Of Streamlit's own addresses, those that its pages ask for. The others tell of all visitors (metrics), run the app
for programs (agent) or serve what no page here has."""
SENT_BY_PAGES = {"rerun_script", "stop_script", "file_urls_request", "app_heartbeat"}
"""Of the messages that Streamlit takes from a browser, those that its pages send here. Others act on all visitors, such
as ``clear_cache``, or on the machine."""
CLOSED = {"auth", "oauth2callback", "component"}
"""Addresses of logins and of components, of which there are none."""
COLLECT_SECONDS = 60
"""Between two collections, each of which takes some 0.2 s in which nothing else runs."""
HERE = {"localhost", "127.0.0.1", "::1"}
"""Names by which nobody but this machine reaches a server."""
SHUTDOWN_SECONDS = 5
"""After which requests that have not ended are given up when the server ends; Docker waits for 10."""
REFRESH_SHARE = 0.1
"""Seconds between two refreshes of a part of a page, for each open page: each costs 10 ms, so that those of all
visitors together leave the processor to pages, however many they are."""

_open_pages: set[object] = set()


def refresh_interval(seconds: float) -> float:
    """Seconds between refreshes of a part of a page, given those for a visitor who is alone."""
    return max(seconds, REFRESH_SHARE * len(_open_pages))


def check_readers() -> None:
    """End a server for others on a system where a reader of their files cannot be closed in.

    Raises
    ------
    SystemExit
        With one sentence.
    """
    hosts = st.get_option("server.allowedHosts")  # none of them lets in all
    if FILTER in missing_protections() and not (hosts and HERE.issuperset(hosts)):
        raise SystemExit(
            f"calib is not started for {', '.join(hosts) or 'every host'}: this system has no filter of system calls "
            "for what reads uploads, so that a hostile file could do whatever you can; run it in a Linux container "
            "(docker compose up)."
        )


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Around the time in which the app is served: open the browser, collect garbage, let nobody hold up the end."""
    # Streamlit has no option for this; the server is found as the one that takes the signal.
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):
        server.config.timeout_graceful_shutdown = SHUTDOWN_SECONDS
    if not st.get_option("server.headless"):
        address = get_url(st.get_option("browser.serverAddress"))
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    collecting = asyncio.create_task(_collect())
    yield
    collecting.cancel()


async def _collect() -> None:
    """Free what only refers to itself, as ended sessions do, whose uploaded files go with them."""
    while True:
        await asyncio.sleep(COLLECT_SECONDS)
        gc.collect()


class Guard:
    """Refuses pages of other origins, closes what no page needs, and counts uploads.

    Streamlit compares an origin that it does not know with the machine's external address, and asks a service outside
    for it, on the thread that serves everybody: where names are not looked up, that takes 20 s. It lets in every port
    of this machine too. Here a WebSocket is opened for the origin that the app itself has in the browser, and for those
    of ``server.corsAllowedOrigins``; Streamlit is handed none that it would look up.
    """

    def __init__(self, app: ASGIApp):
        self._app = app
        self._arriving: Counter[str] = Counter()  # bytes of uploads on their way, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        if scope["type"] == "websocket":
            return await self._connect(scope, receive, send)
        if scope["type"] == "http":
            match _below_the_base(scope["path"]):
                case ["_stcore", "upload_file", session, _] if scope["method"] == "PUT":
                    return await self._take_in(scope, receive, send, session)
                case ["_stcore", name, *_] if name not in OPEN:
                    return await PlainTextResponse("Not found", 404)(scope, receive, send)
                case [name, *_] if name in CLOSED:
                    return await PlainTextResponse("Not found", 404)(scope, receive, send)
        await self._app(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page connect that the app itself has served, or whose origin was configured."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            if origin not in st.get_option("server.corsAllowedOrigins") and st.get_option("server.enableCORS"):
                logging.getLogger("calib").warning("a page with a disallowed Origin asked to connect and was refused")
                return await send({"type": "websocket.close", "code": 1008})
            scope = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"origin"]}
        _open_pages.add(page := object())
        try:
            await self._app(scope, _of_pages(receive), send)
        finally:
            _open_pages.remove(page)

    async def _take_in(self, scope: Scope, receive: Receive, send: Send, session: str) -> None:
        """Let Streamlit take an upload, which it counts while it comes, if its session and the server have room for it.

        What a page has seen is on disk (:mod:`calib.ui.server.uploads`), and what it has not is in memory.
        """
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "")
        if not announced.isdecimal() or "transfer-encoding" in headers:  # in chunks any number of bytes may come
            refusal = PlainTextResponse("An upload must say its size, in Content-Length alone.", 411)
            return await refusal(scope, receive, send)
        arriving, held = Counter({session: int(announced)}), self._arriving.copy()
        for name, files in list(_file_storage().items()):
            held[name] += sum(len(file.data) for file in list(files.values()))
        held += arriving
        if held[session] > MOST_OF_ONE or held.total() > limit("CALIB_UPLOADS_GB") * 1e9:
            return await PlainTextResponse("There is no room for this file now.", 413)(scope, receive, send)
        self._arriving += arriving
        try:
            await self._app(scope, receive, send)
        finally:
            self._arriving -= arriving


def _file_storage() -> dict[str, dict[str, Any]]:
    """The uploads of each session that are in Streamlit's memory."""
    manager: Any = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    return {} if manager is None else manager.file_storage


def _of_pages(receive: Receive) -> Receive:
    """The messages of a WebSocket without those that no page sends; they are dropped."""

    async def received() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive" or _sent_by_a_page(message.get("bytes") or b""):
                return message

    return received


def _sent_by_a_page(content: bytes) -> bool:
    message = BackMsg()
    try:
        message.ParseFromString(content)
    except DecodeError:
        return True  # Streamlit ends the connection
    return message.WhichOneof("type") in SENT_BY_PAGES


def _below_the_base(path: str) -> list[str]:
    """The parts of an address, without those of the path that the app is served under."""
    parts = [part for part in path.split("/") if part]
    above = [part for part in str(st.get_option("server.baseUrlPath")).split("/") if part]
    return parts[len(above) :] if parts[: len(above)] == above else parts
