"""Arrow IPC files and streams (Feather version 2), whose metadata are walked before Arrow believes them.

Arrow unpacks what a compressed buffer announces, and copies names and key-value pairs as often as a field points to
them. So the messages are looked at first: how many fields, batches and bytes they would become. Layout: Arrow columnar
format 1.5, "Encapsulated message format" and the flatbuffers Message.fbs and Schema.fbs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from calib.data.checks.report import InvalidUpload
from calib.data.formats.base import Allowance, reading
from calib.data.formats.frames import plain_columns
from calib.data.formats.table import TableContents
from calib.data.limits import MAX_ARRAYS, MAX_ARROW_METADATA, MAX_ROWS, MAX_STRUCTURES, megabytes

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC, CONTINUES = b"ARROW1", b"\xff\xff\xff\xff"
SCHEMA, DICTIONARY, BATCH = 1, 2, 3
TIMESTAMP = 10
REFUSED = {14: "unions", 17: "maps", 22: "run-end encoded values", 25: "list views", 26: "list views"}
"""Types by their number in Schema.fbs that are neither numbers nor text, and may be far longer than their bytes."""


PLAIN = "Save one number or text in each cell."


@dataclass(frozen=True)
class Flat:
    """A flatbuffers table: where it lies, and in which bytes. A place beyond them is a ``struct.error``."""

    content: bytes
    at: int

    @classmethod
    def root(cls, content: bytes) -> Flat:
        """The table that the bytes begin with."""
        return cls(content, 0)._behind(0)

    def _behind(self, at: int) -> Flat:
        return Flat(self.content, at + struct.unpack_from("<I", self.content, at)[0])

    def _place(self, slot: int) -> int | None:
        """Where a field of the table stands; None where it has its default."""
        vtable = self.at - struct.unpack_from("<i", self.content, self.at)[0]
        if vtable < 0 or 4 + 2 * slot >= struct.unpack_from("<H", self.content, vtable)[0]:
            return None
        offset = struct.unpack_from("<H", self.content, vtable + 4 + 2 * slot)[0]
        return self.at + offset if offset else None

    def number(self, slot: int, form: str) -> int:
        """A whole number of a struct format; 0 where it is left out."""
        at = self._place(slot)
        return 0 if at is None else struct.unpack_from(form, self.content, at)[0]

    def table(self, slot: int) -> Flat | None:
        """A table, if it is there."""
        at = self._place(slot)
        return None if at is None else self._behind(at)

    def vector(self, slot: int) -> tuple[int, int]:
        """Where the items of a vector begin, and how many there are."""
        found = self.table(slot)
        return (0, 0) if found is None else (found.at + 4, struct.unpack_from("<I", self.content, found.at)[0])

    def tables(self, slot: int) -> Iterator[Flat]:
        """The tables of a vector."""
        start, n = self.vector(slot)
        return (self._behind(start + 4 * i) for i in range(n))


@dataclass
class Walk:
    """What the messages of a file announce, counted one after the other.

    Attributes
    ----------
    rows, batches, fields : as many as there are; fields inside others count too.
    text : bytes of names, time zones, key-value pairs and batches' metadata, as often as something points to them.
    unpacked : bytes of all buffers once they are unpacked.
    """

    name: str
    rows: int = 0
    batches: int = 0
    fields: int = 0
    text: int = 0
    unpacked: int = 0
    _pairs: int = field(default=0, repr=False)

    def message(self, file: BinaryIO, metadata: bytes, body: int, end: int) -> int:
        """Count one message; returns where the next one begins.

        Parameters
        ----------
        body : where its buffers begin.
        end : of the file.
        """
        self.text += len(metadata)
        found = Flat.root(metadata)
        kind, header, length = found.number(1, "<B"), found.table(2), found.number(3, "<q")
        if header is None or not 0 <= length <= end - body:
            raise EOFError(f"a message of {length:,} bytes, where {end - body:,} are left")
        self.pairs(found, 4)
        if kind == SCHEMA:
            self.schema(header)
        elif kind == DICTIONARY:
            batch = header.table(1)
            if batch is not None:
                self._add_buffers(file, batch, body, length)
        elif kind == BATCH:
            self.rows += max(0, header.number(0, "<q"))
            self._add_buffers(file, header, body, length)
        self._check()
        return body + length

    def schema(self, found: Flat) -> None:
        """Count the columns, and those inside them."""
        self.pairs(found, 2)
        for own in found.tables(1):
            self._add_field(own, 0)

    def pairs(self, found: Flat, slot: int) -> None:
        """Count keys and values."""
        for pair in found.tables(slot):
            self._pairs += 1
            self.text += pair.vector(0)[1] + pair.vector(1)[1]
            self._check()

    def _add_field(self, found: Flat, depth: int) -> None:
        self.fields += 1
        self.text += found.vector(0)[1]
        kind, own = found.number(2, "<B"), found.table(3)
        if kind in REFUSED:
            raise InvalidUpload(
                "dtype", f"{self.name} holds {REFUSED[kind]}, which are not read.", "Save plain columns."
            )
        if kind == TIMESTAMP and own is not None:
            self.text += own.vector(1)[1]
        self.pairs(found, 6)
        self._check()
        if depth > 8:
            raise InvalidUpload("nested", f"{self.name} nests columns too deeply.", PLAIN)
        for child in found.tables(5):
            self._add_field(child, depth + 1)

    def _add_buffers(self, file: BinaryIO, batch: Flat, body: int, length: int) -> None:
        """Count the bytes of a batch; a compressed buffer begins with its size, or -1 where it was left as it is."""
        self.batches += 1
        start, n = batch.vector(2)
        packed = batch.table(3) is not None
        if n > len(batch.content) // 16:
            raise EOFError("more buffers than the metadata have room for")
        for i in range(n):
            offset, size = struct.unpack_from("<qq", batch.content, start + 16 * i)
            if offset < 0 or size < 0 or offset + size > length:
                raise EOFError("a buffer beyond its message")
            if packed and size:
                file.seek(body + offset)
                size = max(struct.unpack("<q", file.read(8))[0], size - 8)
            self.unpacked += size

    def _check(self) -> None:
        too_many = self.fields > MAX_ARRAYS or self._pairs > MAX_ARRAYS or self.rows > MAX_ROWS
        if too_many or self.text > 8 * MAX_ARROW_METADATA or self.batches * max(1, self.fields) > MAX_STRUCTURES:
            raise InvalidUpload(
                "too_large",
                f"{self.name} announces {self.fields:,} columns, {self.batches:,} batches and {self.rows:,} rows, more "
                "than are read.",
                "Save only the columns that are needed, in fewer batches.",
            )


def open_arrow(name: str, file: BinaryIO, size: int, allowance: Allowance, drop_bad_cells: bool) -> TableContents:
    """The columns of an Arrow file or stream, once its metadata were walked."""
    import pyarrow as pa

    file.seek(0)
    blocks = file.read(len(MAGIC)) == MAGIC
    walk = Walk(name)
    with reading(name):
        (walk_file if blocks else walk_stream)(walk, file, size)
        Allowance().take(walk.unpacked, f"The columns of {name}")
        file.seek(0)
        options = pa.ipc.IpcReadOptions(use_threads=False)
        table = (pa.ipc.open_file if blocks else pa.ipc.open_stream)(file, options=options).read_all()
        table.validate(full=True)  # offsets are of the file's making
        Allowance().take(sum(viewed_bytes(column) for column in table.columns), f"The text of {name}")
        return TableContents.from_table(name, plain_columns(table, name), allowance, drop_bad_cells)


def walk_stream(walk: Walk, file: BinaryIO, size: int) -> None:
    """Count all messages of a stream; their buffers are not read."""
    at = 0
    while True:
        file.seek(at)
        prefix = file.read(8)
        if not prefix and walk.fields:
            return  # a stream may just end
        mark, length = struct.unpack("<4sI", prefix)
        if mark != CONTINUES:
            raise ValueError("a message without its mark")
        if not length:
            return
        at = walk.message(file, metadata_of(file, length, walk.name), at + 8 + length, size)


def walk_file(walk: Walk, file: BinaryIO, size: int) -> None:
    """Count the columns in the footer of a file, and the batches that it points to, as often as it does."""
    file.seek(max(0, size - 10))
    length, end = struct.unpack("<I6s", file.read(10))
    if end != MAGIC:
        raise EOFError("its end is missing")
    file.seek(max(0, size - 10 - length))
    footer = Flat.root(metadata_of(file, length, walk.name))
    schema = footer.table(1)
    if schema is None:
        raise ValueError("no columns")
    walk.schema(schema)
    walk.pairs(footer, 4)
    for slot in (2, 3):
        start, n = footer.vector(slot)
        for i in range(n):
            offset, length = struct.unpack_from("<qi", footer.content, start + 24 * i)
            if not 0 <= offset < size or length < 8:
                raise EOFError("a batch beyond the file")
            file.seek(offset)
            metadata = metadata_of(file, length, walk.name)
            marked = metadata.startswith(CONTINUES)
            walk.message(file, metadata[8 if marked else 4 :], offset + length, size)


def metadata_of(file: BinaryIO, length: int, name: str) -> bytes:
    """So many bytes of metadata, if they are not too many."""
    if length > MAX_ARROW_METADATA:
        raise InvalidUpload(
            "too_large",
            f"The metadata of {name} have {megabytes(length)}; at most {megabytes(MAX_ARROW_METADATA)} are read.",
            "Save only the columns that are needed.",
        )
    return file.read(length)


def viewed_bytes(column: pa.ChunkedArray) -> int:
    """Bytes of a column's text where views of it may overlap, so that a few bytes may be the text of every row."""
    import pyarrow as pa

    chunks = [chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk for chunk in column.chunks]
    views = [chunk for chunk in chunks if pa.types.is_string_view(chunk.type)]
    total = 0
    for chunk in views:
        lengths = np.frombuffer(chunk.buffers()[1], dtype=np.int32)[::4]
        total += int(lengths[chunk.offset : chunk.offset + len(chunk)].sum(dtype=np.int64))
    return total
