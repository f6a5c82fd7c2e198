"""Damage to the structures of an HDF5 file, with the checksums of what was changed set right again.

Every number that a structure or a message of an object header is known to hold is a field; every place that holds the
address of a structure is a pointer. Layouts: HDF5 File Format Specification 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np

from benchmarks.mutants import HOSTILE_TEXTS, other_number

WIDTHS = {"c": 1, "h": 2, "i": 4, "q": 8}

# What follows a signature, as widths of the numbers, of which the last is repeated. Messages of headers have their own.
STRUCTURES = {
    b"TREE": "cchqqq", b"SNOD": "cchq", b"HEAP": "iqqqc", b"GCOL": "iqhhiq", b"BTHD": "ccihccqhq", b"BTIN": "ccc",
    b"BTLF": "ccc", b"FRHP": "chhciqqqqqqqqqqqqhqqhhqh", b"FHDB": "cqic", b"FHIB": "cqiq", b"FAHD": "ccccqq",
    b"FADB": "ccqq", b"EAHD": "ccccccccqqqqqqq", b"EAIB": "ccqq", b"EASB": "ccqq", b"EADB": "ccqq", b"SMTB": "cchiq",
    b"SMLI": "cq", b"FSHD": "ccqqqqhhhqq", b"FSSE": "cqc", b"OHDR": "ccc", b"OCHK": "c",
}  # fmt: skip
MESSAGES = {
    0x01: "ccccq", 0x02: "ccqqq", 0x03: "cccciqhhc", 0x04: "ic", 0x05: "cccci", 0x06: "ccc", 0x07: "cqqq",
    0x08: "ccccqqi", 0x09: "cccci", 0x0A: "cchhhh", 0x0B: "cchhhhi", 0x0C: "cchhhc", 0x0D: "c", 0x0F: "cqc",
    0x10: "qq", 0x11: "qq", 0x13: "chhh", 0x15: "cchqqq", 0x16: "ci",
}  # fmt: skip
SUPERBLOCKS = {0: "cccccccchhiqqqqq", 1: "cccccccchhihhqqqqq", 2: "ccccqqqq", 3: "ccccqqqq"}
REACHES = (1100, 4096)
"""Bytes behind a signature among which its checksum is sought."""


@dataclass(frozen=True)
class Seal:
    """The checksum at ``at`` of the bytes from ``start`` to ``end``, in which it counts as zeros if it lies there."""

    start: int
    end: int
    at: int


@dataclass(frozen=True)
class Layout:
    """What is where in a file.

    Attributes
    ----------
    starts : addresses of structures.
    fields : (place, width) of each number of each structure or message.
    pointers : places of eight bytes that hold one of the addresses.
    messages : (place of the type, place of the body, size) of each message of an object header.
    names : (place, length) of texts of letters.
    """

    starts: tuple[int, ...]
    fields: tuple[tuple[tuple[int, int], ...], ...]
    pointers: tuple[int, ...]
    messages: tuple[tuple[int, int, int], ...]
    names: tuple[tuple[int, int], ...]
    seals: tuple[Seal, ...]


def damaged(content: bytes, random: Random) -> bytes:
    """One to four changes of one or of several kinds, under checksums that are right."""
    layout = layout_of(content)
    out = bytearray(content)
    kinds = random.choices(
        [change_field, redirect, swap, retype, rename], [6, 4, 1, 1, 1], k=random.choice([1, 1, 2, 4])
    )
    for kind in kinds:
        kind(out, layout, random)
    seal_all(out, layout)
    return bytes(out)


def seal_all(out: bytearray, layout: Layout) -> None:
    """Set all checksums right."""
    for seal in layout.seals:
        out[seal.at : seal.at + 4] = checksum(out, seal).to_bytes(4, "little")


def change_field(out: bytearray, layout: Layout, random: Random) -> None:
    """Another number, of the field's whole width or of half of it."""
    near = random.choice(layout.fields)
    at, width = near[min(int(random.expovariate(0.15)), len(near) - 1)]  # mostly among the first
    width = width // 2 if width > 1 and random.random() < 0.2 else width
    old = int.from_bytes(out[at : at + width], "little")
    out[at : at + width] = other_number(old, width, random, layout.starts).to_bytes(width, "little")


