"""Small valid uploads of every format, and seeded damage to them that format parsers are known to believe."""

from __future__ import annotations

import gzip
import io
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from benchmarks.originals import ENDINGS, Files, originals

Generator = np.random.Generator
Damage = Callable[[bytes, Generator], bytes]

EXTREMES = (0, 1, 2**7, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
"""Numbers at the edge of what fits, which parsers are known to believe."""

LARGEST = 2**22
"""Bytes a mutant may grow to."""

SHAPES = ("(10**9, 4)", "(300, 10**9)", "(0, 4)", "(300, 0)", "()", "(-1, 4)", "(2**63, 2**63)", "(300, 4, 1, 1)",
          "(1200,)", "(4, 300)", "(True, 4)", "(1,) * 40", "(2**64,)")  # fmt: skip
DESCRS = ("'|O'", "'<f2'", "'<f16'", "'<c16'", "'|b1'", "'<U300'", "'<U0'", "'|S0'", "'|V8'", "'<M8[s]'", "'<M8'",
          "[('a', '<f8'), ('b', '|O')]", "('<f8', (4,))", "'>f8'", "'<i8'", "'<u8'", "'nope'", "None", "'<U999999999'",
          "__import__('os')")  # fmt: skip
CELLS = ("1e999", "-1e-999", "nan", "", "=1+1", '"', '"a""b', "9" * 400, "x" * 100_000, "0x10", "1,5", "\0", "\ufeff",
         "<script>alert(1)</script>", "-inf", "1;2", "\u202e4", "true", "1" + "0" * 25, "\r")  # fmt: skip
NAMES = ("{0}", "<img src=x onerror=alert(1)>{0}", "../../../etc/{0}", "a\n\r\t\x1b[31m{0}", "x" * 10_000 + "{0}",
         "**[a](javascript:1)**{0}", "\u202e{0}", "", "..", "%s%n{{}}{0}")  # fmt: skip


XML = (b"", b"-1", b"1e999", b"9" * 5000, b"XFD1048576", b"A99999999999", b"inlineStr", b"s", b"e", b"d", b"#REF!",
       b"&lt;", b"A1:XFD1048576", b"../../x.xml", b"/xl/nothing.xml", b"x" * 50_000, b"nan", b"0")  # fmt: skip
TAGS = (b'<!DOCTYPE x [<!ENTITY a "aaaa">]>', b"<a>" * 500, b"<row/>" * 1000, b"<c/>" * 1000, b"<f>A1</f>", b"</row>",
        b"<?xml version='1.0' encoding='utf-16'?>", b"<mergeCell ref='A1:Z9'/>", b"<sheet name='x'/>")  # fmt: skip
TOKENS = (b"NaN", b"-Infinity", b"1e999", b"null", b"true", b"[]", b"{}", b"[", b"}", b'"', b"9" * 5000, b'"\\ud800"',
          b",", b"[[[1]]]", b'{"a": 1}', b'"x"', b"\xff\xfe", b"0.5", b'"label"', b'"target"', b'"score"', b":",
          b"\n")  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One hostile upload.

    Attributes
    ----------
    number : its place in the sequence; with the seed it says which mutant this is.
    form : the format of the file that was damaged.
    damage : what was done to it.
    files : (name, bytes) by argument of :func:`calib.data.inspect`.
    drop : whether bad rows are to be left out, which reads on where a mutant would be refused.
    """

    number: int
    form: str
    damage: str
    files: Files
    drop: bool


def mutant(number: int, seed: int = 0, only: tuple[str, ...] = ()) -> Mutant:
    """The mutant of this number, of some formats only where they are named; equal arguments give equal bytes."""
    generator = np.random.default_rng((seed, number))
    forms = {form: files for form, files in originals().items() if not only or form in only}
    form = list(forms)[number % len(forms)]
    files = dict(forms[form])
    role = list(files)[generator.integers(len(files))]
    name, content = files[role]
    own = OWN.get("".join(PurePath(name).suffixes), OWN.get(PurePath(name).suffix, {}))
    kinds = [*ANY, *own]
    damage = kinds[generator.integers(len(kinds))]
    content = (ANY | own)[damage](content, generator)[:LARGEST]
    if damage == "ending":
        name = PurePath(name).stem + str(generator.choice(ENDINGS))
    if generator.random() < 0.1:
        damage, name = f"{damage}, name", NAMES[generator.integers(len(NAMES))].format(name)
    files[role] = (name, content)
    return replace(Mutant(number, form, damage, files, bool(generator.random() < 0.4)))


def flip(content: bytes, generator: Generator) -> bytes:
    """Some bits turned over, half of them at the ends, where formats keep what is dangerous to believe."""
    out = bytearray(content)
    for _ in range(generator.integers(1, 17)):
        if out:
            out[place(out, generator)] ^= 1 << int(generator.integers(8))
    return bytes(out)


def place(content: bytes | bytearray, generator: Generator) -> int:
    """Anywhere, or within 400 bytes of an end."""
    at = int(generator.integers(len(content)))
    if generator.random() < 0.5:
        near = at % min(400, len(content))
        at = near if generator.random() < 0.5 else len(content) - 1 - near
    return at


def truncate(content: bytes, generator: Generator) -> bytes:
    """The first part, or the last."""
    at = place(content, generator) if content else 0
    return content[:at] if generator.random() < 0.7 else content[at:]


def splice(content: bytes, generator: Generator) -> bytes:
    """A piece of another upload put in, over what was there or between."""
    others = [other for files in originals().values() for _, other in files.values()]
    other = others[generator.integers(len(others))]
    start = int(generator.integers(len(other)))
    piece = other[start : start + int(generator.integers(1, 3000))]
    at = place(content, generator)
    return content[:at] + piece + content[at + (len(piece) if generator.random() < 0.5 else 0) :]


def duplicate(content: bytes, generator: Generator) -> bytes:
    """A chunk repeated, up to a thousand times."""
    at, length = place(content, generator), int(generator.integers(1, 4000))
    return (
        content[:at] + content[at : at + length] * int(10 ** generator.uniform(0, 3)) + content[at:]
    )


def extreme(content: bytes, generator: Generator) -> bytes:
    """Two, four or eight bytes in a row replaced by a count at the edge of what fits."""
    width = int(generator.choice([2, 4, 8]))
    number = EXTREMES[generator.integers(len(EXTREMES))] % 2 ** (8 * width)
    at = place(content, generator)
    return content[:at] + number.to_bytes(width, "little") + content[at + width :]


def npy_header(content: bytes, generator: Generator) -> bytes:
    """Another shape, dtype, order or version, with the length of the header set right."""
    shape, descr, order = "(300, 4)", "'<f8'", "False"
    which = generator.integers(4)
    if which != 1:
        shape = SHAPES[generator.integers(len(SHAPES))]
    if which:
        descr = DESCRS[generator.integers(len(DESCRS))]
    if which == 3:
        order = str(generator.choice(["True", "None", "1"]))
    # Products are written out: the header is a literal, and numbers beyond any machine are one too.
    for product in ("10**9", "2**64", "2**63"):
        shape = shape.replace(product, str(eval(product)))
    if shape.startswith("(1,) *"):
        shape = str((1,) * 40)
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}".encode()
    text += b" " * int(generator.choice([0, 7, 12_000], p=[0.5, 0.4, 0.1])) + b"\n"
    version = int(generator.choice([1, 2, 3, 9], p=[0.5, 0.2, 0.2, 0.1]))
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    body = content[128:] if len(content) > 128 else b""
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


def zip_member(content: bytes, generator: Generator) -> bytes:
    """One member damaged and packed again, so that its checksum is right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[generator.integers(len(members))]
    inner = (npy_header, flip, truncate, extreme, duplicate)[generator.integers(5)]
    members[name] = inner(members[name], generator)
    if generator.random() < 0.2:
        members[
            str(generator.choice(["../x.npy", ".npy", "a/b\\c.npy", "<b>.npy", "labels.npy.npy"]))
        ] = members[name]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in members.items():
            archive.writestr(key, value)
    return out.getvalue()


def zip_directory(content: bytes, generator: Generator) -> bytes:
    """A field of the central directory changed: flags, compression, checksum, sizes, lengths, offset."""
    starts = [i for i in range(len(content) - 46) if content[i : i + 4] == b"PK\x01\x02"]
    at = starts[generator.integers(len(starts))]
    offset, width = ((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4))[
        generator.integers(8)
    ]
    number = EXTREMES[generator.integers(len(EXTREMES))] % 2 ** (8 * width)
    return (
        content[: at + offset] + number.to_bytes(width, "little") + content[at + offset + width :]
    )


def xml_part(content: bytes, generator: Generator) -> bytes:
    """One part of a workbook damaged and packed again: tags, attributes and numbers replaced, or any bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = (
        "xl/worksheets/sheet1.xml"
        if generator.random() < 0.5
        else list(parts)[generator.integers(len(parts))]
    )
    part = parts[name]
    for _ in range(generator.integers(1, 6)):
        kind = generator.integers(4)
        if kind == 0:
            part = (flip, truncate, duplicate, splice)[generator.integers(4)](part, generator)
        elif kind == 1:
            part = one_replaced(
                part, rb'="[^"]*"', b'="' + XML[generator.integers(len(XML))] + b'"', generator
            )
        elif kind == 2:
            part = one_replaced(
                part, rb">[^<]*<", b">" + XML[generator.integers(len(XML))] + b"<", generator
            )
        else:
            part = one_replaced(part, rb"<", TAGS[generator.integers(len(TAGS))] + b"<", generator)
    parts[name] = part[:LARGEST]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in parts.items():
            archive.writestr(key, value)
    return out.getvalue()


def one_replaced(content: bytes, pattern: bytes, new: bytes, generator: Generator) -> bytes:
    """One of the places where a pattern stands, with other bytes there."""
    places = [match.span() for match in re.finditer(pattern, content)]
    if not places:
        return content
    start, end = places[generator.integers(len(places))]
    return content[:start] + new + content[end:]


def json_tokens(content: bytes, generator: Generator) -> bytes:
    """Values, keys and brackets replaced, or a piece of the file nested deeply."""
    if generator.random() < 0.1:
        depth = int(10 ** generator.uniform(1, 5))
        return one_replaced(content, rb"[0-9.]+", b"[" * depth + b"]" * depth, generator)
    for _ in range(generator.integers(1, 6)):
        token = TOKENS[generator.integers(len(TOKENS))]
        content = one_replaced(content, rb'"[^"]*"|[-0-9.e]+|[][{}:,]', token, generator)
    return content


def gzipped_json(content: bytes, generator: Generator) -> bytes:
    """Its text damaged and packed again."""
    return gzip.compress(json_tokens(gzip.decompress(content), generator)[:LARGEST], mtime=0)


def gzip_inside(content: bytes, generator: Generator) -> bytes:
    """The text damaged and packed again, as one member or several."""
    text = gzip.decompress(content)
    text = (cells, flip, truncate, duplicate, splice)[generator.integers(5)](text, generator)
    parts = [text[: len(text) // 2], text[len(text) // 2 :]] if generator.random() < 0.3 else [text]
    return b"".join(gzip.compress(part[:LARGEST], mtime=0) for part in parts)


def gzip_header(content: bytes, generator: Generator) -> bytes:
    """Its method, its flags, or the length and checksum at its end."""
    out, at = (
        bytearray(content),
        int(generator.choice([2, 3, 8, len(content) - 8, len(content) - 4])),
    )
    out[at] = int(generator.integers(256))
    return bytes(out)


def cells(content: bytes, generator: Generator) -> bytes:
    """Some cells of a text table replaced, that of the first line too, or another line end or encoding."""
    delimiter = b"\t" if b"\t" in content else b","
    lines = [line.split(delimiter) for line in content.split(b"\n")]
    for _ in range(generator.integers(1, 6)):
        line = lines[0 if generator.random() < 0.3 else generator.integers(len(lines))]
        line[generator.integers(len(line))] = CELLS[generator.integers(len(CELLS))].encode()
    out = b"\n".join(delimiter.join(line) for line in lines)
    if generator.random() < 0.2:
        encoding = str(generator.choice(["utf-16", "utf-16-be", "utf-32", "latin-1"]))
        out = out.decode("utf-8", "replace").encode(encoding, "replace")
    return out.replace(b"\n", b"\r") if generator.random() < 0.1 else out


ANY: dict[str, Damage] = {
    "bits": flip,
    "cut": truncate,
    "splice": splice,
    "repeat": duplicate,
    "extreme number": extreme,
    "ending": lambda content, generator: (
        flip(content, generator) if generator.random() < 0.3 else content
    ),
}


OWN: dict[str, dict[str, Damage]] = {
    ".npy": {"header": npy_header},
    ".npz": {"member": zip_member, "directory": zip_directory},
    ".csv": {"cells": cells},
    ".tsv": {"cells": cells},
    ".gz": {"inside": gzip_inside, "gzip header": gzip_header},
    ".xlsx": {
        "member": zip_member,
        "directory": zip_directory,
        "part": xml_part,
        "part again": xml_part,
    },
    ".json": {"tokens": json_tokens},
    ".jsonl": {"tokens": json_tokens},
    ".jsonl.gz": {"tokens": gzipped_json, "gzip header": gzip_header},
}
