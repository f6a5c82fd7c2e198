"""NLL on test rows after a calibration with few rows, beside the raw model's: which methods lose by it.

    python -m benchmarks.small_rows [--data FILE.npz ...] [--splits 5] [--sizes 300 1000 3000] [--gpcalib] [--quick]

Each file is an npz with ``predictions`` (probabilities) and ``ground_truth``; without files, the project's samples with
enough rows serve. Every method is fitted to random rows of a file and scored on all others. A method loses where its
NLL is above the raw model's by more than the standard error of the row-wise differences.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import calib
from benchmarks.measure import machine, markdown
from benchmarks.outputs import of_network
from calib.data.samples import SAMPLES, load_sample
from calib.numerics import Floats, Ints

FEWEST_TEST_ROWS = 500


@dataclass(frozen=True)
class Entry:
    """One row of a table: a method by its registry name, and how it is set."""

    title: str
    name: str
    params: dict[str, Any] = field(default_factory=dict)


CENTRED = {"centred": True, "platt_correction": True}

METHODS = (
    Entry("raw", "identity"),
    Entry("temperature", "temperature"),
    Entry("ensemble temperature", "ensemble_temperature"),
    Entry("vector", "vector"),
    Entry("structured vector", "structured_vector"),
    Entry("Platt", "platt"),
    Entry("beta", "beta"),
    Entry("quadratic", "quadratic"),
    Entry("spline", "spline"),
    Entry("Venn-Abers", "venn_abers"),
    Entry("isotonic", "isotonic"),
    Entry("isotonic, centred", "isotonic", CENTRED),
    Entry("ENIR", "enir"),
    Entry("I-Max", "imax"),
    Entry("scaling-binning", "scaling_binning"),
    Entry("Bayes-Iso", "bayes_iso"),
    Entry("BBQ", "bbq"),
    Entry("histogram", "histogram"),
)
GPCALIB = Entry("GPcalib", "gpcalib", {"device": "cpu"})

Data = dict[str, tuple[Floats, Ints]]
"""Logits and labels by name."""


def row_nll(probs: Floats, labels: Ints) -> Floats:
    """NLL of each row, (n,), with probabilities clipped at 1e-15."""
    return -np.log(np.maximum(probs[np.arange(len(labels)), labels], 1e-15))


def scores_of(
    logits: Floats, labels: Ints, n: int, entry: Entry, n_splits: int
) -> Iterator[tuple[float, float, float]]:
    """Of each split the NLL, its difference from the raw model's, and the standard error of that."""
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(labels))
        fit, test = order[:n], order[n:]
        made = calib.calibrator(entry.name, **entry.params).fit(logits[fit], labels[fit])
        raw = calib.calibrator("identity").fit(logits[fit], labels[fit])
        losses = row_nll(made.predict_proba(logits[test]), labels[test])
        more = losses - row_nll(raw.predict_proba(logits[test]), labels[test])
        yield float(losses.mean()), float(more.mean()), float(more.std(ddof=1) / np.sqrt(len(more)))


def table(data: Data, sizes: list[int], entries: list[Entry], n_splits: int) -> str:
    """NLL by method, data and number of rows; in bold where it loses to the raw model."""
    cells = [(name, n) for name in data for n in sizes if len(data[name][1]) >= n + FEWEST_TEST_ROWS]
    rows = []
    for entry in entries:
        row = [entry.title]
        for name, n in cells:
            nll, more, error = np.mean(list(scores_of(*data[name], n, entry, n_splits)), axis=0)
            row.append(f"**{nll:.4f}**" if more > error else f"{nll:.4f}")
        rows.append(row)
    return markdown(["", *(f"{name}, {n:,}" for name, n in cells)], rows)


def read(path: Path) -> tuple[Floats, Ints]:
    """Log-probabilities and labels of a file; no probability counts as less than the least positive float32."""
    logits, labels = of_network(path)
    return np.maximum(logits, np.log(np.finfo(np.float32).tiny)), labels


def samples() -> Data:
    """The project's samples with logits or probabilities of all classes."""
    loaded = {sample.name: load_sample(sample.name) for sample in SAMPLES.values()}
    return {name: (data.logits, data.labels) for name, data in loaded.items() if data.kind not in ("pairs", "topk")}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=Path, default=[])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sizes", nargs="+", type=int, default=[300, 1000, 3000])
    parser.add_argument("--gpcalib", action="store_true", help="with GPcalib, whose first fit imports TensorFlow")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    data = {path.stem: read(path) for path in arguments.data} or samples()
    entries = [*METHODS, *([GPCALIB] if arguments.gpcalib else [])]
    sizes, splits = ([100], 1) if arguments.quick else (arguments.sizes, arguments.splits)
    print(machine(), end="\n\n")
    print(table(data, sizes, entries, splits))
    print(f"\nMean over {splits} random splits. Bold: above the raw model by more than a split's standard error.")


if __name__ == "__main__":
    main()
