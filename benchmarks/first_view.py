"""The first view of Compare once the last fit has ended, alone and by many at once, and a view while fits run.

    python -m benchmarks.first_view [--before CHECKOUT] [--people 10] [--repeats 5] [--rows 10000] [--classes 100]

With Playwright and a Chrome or Chromium, also what a browser that was just started waits for, given the visitor's link.
Each visitor uploads data that nobody else has and fits the same methods. What a view costs is the processor time of the
server's process alone, without its workers, and what a visitor waits for is the time until the page is drawn whole. The
other checkout, such as one that ``git worktree add`` made, is measured in turns with this one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.journey import ANSWER, BROWSERS, PATIENCE
from benchmarks.many_people import Size, fitted, outputs
from benchmarks.measure import machine, markdown
from benchmarks.process_tree import ROOT, cpu_seconds, server
from benchmarks.visitor import Visitor
from calib.registry import METHODS

FITTED = (
    *("temperature", "isotonic", "beta", "platt", "histogram", "vector", "bbq", "imax", "bayes_iso", "enir"),
    *("ensemble_temperature", "structured_vector", "scaling_binning"),
)
"""Methods that need logits alone and no TensorFlow, whose start would be most of the run."""
TITLES = [METHODS[name].title for name in FITTED]
PAGE = "Compare"
MEANWHILE = "Reliability"
LOOK_SECONDS = 0.5


@dataclass
class Found:
    """Seconds of views of one checkout.

    Attributes
    ----------
    first, again : (processor, wall) of the first view of Compare and of the next one.
    crowd : the same of each of many at once; the processor's share is that of all by their number.
    cold : wall until a browser that was just started shows the answer, and until it shows the figures.
    meanwhile : of the first view of Reliability while another visitor's fits run.
    troubles : what was shown as an error.
    """

    first: list[tuple[float, float]] = field(default_factory=list)
    again: list[tuple[float, float]] = field(default_factory=list)
    crowd: list[tuple[float, float]] = field(default_factory=list)
    meanwhile: list[tuple[float, float]] = field(default_factory=list)
    cold: dict[str, list[float]] = field(default_factory=lambda: {"answer": [], "figures": []})
    troubles: list[str] = field(default_factory=list)


def main() -> None:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--before", type=Path, help="another checkout to measure beside this one")
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=100)
    given = parser.parse_args()
    size = Size(people=given.people, rows=given.rows, n_classes=given.classes)
    roots = {"now": ROOT} if given.before is None else {"before": given.before.resolve(), "now": ROOT}
    found = {name: Found() for name in roots}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(given.repeats):
            for name, root in roots.items():
                place = Path(folder) / f"{name}-{turn}"
                place.mkdir()
                with server(place, root) as (url, pid):
                    asyncio.run(_alone(url, pid, size, turn, found[name]))
                    if turn == 0:
                        asyncio.run(_crowd(url, pid, size, found[name]))
    print(machine("streamlit"), f"Load {os.getloadavg()[2]:.1f}.", end="\n\n")
    print(table(found, size))
    for name, one in found.items():
        for trouble in sorted(set(one.troubles))[:10]:
            print(f"- {name}: {trouble}")


async def _alone(url: str, pid: int, size: Size, turn: int, found: Found) -> None:
    """One visitor, who looks at Compare when all is fitted, and again; then at Reliability while another fits."""
    visitor = await _arrived(url, size, 2 * turn)
    await _fit(visitor)
    await _all_fitted(visitor)
    found.first.append(await _view(visitor, pid, PAGE))
    await visitor.go("Fit")
    found.again.append(await _view(visitor, pid, PAGE))
    await asyncio.to_thread(_cold, f"{url}/{PAGE}?{visitor.address}", found)
    other = await _arrived(url, size, 2 * turn + 1)
    await _fit(other)
    found.meanwhile.append(await _view(visitor, pid, MEANWHILE))
    await _all_fitted(other)
    for one in (visitor, other):
        found.troubles.extend(one.troubles)
        await one.leave()


def _cold(address: str, found: Found) -> None:
    """What somebody waits for who is given the link, in a browser that was just started."""
    chrome = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chrome is None:
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chrome, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": 1500, "height": 1000}).new_page()
        page.set_default_timeout(PATIENCE)
        began = time.monotonic()
        page.goto(address)
        page.get_by_test_id("stMarkdownContainer").filter(has_text=ANSWER).first.wait_for()
        found.cold["answer"].append(time.monotonic() - began)
        page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 3", polling=10)
        found.cold["figures"].append(time.monotonic() - began)
        browser.close()


async def _crowd(url: str, pid: int, size: Size, found: Found) -> None:
    """Many, each with data and fits of their own, who open Compare within a second."""
    visitors = []
    for number in range(size.people):
        visitor = await _arrived(url, size, 1000 + number)
        await _fit(visitor)
        await _all_fitted(visitor)
        visitors.append(visitor)

    async def look(visitor: Visitor, wait: float) -> None:
        await asyncio.sleep(wait)
        await visitor.go(PAGE)

    before = cpu_seconds(pid, workers=False)
    await asyncio.gather(*(look(one, number / size.people) for number, one in enumerate(visitors)))
    each = (cpu_seconds(pid, workers=False) - before) / size.people
    found.crowd.extend((each, visitor.runs[-1].seconds) for visitor in visitors)
    for visitor in visitors:
        found.troubles.extend(visitor.troubles)
        await visitor.leave()


async def _arrived(url: str, size: Size, seed: int) -> Visitor:
    visitor = Visitor(url)
    await visitor.arrive()
    await visitor.upload("upload/main", f"outputs-{seed}.npz", outputs(size, seed))
    await visitor.go("Fit")
    return visitor


async def _fit(visitor: Visitor) -> None:
    await visitor.choose("fit/methods", TITLES)
    await visitor.click("fit/start")


async def _all_fitted(visitor: Visitor) -> None:
    while fitted(visitor) < len(TITLES):
        await visitor.stay(LOOK_SECONDS)
    await visitor.stay(2 * LOOK_SECONDS)  # a person needs as long to see it


async def _view(visitor: Visitor, pid: int, page: str) -> tuple[float, float]:
    before, start = cpu_seconds(pid, workers=False), time.monotonic()
    await visitor.go(page)
    return cpu_seconds(pid, workers=False) - before, time.monotonic() - start


def table(found: dict[str, Found], size: Size) -> str:
    """What was measured, as Markdown."""
    rows = []
    for what, of in (
        (f"first view of {PAGE} after {len(TITLES)} fits", "first"),
        ("the next view of it", "again"),
        (f"first view of {PAGE}, {size.people} visitors within 1 s", "crowd"),
        (f"first view of {MEANWHILE} while another visitor's fits run", "meanwhile"),
    ):
        for kind, place in (("processor of the server, s a view", 0), ("wall, s", 1)):
            cells = [_spread([seconds[place] for seconds in getattr(one, of)]) for one in found.values()]
            rows.append([f"{what}: {kind}", *cells])
    for what in ("answer", "figures"):
        cells = [_spread(one.cold[what]) for one in found.values()]
        rows.append([f"{PAGE} by its link in a browser just started, until the {what} can be seen: wall, s", *cells])
    return markdown([f"{size.rows:,} x {size.n_classes}, {len(TITLES)} methods", *found], rows)


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    return f"{np.median(seconds):.2f} (95 % {np.quantile(seconds, 0.95):.2f}, n = {len(seconds)})"


if __name__ == "__main__":
    main()
