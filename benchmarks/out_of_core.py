"""Files larger than memory: fits and predictions of 1,000,000 x 1000 float32 logits, 4 GB on disk.

    python -m benchmarks.out_of_core [--rows 1000000] [--classes 1000] [--folder FOLDER]

The logits are simulated and written to a temporary folder first; where its disk is too small there are fewer rows,
which is said. Every fit and every prediction runs in a process of its own, on as many threads as there are cores, with
the file dropped from the system's cache before. Memory is all that the process holds, the imports included.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import Cost, cost_of, in_fresh_process, machine, markdown, megabytes
from benchmarks.outputs import simulated
from calib.calibrators.imax import IMaxBinning
from calib.calibrators.imax.placement import centres_of, information_bound
from calib.calibrators.imax.sums import SigmoidSums
from calib.export import runtime, writer
from calib.numerics import Floats, Ints, log_softmax, one_vs_rest_log_odds
from calib.out_of_core import apply_out_of_core, fit_out_of_core, open_rows
from calib.out_of_core.apply import DTYPES
from calib.out_of_core.fit import streamed_methods
from calib.registry import calibrator

BLOCK = 2_000
SUBSAMPLE = 20_000
"""Rows of the comparison with fits in memory."""

BYTES_PER_NUMBER = 4 + 8 + 1  # the file, its result in float64, and some room
CHUNK = 2**23


@dataclass(frozen=True)
class Timed:
    """What a run took; ``seconds`` by the clock."""

    cost: Cost
    seconds: float


def rows_that_fit(rows: int, n_classes: int, folder: Path) -> int:
    """As many rows as the disk holds with their results, at most those wanted."""
    fitting = shutil.disk_usage(folder).free // (BYTES_PER_NUMBER * n_classes)
    if fitting < rows:
        print(f"The disk holds {fitting:,} rows with their results, not {rows:,}.", file=sys.stderr)
    return min(rows, fitting)


def make(path: Path, rows: int, n_classes: int) -> Ints:
    """Write simulated logits as float32, in blocks with seeds of their own; returns the labels."""
    labels = []
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, n_classes)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, rows, BLOCK):
            logits, part = simulated(min(BLOCK, rows - start), n_classes, seed=start)
            file.write(logits.astype("<f4").data)
            labels.append(part)
        os.fsync(file.fileno())
    return np.concatenate(labels)


def forget(path: Path) -> None:
    """Drop a file from the system's cache, so that it is read from the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def reading_seconds(path: Path) -> float:
    """Time to read a file from the disk, from one end to the other, and do nothing with it."""
    forget(path)
    buffer, started = bytearray(CHUNK), time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - started


def fit(method: str, path: Path, labels: Path, saved: Path) -> Timed:
    """Fit to the whole file and save what was fitted."""
    given = np.load(labels)
    forget(path)
    started = time.perf_counter()
    fitted, cost = cost_of(lambda: fit_out_of_core(method, path, given, **_params(method)), baseline=0)
    writer.save(fitted, saved)
    return Timed(cost, time.perf_counter() - started)


def apply(saved: Path, path: Path, out: Path, dtype: str) -> Timed:
    """Calibrate the whole file, and have the result on the disk."""
    exported = runtime.load(saved)

    def work() -> int:
        with open_rows(path) as rows:
            return apply_out_of_core(exported, rows, out, dtype=dtype)

    forget(path)
    started = time.perf_counter()
    _, cost = cost_of(work, baseline=0)
    return Timed(cost, time.perf_counter() - started)


