"""The tables of Patel et al. (2020) on other networks' outputs for CIFAR.

    python -m benchmarks.imax_tables --data FILE.npz [FILE.npz ...] [--splits 3] [--tables 1 2 3 S1 S2 S3] [--quick]

The paper's networks cannot be had. Each file is an npz with ``predictions`` (probabilities) and ``ground_truth``; the
first 1000 or 5000 rows of a random order calibrate and the last 5000 are scored, once for each split.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.imax_splits import N_TEST, OWN_BINS, Method, Split
from benchmarks.measure import machine, markdown
from benchmarks.outputs import of_network
from benchmarks.patel2020 import CIFAR_100, NETWORK
from calib.evaluation.evaluation import evaluate
from calib.metrics import BINNINGS, classwise_ece, ece
from calib.numerics import Floats, Ints

FEW, MANY = 1000, 5000
"""Calibration rows: the paper's 1k, and as many as there are beside the test rows for its 25k and 5k."""

N_BINS = (10, 15, 20, 30, 40, 50)
PLAIN = (("normalize", False),)
CLASS_WISE = (("normalize", False), ("share_classes", False))
RAW_BASELINE = Method("Baseline", "identity", FEW)
ON_CPU = (("device", "cpu"),)
TITLES = {
    "top1": "accuracy, %",
    "top1 raw": "ties by logits",
    "top5": "top 5, %",
    "top5 raw": "ties by logits",
    "classwise": "class-wise ECE",
    "ece": "top-1 ECE",
    "ece raw": "ties by logits",
    "nll": "NLL",
    "information": "MI, bits",
}
MAIN = ("top1", "classwise", "ece")


def scaling(name: str, n: int) -> Method:
    """Temperature scaling or GPcalib."""
    return Method({"temperature": "TS", "gpcalib": "GP"}[name], name, n, ON_CPU)


def binning(n: int, scheme: str = "imax", n_bins: int = 15, source: Method | None = None) -> Method:
    """Shared class-wise bins, with what they say taken from ``source``."""
    title = "I-Max" if source is None else f"I-Max w. {source.title.removesuffix(', sCW')}"
    return Method(title, "imax", n, (*PLAIN, ("n_bins", n_bins), ("scheme", scheme)), source)


def above_1_k(probs: Floats, labels: Ints, binning: str) -> float:
    """Class-wise ECE of what exceeds 1/K."""
    return classwise_ece(probs, labels, binning=binning, threshold="1/K")


def top_1(probs: Floats, labels: Ints, binning: str) -> float:
    """ECE of the predicted class, of rows that need not sum to one."""
    return ece(*evaluate(probs, labels).pair, binning=binning)


def table_1(splits: Sequence[Split]) -> str:
    """Schemes of bins: class-wise on all calibration rows with the raw means (S7.3), and shared on few."""
    rows = [["Baseline", "–", "–", *means(splits, RAW_BASELINE, "information", "top1", "top5", *MAIN[1:], "nll")]]
    for title, scheme in (("Eq. mass", "equal_mass"), ("Eq. size", "equal_width"), ("I-Max", "imax")):
        apart = (*CLASS_WISE, ("representatives", "raw"), ("scheme", scheme))
        for sharing, method in (("CW", Method(title, "imax", MANY, apart)), ("sCW", binning(FEW, scheme))):
            cells = means(splits, method, "information", "top1", "top5", *MAIN[1:], "nll")
            rows.append([title, sharing, f"{method.n:,}", *cells])
    most = np.mean([split.most_information for split in splits], axis=0)
    header = ["bins", "", "rows", *(TITLES[key] for key in ("information", "top1", "top5", *MAIN[1:], "nll"))]
    note = f"There are {most[1]:.4f} bits to say about the label, of which the log-odds say {most[0]:.4f}."
    return f"{markdown(header, rows, left=2)}\n\n{note}"


def beside_paper(splits: Sequence[Split], methods: Sequence[Method]) -> str:
    """Accuracy and errors of methods, with the paper's numbers for its network where there are as many classes."""
    printed = splits[0].n_classes == 100
    rows = []
    for method in methods:
        row = [method.title, *means(splits, method, *MAIN)]
        if printed:
            accuracy, classwise, ece = CIFAR_100[method.title]
            row += [f"{accuracy:.2f}", f"{classwise:.4f}", f"{ece:.4f}"]
        rows.append(row)
    here = [TITLES[key] for key in MAIN]
    return markdown(["", *here, *([f"paper: {title}" for title in here] if printed else [])], rows)


def table_2(splits: Sequence[Split], gp: bool = True) -> str:
    """Scaling beside bins that learn from as many rows."""
    sources = [scaling(name, FEW) for name in ("temperature", *(["gpcalib"] if gp else []))]
    bins = [binning(FEW), *(binning(FEW, source=source) for source in sources)]
    return beside_paper(splits, [RAW_BASELINE, *sources, *bins])


def table_3(splits: Sequence[Split]) -> str:
    """One-vs-rest methods class-wise, shared and taken over by shared bins."""
    methods = [RAW_BASELINE]
    for title, name in (("Beta", "beta"), ("Isotonic", "isotonic"), ("Platt", "platt")):
        shared = Method(f"{title}, sCW", name, FEW, PLAIN)
        methods += [Method(f"{title}, CW", name, FEW, CLASS_WISE), shared, binning(FEW, source=shared)]
    return beside_paper(splits, methods)


