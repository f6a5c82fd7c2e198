"""What workers run: fits, named by reference in the messages sent to them, and tasks that can be done in parts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from calib.base import Calibrator
from calib.base import Progress as Callback
from calib.hardware import cpu_description
from calib.jobs.protocol import Progress
from calib.registry import calibrator
from calib.top_k import fit_top_k

Task = TypeVar("Task", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit gives whose task does more than fit.

    Attributes
    ----------
    calibrator : the fitted one.
    judgement : what else was computed of it; None where nothing was.
    seconds, cpu_seconds : of the fit alone; NaN where they are not known.
    """

    calibrator: Calibrator
    judgement: Any = None
    seconds: float = math.nan
    cpu_seconds: float = math.nan


def fit_calibrator(
    method: str, params: Mapping[str, Any], *, data: Mapping[str, Any], callback: Callback
) -> Calibrator:
    """Fit a registered method on ``data``: ``logits``, ``labels`` and the arrays the method needs."""
    _fit_small(method)
    callback(0, 0, math.nan)  # the time counts from here: the next fit of this method will not wait for imports
    fitted = fit_top_k(calibrator(method, **params), **data, progress=callback)
    if not hasattr(fitted, "device_"):
        setattr(fitted, "device_", cpu_description())  # noqa: B010 - of this worker: the app may be on another machine
    return fitted


def fit_small(methods: tuple[str, ...], *, data: Mapping[str, Any], callback: Callback) -> None:
    """Fit methods on a handful of rows, so that whatever they import is there before a person waits for it."""
    for name in methods:
        _fit_small(name)


def plainly(function: Callable[..., Any], *arguments: Any, data: Mapping[str, Any], callback: Callback) -> Any:
    """Call a function that reports no progress, with ``data`` where there is any."""
    return function(*arguments, data=data) if data else function(*arguments)


def import_modules(*names: str) -> None:
    """Import modules, so that nobody waits for it later; whoever needs one that is missing says so then."""
    for name in names:
        with suppress(ImportError):
            import_module(name)


@cache  # once for each process
def _fit_small(name: str) -> None:
    generator = np.random.default_rng(0)
    logits, labels = generator.normal(size=(60, 3)), np.arange(60) % 3
    features = generator.normal(size=(60, 4))
    more: dict[str, Any] = {"features": features, "train_features": features, "train_labels": labels}
    with suppress(Exception):  # a method that cannot be fitted says so when it is asked for
        unfitted = calibrator(name)
        unfitted.fit(logits, labels, **{array: more[array] for array in unfitted.needs})


@dataclass(frozen=True, eq=False)
class Parts:
    """How a task is divided.

    Attributes
    ----------
    function : does one part, called by a worker as ``function(*arguments, data=..., callback=...)``; found by module
        and name.
    arguments : of each part.
    steps : so many steps each part reports.
    join : makes the task's result of those of its parts, in their order. Whoever calls the task itself gets the same.
    """

    function: Callable[..., Any]
    arguments: Sequence[tuple[Any, ...]]
    steps: Sequence[int]
    join: Callable[[list[Any]], Any]


def in_parts(divide: Callable[..., Parts]) -> Callable[[Task], Task]:
    """Mark a task as one that ``divide(*arguments, data=...)`` divides, given the task's own arguments and arrays."""

    def mark(task: Task) -> Task:
        task.divide = divide  # type: ignore[attr-defined]
        return task

    return mark


def divided(function: Callable[..., Any], arguments: Sequence[Any], data: Mapping[str, Any]) -> Parts | None:
    """The parts of a task; None for one that is not marked, or is a single part."""
    divide = getattr(function, "divide", None)
    parts: Parts | None = None if divide is None else divide(*arguments, data=data)
    return parts if parts is not None and len(parts.arguments) > 1 else None


class JointProgress:
    """The progress of a task from that of its parts. Safe to use from many threads.

    Parameters
    ----------
    steps : of each part, as planned.
    report : takes the progress of the whole.
    """

    def __init__(self, steps: Sequence[int], report: Callable[[Progress], None]):
        self._planned = list(steps)
        self._done = [0] * len(steps)
        self._cpu_seconds = [0.0] * len(steps)
        self._report = report
        self._lock = threading.Lock()

    def of_part(self, part: int) -> Callable[[Progress], None]:
        """What takes the progress of one part; one that starts again does not count its steps twice."""

        def report(progress: Progress) -> None:
            self._count(part, progress.step, progress)

        return report

    def ended(self, part: int) -> None:
        """Count all steps of a part; it need not have reported its last ones."""
        self._count(part, self._planned[part], Progress(total=1))

    def _count(self, part: int, step: int, progress: Progress) -> None:
        with self._lock:
            self._done[part] = max(self._done[part], step)
            self._cpu_seconds[part] = max(self._cpu_seconds[part], progress.cpu_seconds)
            done, planned, cpu_seconds = sum(self._done), sum(self._planned), sum(self._cpu_seconds)
        # What a part says beside its steps, such as that it starts again, is worth saying; not how far it is.
        message = f"Step {done} of {planned}." if progress.total else progress.message
        self._report(Progress(done, planned if done else 0, progress.value, message, cpu_seconds))
