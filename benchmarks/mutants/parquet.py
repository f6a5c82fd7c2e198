"""Damage to a Parquet file's footer, to the headers of its pages or to their values, taken apart and put together.

Both are structures of Thrift's compact protocol. What is changed is written so that the rest still holds: the footer's
length, the offsets of what moved, and the packing of a page. Numbers of fields: parquet.thrift of Parquet format 2.11.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from benchmarks.mutants import HOSTILE_TEXTS, other_number

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
OFFSETS = (4, 5, 6, 9, 10, 11, 14)
"""Fields of a column chunk or its metadata that hold a place in the file."""


@dataclass
class Item:
    """A value with its type; of a structure the fields by ``[number, Item]``, of a list the items and their type."""

    kind: int
    value: Any
    inner: int = STRUCT

    def at(self, number: int) -> Any:
        """A field's item; None where it is left out."""
        return next((item for found, item in self.value if found == number), None)


class Reader:
    """Reads one structure from a place in the file; ``at`` is then behind it."""

    def __init__(self, content: bytes, at: int):
        self.content, self.at = content, at

    def take(self, n: int) -> bytes:
        """The next bytes."""
        self.at += n
        return self.content[self.at - n : self.at]

    def varint(self) -> int:
        """A number in groups of seven bits."""
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def read(self, kind: int = STRUCT) -> Item:
        """One value of a type."""
        if kind in (TRUE, FALSE):
            return Item(kind, None)
        if kind == BYTE:
            return Item(kind, self.take(1)[0])
        if kind in (I16, I32, I64):
            number = self.varint()
            return Item(kind, number >> 1 ^ -(number & 1))
        if kind in (DOUBLE, BINARY):
            return Item(kind, self.take(8 if kind == DOUBLE else self.varint()))
        if kind in (LIST, SET):
            head = self.take(1)[0]
            n, inner = head >> 4, head & 15
            n = self.varint() if n == 15 else n
            items = [Item(self.take(1)[0], None) if inner <= FALSE else self.read(inner) for _ in range(n)]
            return Item(kind, items, inner)
        number, fields = 0, []
        while head := self.take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self.read(I16).value
            fields.append([number, self.read(head & 15)])
        return Item(STRUCT, fields)


def varint(number: int) -> bytes:
    """A number that is not negative, in groups of seven bits."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def written(item: Item) -> bytes:
    """The bytes of a value."""
    kind, value = item.kind, item.value
    if isinstance(value, bytes):  # also what stands in for a value of another type
        return varint(len(value)) + value if kind == BINARY else value
    if kind == BYTE:
        return bytes([value & 255])
    if kind in (I16, I32, I64):
        return varint((value << 1 ^ value >> 63) & (2**64 - 1))
    if kind in (LIST, SET):
        inner = value[0].kind if value else item.inner
        head = bytes([len(value) << 4 | inner]) if len(value) < 15 else bytes([0xF0 | inner]) + varint(len(value))
        return head + b"".join(bytes([i.kind]) if i.kind <= FALSE else written(i) for i in value)
    if kind == STRUCT:
        out, before = b"", 0
        for number, i in value:
            step, before = number - before, number
            out += bytes([step << 4 | i.kind]) if 0 < step < 16 else bytes([i.kind]) + written(Item(I16, number))
            out += written(i)
        return out + b"\0"
    return b""


@dataclass(frozen=True)
class Page:
    """Where the header and the body of a page lie, with the codec of its column."""

    start: int
    body: int
    end: int
    header: Item
    codec: int


def damaged(content: bytes, random: Random) -> bytes:
    """One to three changes of the footer, of a page's header or of its values."""
    start, pages = footer_start(content), pages_of(content)
    footer, data = Reader(content, start).read(), content[:start]
    kind = random.choice(["footer", "footer", "header", "values"]) if pages else "footer"
    if kind == "footer":
        for _ in range(random.choice([1, 1, 2, 3])):
            change(footer, random)
    else:
        page = random.choice(pages)
        header, body = deepcopy(page.header), content[page.body : page.end]
        if kind == "values":
            body = other_values(body, header, page.codec, random)
        else:
            change(header, random)
        new = written(header) + body
        data = data[: page.start] + new + data[page.end :]
        move(footer, page.start, len(new) - (page.end - page.start))
    return with_footer(data, footer)


def with_footer(data: bytes, footer: Item) -> bytes:
    """A file of these pages and a footer."""
    packed = written(footer)
    return data + packed + len(packed).to_bytes(4, "little") + b"PAR1"


