"""What the sections of a report are made of, and the templates that write them as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from calib.formatting import NO_BREAK
from calib.reporting import figures

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""Controls and lone surrogates, which are no HTML, and marks that turn the direction of the text around them."""


class Cell(NamedTuple):
    """A cell of a table: a text, what stands small behind it, and whether it is emphasised."""

    text: str
    small: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of which is the row's heading; ``note`` stands beneath."""

    id: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    note: str = ""


class Tile(NamedTuple):
    """One number of the raw model and after calibration, and what is said of the change."""

    title: str
    before: str
    after: str
    change: str


@dataclass(frozen=True)
class Tiles:
    """Numbers before and after, in large print; ``said`` is of what."""

    tiles: Sequence[Tile]
    said: str


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    note: str


Block = str | Markup | Table | Tiles | Note | Sequence[str]
"""What a section is made of: a paragraph, HTML made here, a table, tiles, small print, or a list of sentences."""


@dataclass(frozen=True)
class Section:
    """A question and its answer; all but the first fold."""

    id: str
    title: str
    about: str
    blocks: Sequence[Block] = field(default=())


def printable(value: Any) -> Any:
    """Markup as it is, and anything else as text without characters that HTML cannot hold; None is empty.

    No line break divides a number and its %.
    """
    if hasattr(value, "__html__"):
        return value
    return (
        ""
        if value is None
        else re.sub(r"(?<=\d) %", f"{NO_BREAK}%", _UNPRINTABLE.sub("\ufffd", str(value)))
    )


@cache
def environment() -> Environment:
    """The templates, in which every text is escaped unless it is markup made here."""
    return Environment(
        loader=FileSystemLoader(figures.TEMPLATES),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
