"""Damaged files of one visitor are sentences on that visitor's page, and another visitor's work goes on."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.mutants.uploads import upload
from benchmarks.originals import ENDINGS
from tests.browser.conftest import new_page
from tests.browser.test_journey import go, no_trouble, settle
from tests.conftest import simulate
from tests.isolation.test_mutants import ENDING

pytestmark = [pytest.mark.browser, pytest.mark.long]

N_DAMAGED = 40
"""Files; those that are known to end their reader are among them."""


def give(page: Page, server: str, path: Path) -> str:
    """Open the app, upload a file and wait for what the page says of it."""
    page.goto(server)
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(path)
    # What is wrong, what is asked, or the name of what is open.
    said = page.get_by_test_id("stMarkdownContainer").or_(page.get_by_test_id("stCaptionContainer"))
    expect(said.filter(has_text=path.stem).first).to_be_attached()
    settle(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    return page.get_by_test_id("stMain").inner_text()


def damaged_files(folder: Path) -> list[Path]:
    """Files on disk."""
    made = [make() for make in ENDING.values()]
    numbers = Random(0).sample(range(10_000), N_DAMAGED - len(made))
    made += [(each.name, each.content) for each in map(upload, numbers)]
    paths = []
    for number, (name, content) in enumerate(made):
        ending = next(each for each in sorted(ENDINGS, key=len, reverse=True) if name.endswith(each))
        path = folder / f"file{number:02}{ending}"  # hostile names are tested elsewhere
        path.write_bytes(content)
        paths.append(path)
    return paths


def test_forty_damaged_files_beside_somebody_who_fits_and_exports(
    server: str, browser: Browser, tmp_path: Path
) -> None:
    worker, visitor = new_page(browser), new_page(browser)
    logits, labels = simulate(3000, 5)
    np.savez(tmp_path / "good.npz", logits=logits, labels=labels)
    files = damaged_files(tmp_path)
    assert len(files) == N_DAMAGED

    steps = iter(files)
    for path in [next(steps) for _ in range(10)]:
        give(visitor, server, path)
    assert "1,500 test predictions" in give(worker, server, tmp_path / "good.npz")
    for path in [next(steps) for _ in range(10)]:
        give(visitor, server, path)
    go(worker, "Fit")
    worker.get_by_role("button", name="Fit", exact=False).filter(has_text="calibrator").first.click()
    for path in [next(steps) for _ in range(10)]:
        give(visitor, server, path)
    expect(worker.get_by_role("button", name="Cancel")).to_have_count(0)
    no_trouble(worker)
    go(worker, "Export")
    for path in steps:
        give(visitor, server, path)
    with worker.expect_download() as started:
        worker.get_by_role("button", name="Pickle").click()
    saved = tmp_path / "calibrator.pkl"
    started.value.save_as(saved)
    assert os.path.getsize(saved) > 100
    no_trouble(worker)
    go(worker, "Reliability")
    no_trouble(worker)
    good = give(visitor, server, tmp_path / "good.npz")
    assert "1,500 test predictions" in good, "the visitor of the damaged files can go on too"
    for page in (worker, visitor):
        page.context.close()