def footer_start(content: bytes) -> int:
    """Where the footer begins."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


@lru_cache(maxsize=64)
def pages_of(content: bytes) -> tuple[Page, ...]:
    """Every page of every column."""
    pages = []
    for column in columns(Reader(content, footer_start(content)).read()):
        at = min(column.at(number).value for number in (9, 11) if column.at(number) and column.at(number).value)
        end = at + column.at(7).value
        while at < end:
            reader = Reader(content, at)
            header = reader.read()
            length = max(0, header.at(3).value)  # of a file that is damaged already it may be anything
            pages.append(Page(at, reader.at, reader.at + length, header, column.at(4).value))
            at = reader.at + length
    return tuple(pages)


def columns(footer: Item) -> Iterator[Item]:
    """The metadata of the columns of all row groups that hold something."""
    for group in footer.at(4).value:
        yield from (found for chunk in group.at(1).value if (found := chunk.at(3)) and found.at(7).value)


def move(footer: Item, start: int, by: int) -> None:
    """Let the footer say where things are once those behind a place have moved; a column's size changes with it."""
    for column in columns(footer):
        first = min(column.at(number).value for number in (9, 11) if column.at(number) and column.at(number).value)
        if first <= start < first + column.at(7).value:
            column.at(7).value += by
    for group in footer.at(4).value:
        for chunk in group.at(1).value:
            for item in (chunk, chunk.at(3)):
                for number, found in item.value if item else ():
                    if number in OFFSETS and found.kind == I64 and found.value > start:
                        found.value += by


def other_values(body: bytes, header: Item, codec: int, random: Random) -> bytes:
    """A page's body, unpacked, damaged and packed again, with both sizes set right."""
    import pyarrow as pa

    name, version_2 = CODECS[codec], header.at(8)
    levels = version_2.value and sum(version_2.at(n).value for n in (5, 6)) if version_2 else 0
    head, packed = body[:levels], body[levels:]
    unpacked = header.at(2).value - levels
    plain = name is None or (version_2 and version_2.at(7) and version_2.at(7).kind == FALSE)
    values = packed if plain or not packed else pa.decompress(packed, unpacked, name, asbytes=True)
    out = bytearray(head + values)
    for _ in range(random.choice([1, 1, 2, 5])):
        if out:
            at = (
                min(int(random.expovariate(0.05)), len(out) - 1)
                if random.random() < 0.6
                else random.randrange(len(out))
            )
            width = random.choice([1, 1, 4, 8])
            old = int.from_bytes(out[at : at + width], "little")
            out[at : at + width] = other_number(old, width, random, (len(out), 40)).to_bytes(width, "little")
    if random.random() < 0.1:
        out = out[: random.randrange(len(out) + 1)]
    head, values = bytes(out[:levels]), bytes(out[levels:])
    packed = values if plain else pa.compress(values, name, asbytes=True)
    header.at(2).value, header.at(3).value = len(out), len(head) + len(packed)
    return head + packed


def change(root: Item, random: Random) -> None:
    """One value somewhere below, or the structure or list that it is in, in another way than it was."""
    parent, item = root, random.choice(root.value)
    while True:
        found = item[1] if isinstance(item, list) else item
        inner = found.value if isinstance(found.value, list) else ()
        if not inner or random.random() < 0.12:
            break
        parent, item = found, random.choice(inner)
    place = next(i for i, other in enumerate(parent.value) if other is item)
    if random.random() < 0.6 and not isinstance(found.value, list):
        other_value(found, random)
    elif parent.kind == LIST:
        other_items(parent.value, place, random)
    else:
        other_fields(parent.value, place, root, random)


def other_value(item: Item, random: Random) -> None:
    """Another number or text, or the other truth value."""
    if item.kind in (TRUE, FALSE):
        item.kind = TRUE + FALSE - item.kind
    elif isinstance(item.value, bytes):
        old = item.value
        texts = (*(text.encode() for text in HOSTILE_TEXTS), b"\xff" * 9, old + old, old[:-1], bytes(len(old)))
        item.value = random.choice(texts)[: 8 if item.kind == DOUBLE else None]
    else:
        width = {BYTE: 1, I16: 2, I32: 4, I64: 8}[item.kind]
        small = item.kind == I32 and 0 <= item.value < 32  # mostly the number of a type, an encoding or a codec
        number = (
            random.randrange(-1, 24) if small and random.random() < 0.6 else other_number(item.value, width, random)
        )
        item.value = (number + 2 ** (8 * width - 1)) % 2 ** (8 * width) - 2 ** (8 * width - 1)


def other_items(items: list[Item], place: int, random: Random) -> None:
    """A list without one of its items, with one twice, with very many, in another order or with none."""
    kind = random.randrange(5)
    if kind == 0:
        del items[place]
    elif kind == 1:
        items.insert(place, deepcopy(items[place]))
    elif kind == 2:
        items[place:place] = [items[place]] * int(10 ** random.uniform(1, 4))
    elif kind == 3:
        random.shuffle(items)
    else:
        items.clear()


def other_fields(fields: list[list[Any]], place: int, root: Item, random: Random) -> None:
    """A structure with a field left out, twice, of another number or type, from elsewhere, or nested very deeply."""
    number, item = fields[place]
    kind = random.randrange(6)
    if kind == 0:
        del fields[place]
    elif kind == 1:
        fields.append([number, deepcopy(item)])
    elif kind == 2:
        fields[place] = [max(1, number + random.choice([-1, 1, 2, 1000])), item]
    elif kind == 3:
        fields[place] = [number, Item(random.choice([I32, I64, DOUBLE, BINARY, LIST, STRUCT, 13]), written(item))]
    elif kind == 4:
        fields[place] = [number, deepcopy(random.choice(root.value)[1])]
    else:
        depth = int(10 ** random.uniform(1, 5))
        fields.insert(place, [random.choice([number, 99]), Item(STRUCT, b"\x1c" * depth + b"\0" * (depth + 1))])
