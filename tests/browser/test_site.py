"""The documentation site as `make docs` builds it: no dead links, nothing from another host, and a search."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from calib.registry import METHODS
from tests.browser.conftest import new_page
from tests.conftest import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.long]

LOADED = re.compile(
    r'<(?:script|img|iframe|source)[^>]* src="(?:https?:)?//|<link[^>]* href="(?:https?:)?//'
)
"""What a browser fetches from another host without being asked."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a dead link or anchor ends the build, as ``validation`` in mkdocs.yml says."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_comes_from_another_host_and_every_method_has_a_page(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert not [path for path, text in pages.items() if LOADED.search(text)]
    for name, method in METHODS.items():
        text = pages[site / "methods" / f"{name}.html"]
        assert "<math" in text and 'class="chart"' in text, name
        assert all(
            f"<code>{parameter}</code>" in text for parameter in method.cls().get_params()
        ), name


def test_the_search_works_where_pages_are_opened_from_disk(site: Path, browser: Browser) -> None:
    page = new_page(browser)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "methods" / "temperature.html").as_uri())
    search = page.get_by_placeholder("Search")
    search.click()
    expect(page.locator(".md-search-result__meta")).to_contain_text("Type to start searching")
    search.press_sequentially(
        "Venn-Abers"
    )  # the site listens to keys, not to a value that is put there
    found = page.locator(".md-search-result__link").first
    expect(found).to_be_visible()
    assert "venn" in (found.get_attribute("href") or "").lower() or "Venn" in found.inner_text()
    page.context.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
