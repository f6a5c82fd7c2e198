"""What the worst file within each limit of an upload costs: peak memory and processor time (Linux).

    nice python -m benchmarks.limits [--only NAME ...]

Each file is made in one process and read in another, which has inherited nothing. The table stands in docs/files.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.measure import bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes
from calib.data import inspect, limits

MODULES = ("pandas", "pyarrow.parquet", "pyarrow.csv", "h5py", "openpyxl", "calib.data")
N = 1000


def arrays(folder: Path) -> Path:
    """Probabilities of 1,000 classes that take nearly all the memory that arrays may."""
    n = limits.MAX_BYTES // 8 // N - N
    np.savez_compressed(folder / "a.npz", probs=np.full((n, N), 1 / N), labels=np.zeros(n, np.int16))
    return folder / "a.npz"


def cells(folder: Path) -> Path:
    """As many cells as a text may have, two letters each."""
    n = limits.MAX_TEXT // 8 // 3 - 1
    with gzip.open(folder / "a.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"label,p_0,p_1\n" + b"0,1,0\n" * n)
    return folder / "a.csv.gz"


def long_cells(folder: Path) -> Path:
    """As many letters as a text may have, in cells that all differ."""
    n = limits.MAX_TEXT // 128
    with gzip.open(folder / "a.csv.gz", "wt", compresslevel=1) as file:
        file.write("label,p_0,p_1,note\n")
        file.writelines(f"{j % 2},.25,.75,{j:0115d}\n" for j in range(n - 1))
    return folder / "a.csv.gz"


def records(folder: Path) -> Path:
    """As many cells as JSON may have, in lists of a thousand."""
    line = json.dumps({"label": 3, "probs": [0.001] * N}) + "\n"
    with gzip.open(folder / "a.jsonl.gz", "wt", compresslevel=1) as file:
        file.write(line * (limits.MAX_TEXT // len(line)))
    return folder / "a.jsonl.gz"


def entry(folder: Path) -> Path:
    """One JSON document of columns, as long as a text may be."""
    n = limits.MAX_TEXT // 20
    (folder / "a.json").write_text(json.dumps({"label": [0] * n, "p_0": [0.25] * n, "p_1": [0.75] * n}))
    return folder / "a.json"


def rows(folder: Path) -> Path:
    """As many rows as outputs may have."""
    n = limits.MAX_ROWS
    np.savez_compressed(folder / "a.npz", probs=np.linspace(0, 1, n, dtype=np.float32), labels=np.arange(n) % 2)
    return folder / "a.npz"


def classes(folder: Path) -> Path:
    """As many classes as outputs may have."""
    n = limits.MAX_CLASSES
    logits = np.random.default_rng(0).normal(size=(100, n)).astype(np.float32)
    np.savez(folder / "a.npz", logits=logits, labels=np.arange(100))
    return folder / "a.npz"


def columns(folder: Path) -> Path:
    """As many columns as a table may have, of whole numbers, which may be most things."""
    n = limits.MAX_ARRAYS
    values = np.random.default_rng(0).integers(0, 9, (50, n)).astype(str)
    header = ",".join(["label", *(f"c{j}" for j in range(n - 1))])
    (folder / "a.csv").write_text("\n".join([header, *map(",".join, values)]))
    return folder / "a.csv"


def texts(folder: Path) -> Path:
    """Labels whose texts take as much as they may."""
    n = 20_000
    width = limits.MAX_TEXTS // 4 // n
    labels = np.char.add(np.char.multiply("x", width - 5), (np.arange(n) % 2).astype(str))
    np.savez_compressed(folder / "a.npz", probs=np.full((n, 2), 0.5), labels=labels)
    return folder / "a.npz"


def labels(folder: Path) -> Path:
    """As many different labels as there may be classes, for two columns."""
    n = limits.MAX_TEXTS // 32
    names = (np.arange(n) % limits.MAX_CLASSES).astype("U8")
    np.savez_compressed(folder / "a.npz", probs=np.full((n, 2), 0.5), labels=np.char.add("k", names))
    return folder / "a.npz"


def clusters(folder: Path) -> Path:
    """As many different clusters as are read."""
    n = limits.MAX_TEXTS // 32
    names = (np.arange(n) % limits.MAX_DISTINCT).astype("U8")
    probs = np.linspace(0, 1, n)
    np.savez_compressed(folder / "a.npz", probs=probs, labels=np.arange(n) % 2, clusters=names)
    return folder / "a.npz"


def sheet(folder: Path) -> Path:
    """As many cells as a sheet may have."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("Sheet")
    page.append(["label", "p_0", "p_1"])
    page.append([0, 1, 0])
    book.save(folder / "small.xlsx")
    row = "<row><c><v>0</v></c><c><v>1</v></c><c><v>0</v></c></row>"
    n = limits.MAX_SHEET_CELLS // 3 - 2
    with zipfile.ZipFile(folder / "small.xlsx") as small, \
         zipfile.ZipFile(folder / "a.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as large:  # fmt: skip
        for member in small.infolist():
            content = small.read(member).decode()
            if member.filename.endswith("sheet1.xml"):
                content = content.replace("</sheetData>", row * n + "</sheetData>")
            large.writestr(member.filename, content)
    return folder / "a.xlsx"


CASES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "arrays": (f"CALIB_DATA_MB: {megabytes(limits.MAX_BYTES)} of arrays", arrays),
    "cells": (f"CALIB_TEXT_MB: {limits.MAX_TEXT // 8:,} cells of a text", cells),
    "long_cells": (f"CALIB_TEXT_MB: {megabytes(limits.MAX_TEXT)} of text", long_cells),
    "records": (f"CALIB_TEXT_MB: {megabytes(limits.MAX_TEXT)} of JSON lines", records),
    "entry": (f"CALIB_TEXT_MB: one JSON document of {megabytes(limits.MAX_TEXT)}", entry),
    "rows": (f"CALIB_ROWS: {limits.MAX_ROWS:,} rows", rows),
    "classes": (f"CALIB_CLASSES: {limits.MAX_CLASSES:,} classes", classes),
    "columns": (f"CALIB_ARRAYS: {limits.MAX_ARRAYS:,} columns", columns),
    "texts": (f"MAX_TEXTS, MAX_LETTERS: {megabytes(limits.MAX_TEXTS)} of texts", texts),
    "labels": (f"CALIB_CLASSES: {limits.MAX_CLASSES:,} different labels", labels),
    "clusters": (f"MAX_DISTINCT: {limits.MAX_DISTINCT:,} clusters", clusters),
    "sheet": (f"MAX_SHEET_CELLS: {limits.MAX_SHEET_CELLS:,} cells of a sheet", sheet),
}
"""The limit and its value, and the worst file within it."""


def main() -> None:
    """Make and read each file, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES), metavar="NAME")
    print(machine("pyarrow", "h5py", "openpyxl"), end="\n\n")
    lines = []
    for name in parser.parse_args().only:
        with tempfile.TemporaryDirectory() as folder:
            path = in_fresh_process(CASES[name][1], Path(folder))
            answer, seconds, peak = in_fresh_process(read, path)
            size = f"{path.stat().st_size / 1e6:,.1f} MB"
        lines.append([CASES[name][0], size, answer, megabytes(peak), f"{seconds:.1f}"])
    print(markdown(["limit", "file", "answer", "peak memory", "CPU s"], lines))


def read(path: Path) -> tuple[str, float, int]:
    """What became of a file, the processor seconds it took, and the memory above an idle process."""
    idle = bytes_after_imports(*MODULES)
    found, cost = cost_of(lambda: inspect(path), idle)
    return "read" if found.predictions else found.findings[0].code, cost.cpu_seconds, cost.peak_bytes


if __name__ == "__main__":
    main()