def redirect(out: bytearray, layout: Layout, random: Random) -> None:
    """A pointer to another structure, to its own place, into one or beyond the file: circles among them."""
    if layout.pointers:
        at = random.choice(layout.pointers)
        before = max((start for start in layout.starts if start <= at), default=0)
        to = random.choice([*layout.starts, before, before, at, len(out), len(out) - 8, 2**64 - 1])
        out[at : at + 8] = to.to_bytes(8, "little")


def swap(out: bytearray, layout: Layout, random: Random) -> None:
    """Two pointers that change their places."""
    if layout.pointers:
        one, other = random.choice(layout.pointers), random.choice(layout.pointers)
        out[one : one + 8], out[other : other + 8] = out[other : other + 8], out[one : one + 8]


def retype(out: bytearray, layout: Layout, random: Random) -> None:
    """A message that calls itself another, or that has the body of another."""
    if layout.messages:
        (kind, body, size), (other_kind, other, length) = random.choice(layout.messages), random.choice(layout.messages)
        out[kind] = random.choice([*MESSAGES, out[other_kind]])
        if random.random() < 0.5:
            out[body : body + min(size, length)] = out[other : other + min(size, length)]


def rename(out: bytearray, layout: Layout, random: Random) -> None:
    """Another name of the same length: that of something else, or one that means something to a path or a page."""
    if layout.names:
        at, length = random.choice(layout.names)
        other, n = random.choice(layout.names)
        text = bytes(out[other : other + n]) if random.random() < 0.4 else random.choice(HOSTILE_TEXTS).encode()
        out[at : at + length] = text[:length].ljust(length, b"\0")


@lru_cache(maxsize=64)
def layout_of(content: bytes) -> Layout:
    """Find structures by their signatures, and the messages of object headers of both versions."""
    signed = {match.start(): match[0] for match in re.finditer(b"|".join(STRUCTURES), content)}
    headers = old_headers(content)
    starts = tuple(sorted([0, *signed, *headers]))
    bounds = dict(zip(starts, [*starts[1:], len(content)], strict=True))
    version = min(content[8], 2)
    fields = [tuple(numbers(8, min(bounds[0], 120), SUPERBLOCKS[version]))]
    for at, signature in signed.items():
        fields.append(tuple(numbers(at + 4, min(bounds[at], at + 600), STRUCTURES[signature])))
    messages = [*(m for at in headers for m in old_messages(content, at))]
    messages += [m for at, signature in signed.items() if signature == b"OHDR" for m in new_messages(content, at)]
    for kind, body, size in messages:
        fields.append(((kind, 1), *numbers(body, min(body + size, len(content)), MESSAGES.get(content[kind], "c"))))
    packed = b"|".join(re.escape(start.to_bytes(8, "little")) for start in starts if start)
    pointers = tuple(m.start() for m in re.finditer(b"(?=%s)" % packed, content)) if packed else ()
    names = tuple((m.start(), len(m[0])) for m in re.finditer(rb"[a-z_0-9]{3,40}", content) if m[0] not in STRUCTURES)
    return Layout(starts, tuple(filter(None, fields)), pointers, tuple(messages), names, tuple(seals(content, signed)))


def numbers(at: int, end: int, form: str) -> Iterator[tuple[int, int]]:
    """Place and width of each number of a structure; the form's last one is repeated."""
    i = 0
    while at + (width := WIDTHS[form[min(i, len(form) - 1)]]) <= end:
        yield at, width
        at, i = at + width, i + 1


def old_headers(content: bytes) -> list[int]:
    """Addresses of object headers of version 1, which have no signature: what looks like one."""
    found = re.finditer(rb"(?s)(?=\x01\0[\x01-\x40]\0[\x01-\x0f]\0\0\0.[\0-\x0f]\0\0....[\0-\x17]\0)", content)
    return [match.start() for match in found if match.start() % 8 == 0]


