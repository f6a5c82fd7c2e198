"""What it costs to read a million rows x 8 columns of CSV, beside what pyarrow alone takes for it.

    nice python -m benchmarks.reading [--rows 1000000] [--repeats 3]

Each is measured in processes of its own, by processor seconds and without imports; the least of the repeats counts. The
bound is 1.3 times what pyarrow takes, plus one second, for everything up to checked logits with findings and hash.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import Cost, bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes

TIMES, PLUS = 1.3, 1.0


def main() -> None:
    """Write the files, read them both ways, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder:
        for what, path in write(Path(folder), given.rows).items():
            alone, all_of_it = (least(read, path, given.repeats) for read in (read_alone, read_and_check))
            bound = TIMES * alone.cpu_seconds + PLUS
            size = megabytes(path.stat().st_size)
            rows.append([what, size, f"{alone.cpu_seconds:.2f}", f"{all_of_it.cpu_seconds:.2f}", f"{bound:.2f}",
                         megabytes(alone.peak_bytes), megabytes(all_of_it.peak_bytes)])  # fmt: skip
    print(machine("pyarrow"), end="\n\n")
    header = ["file", "pyarrow, CPU s", "calib, CPU s", "bound", "pyarrow holds", "calib holds"]
    print(markdown([f"{given.rows:,} x 8", *header], rows))


def write(folder: Path, n: int) -> dict[str, Path]:
    """A table of probabilities of six classes, and one of a risk with text beside it."""
    import pyarrow as pa
    from pyarrow import csv

    generator = np.random.default_rng(0)
    probs = generator.dirichlet(np.ones(6), size=n)
    label = (probs.cumsum(axis=1) < generator.random((n, 1))).sum(axis=1).clip(max=5)
    risk = generator.beta(1, 9, size=n)
    segment = np.array(["retail", "corporate", "public"])[generator.integers(3, size=n)]
    numbers = generator.normal(size=(n, 3))
    tables = {
        "six classes": {"id": np.arange(n), **{f"p_{k}": probs[:, k] for k in range(6)}, "label": label},
        "a risk, text": {
            **{"loan_id": np.arange(n), "branch": generator.integers(90, size=n), "segment": segment},
            **{f"feature_{j}": numbers[:, j] for j in range(3)},
            **{"pd": risk, "default": (generator.random(n) < risk).astype(int)},
        },
    }
    paths = {}
    for what, table in tables.items():
        paths[what] = folder / f"{what.replace(' ', '_').replace(',', '')}.csv"
        csv.write_csv(pa.table(table), paths[what])
        csv.write_csv(pa.table(table).slice(0, 1000), paths[what].with_suffix(".head"))
    return paths


def least(read: Callable[[Path], Cost], path: Path, repeats: int) -> Cost:
    """The cheapest of some runs, each in a fresh process."""
    return min((in_fresh_process(read, path) for _ in range(repeats)), key=lambda cost: cost.cpu_seconds)


def read_alone(path: Path) -> Cost:
    """The columns as Arrow's, by pyarrow alone."""
    from pyarrow import csv

    idle = bytes_after_imports("pyarrow.csv")
    options = csv.ReadOptions(use_threads=False)
    return cost_of(lambda: csv.read_csv(path, read_options=options), idle)[1]


def read_and_check(path: Path) -> Cost:
    """The data set, with everything that is inferred and checked."""
    from calib.data import inspect

    inspect(path.with_suffix(".head"))  # what is imported when it is first needed is paid once for all files
    idle = bytes_after_imports("pyarrow.csv")
    found, cost = cost_of(lambda: inspect(path), idle)
    if found.predictions is None:
        raise SystemExit(f"{path.name} was not read: {found.findings[0].message}")
    return cost


if __name__ == "__main__":
    main()
