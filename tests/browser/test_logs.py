"""Whatever people upload, and whatever goes wrong with it, the log of a server names none of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import calib
from calib.registry import METHODS
from tests.browser.conftest import go, new_page, recommended, settle
from tests.browser.test_link import token
from tests.server.conftest import Served, serve

pytestmark = [pytest.mark.browser, pytest.mark.long]

CANARY = "canary-7391"
VALUE = 73.91734
CHOSEN = ("temperature", "isotonic")

BREAKS = """
import sys, warnings
from importlib.machinery import PathFinder

def fit(self, logits, labels, **others):
    raise ValueError(f"{logits.max()} cannot be fitted")

def draw(*given):
    from calib.ui.session import current_session
    name = current_session().data.class_names[0]
    warnings.warn(f"a page with {name}")
    raise KeyError(name)

def break_all(module):
    arrive = module.arrive
    def fall():
        if "fall" in module.st.query_params:
            raise KeyError(module.st.query_params["fall"])
        arrive()
    module.arrive = fall

def break_method(module): module.IsotonicCalibration.fit = fit
def break_page(module): module.draw = draw
BROKEN = {
    "calib.calibrators.isotonic": break_method, "calib.ui.decide.selective": break_page, "calib.ui.link": break_all,
}

class Breaking:
    def find_spec(self, name, path=None, target=None):
        if name in BROKEN:
            spec = PathFinder.find_spec(name, path, target)
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), BROKEN[name](module))
            return spec

sys.meta_path.insert(0, Breaking())
"""
"""As ``sitecustomize``, makes a method, a page and what is around pages fail with what they were given."""


@pytest.fixture
def breaking(server: str, tmp_path: Path) -> Iterator[Served]:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(BREAKS)
    with serve(tmp_path / "log", CALIB_WORKSPACE=str(tmp_path / "workspace"), PYTHONPATH=str(site)) as served:
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
    listed = subprocess.run(["ps", "--ppid", str(served.pid), "-o", "pid=,args="], capture_output=True, text=True)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "calib.engine.host" in line]


def test_the_log_holds_nothing_of_what_was_uploaded(breaking: Served, browser: Browser, tmp_path: Path) -> None:
    table, hostile = tmp_path / f"{CANARY}.csv", tmp_path / f"{CANARY}-hostile.npz"
    write_table(table)
    hostile.write_bytes(b"PK\x03\x04" + CANARY.encode() * 99)
    page = new_page(browser)
    page.goto(f"{breaking.url}/?w={CANARY}")  # a link that leads nowhere
    expect(page.get_by_text("Nothing is kept under this link")).to_be_visible()
    upload(page, hostile)
    expect(page.get_by_test_id("stAlertContentError").first).to_be_visible()
    page.get_by_role("button", name=f"Remove {hostile.name}").click()
    settle(page)
    upload(page, table)
    expect(page.get_by_text("Recognised as")).to_be_visible()
    settle(page)
    link = token(page)

    go(page, "Fit")
    for switched in set(recommended(calib.load(table))) ^ set(CHOSEN):
        page.get_by_role("button", name=METHODS[switched].title, exact=True).click()
        settle(page)
    page.get_by_role("button", name="Fit 2 calibrators").click()
    expect(page.get_by_text(f"{VALUE}", exact=False).first).to_be_visible()  # to whom it belongs
    go(page, "Decide")
    expect(page.get_by_text("This page could not be drawn (KeyError)")).to_be_visible()
    for worker in workers_of(breaking):
        os.kill(worker, signal.SIGKILL)
    page.goto(f"{breaking.url}/Reliability?w={link}")
    expect(page.get_by_role("heading", name="Reliability", exact=True)).to_be_visible()
    settle(page)
    page.goto(f"{breaking.url}/?fall={CANARY}")  # what no page catches
    expect(page.get_by_test_id("stException")).to_be_visible()
    page.context.close()

    log = breaking.log.read_text()
    assert "page Decide failed" in log and "UserWarning" in log  # it was written
    assert "isotonic failed" in log and "in fit" in log
    assert "Uncaught app execution" in log and "in fall" in log
    for secret in (CANARY, link, str(VALUE), "73.9"):
        assert secret not in log, [line for line in log.splitlines() if secret in line]
