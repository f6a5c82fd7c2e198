"""Who is connected is counted, and parts of pages refresh less often the more there are."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from calib.ui.server import guard, presence


def test_parts_refresh_less_often_the_more_pages_are_open() -> None:
    with ExitStack() as pages:
        for _ in range(30):
            pages.enter_context(presence.connection())
        assert presence.refresh_interval(0.5) == presence.refresh_interval(1.0) == pytest.approx(3.0)
        assert presence.refresh_interval(5.0) == 5.0
    assert presence.refresh_interval(0.5) == 0.5


def test_a_page_counts_from_its_connection_to_its_end() -> None:
    counted: list[int] = []

    async def app(scope, receive, send) -> None:
        counted.append(len(presence._connected))
        raise ConnectionError

    async def nothing(message=None) -> None: ...

    with pytest.raises(ConnectionError):
        asyncio.run(guard.Guard(app)({"type": "websocket", "headers": []}, nothing, nothing))
    assert counted == [1]
    assert not presence._connected
