"""What takes time in proportion: patterns and names to their length, tables and archives to the number of columns.

Hostile text has 100,000 letters, whose square would take longer than the minute allowed.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
import calib.data
from calib.data import inspect
from calib.data.build.outputs import scale_in_name
from calib.data.names import FEATURES, canonical, numbered_column
from calib.data.read import numerals as cells
from calib.data.read.numerals import are_numbers, are_values
from tests.conftest import minute_of_cpu
from tests.data.conftest import parquet_bytes

LONG = 100_000
PIECES = (" ", "1", "111 ", "111,", "111.", "a", "a1", "_", "-", "\u00a0")
HOSTILE = [
    start + piece * (LONG // len(piece)) + "!" for start in ("", "1", "p") for piece in PIECES
]


def patterns():
    """Every pattern that a module of calib.data holds, and those of numbers as they are written."""
    found = {f"number {sign}": re.compile(pattern) for sign, pattern in cells.NUMBER.items()}
    found["empty"] = re.compile(cells.EMPTY)
    for module in pkgutil.walk_packages(calib.data.__path__, "calib.data."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found[f"{module.name.removeprefix('calib.data.')}.{name}"] = value
    return found


def test_patterns_and_what_is_done_with_a_cell_go_through_hostile_text_once():
    found = patterns()
    assert {"read.text.RULE", "names.PIECES", "number ."} <= set(found)
    of_names = scale_in_name, canonical, lambda name: numbered_column(name, FEATURES)
    looks = *of_names, lambda cell: [*are_values([cell])]
    for look in (*(pattern.fullmatch for pattern in found.values()), *looks):
        with minute_of_cpu():
            for text in (*HOSTILE, "1" * LONG + "x", " " * LONG, "1" + " " * LONG + "x"):
                look(text)


@pytest.mark.parametrize("letter", [" ", "1", "a_"])
@pytest.mark.parametrize("place", ["cell", "quoted", "name", "above"])
def test_a_table_with_a_long_text_is_read_or_refused(letter, place):
    text = "1" + letter * (120_000 // len(letter)) + "x"
    rows = "".join(
        f"{j % 2},{p:.3f},{1 - p:.3f}\n" for j, p in enumerate(np.linspace(0.1, 0.9, 90))
    )
    table = {
        "cell": f"label,p_0,p_1\n{text},.5,.5\n{rows}",
        "quoted": f'label,p_0,p_1\n"{text}",.5,.5\n{rows}',
        "name": f"label,p_0,p_1{text}\n{rows}",
        "above": f"{text}\nlabel,p_0,p_1\n{rows}",
    }[place]
    with minute_of_cpu():
        found = inspect(("a.csv", table.encode()))
    assert found.findings and all(len(finding.message) < 500 for finding in found.findings)


def many_columns(n):
    return "w.csv", ",".join(f"col{j}" for j in range(n)).encode() + b"\n" + b",".join(
        [b"0.5"] * n
    ) + b"\n"


def no_names(n):
    return "n.csv", b",".join([b"-inf"] * n) + b"\n"


def long_names(n):
    import pyarrow as pa

    cells = pa.array([0.5, 0.1])
    table = pa.table({"aB_" * 300 + str(j): cells for j in range(n // 4)})
    return "l.parquet", parquet_bytes(table, use_dictionary=False)


def many_arrays(n):
    array, buffer = io.BytesIO(), io.BytesIO()
    np.save(array, np.zeros((1, 2)))
    with zipfile.ZipFile(buffer, "w") as archive:
        for j in range(n):
            archive.writestr(f"{'aB' * 30}{j}.npy", array.getvalue())
    return "a.npz", buffer.getvalue()


@pytest.mark.long
@pytest.mark.parametrize("build", [many_columns, no_names, long_names, many_arrays])
def test_the_steps_taken_grow_with_the_number_of_columns_alone(build):
    inspect(build(10))  # loads the readers
    few, many = (steps_of(build(n)) for n in (500, 2_000))
    assert many < 6 * few


def steps_of(upload):
    """Lines of Python that are run to inspect an upload."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert inspect(upload).findings
    finally:
        sys.settrace(before)  # a debugger's, or that of a coverage run
    return lines


@pytest.mark.parametrize(("ending", "most"), [("csv", 300), ("npz", 80)])
def test_calls_go_from_file_to_file_a_few_hundred_times_for_three_classes(tmp_path, ending, most):
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(400, 3))
    labels = (logits + generator.gumbel(size=(400, 3))).argmax(axis=1)
    path = tmp_path / f"a.{ending}"
    if ending == "npz":
        np.savez(path, logits=logits, labels=labels)
    else:
        probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        table = pd.DataFrame(probs.round(6), columns=["p_cat", "p_dog", "p_fox"])
        table["label"] = np.array(["cat", "dog", "fox"])[labels]
        table.to_csv(path, index_label="id")
    calib.load(path)  # what is read once, such as lists of words, is not counted
    root = str(Path(calib.__file__).parent)
    files = [""]

    def follow(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(root) and file != files[-1]:
            files.append(file)

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        calib.load(path)
    finally:
        sys.setprofile(before)
    assert 10 < len(files) - 2 <= most


def test_of_a_column_of_text_no_cell_is_matched_after_the_first_that_is_no_number():
    cells = iter(["1,5", "warm", "3"])
    assert not all(are_numbers(cells)) and [*cells] == ["3"]
    assert [*are_numbers(["", "N/A", "7 %", "x"])] == [True, True, True, False]
