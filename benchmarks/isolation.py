"""What it costs to read a file in a process of its own: side by side with reading it here, in one run.

``python -m benchmarks.isolation`` prints medians of wall-clock and processor time. The processor time of a reader is
that of the ended children of the fork server.
"""

from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import calib
from calib.isolation.client import READERS


def npz() -> bytes:
    """Logits of 10,000 rows and 1,000 classes."""
    generator = np.random.default_rng(0)
    buffer = io.BytesIO()
    np.savez(buffer, logits=generator.normal(size=(10_000, 1000)), labels=generator.integers(0, 1000, 10_000))
    return buffer.getvalue()


def csv() -> bytes:
    """Probabilities of nine classes and a label, 50,000 rows."""
    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.dirichlet(np.ones(9), 50_000), columns=[f"p_{k}" for k in range(9)])
    return table.assign(label=generator.integers(0, 9, 50_000)).to_csv(index=False).encode()


def processor_seconds() -> float:
    """Of this process, and of the readers that have ended."""
    process = READERS.process
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split() if process else []
    children = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
    return time.process_time() + children


def measured(read: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    clock, processor = time.perf_counter(), processor_seconds()
    read()
    return time.perf_counter() - clock, processor_seconds() - processor


def main() -> None:
    """Print one line a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    files = {"npz 10,000 x 1000": ("outputs.npz", npz()), "csv 50,000 x 10": ("outputs.csv", csv())}
    print(f"{'file':20}{'here s':>9}{'separate s':>11}{'ratio':>7}{'here CPU':>10}{'separate CPU':>13}")
    for title, source in files.items():
        for isolate in (False, True):
            calib.load(source, isolate=isolate)
        runs = [[measured(lambda apart=apart: calib.load(source, isolate=apart)) for apart in (False, True)]  # noqa: B023
                for _ in range(repeats)]  # fmt: skip
        (here, here_cpu), (apart, apart_cpu) = np.median(runs, axis=0)
        print(f"{title:20}{here:9.3f}{apart:11.3f}{apart / here:7.2f}{here_cpu:10.3f}{apart_cpu:13.3f}")


if __name__ == "__main__":
    main()
