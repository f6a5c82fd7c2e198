"""Thirty people at once, each with data of their own: what they wait for, and what the server holds after they left.

    python -m benchmarks.many_people [--people 30] [--rows 10000] [--classes 100] [--think 5] [--after 300]

Each uploads a file, looks at it, fits three methods, looks at other pages meanwhile and at all of them afterwards, with
pauses in between as people make them, and leaves. No browser takes part: the clients speak Streamlit's own protocol.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import machine, markdown, megabytes
from benchmarks.outputs import simulated
from benchmarks.process_tree import Watch, cpu_seconds, resident_bytes, server
from benchmarks.visitor import Run, Visitor

METHODS = ("Temperature", "Isotonic", "GPcalib")
MEANWHILE = ("Reliability", "Over- and underconfidence")
AFTERWARDS = (
    "Reliability",
    "Over- and underconfidence",
    "Latent GP",
    "Calibration maps",
    "Compare",
    "Export",
)
FITTED = "fitted in "
ARRIVAL_SECONDS = 1.0
"""People do not come in the same instant, but this far apart."""
MOST_MINUTES = 30.0
"""After so long a visitor gives up waiting for fits."""
SAMPLE = "digits-cnn"
IDLE_SECONDS = 130.0
"""How long a server is left alone before its idle memory is read: until it has forgotten who looked around."""


@dataclass(frozen=True)
class Size:
    """How much there is to do."""

    people: int = 30
    rows: int = 10_000
    n_classes: int = 100
    think: float = 5.0
    after: float = 300.0
    methods: tuple[str, ...] = METHODS


@dataclass(frozen=True)
class Outcome:
    """What was met.

    Attributes
    ----------
    runs : all reruns of all visitors.
    troubles : all that was shown as an error.
    n_fitted : number of fits that were seen to be done.
    minutes : from the first arrival to the last departure.
    idle, peak, after : bytes of the server with its workers before, at most, and when all had left for a while.
    fresh : bytes when nobody had ever come.
    alone : bytes of the server without its workers, before and after.
    cpu_seconds : of the server and its workers.
    load : of the machine in the last 15 minutes.
    """

    runs: list[Run]
    troubles: list[str]
    n_fitted: int
    minutes: float
    fresh: int
    idle: int
    peak: int
    after: int
    alone: tuple[int, int]
    cpu_seconds: float
    load: float


def main() -> None:
    """Let them come, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=Size.people)
    parser.add_argument("--rows", type=int, default=Size.rows)
    parser.add_argument("--classes", type=int, default=Size.n_classes)
    parser.add_argument(
        "--think", type=float, default=Size.think, help="mean pause between two clicks, seconds"
    )
    parser.add_argument(
        "--after", type=float, default=Size.after, help="seconds from the last departure to the end"
    )
    parser.add_argument("--keep", help="folder for the server's log and workspace")
    given = parser.parse_args()
    size = Size(given.people, given.rows, given.classes, given.think, given.after)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(given.keep or folder)
        kept.mkdir(parents=True, exist_ok=True)
        outcome = measure(size, kept)
    print(machine("streamlit"), f"Load {outcome.load:.1f}.", end="\n\n")
    print(table(size, outcome))
    for trouble in sorted(set(outcome.troubles))[:20]:
        print(f"- {outcome.troubles.count(trouble)} x {trouble}")


def measure(size: Size, folder: Path) -> Outcome:
    """Serve the app, let everybody come and go, and wait."""
    with server(folder) as (url, pid):
        fresh = resident_bytes(pid)
        asyncio.run(_look_around(url))
        time.sleep(min(IDLE_SECONDS, size.after))
        idle, alone = resident_bytes(pid), resident_bytes(pid, workers=False)
        started, cpu = time.monotonic(), cpu_seconds(pid)
        with Watch(pid) as watch:
            visitors, n_fitted = asyncio.run(_crowd(url, size))
        minutes, used, load = (
            (time.monotonic() - started) / 60,
            cpu_seconds(pid) - cpu,
            os.getloadavg()[2],
        )
        time.sleep(size.after)
        return Outcome(
            [run for visitor in visitors for run in visitor.runs],
            [trouble for visitor in visitors for trouble in visitor.troubles],
            n_fitted, minutes, fresh, idle, watch.peak_bytes, resident_bytes(pid),
            (alone, resident_bytes(pid, workers=False)), used, load,
        )  # fmt: skip


async def _look_around(url: str) -> None:
    """Somebody comes, opens a sample and leaves, after whom the server has loaded what its pages need."""
    visitor = Visitor(url)
    await visitor.arrive()
    await visitor.click(f"sample/{SAMPLE}")
    for page in ("Fit", *AFTERWARDS):
        await visitor.go(page)
    await visitor.leave()


