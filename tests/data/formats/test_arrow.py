"""Arrow IPC files and streams: what is read, and metadata that announce more than is believed."""

from __future__ import annotations

import io
import struct

import numpy as np
import pyarrow as pa
import pytest

from calib.data import inspect
from calib.data.formats import arrow
from tests.data.conftest import cases, simulated, the

LOGITS, LABELS = simulated(n=240, n_classes=3)
NAMES = np.array(["cat", "dog", "emu"])
TABLE = pa.table({**{f"logit_{name}": LOGITS[:, k] for k, name in enumerate(NAMES)}, "label": NAMES[LABELS]})
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
    ("plain", TABLE),
    ("a time zone", ZONED),
    ("single precision", TABLE.cast(pa.schema([*[(n, pa.float32()) for n in TABLE.column_names[:3]], TABLE.field(3)]))),
    ("a dictionary", labelled(pa.dictionary(pa.int8(), pa.string()))),
    ("large text", labelled(pa.large_string())),
    ("views of text", labelled(pa.string_view())),
    ("lists", LISTS),
    ("lists of a fixed size", pa.table({"logits": LISTS["logits"].cast(pa.list_(pa.float64(), 3)), "label": LABELS})),
    ("nested columns beside", TABLE.append_column("doc", pa.array([{"text": "a"}] * 240))),
]  # fmt: skip


@cases("table", TABLES)
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True])
def test_tables_are_read(table, compression, stream):
    found = read(written(table, compression, stream, batch=100))
    assert found.predictions is not None, found.findings
    np.testing.assert_allclose(found.predictions.logits, LOGITS, rtol=1e-6)
    np.testing.assert_array_equal(found.predictions.labels, LABELS)


def test_the_ending_says_nothing():
    assert read(written(), "outputs.feather").predictions is not None
    assert the(read(written(), "outputs.csv"), "ending").level == "info"


def test_feather_of_version_1_is_refused():
    assert "version 1" in the(read(b"FEA1" + bytes(600)), "unknown_format").message


# What the metadata announce is counted before Arrow reads them.


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("announced", [2**31, 2**40, 2**62])
def test_a_compressed_buffer_may_not_announce_more_than_is_allowed(stream, announced):
    zeros = pa.table({"logit_0": np.zeros(5000), "logit_1": np.ones(5000), "label": np.arange(5000) % 2})
    content = bytearray(written(zeros, "zstd", stream))
    marks = [i for i in range(0, len(content) - 8, 8) if content[i : i + 8] == struct.pack("<q", 40_000)]
    frames = [i for i in marks if content[i + 8 : i + 12] == b"\x28\xb5\x2f\xfd"]
    assert len(frames) == 3
    content[frames[1] : frames[1] + 8] = struct.pack("<q", announced)
    assert "500 MB are allowed" in the(read(bytes(content)), "too_large").message


def test_a_bomb_of_zeros_is_refused_for_its_size():
    million = pa.array(np.zeros(9_000_000))
    table = pa.table({f"logit_{k}": million for k in range(8)})
    content = written(table, "zstd")
    assert len(content) < 10**6
    assert "576 MB" in the(read(content), "too_large").message


def test_a_footer_may_point_to_a_batch_many_times(monkeypatch):
    monkeypatch.setattr(arrow, "MAX_ROWS", 300)
    content = written(batch=200)
    assert read(content).predictions is not None
    assert "400 rows" in the(read(repeated(content)), "too_large").message


def repeated(content: bytes) -> bytes:
    """The file of two batches with a footer that names the first one twice."""
    length = struct.unpack("<I", content[-10:-6])[0]
    footer = arrow.Flat.root(content[-10 - length : -10])
    start, n = footer.vector(3)
    assert n == 2
    at = len(content) - 10 - length + start
    first = content[at : at + 24]
    return content[: at + 24] + first + content[at + 48 :]


@cases(
    "most, table, metadata",
    [
        ("columns", ("MAX_ARRAYS", 3), TABLE, None),
        ("columns inside columns", ("MAX_ARRAYS", 5), TABLES[-1][1], None),
        ("pairs", ("MAX_ARRAYS", 8), TABLE, {f"k{i}": "v" for i in range(9)}),
        ("long pairs", ("MAX_ARROW_METADATA", 2000), TABLE, {"k": "v" * 20_000}),
        ("batches", ("MAX_STRUCTURES", 30), TABLE, None),
        ("rows", ("MAX_ROWS", 200), TABLE, None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_the_metadata_announce_is_bounded(monkeypatch, most, table, metadata, stream):
    monkeypatch.setattr(arrow, *most)
    assert the(read(written(table, stream=stream, batch=30, metadata=metadata)), "too_large").action


@cases(
    "table",
    [
        ("run ends", pa.table({"x": pa.RunEndEncodedArray.from_arrays([240], [1.0])})),
        ("maps", pa.table({"m": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int8()))})),
    ],
)  # fmt: skip
def test_types_that_may_be_longer_than_their_bytes_are_refused(table):
    assert the(read(written(table)), "dtype").action


def test_views_of_one_long_text_are_not_written_out(monkeypatch):
    _, view, text = pa.array(["x" * 200_000], pa.string_view()).buffers()
    views = pa.py_buffer(view.to_pybytes()[:16] * 3000)
    one = pa.StringViewArray.from_buffers(pa.string_view(), 3000, [None, views, text])
    content = written(pa.table({"logit_0": np.zeros(3000), "logit_1": np.ones(3000), "label": one}))
    assert len(content) < 10**6
    assert "600 MB" in the(read(content), "too_large").message


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
        found = read(bytes(out[: generator.integers(8, len(out))] if generator.random() < 0.2 else out))
        assert found.predictions is not None or found.findings[0].action
