"""Content that once left ``inspect`` as an exception is read, left out or refused in words."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from benchmarks.originals import originals
from calib.data import Choices, inspect
from tests.data.test_hostile_files import check

ROWS = "".join(f"{j % 2},{0.2 + j % 5 / 10:.1f},{0.8 - j % 5 / 10:.1f}\n" for j in range(300))


def test_a_cell_that_only_another_encoding_makes_too_long_is_damage():
    """100,000 letters in UTF-8 are 200,000 in Latin-1, in which the table is tried next."""
    content = ("label,p_0,p_1\n" + "é" * 100_000 + ",.1,.9\n" + ROWS).encode() + b"\xff,.1,.9\n"
    assert inspect(("a.csv", content)).findings[0].code == "damaged"


def parquet(table, **options):
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def test_a_parquet_file_of_minus_one_rows_is_damaged():
    import pyarrow as pa

    whole = parquet(pa.table({"feature_0": np.arange(300.0), "feature_1": np.arange(300.0) ** 2}))
    rows = b"\xd8\x04"  # 300 as Thrift writes it; \x81\x00 is -1
    places = [j for j in range(len(whole)) if whole[j : j + 2] == rows]
    (main,) = (upload for name, upload in originals()["npz"].items() if name == "source")
    refused = 0
    for j in places:
        changed = "f.parquet", whole[:j] + b"\x81\x00" + whole[j + 2 :]
        found = inspect(main, features=changed)
        refused += any("-1 rows" in finding.message for finding in found.findings)
        check(found)
    assert refused == 1


def test_a_row_group_without_rows_is_passed_over():
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 200_000  # more cells than are looked at together
    table = pa.table({"label": np.arange(n) % 2, "p_0": np.full(n, 0.25), "p_1": np.full(n, 0.75)})
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, table.schema) as writer:
        for part in (table, table.slice(0, 0), table):
            writer.write_table(part)
    data = inspect(("a.parquet", buffer.getvalue())).predictions
    assert data is not None and len(data) == 2 * n


def test_a_right_choice_of_two_signs_is_none():
    sample = {"doc_id": 0, "doc": {"choices": ["a", "b"]}, "filtered_resps": [[-1.0, False], [-2.0, False]]}
    lines = [json.dumps({**sample, "doc_id": j, "target": ("--1", 0, 1)[j % 3]}) for j in range(60)]
    data = inspect(("samples.jsonl", "\n".join(lines).encode())).predictions
    assert data is not None and len(data) == 40


@pytest.mark.parametrize("role", ["groups", "clusters", "weights", "split", "predicted"])
@pytest.mark.parametrize("shape", [(300, 0), (150,), (0,), (300, 2, 0)], ids=str)
def test_an_array_without_an_entry_for_each_row_is_left_out(make, role, shape):
    for kind in (None, "pairs"):
        arrays = {"confidence": np.linspace(0.1, 0.9, 300), "labels": np.arange(300) % 2, role: np.zeros(shape)}
        choices = Choices(kind=kind, **{role: role}) if kind is None or role == "predicted" else Choices(kind=kind)
        check(inspect(make.npz("a.npz", **arrays), choices=choices))
