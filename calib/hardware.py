"""What this machine can compute on, without starting TensorFlow, which takes seconds."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

DEVICES = ("auto", "cpu", "gpu")
"""What a person can ask for."""

_CPU = "CPU"
"""First word of the description of a processor; a GPU's is its name."""

WORTH_A_GPU = 1_000_000_000
"""Numbers read in a whole fit from which a GPU is worth starting.

NumPy takes the loss and its gradient over some 10^8 logits a second, and TensorFlow takes 6 s to start, a GPU more.
"""


@dataclass(frozen=True)
class Ran(Generic[T]):
    """What a computation gave, and where it ran.

    Attributes
    ----------
    result : what it returned.
    device : where it ran, in words.
    note : a sentence where that is not what was asked for, else empty.
    """

    result: T
    device: str
    note: str = ""


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


def worth_a_gpu(preference: str, numbers: int) -> bool:
    """Whether a fit for which TensorFlow is not needed should start it for the GPU.

    Parameters
    ----------
    preference : one of :data:`DEVICES`; "gpu" is always followed where there is one.
    numbers : entries of the logits times how often the fit reads them.
    """
    wanted = preference == "gpu" or (preference == "auto" and numbers >= WORTH_A_GPU)
    return wanted and gpu_present() and find_spec("tensorflow") is not None


def no_gpu_note() -> str:
    """What to say of a fit that should have run on a GPU and ran on the CPU."""
    if gpu_present() and find_spec("tensorflow") is None:
        return (
            f"A fit on a GPU needs TensorFlow, which is not installed, so it ran on the {cpu_description()}. "
            'It comes with: pip install "calib-studio[gpu]".'
        )
    if gpu_present():
        return (
            f"TensorFlow cannot use this machine's GPU, so the fit ran on the {cpu_description()}. "
            'Its CUDA libraries come with: pip install "calib-studio[gpu]".'
        )
    return f"No NVIDIA GPU was found, so the fit ran on the {cpu_description()}."
