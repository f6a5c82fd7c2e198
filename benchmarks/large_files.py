"""Files larger than memory: a fit to a sample of their rows beside one to all of them, and predictions in blocks.

    python -m benchmarks.large_files [--rows 1000000] [--classes 100] [--folder FOLDER]

The float32 logits are simulated and written to a temporary folder first. Every fit and every prediction runs in a
process of its own. Memory is all that the process holds at most, the imports included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Cost, cost_of, in_fresh_process, machine, markdown, megabytes
from benchmarks.outputs import simulated
from calib.apply import predict_file, sample_rows
from calib.data import Choices
from calib.export import runtime, writer
from calib.numerics import Floats, Ints
from calib.registry import calibrator

METHODS = ("temperature", "isotonic", "vector", "gpcalib")
BLOCK = 20_000
HEADER = ["fit", "rows", "reading: CPU s", "CPU s", "peak memory", "NLL on the other rows"]


def make(folder: Path, rows: int, n_classes: int) -> None:
    """Write ``big.npy`` with simulated logits, in blocks with seeds of their own, and ``labels.npy``."""
    logits = np.lib.format.open_memmap(
        folder / "big.npy", mode="w+", dtype=np.float32, shape=(rows, n_classes)
    )
    labels = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, BLOCK):
        block = slice(start, min(start + BLOCK, rows))
        logits[block], labels[block] = simulated(block.stop - start, n_classes, seed=start)
    logits.flush()
    np.save(folder / "labels.npy", labels)


def fit(method: str, folder: Path, all_rows: bool) -> tuple[int, Cost, Cost]:
    """Fit to all rows or to a sample, and save the fit; how many rows, and the costs of reading and of fitting."""

    def read() -> tuple[Floats, Ints]:
        if all_rows:
            return np.load(folder / "big.npy"), np.load(folder / "labels.npy")
        sample = sample_rows(
            folder / "big.npy", labels=folder / "labels.npy", choices=Choices(kind="logits")
        )
        return sample.logits, sample.labels

    (logits, labels), reading = cost_of(read, baseline=0)
    fitted, fitting = cost_of(lambda: calibrator(method).fit(logits, labels), baseline=0)
    writer.save(fitted, folder / _name(method, all_rows))
    return len(labels), reading, fitting


def nll_of_others(method: str, folder: Path, all_rows: bool) -> float:
    """Mean NLL of a fit on the rows that the sample leaves out, for either fit."""
    fitted = runtime.load(folder / _name(method, all_rows)).calibrator
    sample = sample_rows(
        folder / "big.npy", labels=folder / "labels.npy", choices=Choices(kind="logits")
    )
    logits, labels = np.load(folder / "big.npy", mmap_mode="r"), np.load(folder / "labels.npy")
    parts = [slice(start, start + BLOCK) for start in range(0, len(labels), BLOCK)]
    whole = sum(nll(fitted, np.array(logits[part]), labels[part]) for part in parts)
    return (whole - nll(fitted, sample.logits, sample.labels)) / (len(labels) - len(sample))


def nll(fitted, logits: Floats, labels: Ints) -> float:
    """Sum of the negative log-likelihood of calibrated rows."""
    probs = fitted.predict_proba(logits)[np.arange(len(labels)), labels]
    return -float(np.log(np.maximum(probs, np.finfo(float).tiny)).sum())


def predict(method: str, folder: Path, target: str) -> Cost:
    """Calibrate the whole file."""
    exported = runtime.load(folder / _name(method, False))
    work = lambda: predict_file(exported, folder / "big.npy", folder / target)  # noqa: E731
    return cost_of(work, baseline=0)[1]


def _name(method: str, all_rows: bool) -> str:
    return f"{method}_{'all' if all_rows else 'sample'}.npz"


def measured(rows: int, n_classes: int, folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of the tables of fits and of predictions."""
    make(folder, rows, n_classes)
    fits, predictions = [], []
    for method in METHODS:
        for all_rows in (False, True):
            print(
                f"{method}, {'all rows' if all_rows else 'sample'} ...", file=sys.stderr, flush=True
            )
            n, reading, fitting = in_fresh_process(fit, method, folder, all_rows)
            peak = megabytes(max(reading.peak_bytes, fitting.peak_bytes))
            value = in_fresh_process(nll_of_others, method, folder, all_rows)
            fits.append(
                [
                    method,
                    f"{n:,}",
                    f"{reading.cpu_seconds:.1f}",
                    f"{fitting.cpu_seconds:.1f}",
                    peak,
                    f"{value:.6f}",
                ]
            )
        for target in ("out.npy", "out.parquet"):
            cost = in_fresh_process(predict, method, folder, target)
            (folder / target).unlink()
            peak = megabytes(cost.peak_bytes)
            predictions.append([f"{method}, {target[3:]}", f"{cost.cpu_seconds:.1f}", peak])
    return fits, predictions


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        fits, predictions = measured(given.rows, given.classes, Path(folder))
    print(machine(), end="\n\n")
    print(
        f"{given.rows:,} x {given.classes:,} float32, {megabytes(given.rows * given.classes * 4)} on disk.\n"
    )
    print(markdown(HEADER, fits), end="\n\n")
    print(markdown(["predict_file", "CPU s", "peak memory"], predictions))


if __name__ == "__main__":
    main()
