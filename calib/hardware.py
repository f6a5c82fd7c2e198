"""What this machine can compute on, without starting TensorFlow, which takes seconds."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

DEVICES = ("auto", "cpu", "gpu")
"""What a person can ask for."""

_CPU = "CPU"
"""First word of the description of a processor; a GPU's is its name."""


def cpu_description() -> str:
    """The processor in words, with the cores that this process may use: "CPU (2 cores)"."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{_CPU} ({cores} core{'s' if cores > 1 else ''})"


def memory_bytes(root: Path = Path("/")) -> float:
    """Bytes of memory that this process may use: the machine's, or those that its container is limited to."""
    try:
        machine = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # Windows
        machine = 8e9
    limits = [machine]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # control groups of version 2 and 1
        with suppress(OSError, ValueError):  # not there, or "max"
            limits.append(float((root / "sys/fs/cgroup" / name).read_text()))
    return min(limits)


def device_of(fitted: object) -> str:
    """Where a calibrator was fitted, in words; a method that has no choice computes on the processor."""
    return str(getattr(fitted, "device_", cpu_description()))


def on_cpu(fitted: object) -> bool:
    """Whether a calibrator was fitted on the processor."""
    return device_of(fitted).partition(" ")[0] == _CPU


def gpu_present(root: Path = Path("/")) -> bool:
    """Whether the machine has an NVIDIA GPU and does not hide it from us; TensorFlow may yet lack its libraries."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None and visible.strip()[:1] in ("", "-"):
        return False
    under_windows = root / "usr/lib/wsl/lib/libcuda.so.1"
    return any(root.glob("dev/nvidia[0-9]*")) or under_windows.exists()
