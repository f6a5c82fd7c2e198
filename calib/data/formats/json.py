"""JSON documents and JSON lines, also gzipped, read one entry at a time, whose size is bounded."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from calib.data.checks.report import InvalidUpload
from calib.data.formats.archives import unpacked
from calib.data.formats.base import Allowance, reading, unreadable
from calib.data.formats.dialect import infer_encoding
from calib.data.formats.records import Records
from calib.data.formats.table import TableContents
from calib.data.interpret.names import CLASS_NAMES, canonical
from calib.data.limits import MAX_RECORD, MAX_TEXT, megabytes
from calib.data.options import Choices

CHUNK = 2**20
BLANK = " \t\r\n"


class Entries:
    """The entries of a JSON file in their order: of the list that is its document, or one document after the other.

    Attributes
    ----------
    listed : whether the document is one list.
    """

    def __init__(self, source: BinaryIO, name: str):
        self._source, self._name = source, name
        self._decoder = json.JSONDecoder(strict=False)  # NaN and Infinity are read, as Python and NumPy write them
        self._text, self._at, self._size, self._ended = "", 0, 0, False
        self._n_read = 0
        head = source.read(CHUNK)
        self._decode = codecs.getincrementaldecoder(infer_encoding(head))("replace").decode
        self._take(head)
        self._text = self._text.removeprefix("\ufeff")
        self.listed = self._is_list()

    def __iter__(self) -> Iterator[Any]:
        if self.listed:
            self._at += 1
        while self._skip(BLANK + "," if self.listed else BLANK):
            if self.listed and self._text[self._at] == "]":
                return
            yield self._next()
        if self.listed:
            raise unreadable(self._name, EOFError("the list that it begins does not end"))

    def _is_list(self) -> bool:
        """Whether the file is one list, and not one list in each line."""
        if not self._skip(BLANK) or self._text[self._at] != "[":
            return False
        line, _, rest = self._text[self._at :].partition("\n")
        if not rest.strip(BLANK):
            return True
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return True
        return False

    def _next(self) -> Any:
        """The entry that begins here; more of the file is read until it is whole."""
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._more():
                    what = f"Entry {self._n_read + 1:,} of {self._name}"
                    raise unreadable(what, ValueError(error.msg)) from error
                continue
            except RecursionError as error:
                raise InvalidUpload(
                    "nested",
                    f"{self._name} nests lists or objects too deeply.",
                    "Save one flat object a row.",
                ) from error
            if end == len(self._text) and isinstance(found, (int, float)) and self._more():
                continue  # a number that may go on
            self._at = end
            self._n_read += 1
            return found

    def _more(self) -> bool:
        """Read on, as much again as is held; False at the end of the file."""
        held = len(self._text) - self._at
        if self._ended:
            return False
        if held > MAX_RECORD:
            raise InvalidUpload(
                "too_large",
                f"One entry of {self._name} has more than {megabytes(MAX_RECORD)}.",
                "Save one object a row, or the arrays with numpy.savez.",
            )
        self._text, self._at = self._text[self._at :], 0
        self._take(self._source.read(max(CHUNK, held)))
        return True

    def _take(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > MAX_TEXT:
            raise InvalidUpload(
                "too_large",
                f"The text of {self._name} has more than {megabytes(MAX_TEXT)}.",
                "Save it as npz or Parquet, or fewer rows: 20,000 are plenty to calibrate.",
            )
        self._ended = not chunk
        self._text += self._decode(chunk, not chunk)

    def _skip(self, characters: str) -> bool:
        """Go to the next character that is none of these; False if there is none."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in characters:
                self._at += 1
            if self._at < len(self._text):
                return True
            if not self._more():
                return False


def open_json(name: str, file: BinaryIO, gzipped: bool, allowance: Allowance, choices: Choices) -> TableContents:
    """The table that a JSON file holds: a list of objects, one object a line, or an object of lists."""
    file.seek(0)
    with reading(name):
        entries = Entries(unpacked(file) if gzipped else file, name)
        records = Records(name)
        rows = iter(entries)
        first, second = next(rows, None), next(rows, None)
        if isinstance(first, dict) and second is None and not entries.listed:
            head = rows_of(first)
        else:
            head = (row for row in (first, second) if row is not None)
        for row in chain(head, rows):
            records.add(row)
        return records.contents(allowance, choices)


def rows_of(document: dict[str, Any]) -> Iterator[Any]:
    """The rows of a document that is one object: lists or objects with one entry per row, or a list of rows."""
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):  # pandas, orient="split"
        return (dict(zip(map(str, columns), row, strict=False)) for row in data if isinstance(row, list))
    tables = [value for value in document.values() if is_table(value)]
    if len(tables) == 1:
        return iter(tables[0])
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    objects = {key: list(value.values()) for key, value in document.items() if isinstance(value, dict)}
    if not lists and len(objects) == len(document):
        if all(key.isdecimal() for key in document):  # pandas, orient="index"
            return iter(document.values())
        lists = objects  # pandas, orient="columns"
    names = next((value for key, value in lists.items() if canonical(key).base in CLASS_NAMES), [])
    lists = {key: value for key, value in lists.items() if canonical(key).base not in CLASS_NAMES}
    n = max((len(value) for value in lists.values()), default=0)
    whole = {key: value for key, value in lists.items() if len(value) == n}
    if n < 2:
        return iter([document])
    named = _named(list(map(str, names)))
    return ({key: named(value[i]) for key, value in whole.items()} for i in range(n))


def is_table(value: Any) -> bool:
    """Whether a value is a list of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _named(names: list[str]) -> Callable[[Any], Any]:
    """Gives a list with one value for each class the names of the classes."""

    def named(value: Any) -> Any:
        fits = isinstance(value, list) and len(value) == len(set(names)) > 0
        return dict(zip(names, value, strict=True)) if fits else value

    return named
