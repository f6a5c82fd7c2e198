"""What a computation costs: CPU seconds, peak memory, and the machine it ran on (Linux)."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

PACKAGES = ("numpy", "scipy", "scikit-learn", "tensorflow", "gpflow")


@dataclass(frozen=True)
class Cost:
    """What one computation took.

    Attributes
    ----------
    cpu_seconds : user and system time of the whole process, all threads together.
    peak_bytes : the most memory the process held meanwhile, above a baseline.
    """

    cpu_seconds: float
    peak_bytes: int


def cost_of(work: Callable[[], Result], baseline: int | None = None) -> tuple[Result, Cost]:
    """Do the work and say what it cost.

    Parameters
    ----------
    work : called once.
    baseline : resident bytes that do not count, such as those after the imports; None takes those held now.
    """
    gc.collect()
    baseline = _status_bytes("VmRSS") if baseline is None else baseline
    Path("/proc/self/clear_refs").write_text(
        "5"
    )  # the kernel's peak starts again from what is held now
    started = time.process_time()
    result = work()
    seconds = time.process_time() - started
    return result, Cost(seconds, max(_status_bytes("VmHWM") - baseline, 0))


def in_fresh_process(function: Callable[..., Result], *args: Any) -> Result:
    """Call a module's function in a process of its own, which has inherited nothing, and return what it returns."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def machine(*packages: str) -> str:
    """One line that says where and with what the numbers were made; ``packages`` adds to the versions."""
    names = [
        line.split(":")[1].strip()
        for line in _lines("/proc/cpuinfo")
        if line.startswith("model name")
    ]
    processor = names[0] if names else platform.machine()
    memory = next(
        int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")
    )
    cores = len(os.sched_getaffinity(0))
    versions = ", ".join(f"{name} {_version(name)}" for name in (*PACKAGES, *packages))
    return (
        f"{processor} ({cores} cores, {memory / 2**20:.0f} GB), one thread, no GPU used; "
        f"Python {platform.python_version()}, {versions}; {datetime.now(UTC):%Y-%m-%d}."
    )


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """A Markdown table whose first ``left`` columns are set left and the others right, padded to be read as it is."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join([line(cells[0]), line(rule), *map(line, cells[1:])])


def megabytes(n_bytes: float) -> str:
    """Bytes as whole megabytes of 10^6."""
    return f"{n_bytes / 1e6:,.0f} MB"


def _status_bytes(field: str) -> int:
    # Not getrusage: its maximum is carried over from the parent through fork and exec.
    line = next(line for line in _lines("/proc/self/status") if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
