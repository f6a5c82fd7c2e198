"""Mutants through the Data page of a server: visitors upload them, and another one looks at pages meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.mutants.readers import Answer, Peaks
from benchmarks.mutants.uploads import upload
from benchmarks.process_tree import family, server
from benchmarks.visitor import Visitor

SAMPLE = "digits-cnn"
LOOKED_AT = ("Data", "Reliability", "Compare", "Decide")
PAUSE = 0.25
"""Seconds that the other visitor looks at a page."""
FAILED = ("could not be drawn", "could not be read")
"""In a page that met an error of this program."""
BEFORE = 24
"""Pages that the other visitor sees before the first mutant comes, with which the rest is compared."""


def open_all(
    numbers: Iterable[int], seed: int, minutes: float, n_visitors: int, folder: Path
) -> tuple[list[Answer], list[str]]:
    """Serve the app, let everybody come, and say what the pages took."""
    with server(folder) as (url, pid), Peaks(pid) as peaks:
        answers, before, during = asyncio.run(crowd(url, iter(numbers), seed, minutes, n_visitors, peaks))
        lives = pid in family(pid) and Path(f"/proc/{pid}/statm").read_text().split()[1] != "0"
    log = (folder / "log").read_text(errors="replace")
    return answers, [
        f"The server {'lives' if lives else 'died'}.",
        f"Tracebacks in its log: {log.count('Traceback')}; lines of errors: {log.count(' ERROR ')}.",
        f"Another visitor's page before: {spread(before)}.",
        f"Another visitor's page while they came: {spread(during)}.",
    ]


async def crowd(
    url: str, numbers: Iterator[int], seed: int, minutes: float, n_visitors: int, peaks: Peaks
) -> tuple[list[Answer], list[float], list[float]]:
    """All visitors; the seconds of the other one's pages before the mutants came and while they came."""
    other = Visitor(url)
    await other.arrive()
    await other.click(f"sample/{SAMPLE}")
    for page in LOOKED_AT:
        await other.go(page)  # what is drawn first is computed
    before = [await seconds_of(other, LOOKED_AT[i % len(LOOKED_AT)]) for i in range(BEFORE)]
    answers: list[Answer] = []
    until = time.monotonic() + 60 * minutes
    tasks = [asyncio.create_task(uploads(url, numbers, seed, until, peaks, answers)) for _ in range(n_visitors)]
    during: list[float] = []
    while not all(task.done() for task in tasks):
        during.append(await seconds_of(other, LOOKED_AT[len(during) % len(LOOKED_AT)]))
    await asyncio.gather(*tasks)
    answers += [Answer(-1, "other visitor", "", trouble, 0.0, 0) for trouble in other.troubles]
    await other.leave()
    return answers, before, during


async def seconds_of(visitor: Visitor, page: str) -> float:
    """How long a page takes, after a pause."""
    await visitor.stay(PAUSE)
    started = time.monotonic()
    await visitor.go(page)
    return time.monotonic() - started


async def uploads(
    url: str, numbers: Iterator[int], seed: int, until: float, peaks: Peaks, answers: list[Answer]
) -> None:
    """One visitor who uploads the next mutant as soon as the page has answered to the last."""
    visitor = Visitor(url)
    await visitor.arrive()
    for number in numbers:
        if time.monotonic() > until:
            break
        made = await asyncio.to_thread(upload, number, seed)
        visitor.troubles.clear()
        started = time.monotonic()
        try:
            await visitor.upload("upload/main", made.name, made.content)
            problem = next((t for t in visitor.troubles if any(words in t for words in FAILED)), "")
            outcome = "refused" if visitor.troubles else "read"
            outcome = "ended" if any("ended the process" in trouble for trouble in visitor.troubles) else outcome
        except (OSError, LookupError, TimeoutError) as error:
            outcome, problem = "given up", f"{type(error).__name__} {error}"
            visitor = Visitor(url)
            await visitor.arrive()
        answers.append(Answer(number, made.form, outcome, problem, time.monotonic() - started, peaks.take()))
    await visitor.leave()


def spread(seconds: list[float]) -> str:
    """Median, 99 % and most."""
    late = np.quantile(seconds, 0.99)
    return f"median {np.median(seconds):.2f} s, 99 % {late:.2f} s, most {max(seconds):.2f} s (n = {len(seconds):,})"
