"""Several visitors of one running server: what they share, what they do not see, and what is left when they leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from benchmarks.many_people import Size, fitted, measure, outputs, table
from benchmarks.process_tree import family, server
from benchmarks.visitor import Visitor
from tests.conftest import wait_until
from tests.server.conftest import without_tensorflow

SMALL = Size(people=2, rows=300, n_classes=3, think=0.2, after=1.0, methods=("Temperature", "Isotonic"))
RECONNECT_SECONDS = "12"

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    folder = tmp_path_factory.mktemp("server")
    environment = {"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": RECONNECT_SECONDS, **without_tensorflow(folder)}
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


def test_the_same_bytes_share_a_fit_and_nobody_sees_anything_else_of_anybody(running: tuple[str, int]) -> None:
    url, _ = running
    asyncio.run(three_at_once(url))


async def come_and_leave(url: str) -> None:
    async with visit(url, "short.npz", 3):
        pass


@pytest.mark.long
def test_when_all_have_left_their_workers_end(running: tuple[str, int]) -> None:
    url, pid = running
    asyncio.run(come_and_leave(url))
    assert len(family(pid)) > 1
    wait_until(lambda: len(family(pid)) == 1)
    asyncio.run(come_and_leave(url))  # and others start for the next


@pytest.mark.long
def test_the_benchmark_measures_a_visit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in without_tensorflow(tmp_path).items():
        monkeypatch.setenv(name, value)
    found = measure(SMALL, tmp_path)
    assert not found.troubles
    assert found.n_fitted == 4
    assert {run.what for run in found.runs} >= {"Data", "upload", "Fit", "fit/start", "Reliability", "Export"}
    assert 0 < found.fresh < found.idle < found.peak
    assert found.cpu_seconds > 0.5
    lines = table(SMALL, found).splitlines()
    assert any("4 of 4" in line for line in lines)
    assert len({len(line) for line in lines}) == 1
