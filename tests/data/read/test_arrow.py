"""Arrow IPC files and streams, and columns in them and in Parquet that hold neither numbers nor text."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from calib.data import inspect
from tests.data.conftest import cases, parquet_bytes
from tests.data.read.conftest import LABELS, LOGITS, NAMES, check_read

TABLE = pa.table(
    {
        **{f"logit_{name}": LOGITS[:, k] for k, name in enumerate(NAMES)},
        "label": np.array(NAMES)[LABELS],
    }
)
ZONED = TABLE.append_column("when", pa.array(range(240), pa.timestamp("us", "Europe/Berlin")))


def written(table=TABLE, compression=None, stream=False, batch=None, metadata=None) -> bytes:
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    table = table.replace_schema_metadata(metadata)
    with make(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch)
    return out.getvalue()


def read(content: bytes, name: str = "outputs.arrow"):
    return inspect((name, content))


def labelled(kind):
    return TABLE.set_column(3, "label", pa.array(TABLE.column("label").to_pylist(), kind))


LISTS = pa.table({"logits": pa.array(LOGITS.tolist()), "label": LABELS})
TABLES = [
    ("a time zone", ZONED),
    ("a dictionary", labelled(pa.dictionary(pa.int8(), pa.string()))),
    ("views of text", labelled(pa.string_view())),
    ("lists", LISTS),
    ("lists of a fixed size", pa.table({"logits": LISTS["logits"].cast(pa.list_(pa.float64(), 3)), "label": LABELS})),
    ("nested columns beside", TABLE.append_column("doc", pa.array([{"text": "a"}] * 240))),
]  # fmt: skip


@cases("table", TABLES)
@pytest.mark.parametrize(("compression", "stream"), [(None, False), ("lz4", True)])
def test_tables_are_read(table, compression, stream):
    names = ("0", "1", "2") if "logits" in table.column_names else NAMES
    check_read(read(written(table, compression, stream, batch=100)), names)


@cases(
    "column",
    [
        ("run ends", pa.RunEndEncodedArray.from_arrays([240], [1.0])),
        ("maps", pa.array([[("a", 1)]] * 240, pa.map_(pa.string(), pa.int8()))),
        ("lists of text", pa.array([["a"]] * 240)),
        ("lists of another length", pa.array([[0.5] * (j % 3) for j in range(240)])),
        ("nothing", pa.nulls(240)),
        ("durations", pa.array(range(240), pa.duration("s"))),  # were dates that could not be cast, in a damaged file
        ("times of day", pa.array(range(240), pa.time32("s"))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["arrow", "parquet"])
def test_columns_that_are_no_numbers_do_not_hinder_those_beside(column, where):
    if where == "parquet" and pa.types.is_run_end_encoded(column.type):
        return  # Parquet has none
    table = TABLE.append_column("beside", column)
    found = read(written(table) if where == "arrow" else parquet_bytes(table))
    np.testing.assert_array_equal(found.predictions.labels, LABELS)
    refused = inspect(("a.arrow", written(table)), outputs="beside").findings[0]
    assert refused.level == "error" and refused.action


@pytest.mark.parametrize("stream", [False, True])
def test_any_damage_is_read_or_refused_in_words(stream):
    """Bytes changed anywhere, half of them where the metadata stand."""
    content = written(ZONED, "lz4", stream, batch=100, metadata={"made by": "a test"})
    generator = np.random.default_rng(1)
    for _ in range(250):
        out = bytearray(content)
        for _ in range(generator.integers(1, 4)):
            near = 900 if generator.random() < 0.7 else len(out)
            at = int(generator.integers(min(near, len(out))))
            at = len(out) - 1 - at if not stream and generator.random() < 0.5 else at
            out[at] = int(generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.integers(256)]))
        found = read(
            bytes(out[: generator.integers(8, len(out))] if generator.random() < 0.2 else out)
        )
        assert found.predictions is not None or found.findings[0].action