def table_s1(splits: Sequence[Split]) -> str:
    """Ties among shared bins: the first class, or the raw logits."""
    keys = ("top1", "top1 raw", "top5", "top5 raw", "ece", "ece raw", "nll")
    methods = [RAW_BASELINE]
    methods += [binning(FEW, scheme) for scheme in ("equal_mass", "equal_width", "imax")]
    titles = ("Baseline", "Eq. mass", "Eq. size", "I-Max")
    rows = [[title, *means(splits, method, *keys)] for title, method in zip(titles, methods, strict=True)]
    return markdown(["bins, sCW", *(TITLES[key] for key in keys)], rows)


def table_s2(splits: Sequence[Split], gp: bool = True, n_bins: Sequence[int] = N_BINS) -> str:
    """Number of bins and of calibration rows, alone and with what GPcalib says."""
    keys = ("top1", "top5", *MAIN[1:])
    rows = [["Baseline", "–", *means(splits, RAW_BASELINE, *keys) * 2]]
    by_size = {n: scaling("gpcalib", n) for n in (FEW, MANY)}
    if gp:
        rows.append(["GP", "–", *(cell for method in by_size.values() for cell in means(splits, method, *keys))])
    for source in (False, True) if gp else (False,):
        for bins in n_bins:
            methods = [binning(n, n_bins=bins, source=by_size[n] if source else None) for n in by_size]
            rows.append([methods[0].title, f"{bins}", *(cell for m in methods for cell in means(splits, m, *keys))])
    return markdown(["", "bins", *(f"{n:,}: {TITLES[key]}" for n in by_size for key in keys)], rows)


def table_s3(splits: Sequence[Split], gp: bool = True) -> str:
    """Errors under four ways to evaluate them; of shared bins, whose numbers have bins of their own, there is one."""
    continuous = [RAW_BASELINE]
    titles = {"bbq": "BBQ", "beta": "Beta", "isotonic": "Isotonic", "platt": "Platt"}
    continuous += [Method(f"{title}, CW", name, MANY, CLASS_WISE) for name, title in titles.items()]
    continuous += [Method("Vector", "vector", MANY, ON_CPU)]
    scalings = [scaling(name, FEW) for name in ("temperature", *(["gpcalib"] if gp else []))]
    bins = [binning(FEW), *(binning(FEW, source=source) for source in scalings)]
    tables = []
    probs = {method: [split.probs(method) for split in splits] for method in [*continuous, *scalings]}
    for title, key, error in (("top-1 ECE", "ece", top_1), ("class-wise ECE", "classwise", above_1_k)):
        rows = []
        for method, found in probs.items():
            values = np.array(
                [[error(p, split.labels, binning=b) for b in BINNINGS] for p, split in zip(found, splits, strict=True)]
            )
            columns = [*values.T, values.mean(axis=1)]
            rows.append([method.title, f"{method.n:,}", *means(splits, method, "top1"), *(cell(c) for c in columns)])
        for method in bins:
            own = cell(np.array([split.scores(method)[key] for split in splits]))
            rows.append([method.title, f"{method.n:,}", *means(splits, method, "top1"), *["own bins"] * 4, own])
        tables.append(markdown([title, "rows", TITLES["top1"], *BINNINGS, "mean"], rows))
    return "\n\n".join(tables)


def means(splits: Sequence[Split], method: Method, *keys: str) -> list[str]:
    """Cells of one method: mean over the splits ± their standard deviation."""
    scores = [split.scores(method) for split in splits]
    return [cell(np.array([each[key] for each in scores]), 2 if "top" in key else 4) for key in keys]


def cell(values: Floats, digits: int = 4) -> str:
    """Mean, and the standard deviation where there is more than one."""
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def load(path: Path, n_splits: int) -> list[Split]:
    """The splits of one file, with the seeds 0, 1, ..."""
    outputs = of_network(path)
    return [Split(*outputs, seed) for seed in range(n_splits)]


def tables(splits: Sequence[Split], wanted: Sequence[str], quick: bool) -> dict[str, str]:
    """The wanted tables by name; ``quick`` leaves out GPcalib, which takes longest, and most numbers of bins."""
    gp = not quick
    made = {
        "1": lambda: table_1(splits),
        "2": lambda: table_2(splits, gp),
        "3": lambda: table_3(splits),
        "S1": lambda: table_s1(splits),
        "S2": lambda: table_s2(splits, gp, N_BINS[:2] if quick else N_BINS),
        "S3": lambda: table_s3(splits, gp),
    }
    return {name: make() for name, make in made.items() if name in wanted}


def main() -> None:
    """Calibrate every file and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=["1", "2", "3", "S1", "S2", "S3"])
    parser.add_argument("--quick", action="store_true", help="one split without GPcalib, to see that everything runs")
    arguments = parser.parse_args()
    print(machine(), end="\n\n")
    for path in arguments.data:
        print(f"{path.stem} ...", file=sys.stderr, flush=True)
        splits = load(path, 1 if arguments.quick else arguments.splits)
        for name, table in tables(splits, arguments.tables, arguments.quick).items():
            print(f"**Table {name}, {path.stem}**\n\n{table}", end="\n\n", flush=True)
    print(
        f"Mean ± standard deviation over the splits; {N_TEST:,} test rows. The errors of bins are in the bins "
        f"themselves (as {OWN_BINS:,} equal ones), those of all else and the top-1 ECE of class-wise bins in 15 of "
        "equal width; class-wise ECE above 1/K. One-vs-rest methods are not normalised. "
        f"The paper's network is another one ({NETWORK})."
    )


if __name__ == "__main__":
    main()
