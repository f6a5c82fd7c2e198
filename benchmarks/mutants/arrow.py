"""Damage to the messages of an Arrow file or stream: numbers of their flatbuffers tables, and offsets in their bodies.

Layouts: Message.fbs and Schema.fbs of Arrow columnar format 1.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from random import Random

from benchmarks.mutants import other_number
from calib.data.formats.arrow import CONTINUES, Flat

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
