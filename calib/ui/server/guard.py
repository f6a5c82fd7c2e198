"""Checks of a request before Streamlit sees it: where it comes from, what it asks for, how much it brings."""

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
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes
from streamlit.web.server.server_util import get_url
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from calib.isolation.sandbox import FILTER, missing_protections
from calib.settings import limit, text
from calib.ui.server.memory import MOST_OF_ONE

OPEN = {"health", "host-config", "stream", "upload_file"}
"""Of Streamlit's own addresses, those that its pages ask for. The others tell of all visitors (metrics), run the app
for programs (agent) or serve what no page here has."""
SENT_BY_PAGES = {"rerun_script", "stop_script", "file_urls_request", "app_heartbeat"}
"""Of the messages that Streamlit takes from a browser, those that its pages send here. Others act on all visitors, such
as ``clear_cache``, or on the machine."""
COLLECT_SECONDS = 60
"""Between two collections, each of which takes some 0.2 s in which nothing else runs."""
HERE = {"localhost", "127.0.0.1", "::1"}
"""Names and addresses of this machine for itself."""
TRUSTED = text("CALIB_TRUST_NETWORK") == "yes"
FROM_ELSEWHERE = "This name is for the machine that the app runs on; see CALIB_TRUST_NETWORK in its documentation."
SHUTDOWN_SECONDS = 5
"""After which requests that have not ended are given up when the server ends; Docker waits for 10."""
REFRESH_SHARE = 0.1
"""Seconds between two refreshes of a part of a page, for each open page: each costs 10 ms, so that those of all
visitors together leave the processor to pages, however many they are."""
UNCLAIMED_SECONDS = 60.0
"""Until an uploaded file that no page has taken is dropped, from the end of its session's last upload on."""

_open_pages: set[object] = set()


def refresh_interval(seconds: float) -> float:
    """Seconds between refreshes of a part of a page, given those for a visitor who is alone."""
    return max(seconds, REFRESH_SHARE * len(_open_pages))


def takes_uploads(host: str) -> bool:
    """Return whether visitors who ask for this Host may upload: readers of their files must be closed in."""
    return TRUSTED or FILTER not in missing_protections() or _is_this_machine(host)


def _is_this_machine(host: str) -> bool:
    return is_host_allowed(host) and (urlsplit(f"//{host}").hostname or "").rstrip(".") in HERE


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Around the time in which the app is served: open the browser, collect garbage, let nobody hold up the end."""
    # Streamlit has no options for these two; the server is found as the one that takes the signal. Its option for the
    # size of messages holds for figures too, which are larger than what pages send.
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(server, uvicorn.Server):
        server.config.timeout_graceful_shutdown = SHUTDOWN_SECONDS
        server.config.ws_max_size = get_max_widget_state_size_bytes()
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
        self._drops: dict[
            str, asyncio.TimerHandle
        ] = {}  # of files that no page has taken, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        peer = (scope.get("client") or ("::1", 0))[0].removeprefix(
            "::ffff:"
        )  # none where the server starts
        if (
            not TRUSTED
            and peer not in HERE
            and _is_this_machine(Headers(scope=scope).get("host", ""))
        ):
            await PlainTextResponse(FROM_ELSEWHERE, 403)(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
            return
        if scope["type"] == "http":
            match scope["path"].partition("/_stcore/")[2].split("/"):
                case ["upload_file", session, _] if scope["method"] == "PUT":
                    await self._take_in(scope, receive, send, session)
                    return
                case [name, *_] if name and name not in OPEN:
                    await PlainTextResponse("Not found", 404)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page connect that the app itself has served, or whose origin was configured."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        host = headers.get("host")
        if origin not in (None, f"http://{host}", f"https://{host}"):
            if origin not in st.get_option("server.corsAllowedOrigins") and st.get_option(
                "server.enableCORS"
            ):
                logging.getLogger("calib").warning(
                    "a page with a disallowed Origin asked to connect and was refused"
                )
                return await send({"type": "websocket.close", "code": 1008})
            scope = {
                **scope,
                "headers": [(name, value) for name, value in scope["headers"] if name != b"origin"],
            }

        async def receive_from_pages() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive" or _sent_by_a_page(
                    message.get("bytes") or b""
                ):
                    return message

        _open_pages.add(receive_from_pages)
        try:
            await self._app(scope, receive_from_pages, send)
        finally:
            _open_pages.remove(receive_from_pages)

    async def _take_in(self, scope: Scope, receive: Receive, send: Send, session: str) -> None:
        """Let Streamlit take an upload, which it counts while it comes, if its session and the server have room for it.

        What a page has seen is on disk (:mod:`calib.ui.server.uploads`), and what it has not is in memory.
        """
        headers = Headers(scope=scope)
        if not takes_uploads(headers.get("host", "")):
            return await PlainTextResponse("Files of other machines are refused.", 403)(
                scope, receive, send
            )
        size = int(headers.get("content-length", 0))
        if "transfer-encoding" in headers:  # in chunks as many bytes may come as Streamlit takes
            size = int(st.get_option("server.maxUploadSize")) << 20
        arriving = Counter({session: size})
        totals = self._arriving.copy()
        for name, files in list(_uploaded().file_storage.items()):
            totals[name] += sum(len(file.data) for file in list(files.values()))
        totals += arriving
        room = limit("CALIB_UPLOADS_GB") * 1e9
        if totals[session] > min(MOST_OF_ONE, room / 2) or totals.total() > room:
            return await PlainTextResponse("There is no room for this file now.", 413)(
                scope, receive, send
            )
        self._arriving += arriving
        if session in self._drops:
            self._drops.pop(session).cancel()
        try:
            await self._app(scope, receive, send)
        finally:
            self._arriving -= arriving
            if not self._arriving[
                session
            ]:  # a browser tells the page of several files once all have arrived
                later = asyncio.get_running_loop().call_later
                self._drops[session] = later(UNCLAIMED_SECONDS, self._drop_unclaimed, session)

    def _drop_unclaimed(self, session: str) -> None:
        del self._drops[session]
        for file in list(_uploaded().file_storage.get(session, {}).values()):
            if file.data:
                _uploaded().remove_file(session, file.file_id)


def _uploaded() -> Any:
    """Streamlit's manager of the uploaded files that are in memory."""
    return runtime.get_instance().uploaded_file_mgr


def _sent_by_a_page(content: bytes) -> bool:
    try:
        return BackMsg.FromString(content).WhichOneof("type") in SENT_BY_PAGES
    except DecodeError:
        return True  # Streamlit ends the connection
