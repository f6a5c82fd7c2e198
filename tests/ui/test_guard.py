"""Whoever starts the app on their own machine is shown it."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue

import pytest

from calib.ui.server import guard


@pytest.mark.parametrize("headless", [False, True])
def test_the_browser_is_opened_where_there_is_a_screen(headless: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"server.headless": headless, "browser.serverAddress": "localhost"}
    opened: SimpleQueue[str] = SimpleQueue()
    monkeypatch.setattr(guard.st, "get_option", options.__getitem__)
    monkeypatch.setattr(guard.webbrowser, "open", opened.put)

    async def start() -> None:
        async with guard.open_browser(None):
            pass

    asyncio.run(start())
    if headless:
        assert opened.empty()
    else:
        assert opened.get(timeout=300) == "http://localhost:8501"
