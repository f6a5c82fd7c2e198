"""Damage to the messages of an Arrow file or stream: numbers of their flatbuffers tables, and offsets in their bodies.

Layouts: Message.fbs and Schema.fbs of Arrow columnar format 1.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from benchmarks.mutants import other_number

CONTINUES = b"\xff\xff\xff\xff"

# By slot: the width of a number, t a table, v a vector of tables, s one of bytes, x one of 16-byte structures.
FORMS = {
    "message": {0: 2, 1: 1, 2: "header", 3: 8, 4: "v pair"},
    "schema": {0: 2, 1: "v field", 2: "v pair"},
    "field": {0: "s", 1: 1, 2: 1, 3: "t type", 4: "t dictionary", 5: "v field", 6: "v pair"},
    "type": {0: 4, 1: 4, 2: 4},
    "dictionary": {0: 8, 1: "t type", 2: 1},
    "pair": {0: "s", 1: "s"},
    "batch": {0: 8, 1: "x", 2: "x", 3: "t compression"},
    "dictionary batch": {0: 8, 1: "t batch", 2: 1},
    "compression": {0: 1, 1: 1},
}
HEADERS = {1: "schema", 2: "dictionary batch", 3: "batch"}


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


def damaged(content: bytes, random: Random) -> bytes:
    """One to four numbers changed: of the tables, of where these keep their fields, or in a body."""
    fields, bodies = layout_of(content)
    out = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4])):
        at, width = random.choice(fields)
        if bodies and random.random() < 0.3:
            start, end = random.choice(bodies)
            at, width = start + 4 * random.randrange(max(1, (end - start) // 4)), random.choice([4, 8])
        old = int.from_bytes(out[at : at + width], "little")
        out[at : at + width] = other_number(old, width, random, (len(out), len(out) - at)).to_bytes(width, "little")
    return bytes(out)


@lru_cache(maxsize=64)
def layout_of(content: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Place and width of every number of every message, and where the bodies lie."""
    fields: list[tuple[int, int]] = []
    bodies: list[tuple[int, int]] = []
    at = content.find(CONTINUES)
    while at >= 0 and content[at : at + 4] == CONTINUES:
        (length,) = struct.unpack_from("<i", content, at + 4)
        if length <= 0:
            break
        message = Flat(content, at + 8 + struct.unpack_from("<I", content, at + 8)[0])
        fields += [(at + 4, 4), *places(message, "message")]
        body = at + 8 + length
        at = body + message.number(3, "<q")
        bodies += [(body, at)] if at > body else []
    return fields, bodies


def places(found: Flat, form: str) -> Iterator[tuple[int, int]]:
    """Place and width of the numbers of a table and of those below it."""
    vtable = found.at - struct.unpack_from("<i", found.content, found.at)[0]
    for slot, what in FORMS[form].items():
        if found._place(slot) is None:
            continue
        at = found._place(slot)
        yield vtable + 4 + 2 * slot, 2
        if isinstance(what, int):
            yield at, what
            continue
        yield at, 4
        kind, _, inner = what.partition(" ")
        if kind in ("t", "header"):
            below = inner or HEADERS.get(found.number(1, "<B"), "type")
            yield from places(found.table(slot), below)
        else:
            start, n = found.vector(slot)
            yield start - 4, 4
            if kind == "v":
                for table in found.tables(slot):
                    yield from places(table, inner)
            elif kind == "x":
                yield from ((start + 8 * i, 8) for i in range(2 * n))
            else:
                yield from ((start + i, 1) for i in range(n))