def agreement(method: str, path: Path, labels: Ints, saved: Path | None) -> list[str]:
    """A fit in memory to the first rows beside that from a stream of them, and beside that to the whole file."""
    n = min(SUBSAMPLE, len(labels) // 2)
    with open_rows(path) as rows:
        logits, fresh = rows.take(np.arange(n)), rows.take(np.arange(len(rows) - n, len(rows)))
    in_memory = calibrator(method, **_params(method)).fit(logits, labels[:n])
    streamed = fit_out_of_core(method, logits, labels[:n], **_params(method))
    whole = runtime.load(saved).calibrator if saved else streamed
    size = n * logits.shape[1] if method == "imax" else n
    values = [objective(fitted, logits, labels[:n]) for fitted in (in_memory, streamed)]
    later = [nll(fitted, fresh, labels[-n:]) for fitted in (in_memory, whole)]
    difference = abs(values[0] - values[1])
    return [f"{size:,}", f"{values[0]:.6f}", f"{difference:.1e}", *(f"{value:.4f}" for value in later)]


def objective(fitted, logits: Floats, labels: Ints) -> float:
    """What the method maximises or minimises on some rows, a row (of I-Max: a pair), in nats."""
    if isinstance(fitted, IMaxBinning):
        sums = SigmoidSums.from_log_odds(one_vs_rest_log_odds(logits.astype(np.float64)))
        cuts = sums.positions(fitted.maps_[0]["edges"])
        return information_bound(*sums.between(cuts), centres_of(sums, cuts))
    if hasattr(fitted, "objective_"):
        return fitted.objective_ / fitted.n_rows_
    scaled = log_softmax(logits.astype(np.float64) / fitted.temperature_)
    return -float(scaled[np.arange(len(labels)), labels].mean())


def nll(fitted, logits: Floats, labels: Ints) -> float:
    """Mean negative log-likelihood of calibrated rows."""
    probs = fitted.predict_proba(logits)[np.arange(len(labels)), labels]
    return -float(np.log(np.maximum(probs, np.finfo(float).tiny)).mean())


def _params(method: str) -> dict[str, str]:
    return {"device": "cpu"} if method == "gpcalib" else {}


def measured(rows: int, n_classes: int, folder: Path) -> tuple[list, list, list, float]:
    """Rows of the tables of fits, agreement and predictions, and the seconds to read the file."""
    path, labels_path, out = folder / "big.npy", folder / "labels.npy", folder / "calibrated.npy"
    print("making the file ...", file=sys.stderr, flush=True)
    labels = make(path, rows, n_classes)
    np.save(labels_path, labels)
    reading = reading_seconds(path)
    size, fits, agreements, predictions = path.stat().st_size, [], [], []
    for method in streamed_methods():
        print(f"{method} ...", file=sys.stderr, flush=True)
        saved = folder / f"{method}.npz"
        timed = in_fresh_process(fit, method, path, labels_path, saved)
        fits.append([method, *_cells(timed), f"{size / timed.seconds / 1e6:,.0f} MB/s"])
        agreements.append([method, *in_fresh_process(agreement, method, path, labels, saved)])
        for dtype in DTYPES:
            timed = in_fresh_process(apply, saved, path, out, dtype)
            share = reading / timed.seconds
            speed = f"{size / timed.seconds / 1e6:,.0f} MB/s"
            predictions.append([f"{method}, {dtype}", *_cells(timed), speed, f"{share:.0%}"])
            out.unlink()
    return fits, agreements, predictions, reading


def _cells(timed: Timed) -> list[str]:
    return [f"{timed.seconds:.1f}", f"{timed.cost.cpu_seconds:.1f}", megabytes(timed.cost.peak_bytes)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to measure")
    given = parser.parse_args()
    rows = rows_that_fit(given.rows, given.classes, given.folder)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        fits, agreements, predictions, reading = measured(rows, given.classes, Path(folder))
    size = rows * given.classes * 4
    print(machine().replace(", one thread", ""), end="\n\n")
    print(
        f"{rows:,} x {given.classes:,} float32, {megabytes(size)} on disk; reading it takes {reading:.1f} s, "
        f"{size / reading / 1e6:,.0f} MB/s.\n"
    )
    print(markdown(["fit", "s", "CPU s", "peak memory", "of the file"], fits), end="\n\n")
    header = ["method", "rows or pairs", "objective in memory", "difference", "NLL in memory", "NLL of all rows"]
    print(markdown(header, agreements), end="\n\n")
    print(markdown(["apply", "s", "CPU s", "peak memory", "of the file", "of reading"], predictions))


if __name__ == "__main__":
    main()
