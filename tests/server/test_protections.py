"""Pages of other sites can neither connect to a running server nor upload to it, and only its own names lead there."""

from __future__ import annotations

import http.client
import json
import socket
import tomllib
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from typing import NamedTuple

import pytest
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from calib.settings import SETTINGS
from tests.conftest import ROOT, wait_until
from tests.server.conftest import Served, serve, where_no_name_is_looked_up

OUTSIDE = "http://elsewhere.example"


class Answer(NamedTuple):
    status: int
    headers: Message
    text: str


@pytest.fixture(scope="module")
def as_delivered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with serve(folder / "log", **where_no_name_is_looked_up(folder)) as served:
        yield served


@pytest.fixture(scope="module")
def for_a_team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Behind a proxy, under a name and a path of its own."""
    environment = {
        "STREAMLIT_SERVER_ALLOWED_HOSTS": "localhost calib.example.org",
        "STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS": "https://portal.example.org https://other.example.org",
        "STREAMLIT_SERVER_BASE_URL_PATH": "calib",
    }
    folder = tmp_path_factory.mktemp("server")
    with serve(
        folder / "log", "/calib", **environment, **where_no_name_is_looked_up(folder)
    ) as served:
        yield served


def handshake(served: Served, host: str, origin: str | None, path: str = "") -> int:
    """Status of a websocket handshake with the server under this name, from a page of this origin."""
    uri = f"ws://{host}:{served.port}{path}/_stcore/stream"
    try:
        with (
            socket.create_connection(("127.0.0.1", served.port)) as line,
            connect(uri, sock=line, origin=origin, subprotocols=["streamlit"], open_timeout=300),
        ):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def ask(
    served: Served, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
    with closing(connection):
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read().decode())


def put(served: Served, headers: dict[str, str]) -> Answer:
    """Upload a file as a session that does not exist."""
    body = (
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n1\r\n--x--\r\n'
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x", **headers}
    return ask(served, "PUT", "/_stcore/upload_file/nobody/1", headers, body)


def test_the_app_connects_and_pages_of_others_do_not(as_delivered: Served) -> None:
    port = as_delivered.port
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert handshake(as_delivered, name, f"http://{name}:{port}") == 101
    # Of other sites, and of what else is served on this machine or open in the browser; nobody is asked for a name.
    others = (OUTSIDE, "http://localhost:9", f"http://127.0.0.1:{port}", "http://localhost", "null")
    for origin in (*others, f"ftp://localhost:{port}", f"chrome-extension://localhost:{port}"):
        assert handshake(as_delivered, "localhost", origin) == 403, origin
    # Another name that was made to lead here.
    assert handshake(as_delivered, "elsewhere.example", f"http://elsewhere.example:{port}") == 403


def test_it_listens_for_this_machine_alone(as_delivered: Served) -> None:
    with pytest.raises(ConnectionRefusedError):  # an address of this machine other than 127.0.0.1
        socket.create_connection(("127.0.0.2", as_delivered.port), timeout=300)


def test_a_message_of_more_than_4_mb_is_refused_before_it_comes(as_delivered: Served) -> None:
    address = f"ws://localhost:{as_delivered.port}/_stcore/stream"
    with connect(address, open_timeout=300) as line:
        line.socket.sendall(
            b"\x82\xff" + (4_000_001).to_bytes(8, "big") + bytes(4)
        )  # its head alone
        with pytest.raises(ConnectionClosed) as closed:
            line.recv(timeout=300)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    with connect(address, open_timeout=300) as line:
        line.send(b"\xff" * 4_000_000)  # no message; it is read as far as that
        with pytest.raises(ConnectionClosed) as closed:
            line.recv(timeout=300)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1002


def test_what_is_logged_before_the_first_page_holds_no_message(as_delivered: Served) -> None:
    with connect(f"ws://localhost:{as_delivered.port}/_stcore/stream", open_timeout=300) as line:
        line.send(b"\xff\xff\xff")
        with pytest.raises(ConnectionClosed):
            line.recv(timeout=300)
    log = wait_until(
        lambda: text if "DecodeError" in (text := as_delivered.log.read_text()) else ""
    )
    assert "BackMsg" not in log  # which the error's message names


NEEDLESS = (
    "_stcore/metrics", "_stcore/agent/openapi.json", "_stcore/agent/interact", "_stcore/agent/mcp",
    "_stcore/bidi-components/x",
)  # fmt: skip


def test_what_no_page_needs_is_closed(as_delivered: Served, for_a_team: Served) -> None:
    for path in NEEDLESS:
        for method in ("GET", "POST", "OPTIONS"):
            assert ask(as_delivered, method, f"/{path}").status == 404, path
        assert ask(for_a_team, "GET", f"/calib/{path}").status == 404, path
    # No page that embeds the app steers it.
    assert json.loads(ask(as_delivered, "GET", "/_stcore/host-config").text)["allowedOrigins"] == []


def test_an_upload_is_refused_before_it_comes(as_delivered: Served) -> None:
    announced = {"Content-Length": str(2**30 + 2**21)}
    for headers, status in ((announced, 403), ({"Transfer-Encoding": "chunked"}, 403)):
        connection = http.client.HTTPConnection("127.0.0.1", as_delivered.port, timeout=300)
        with closing(connection):
            connection.putrequest("PUT", "/_stcore/upload_file/nobody/1")
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            assert connection.getresponse().status == status  # 403: Streamlit knows no such session


def test_uploads_need_the_token_of_a_cookie(as_delivered: Served) -> None:
    cookie = ask(as_delivered, "GET", "/_stcore/health").headers["Set-Cookie"].partition(";")[0]
    token = cookie.partition("=")[2]
    for headers in (
        {},
        {"Cookie": cookie},
        {"X-Xsrftoken": token},
        {"Cookie": cookie, "X-Xsrftoken": "2|a|b|1"},
    ):
        refused = put(as_delivered, headers)
        assert (refused.status, "XSRF" in refused.text) == (403, True), headers
    passed = put(as_delivered, {"Cookie": cookie, "X-Xsrftoken": token})
    assert (passed.status, "Invalid session_id" in passed.text) == (
        400,
        True,
    )  # refused by the next check


def test_an_origin_outside_is_told_nothing(as_delivered: Served) -> None:
    for method, path in (("GET", "/_stcore/health"), ("OPTIONS", "/_stcore/upload_file/nobody/1")):
        headers = ask(as_delivered, method, path, {"Origin": OUTSIDE}).headers
        assert headers.get("Access-Control-Allow-Origin") not in (OUTSIDE, "*")


def test_a_team_reaches_it_under_the_name_and_path_that_were_set(for_a_team: Served) -> None:
    name = "calib.example.org"
    assert handshake(for_a_team, name, f"http://{name}:{for_a_team.port}", "/calib") == 101
    assert handshake(for_a_team, name, "https://portal.example.org", "/calib") == 101
    assert handshake(for_a_team, name, OUTSIDE, "/calib") == 403
    assert handshake(for_a_team, name, "http://portal.example.org", "/calib") == 403
    assert handshake(for_a_team, "other.example.org", None, "/calib") == 403
    assert handshake(for_a_team, "127.0.0.1", None, "/calib") == 403  # no longer listed


def test_streamlit_takes_the_files_that_we_take() -> None:
    delivered = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))[
        "server"
    ]
    assert delivered["maxUploadSize"] == SETTINGS["CALIB_UPLOAD_MB"].default
    assert delivered["enableCORS"] is delivered["enableXsrfProtection"] is True


def test_no_message_is_sent_by_its_hash() -> None:
    name, ours = (
        "global.minCachedMessageSize",
        tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8")),
    )
    usual = config.get_config_options()[name].default_val
    for size, by_hash in ((ours["global"]["minCachedMessageSize"], False), (usual, True)):
        before, message = config.get_option(name), ForwardMsg()
        message.delta.new_element.markdown.body = "figure" * 1_000_000
        try:
            config.set_option(name, size)
            populate_hash_if_needed(message)
        finally:
            config.set_option(name, before)
        assert message.metadata.cacheable is by_hash
