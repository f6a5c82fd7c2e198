"""One visitor of the app without a browser: Streamlit's own messages over its websocket and its upload endpoint."""

from __future__ import annotations

import asyncio
import http.client
import io
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from tests.conftest import simulate

ENDED = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}
"""Ends of a run after which no other follows by itself."""

PATIENCE = 600.0
"""Seconds after which a run is given up."""


@dataclass(frozen=True)
class Run:
    """One rerun as a visitor met it: from its request to the end of the script, whatever reruns of its own it had."""

    what: str
    kind: Literal["page", "part"]
    seconds: float
    at: float


@dataclass
class Visitor:
    """A connected visitor, who looks at one page and asks for one run at a time.

    Attributes
    ----------
    url : of the server, such as ``http://127.0.0.1:8501``.
    runs : all runs so far.
    troubles : exceptions, error boxes and failed runs.
    elements : what the page shows, by place.
    timers : parts of the page that refresh themselves: seconds between refreshes and the next one's time, by fragment.
    """

    url: str
    runs: list[Run] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)
    timers: dict[str, tuple[float, float]] = field(default_factory=dict)
    _line: ClientConnection | None = None
    _session: str = ""
    _query: str = ""
    _page: str = ""
    _widgets: dict[str, WidgetState] = field(default_factory=dict)
    _cached: dict[str, ForwardMsg] = field(default_factory=dict)
    _fragments: dict[tuple[int, ...], str] = field(default_factory=dict)
    _xsrf: str = ""

    async def arrive(self) -> None:
        """Open the first page."""
        self._xsrf = await asyncio.to_thread(self._cookie)
        address = f"{self.url.replace('http', 'ws', 1)}/_stcore/stream"
        headers = {"Cookie": f"_streamlit_xsrf={self._xsrf}"}
        self._line = await connect(
            address, origin=self.url, subprotocols=["streamlit", self._xsrf], additional_headers=headers,
            max_size=None, open_timeout=PATIENCE, ping_timeout=None,
        )  # fmt: skip
        await self.run("Data")

    async def leave(self) -> None:
        """Close the tab."""
        if self._line is not None:
            await self._line.close()

    async def go(self, page: str) -> None:
        """Follow the menu's link to a page, by its title."""
        links = [e.page_link for e in self.elements.values() if e.WhichOneof("type") == "page_link"]
        found = [link for link in links if link.label == page]
        if not found:
            raise LookupError(f"the menu has no {page}: {[link.label for link in links]}")
        self._page = found[0].page_script_hash
        self._widgets.clear()
        self.timers.clear()
        await self.run(page)

    async def click(self, key: str) -> None:
        """Press a button, by its key."""
        await self.run(key, WidgetState(id=self.widget(key), trigger_value=True))

    async def check(self, key: str) -> None:
        """Tick a box, by its key."""
        await self.run(key, WidgetState(id=self.widget(key), bool_value=True))

    async def upload(self, key: str, name: str, content: bytes) -> None:
        """Give a file to an uploader, by its key: to the endpoint first, then to the page."""
        assert self._line is not None
        asked = BackMsg()
        asked.file_urls_request.request_id = uuid.uuid4().hex
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self._session
        await self._line.send(asked.SerializeToString())
        while (answer := await self._receive()).WhichOneof("type") != "file_urls_response":
            self._take(answer)
        (urls,) = answer.file_urls_response.file_urls
        status = await asyncio.to_thread(self._put, urls.upload_url, name, content)
        if status != 204:
            self.troubles.append(f"the upload was answered with {status}")
            return
        state = WidgetState(id=self.widget(key))
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(content), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._widgets[state.id] = state
        await self.run("upload")

    @property
    def address(self) -> str:
        """The query of the page's address, in which the link to the visitor's data stands."""
        return self._query

    async def run(self, what: str, state: WidgetState | None = None, fragment: str = "") -> None:
        """Ask for a run and wait for its end; a widget's new value stays, a click does not."""
        if state is not None and state.WhichOneof("value") != "trigger_value":
            self._widgets[state.id] = state
        if state is not None and not fragment:
            fragment = self._fragment_of(state.id)
        started = time.monotonic()
        await self._ask(state, fragment)
        kind: Literal["page", "part"] = "part" if fragment else "page"
        shown: set[tuple[int, ...]] = set()
        whole = kind == "page"
        while True:
            message = await self._receive()
            kept = self._take(message)
            if kept is not None:
                shown.add(kept)
            if message.WhichOneof("type") == "new_session" and whole:
                shown.clear()
                self.timers.clear()
            if message.WhichOneof("type") == "script_finished":
                if message.script_finished in ENDED:
                    break
                whole = True  # a part may ask for the whole page anew
                if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    self.troubles.append(f"{what}: the script could not be read")
                    break
        now = time.monotonic()
        self.runs.append(Run(what, kind, now - started, now))
        if whole:
            self.elements = {
                place: element for place, element in self.elements.items() if place in shown
            }
            self._fragments = {
                place: name for place, name in self._fragments.items() if place in shown
            }
        self._look_for_trouble(what)

    def head_of_an_upload(self, nbytes: int) -> bytes:
        """The beginning of a request that uploads so many bytes, up to its body."""
        return (
            f"PUT /_stcore/upload_file/{self._session}/{uuid.uuid4()} HTTP/1.1\r\nHost: {urlsplit(self.url).netloc}\r\n"
            f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {nbytes}\r\n"
            f"Cookie: _streamlit_xsrf={self._xsrf}\r\nX-Xsrftoken: {self._xsrf}\r\n\r\n"
        ).encode()

    async def put(self, content: bytes) -> int:
        """Send a file to the endpoint without giving it to a page; the status of the answer."""
        return await asyncio.to_thread(
            self._put, f"/_stcore/upload_file/{self._session}/{uuid.uuid4()}", "a", content
        )

    async def stay(self, seconds: float) -> None:
        """Look at the page for a while; its parts refresh themselves meanwhile, as they do in a browser."""
        until = time.monotonic() + seconds
        while True:
            due = min(self.timers.items(), key=lambda timer: timer[1][1], default=None)
            now = time.monotonic()
            if due is None or due[1][1] > until:
                await asyncio.sleep(max(0.0, until - now))
                return
            fragment, (interval, at) = due
            await asyncio.sleep(max(0.0, at - now))
            await self.run(f"refresh every {interval:g} s", fragment=fragment)
            if fragment in self.timers:
                self.timers[fragment] = (interval, time.monotonic() + interval)

    def texts(self) -> Iterator[str]:
        """What the page says."""
        for element in self.elements.values():
            kind = element.WhichOneof("type")
            if kind == "progress":
                yield element.progress.text
            elif kind in ("markdown", "alert", "heading", "text"):
                yield getattr(element, kind).body

    def widget(self, key: str) -> str:
        """The id of the widget with this key on the page."""
        for element in self.elements.values():
            body: Any = getattr(element, element.WhichOneof("type") or "empty")
            if str(getattr(body, "id", "")).endswith(f"-{key}"):
                return body.id
        raise LookupError(f"there is no {key} on this page: {list(self.texts())[:8]}")

    async def _ask(self, state: WidgetState | None, fragment: str) -> None:
        assert self._line is not None
        message = BackMsg()
        client = message.rerun_script
        client.query_string, client.page_script_hash, client.fragment_id = (
            self._query,
            self._page,
            fragment,
        )
        client.widget_states.widgets.extend(self._widgets.values())
        if state is not None and state.id not in self._widgets:
            client.widget_states.widgets.append(state)
        client.cached_message_hashes.extend(self._cached)
        client.context_info.timezone = "UTC"
        client.context_info.url = f"{self.url}/"
        await self._line.send(message.SerializeToString())

    async def _receive(self) -> ForwardMsg:
        assert self._line is not None
        content = await asyncio.wait_for(self._line.recv(), PATIENCE)
        message = ForwardMsg()
        message.ParseFromString(content)
        if message.WhichOneof("type") == "ref_hash":
            known = ForwardMsg()
            known.CopyFrom(self._cached[message.ref_hash])
            known.metadata.CopyFrom(message.metadata)
            return known
        if message.metadata.cacheable:
            self._cached[message.hash] = message
        return message

    def _take(self, message: ForwardMsg) -> tuple[int, ...] | None:
        """Let a message change what is shown; the place of an element that it brought."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            new = message.new_session
            self._session = new.initialize.session_id or self._session
            self._page = new.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            interval = message.auto_rerun.interval
            self.timers[message.auto_rerun.fragment_id] = (interval, time.monotonic() + interval)
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self.timers.pop(fragment, None)
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            place = tuple(message.metadata.delta_path)
            self.elements[place] = message.delta.new_element
            self._fragments[place] = message.delta.fragment_id
            return place
        return None

    def _fragment_of(self, widget: str) -> str:
        """The part of the page that a widget stands in, which alone runs anew; none if it is in no such part."""
        for place, element in self.elements.items():
            body: Any = getattr(element, element.WhichOneof("type") or "empty")
            if getattr(body, "id", "") == widget:
                return self._fragments.get(place, "")
        return ""

    def _look_for_trouble(self, what: str) -> None:
        for element in self.elements.values():
            kind = element.WhichOneof("type")
            if kind == "exception":
                self.troubles.append(
                    f"{what}: {element.exception.type} {element.exception.message}"
                )
            elif kind == "alert" and element.alert.format == element.alert.ERROR:
                self.troubles.append(f"{what}: {element.alert.body}")

    def _cookie(self) -> str:
        """The token against requests of other sites, as a page load brings it."""
        line = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)
        line.request("GET", "/_stcore/health")
        answer = line.getresponse()
        answer.read()
        found = re.search(r"_streamlit_xsrf=([^;]+)", answer.headers.get("Set-Cookie", ""))
        line.close()
        return found.group(1) if found else ""

    def _put(self, path: str, name: str, content: bytes) -> int:
        mark = uuid.uuid4().hex
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        line = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE)
        headers = {
            "Content-Type": f"multipart/form-data; boundary={mark}",
            "Cookie": f"_streamlit_xsrf={self._xsrf}",
            "X-Xsrftoken": self._xsrf,
        }
        line.request(
            "PUT", path, b"".join([head.encode(), content, f"\r\n--{mark}--\r\n".encode()]), headers
        )
        answer = line.getresponse()
        answer.read()
        line.close()
        return answer.status


def fitted(visitor: Visitor) -> int:
    """How many fits the Fit page says are done."""
    return sum(text.startswith("fitted in ") for text in visitor.texts())


def outputs(seed: int) -> bytes:
    """A file that nobody else has."""
    logits, labels = simulate(300, 3, seed=seed)
    file = io.BytesIO()
    np.savez(file, logits=logits, labels=labels)
    return file.getvalue()


async def come_and_go(url: str, times: int, here: Visitor | None = None) -> list[float]:
    """Open and close a page so many times; the seconds of the reruns that somebody else asked for meanwhile."""
    over = asyncio.Event()

    async def look() -> list[float]:
        while here is not None and not over.is_set():
            for page in ("Reliability", "Data"):
                await here.go(page)
        return [] if here is None else [run.seconds for run in here.runs if run.kind == "page"]

    looking = asyncio.create_task(look())
    for _ in range(times):
        visitor = Visitor(url)
        await visitor.arrive()
        await visitor.leave()
    over.set()
    return await looking