def old_messages(content: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """The messages of an object header of version 1 and of what continues it."""
    size = int.from_bytes(content[at + 8 : at + 12], "little")
    blocks = [(at + 16, at + 16 + size)]
    for start, end in blocks:
        while start + 8 <= end:
            length = int.from_bytes(content[start + 2 : start + 4], "little")
            yield start, start + 8, length
            if content[start] == 0x10:
                to, n = (int.from_bytes(content[start + i : start + i + 8], "little") for i in (8, 16))
                blocks += [(to, to + n)] if (to, to + n) not in blocks else []
            start += 8 + length


def new_messages(content: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """The messages of an object header of version 2 and of what continues it."""
    flags = content[at + 5]
    width = 1 << (flags & 3)
    start = at + 6 + 16 * bool(flags & 0x20) + 4 * bool(flags & 0x10)
    size = int.from_bytes(content[start : start + width], "little")
    head = 4 + 2 * bool(flags & 4)
    blocks = [(start + width, start + width + size)]
    for start, end in blocks:
        while start + head <= end:
            length = int.from_bytes(content[start + 1 : start + 3], "little")
            yield start, start + head, length
            if content[start] == 0x10:
                to, n = (int.from_bytes(content[start + head + i : start + head + i + 8], "little") for i in (0, 8))
                blocks += [(to + 4, to + n - 4)] if (to + 4, to + n - 4) not in blocks else []
            start += head + length


def seals(content: bytes, signed: dict[int, bytes]) -> Iterator[Seal]:
    """The checksum of each structure that has one, found by trying: behind it, or in the head of a heap's block."""
    for at in ([0] if content[8] >= 2 else []) + [*signed]:
        for reach in REACHES:
            part = content[at : at + reach]
            lengths = np.arange(8, len(part) - 3)
            stored = np.lib.stride_tricks.sliding_window_view(np.frombuffer(part, np.uint8), 4).copy().view("<u4")[:, 0]
            right = np.flatnonzero(lookup3(part, lengths) == stored[lengths])
            if len(right):
                end = at + int(lengths[right[0]])
                yield Seal(at, end, end)
                break
        if signed.get(at) == b"FHDB":
            sizes = [2**i for i in range(6, 17) if at + 2**i <= len(content)]
            candidates = [Seal(at, at + size, at + 13 + width) for width in range(1, 9) for size in sizes]
            yield from (
                s for s in candidates if checksum(content, s) == int.from_bytes(content[s.at : s.at + 4], "little")
            )


def checksum(content: bytes | bytearray, seal: Seal) -> int:
    """What belongs at the place of a seal."""
    part = bytearray(content[seal.start : seal.end])
    if seal.at < seal.end:
        part[seal.at - seal.start : seal.at - seal.start + 4] = bytes(4)
    return int(lookup3(bytes(part), np.array([len(part)]))[0])


def lookup3(content: bytes, lengths: np.ndarray) -> np.ndarray:
    """Bob Jenkins' hash of the first so many bytes, for each of the lengths, which rise and are above zero."""
    padded = content + bytes(-len(content) % 12 + 12)
    words = np.frombuffer(padded, "<u4").reshape(-1, 3)
    a = (0xDEADBEEF + lengths).astype(np.uint32)
    b, c = a.copy(), a.copy()
    for i in range((int(lengths[-1]) - 1) // 12):
        rest = slice(int(np.searchsorted(lengths, 12 * (i + 1), side="right")), None)
        x, y, z = a[rest] + words[i, 0], b[rest] + words[i, 1], c[rest] + words[i, 2]
        for turn in ((4, 6, 8), (16, 19, 4)):
            x = (x - z) ^ turned(z, turn[0])
            z = z + y
            y = (y - x) ^ turned(x, turn[1])
            x = x + z
            z = (z - y) ^ turned(y, turn[2])
            y = y + x
        a[rest], b[rest], c[rest] = x, y, z
    begin = (lengths - 1) // 12 * 12
    places = begin[:, None] + np.arange(12)
    last = np.where(places < lengths[:, None], np.frombuffer(padded, np.uint8)[places], 0).astype(np.uint8).view("<u4")
    a, b, c = a + last[:, 0], b + last[:, 1], c + last[:, 2]
    for turn in ((14, 11, 25), (16, 4, 14)):
        c = (c ^ b) - turned(b, turn[0])
        a = (a ^ c) - turned(c, turn[1])
        b = (b ^ a) - turned(a, turn[2])
    return (c ^ b) - turned(b, 24)


def turned(words: np.ndarray, bits: int) -> np.ndarray:
    """Words of 32 bits turned to the left."""
    return words << np.uint32(bits) | words >> np.uint32(32 - bits)
