"""Whatever people upload, and whatever goes wrong with it, the log of a server names none of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import go, new_page, settle
from tests.browser.test_link import token
from tests.server.conftest import Served, serve

pytestmark = [pytest.mark.browser, pytest.mark.long]

CANARY = "canary-7391"
VALUE = 73.91734


@pytest.fixture
def own(server: str, tmp_path: Path) -> Iterator[Served]:
    with serve(tmp_path / "log", CALIB_WORKSPACE=str(tmp_path / "workspace")) as served:
        yield served


def write_table(path: Path) -> None:
    """A table whose columns, classes and one value can be told from everything else."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(300, 3))
    logits[::5, 0] = VALUE  # in either part of the split
    names = [f"{CANARY}-{letter}" for letter in "abc"]
    with open(path, "w") as file:
        print(*(f"logit_{name}" for name in names), "label", sep=",", file=file)
        for row, label in zip(logits, generator.integers(0, 3, 300), strict=True):
            print(*row, names[label], sep=",", file=file)


def upload(page: Page, path: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(path)


def workers_of(served: Served) -> list[int]:
    listed = subprocess.run(
        ["ps", "--ppid", str(served.pid), "-o", "pid=,args="], capture_output=True, text=True
    )
    return [
        int(line.split()[0]) for line in listed.stdout.splitlines() if "calib.engine.host" in line
    ]


def test_the_log_holds_nothing_of_what_was_uploaded(
    own: Served, browser: Browser, tmp_path: Path
) -> None:
    table, hostile = tmp_path / f"{CANARY}.csv", tmp_path / f"{CANARY}-hostile.npz"
    write_table(table)
    hostile.write_bytes(b"PK\x03\x04" + CANARY.encode() * 99)
    page = new_page(browser)
    page.goto(f"{own.url}/?w={CANARY}")  # a link that leads nowhere
    expect(page.get_by_text("Nothing is kept under this link")).to_be_visible()
    upload(page, hostile)
    expect(page.get_by_test_id("stAlertContentError").first).to_be_visible()
    page.get_by_role("button", name=f"Remove {hostile.name}").click()
    settle(page)
    upload(page, table)
    expect(page.get_by_text("Read as: ")).to_be_visible()
    settle(page)
    link = token(page)

    go(page, "Fit")
    page.get_by_role("button", name=re.compile(r"^Fit \d+ calibrators")).click()
    for worker in workers_of(own):
        os.kill(worker, signal.SIGKILL)
    page.goto(f"{own.url}/Reliability?w={link}")
    expect(page.get_by_role("heading", name="Reliability", exact=True)).to_be_visible()
    settle(page)
    page.context.close()

    log = own.log.read_text()
    assert log  # it was written
    for secret in (CANARY, link, str(VALUE), "73.9"):
        assert secret not in log, [line for line in log.splitlines() if secret in line]
