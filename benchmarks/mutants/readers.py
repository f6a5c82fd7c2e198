"""Mutants through :func:`calib.data.inspect` with ``isolate=True``, from one process that must live on."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import markdown
from benchmarks.mutants.uploads import FORMS, Upload, upload
from calib.data import Inspection, Predictions, inspect


@dataclass(frozen=True)
class Answer:
    """How one upload was met.

    Attributes
    ----------
    outcome : ``read``, the code of the first finding, or ``ended`` where the reader died of it.
    problem : what should not have been; empty where all was well.
    seconds : by the clock.
    """

    number: int
    form: str
    outcome: str
    problem: str
    seconds: float


class Tracebacks(logging.Handler):
    """What is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._seen: list[str] = []

    def __enter__(self) -> Tracebacks:
        logging.getLogger("calib").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("calib").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message's last lines."""
        self._seen.append(record.getMessage().strip()[-300:])

    def take(self) -> str:
        """What came since the last call."""
        seen, self._seen = self._seen, []
        return "; ".join(seen)


def open_all(numbers: Iterable[int], seed: int, minutes: float, n_threads: int) -> list[Answer]:
    """Open some at the same time until the time is over."""
    until = time.monotonic() + 60 * minutes
    inspect(("warm.csv", b"label,p_0,p_1\n0,0.5,0.5\n"), isolate=True)

    def opened(number: int) -> Answer | None:
        if number % 1000 == 0:
            print(f"{number:,} ...", file=sys.stderr, flush=True)
        return open_one(upload(number, seed), log) if time.monotonic() < until else None

    with Tracebacks() as log, ThreadPoolExecutor(n_threads) as threads:
        return [answer for answer in threads.map(opened, numbers) if answer is not None]


def open_one(made: Upload, log: Tracebacks) -> Answer:
    """Open one; a traceback anywhere is a problem, and so are findings without words or data that break promises."""
    started = time.monotonic()
    try:
        found = inspect((made.name, made.content), isolate=True)
        outcome = "read" if found.predictions is not None else found.findings[0].code
        outcome = (
            "ended"
            if any(finding.code == "reader_ended" for finding in found.findings)
            else outcome
        )
        problem = wrong(found)
    except Exception as error:
        outcome, problem = "raised", f"{type(error).__name__}: {str(error)[:200]}"
    seconds = time.monotonic() - started
    problem = " ".join((problem or log.take()).split())
    return Answer(made.number, made.form, outcome, problem, seconds)


def table(answers: list[Answer]) -> str:
    """One line for each form: how many were read and refused, and the most that one took."""
    rows = []
    for form in [*dict.fromkeys(FORMS), "all"]:
        here = [a for a in answers if form in (a.form, "all")]
        if here:
            wrong, read = sum(bool(a.problem) for a in here), sum(a.outcome == "read" for a in here)
            seconds = [a.seconds for a in here]
            times = (
                f"{value:.2f}"
                for value in (np.median(seconds), np.quantile(seconds, 0.99), max(seconds))
            )
            ended = sum(a.outcome == "ended" for a in here)
            counts = (
                f"{n:,}" for n in (len(here), read, len(here) - read - wrong - ended, ended, wrong)
            )
            rows.append([form, *counts, *times])
    return markdown(
        [
            "",
            "uploads",
            "read",
            "refused",
            "reader died",
            "wrong",
            "median s",
            "99 % s",
            "most s",
        ],
        rows,
    )


def wrong(found: Inspection) -> str:
    """What reading a file should not have given, if anything is."""
    if not found.predictions and not any(finding.level == "error" for finding in found.findings):
        return "neither data nor an error"
    return wrong_words(found.findings) or (
        wrong_data(found.predictions) if found.predictions else ""
    )


def wrong_words(findings: tuple) -> str:
    """What is wrong with the findings' sentences, if anything is."""
    for finding in findings:
        if not finding.message.strip() or (finding.level == "error" and not finding.action.strip()):
            return f"{finding.code} says nothing"
        if len(finding.message) > 2000 or any(ord(c) < 32 and c != "\n" for c in finding.message):
            return f"{finding.code}: {len(finding.message):,} characters, or control characters"
    return ""


def wrong_data(data: Predictions) -> str:
    """The promise of Predictions that is broken, if one is."""
    if not np.isfinite(data.logits).all() or data.logits.shape != (len(data), data.n_classes):
        return "logits that are not finite, or of another shape"
    if (
        data.labels.min() < 0
        or data.labels.max() >= data.n_classes
        or len(data.class_names) != data.n_classes
    ):
        return "labels beyond the classes"
    for array in (data.features, data.train_features):
        if array is not None and not np.isfinite(array).all():
            return "features that are not finite"
    return ""
