"""GPcalib where nothing else can run: a fit at 25,000 x 1000 and predictions by draws up to 50,000 x 1000.

    python -m benchmarks.gpcalib_large [--quick]

The logits are simulated. Everything runs on one thread of the CPU, each fit and prediction in a process of its own.
Imports and the making of the data are not counted.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.measure import Cost, bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes
from benchmarks.outputs import simulated
from calib.calibrators.gpcalib import GPCalib

FITS = ((25_000, 1000),)
PREDICTIONS = ((10_000, 1000), (50_000, 1000))
CALIBRATION_ROWS = 1000
"""Rows of the fit whose predictions are measured."""


def fit(rows: int, n_classes: int) -> tuple[Cost, int, list[str]]:
    """Cost of a fit, with the memory above that after the imports; how many rows it used, and its notes."""
    imported = bytes_after_imports(
        "scipy.cluster.vq", "calib.calibrators.gpcalib.training", "calib.calibrators.gpcalib.posterior"
    )
    logits, labels = simulated(rows, n_classes)
    fitted, cost = cost_of(lambda: GPCalib(device="cpu").fit(logits, labels), imported)
    return cost, fitted.n_rows_, fitted.notes()


def predict(rows: int, n_classes: int) -> tuple[Cost, int]:
    """Cost of a prediction by draws, with the memory above fitted calibrator and logits; and bytes of its output."""
    fitted = GPCalib(device="cpu").fit(*simulated(CALIBRATION_ROWS, n_classes))
    logits, _ = simulated(rows, n_classes, seed=1)
    probs, cost = cost_of(lambda: fitted.predict_proba(logits))
    return cost, probs.nbytes


def tables(fits: tuple[tuple[int, int], ...], predictions: tuple[tuple[int, int], ...]) -> tuple[list, list, list[str]]:
    """Rows of the two tables, and what the fits had to say."""
    fit_rows, predict_rows, notes = [], [], []
    for size in fits:
        print("fit {:,} x {:,} ...".format(*size), file=sys.stderr, flush=True)
        cost, used, said = in_fresh_process(fit, *size)
        seconds = f"{cost.cpu_seconds:.1f}"
        fit_rows.append(["{:,} x {:,}".format(*size), seconds, megabytes(cost.peak_bytes), f"{used:,}"])
        notes += said
    for size in predictions:
        print("predict {:,} x {:,} ...".format(*size), file=sys.stderr, flush=True)
        cost, output = in_fresh_process(predict, *size)
        beyond = megabytes(max(cost.peak_bytes - output, 0))
        predict_rows.append(["{:,} x {:,}".format(*size), f"{cost.cpu_seconds:.2f}", megabytes(output), beyond])
    return fit_rows, predict_rows, notes


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows, to see that everything runs")
    factor = 100 if parser.parse_args().quick else 1
    fits, predictions = (tuple((n // factor, k) for n, k in sizes) for sizes in (FITS, PREDICTIONS))
    fit_rows, predict_rows, notes = tables(fits, predictions)
    print(machine(), end="\n\n")
    print(markdown(["fit", "CPU s", "peak memory", "rows used"], fit_rows))
    print("\nMemory above that after the imports, with the logits.", *notes, end="\n\n")
    print(markdown(["prediction by draws", "CPU s", "output", "peak memory beyond the output"], predict_rows))


if __name__ == "__main__":
    main()