async def come_and_go(url: str, times: int, here: Visitor | None = None) -> list[float]:
    """Open and close a page so many times; the seconds of the reruns that somebody else asked for meanwhile."""
    over = asyncio.Event()

    async def look() -> list[float]:
        while here is not None and not over.is_set():
            for page in ("Reliability", "Data"):
                await here.go(page)
        return [] if here is None else [run.seconds for run in here.runs if run.kind == "page"]

    looking = asyncio.create_task(look())
    for _ in range(times):
        visitor = Visitor(url)
        await visitor.arrive()
        await visitor.leave()
    over.set()
    return await looking


async def _crowd(url: str, size: Size) -> tuple[list[Visitor], int]:
    visitors = [Visitor(url) for _ in range(size.people)]
    counts = await asyncio.gather(*(_visit(visitor, i, size) for i, visitor in enumerate(visitors)))
    return visitors, sum(counts)


async def _visit(visitor: Visitor, number: int, size: Size) -> int:
    """One visit; the number of fits that were seen to be done."""
    pauses = random.Random(number)

    async def think() -> None:
        await visitor.stay(pauses.uniform(0.5, 1.5) * size.think)

    await asyncio.sleep(number * ARRIVAL_SECONDS)
    done = 0
    try:
        await visitor.arrive()
        await think()
        await visitor.upload(
            "upload/main", f"outputs-{number}.npz", await asyncio.to_thread(outputs, size, number)
        )
        await think()
        await visitor.go("Fit")
        await think()
        await visitor.choose("fit/methods", list(size.methods))
        await visitor.click("fit/start")
        until = time.monotonic() + MOST_MINUTES * 60
        while (done := fitted(visitor)) < len(size.methods) and time.monotonic() < until:
            await think()
            if fitted(visitor) < len(size.methods):
                await visitor.go(pauses.choice(MEANWHILE))
                await think()
                await visitor.go("Fit")
        for page in AFTERWARDS:
            await visitor.go(page)
            await think()
    except (OSError, LookupError, AssertionError, TimeoutError) as error:
        visitor.troubles.append(f"given up: {type(error).__name__} {error}")
    await visitor.leave()
    return done


def fitted(visitor: Visitor) -> int:
    """How many fits the Fit page says are done."""
    return sum(text.startswith(FITTED) for text in visitor.texts())


def outputs(size: Size, seed: int) -> bytes:
    """A file that nobody else has."""
    logits, labels = simulated(size.rows, size.n_classes, seed=seed)
    file = io.BytesIO()
    np.savez(file, logits=logits, labels=labels)
    return file.getvalue()


def table(size: Size, found: Outcome) -> str:
    """What was measured, as Markdown."""
    pages = [run.seconds for run in found.runs if run.kind == "page"]
    parts = [run.seconds for run in found.runs if run.kind == "part"]
    rows = [
        [
            "visitors, each with their own data",
            f"{size.people} of {size.rows:,} x {size.n_classes}",
        ],
        ["errors shown to anybody", str(len(found.troubles))],
        ["fits done", f"{found.n_fitted} of {size.people * len(size.methods)}"],
        ["page reruns", _spread(pages)],
        *[[f"- {what}", _spread(seconds)] for what, seconds in _by_page(found.runs).items()],
        ["refreshes of a part", _spread(parts)],
        ["minutes until the last had left", f"{found.minutes:.1f}"],
        ["processor seconds of server and workers", f"{found.cpu_seconds:,.0f}"],
        ["memory of server and workers, nobody ever there", megabytes(found.fresh)],
        [
            "memory idle, after somebody looked around",
            f"{megabytes(found.idle)} (server {megabytes(found.alone[0])})",
        ],
        ["memory at most", megabytes(found.peak)],
        [
            f"memory {size.after:.0f} s after they left",
            f"{megabytes(found.after)} (server {megabytes(found.alone[1])}), idle {found.after / found.idle - 1:+.0%}",
        ],
    ]
    return markdown(["", "measured"], rows)


def _by_page(runs: Sequence[Run]) -> dict[str, list[float]]:
    pages = [run for run in runs if run.kind == "page"]
    return {
        what: [run.seconds for run in pages if run.what == what]
        for what in dict.fromkeys(run.what for run in pages)
    }


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    median, late, most = np.median(seconds), np.quantile(seconds, 0.95), max(seconds)
    return f"median {median:.2f} s, 95 % {late:.2f} s, most {most:.2f} s (n = {len(seconds):,})"


if __name__ == "__main__":
    main()
