"""A visitor's browser speaks to the app's server and to nobody else."""

from __future__ import annotations

from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser

from tests.browser.test_journey import go, settle

pytestmark = pytest.mark.browser


def test_no_request_leaves_for_another_server(server: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1500, "height": 1000})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server)
    page.get_by_role("button", name="Open").first.click()
    page.get_by_text("Recognised as").wait_for(timeout=60_000)
    for title in ("Fit", "Reliability", "Compare"):
        go(page, title)
    settle(page)
    page.wait_for_timeout(1000)
    context.close()
    assert len(asked) > 10
    own = {url for url in asked if url.startswith(server) or urlparse(url).scheme in ("data", "blob")}
    assert not set(asked) - own
