"""The documentation site as `make docs` builds it: whole, without dead links, and with nothing from another host."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import new_page
from tests.conftest import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.long]

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches without being asked."""


class Links(HTMLParser):
    """What a page loads, where its links lead, and the names that links can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.names |= {name for key in ("id", "name") if (name := given.get(key))}
        if tag in LOADED and (address := given.get(LOADED[tag])):
            self.loaded.append(address)
        if tag == "a" and (address := given.get("href")):
            self.links.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    found = {}
    for path in site.rglob("*.html"):
        found[path] = Links()
        found[path].feed(path.read_text(encoding="utf-8"))
    assert len(found) > 50
    return found


def test_no_link_is_dead_and_nothing_comes_from_another_host(pages: dict[Path, Links]) -> None:
    dead = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links begin at the root of a host
        for address in page.loaded + page.links:
            parts = urlparse(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded:
                    dead.append(f"{path.name} loads {address}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            missing = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names
            if not target.exists() or missing:
                dead.append(f"{path.name}: {address}")
    assert not dead


def test_the_search_works_where_pages_are_opened_from_disk(site: Path, browser: Browser) -> None:
    page = new_page(browser)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "methods" / "temperature.html").as_uri())
    search = page.get_by_placeholder("Search")
    search.click()
    expect(page.locator(".md-search-result__meta")).to_contain_text("Type to start searching")
    search.press_sequentially("Venn-Abers")  # the site listens to keys, not to a value that is put there
    found = page.locator(".md-search-result__link").first
    expect(found).to_be_visible()
    assert "venn" in (found.get_attribute("href") or "").lower() or "Venn" in found.inner_text()
    page.context.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
