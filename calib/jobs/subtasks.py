"""A task in parts that can be done apart, wherever workers are free, with the result of one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from calib.jobs.protocol import Progress

Task = TypeVar("Task", bound=Callable[..., Any])


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
