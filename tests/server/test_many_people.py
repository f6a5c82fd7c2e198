"""Several visitors of one running server: what they share, what they do not see, and what is left when they leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.many_people import Size, fitted, measure, outputs, table
from benchmarks.process_tree import family, server
from benchmarks.visitor import Visitor
from tests.conftest import wait_until

SMALL = Size(people=2, rows=300, n_classes=3, think=0.2, after=1.0, methods=("Temperature", "Isotonic"))
RECONNECT_SECONDS = "12"

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    folder = tmp_path_factory.mktemp("server")
    environment = {
        "STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": RECONNECT_SECONDS,
        "STREAMLIT_SERVER_ADDRESS": "127.0.0.1",  # where a proxy on the same machine is believed
        "CALIB_SESSION_GB": "0.08",
        "CALIB_UPLOADS_GB": "0.2",
    }
    with server(folder, **environment) as served:
        yield served


@asynccontextmanager
async def visit(url: str, name: str, seed: int) -> AsyncIterator[Visitor]:
    """A visitor who has fitted temperature on data of this seed."""
    visitor = Visitor(url)
    await visitor.arrive()
    await visitor.upload("upload/main", name, outputs(SMALL, seed))
    await visitor.go("Fit")
    await visitor.choose("fit/methods", ["Temperature"])
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


async def three_at_once(url: str) -> None:
    async with visit(url, "secret-a.npz", 1) as a, visit(url, "mine-b.npz", 1) as b, visit(url, "other-c.npz", 2) as c:
        assert cost(a) == cost(b) != cost(c)
        for page in ("Data", "Reliability", "Compare", "Fit"):
            for visitor in (b, c):
                await visitor.go(page)
                seen = "".join(map(str, visitor.elements.values()))
                assert "secret-a" not in seen
                assert a.address not in seen
        assert len({a.address, b.address, c.address}) == 3
        assert not a.troubles + b.troubles + c.troubles


@pytest.mark.long
def test_the_same_bytes_share_a_fit_and_nobody_sees_anything_else_of_anybody(running: tuple[str, int]) -> None:
    url, _ = running
    asyncio.run(three_at_once(url))


async def upload_what_nobody_reads(url: str, pid: int) -> None:
    one, another_tab, elsewhere = Visitor(url, "192.0.2.1"), Visitor(url, "192.0.2.1"), Visitor(url, "192.0.2.2")
    first = Visitor(url, "192.0.2.3")  # for whom the server loads what it needs to read and show an upload
    await first.arrive()
    await first.upload("upload/main", "first.npz", outputs(SMALL, 4))
    await first.leave()
    for visitor in (one, another_tab, elsewhere):
        await visitor.arrive()
    before, content = high_water(pid), bytes(30_000_000)
    kept = 0
    # 0.08 GB of one visitor, and 0.1 GB of their address
    for visitor, room in ((one, 2), (another_tab, 1), (elsewhere, 2)):
        for _ in range(3):
            assert await visitor.put(content) == 204
        kept += room
        assert sum(size >= len(content) for size in nameless(pid)) == kept
    await one.upload("upload/main", "mine.npz", content)
    assert len(one.troubles) == 1 and "80 MB" in one.troubles[0]
    assert high_water(pid) - before < 60_000_000
    for visitor in (one, another_tab, elsewhere):
        await visitor.leave()
    await asyncio.to_thread(wait_until, lambda: not sum(nameless(pid)))


def high_water(pid: int) -> int:
    """The most bytes of memory that a process ever had."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def nameless(pid: int) -> list[int]:
    """Sizes of the files that a process has open and that have no name, as uploads have none."""
    sizes = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            sizes.append(link.stat().st_size if link.readlink().name.endswith(" (deleted)") else 0)
    return sizes


def test_uploads_take_disk_and_no_memory_and_nobody_takes_all_of_it(running: tuple[str, int]) -> None:
    asyncio.run(upload_what_nobody_reads(*running))


async def come_and_leave(url: str) -> None:
    async with visit(url, "short.npz", 3):
        pass


def workers(pid: int) -> list[int]:
    """Processes below one that fit; what reads uploads stays."""
    commands = {each: Path(f"/proc/{each}/cmdline") for each in family(pid)}
    return [each for each, path in commands.items() if path.exists() and b"calib.jobs.worker" in path.read_bytes()]


@pytest.mark.long
def test_when_all_have_left_their_workers_end(running: tuple[str, int]) -> None:
    url, pid = running
    asyncio.run(come_and_leave(url))
    assert workers(pid)
    wait_until(lambda: not workers(pid))
    asyncio.run(come_and_leave(url))  # and others start for the next


@pytest.mark.long
def test_the_benchmark_measures_a_visit(tmp_path: Path) -> None:
    found = measure(SMALL, tmp_path)
    assert not found.troubles
    assert found.n_fitted == 4
    assert {run.what for run in found.runs} >= {"Data", "upload", "Fit", "fit/start", "Reliability", "Export"}
    assert 0 < found.fresh < min(found.idle, found.peak)
    assert found.cpu_seconds > 0.5
    lines = table(SMALL, found).splitlines()
    assert any("4 of 4" in line for line in lines)
    assert len({len(line) for line in lines}) == 1
