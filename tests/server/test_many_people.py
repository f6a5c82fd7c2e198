"""Several visitors of one running server: what they share, what they do not see, and what is left when they leave."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import wait_until
from tests.server.conftest import serve
from tests.server.visitor import Visitor, come_and_go, fitted, outputs

RECONNECT_SECONDS = "3"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc"),
]


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test to its end, for 10 minutes at most."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**given), 600))

    return run


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    folder = tmp_path_factory.mktemp("server")
    environment = {
        "STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": RECONNECT_SECONDS,
        "CALIB_WORKSPACE": str(folder / "workspace"),
        "CALIB_SESSION_GB": "0.08",
        "CALIB_UPLOADS_GB": "0.2",
        "CALIB_UPLOAD_MB": "70",
    }
    with serve(folder / "log", **environment) as served:
        yield served.url, served.pid


@asynccontextmanager
async def visit(url: str, name: str, seed: int) -> AsyncIterator[Visitor]:
    """A visitor who has fitted temperature on data of this seed."""
    visitor = Visitor(url)
    await visitor.arrive()
    await visitor.upload("upload/main", name, outputs(seed))
    await visitor.go("Fit")
    await visitor.click("fit/preset/None")
    await visitor.check("fit/use/temperature")
    await visitor.click("fit/start")
    until = time.monotonic() + 300
    while not fitted(visitor):
        assert time.monotonic() < until, list(visitor.texts())
        await visitor.stay(0.5)
    yield visitor
    await visitor.leave()


def cost(visitor: Visitor) -> str:
    """What the Fit page says of the finished fit: its time to three digits, so the same only if it is the same fit."""
    (said,) = [text for text in visitor.texts() if text.startswith("fitted in ")]
    return said


def nameless(pid: int) -> list[int]:
    """Sizes of the files that a process has open and that have no name, as uploads have none."""
    sizes = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            sizes.append(link.stat().st_size if link.readlink().name.endswith(" (deleted)") else 0)
    return sizes


@awaited
async def test_a_file_is_on_disk_and_not_in_memory_until_who_shows_it_has_left(
    running: tuple[str, int],
) -> None:
    """The first of the file: where many sessions have been, theirs is collected up to a minute later."""
    url, pid = running
    visitor, content = (
        Visitor(url),
        bytes(40_000_000),
    )  # so large that the allocator gives it back at once
    await visitor.arrive()
    await visitor.upload(
        "upload/main", "first.npz", bytes(1000)
    )  # loads what the server needs to read and show it
    before = resident(pid)
    for number in range(3):  # each takes the place of the one before
        await visitor.upload("upload/main", f"{number}.npz", content)
        assert len(content) in nameless(pid)
        assert resident(pid) - before < 25_000_000
    await visitor.leave()
    await asyncio.sleep(float(RECONNECT_SECONDS))
    while len(content) in nameless(
        pid
    ):  # Streamlit drops sessions that have ended when another ends
        next_one = Visitor(url)
        await next_one.arrive()
        await next_one.leave()
        await asyncio.sleep(1)


def resident(pid: int) -> int:
    """Bytes of memory that a process has now."""
    (line,) = [
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("RssAnon")
    ]
    return int(line.split()[1]) * 1024


@awaited
async def test_the_same_bytes_share_a_fit_and_nobody_sees_anything_else_of_anybody(
    running: tuple[str, int],
) -> None:
    url, _ = running
    async with (
        visit(url, "secret-a.npz", 1) as a,
        visit(url, "mine-b.npz", 1) as b,
        visit(url, "other-c.npz", 2) as c,
    ):
        assert cost(a) == cost(b) != cost(c)
        for page in ("Data", "Reliability", "Compare", "Fit"):
            for visitor in (b, c):
                await visitor.go(page)
                seen = "".join(map(str, visitor.elements.values()))
                assert "secret-a" not in seen
                assert a.address not in seen
        assert len({a.address, b.address, c.address}) == 3
        assert not a.troubles + b.troubles + c.troubles


@awaited
async def test_nobody_takes_all_the_memory_that_there_is_for_uploads(
    running: tuple[str, int],
) -> None:
    one, another = Visitor(running[0]), Visitor(running[0])
    for visitor in (one, another):
        await visitor.arrive()
    content = bytes(30_000_000)
    for visitor in (one, another):  # no page has them; 0.08 GB of each
        assert [await visitor.put(content) for _ in range(3)] == [204, 204, 413]
    for visitor in (one, another):
        await visitor.leave()


@awaited
async def test_a_hundred_who_come_and_go_leave_nothing_behind_and_hold_up_nobody(
    running: tuple[str, int],
) -> None:
    url, pid = running
    here = Visitor(url)
    await here.arrive()
    await here.click("sample/digits-cnn")
    await come_and_go(url, 10)
    before = threads(pid)
    seconds = await come_and_go(url, 100, here)
    assert len(seconds) > 1 and not here.troubles
    assert threads(pid) < before + 20
    await here.leave()


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


@awaited
async def test_an_upload_that_never_ends_does_not_keep_the_server(tmp_path: Path) -> None:
    with serve(tmp_path / "log") as served:
        visitor = Visitor(served.url)
        await visitor.arrive()
        with socket.create_connection(("127.0.0.1", served.port)) as line:
            line.sendall(
                visitor.head_of_an_upload(10**7)
                + b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n'
            )
            line.sendall(b"\r\n" + bytes(2_000_000))  # more than is held in memory
            await asyncio.to_thread(wait_until, lambda: sum(nameless(served.pid)))
            os.kill(served.pid, signal.SIGTERM)
            await asyncio.to_thread(wait_until, lambda: not served.running())
        await visitor.leave()
