"""The ways in which the corpus writes a table into a file."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DECIMAL = re.compile(r"^-?[\d,]*\d\.\d+(?=\s?[%‰]?$)")
NUMBER = re.compile(r"^-?(0|[1-9]\d*)(\.\d+)?$")


@dataclass(frozen=True)
class Layout:
    """How a text table is written.

    Attributes
    ----------
    first : name of a column of row numbers that programs put before the others; None for none.
    before, after : lines before the header and after the last row.
    short : the header leaves out the name of ``first``, as R's ``write.table`` does.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    quoting: int = csv.QUOTE_MINIMAL
    line_end: str = "\n"
    first: str | None = None
    before: str = ""
    after: str = ""
    short: bool = False
    suffix: str = "csv"


LAYOUTS = {
    "csv": Layout(),
    "windows": Layout(line_end="\r\n"),
    "tab": Layout("\t", suffix="tsv"),
    "txt": Layout("\t", suffix="txt"),
    "semicolon": Layout(";"),
    "comma": Layout(";", decimal=",", line_end="\r\n"),
    "latin": Layout(";", decimal=",", encoding="cp1252", line_end="\r\n"),
    "bom": Layout(encoding="utf-8-sig"),
    "bom_comma": Layout(";", decimal=",", encoding="utf-8-sig", line_end="\r\n"),
    "utf16": Layout("\t", encoding="utf-16", suffix="txt"),
    "quoted": Layout(quoting=csv.QUOTE_ALL),
    "pandas": Layout(first=""),
    "rnames": Layout(first="", quoting=csv.QUOTE_NONNUMERIC),
    "unnamed": Layout(first="Unnamed: 0"),
    "pipe": Layout("|", suffix="txt"),
    "comments": Layout(before="# exported 2021-03-04 11:20\n# model: gbm v3, test set\n"),
    "tab_comma": Layout("\t", decimal=",", line_end="\r\n", suffix="txt"),
    "excel": Layout(";", decimal=",", encoding="utf-8-sig", line_end="\r\n", before="sep=;\r\n"),
    "percent_comments": Layout(before="% results of run 17\n% threshold not applied\n"),
    "quoted_semicolon": Layout(";", quoting=csv.QUOTE_ALL),
    "utf16_comma": Layout("\t", decimal=",", encoding="utf-16", suffix="txt"),
    "index": Layout(first="index"),
    "headless": Layout(header=False),
    "headless_txt": Layout("\t", header=False, suffix="txt"),
    "csv2": Layout(";", decimal=",", first="", quoting=csv.QUOTE_NONNUMERIC),
    "latin_quoted": Layout(
        ";", decimal=",", encoding="cp1252", quoting=csv.QUOTE_ALL, line_end="\r\n"
    ),
    "knime": Layout(first="row ID"),
    "rowid": Layout("\t", first="rowid", suffix="tsv"),
    "parquet": Layout(suffix="parquet"),
    "jsonl": Layout(suffix="jsonl"),
    "records": Layout(suffix="json"),
    "write_table": Layout(" ", first="", quoting=csv.QUOTE_NONNUMERIC, short=True, suffix="txt"),
    "sql_server": Layout(line_end="\r\n", after="\r\n(all rows returned)\r\n"),
    "markdown": Layout("|", suffix="txt"),
    "frame_json": Layout(suffix="json"),
    "split_json": Layout(suffix="json"),
    "xlsx": Layout(suffix="xlsx"),
    "xlsx_titled": Layout(before="Model results, second quarter\n\n", suffix="xlsx"),
    "xlsx_heads": Layout(
        before="Churn model, second quarter\n\nCustomer\t\t\tModel\n", suffix="xlsx"
    ),
    "shift_jis": Layout(encoding="cp932"),
}


def numeric(cell: str) -> float:
    """The number in a cell as it was made, before a decimal comma was written."""
    return float(cell.replace(",", "").rstrip("%‰ "))


def localised(cell: str, decimal: str) -> str:
    """The cell with this sign before decimals, and a dot between thousands where that is a comma."""
    if decimal == "." or not DECIMAL.match(cell):
        return cell
    return cell.replace(",", "\0").replace(".", ",").replace("\0", ".")


def write(cells: Mapping[str, Sequence[str]], layout: str, name: str) -> tuple[str, bytes]:
    """File name and bytes of a table."""
    how = LAYOUTS[layout]
    if how.first is not None:
        n = len(next(iter(cells.values())))
        cells = {
            how.first: [str(row + (how.quoting != csv.QUOTE_MINIMAL)) for row in range(n)],
            **cells,
        }
    if layout == "parquet":
        return f"{name}.parquet", _parquet(_text(cells, LAYOUTS["csv"]))
    if how.suffix in ("jsonl", "json"):
        return f"{name}.{how.suffix}", _objects(cells, layout)
    if how.suffix == "xlsx":
        return f"{name}.xlsx", _workbook(cells, how.before)
    if layout == "markdown":
        return f"{name}.txt", _markdown(cells)
    return f"{name}.{how.suffix}", _text(cells, how)


def _objects(cells: Mapping[str, Sequence[str]], layout: str) -> bytes:
    """A list of objects, an object a line, or a data frame of pandas as ``to_json`` writes it."""
    rows = [list(map(_typed, row)) for row in zip(*cells.values(), strict=True)]
    if layout == "split_json":
        return json.dumps({"columns": list(cells), "data": rows}).encode()
    if layout == "frame_json":
        columns = zip(cells, zip(*rows, strict=True), strict=True)
        return json.dumps(
            {name: {str(k): cell for k, cell in enumerate(column)} for name, column in columns}
        ).encode()
    objects = [dict(zip(cells, row, strict=True)) for row in rows]
    if layout == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects).encode()
    return json.dumps(objects, ensure_ascii=False).encode()


def _workbook(cells: Mapping[str, Sequence[str]], before: str) -> bytes:
    import openpyxl

    workbook, buffer = openpyxl.Workbook(), io.BytesIO()
    for line in before.splitlines():
        workbook.active.append([cell or None for cell in line.split("\t")])
    workbook.active.append(list(cells))
    for row in zip(*cells.values(), strict=True):
        workbook.active.append(list(map(_typed, row)))
    workbook.save(buffer)
    return buffer.getvalue()


def _markdown(cells: Mapping[str, Sequence[str]]) -> bytes:
    rows = [list(cells), ["---"] * len(cells), *map(list, zip(*cells.values(), strict=True))]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).encode()


def _typed(cell: str) -> str | float | bool | None:
    """The cell as a program holds it: a number, a truth value, nothing, or text."""
    if cell in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[cell]
    return json.loads(cell) if NUMBER.match(cell) else cell


def _text(cells: Mapping[str, Sequence[str]], how: Layout) -> bytes:
    buffer = io.StringIO()
    buffer.write(how.before)
    quoting = csv.QUOTE_MINIMAL if how.quoting == csv.QUOTE_NONNUMERIC else how.quoting
    writer = csv.writer(
        buffer, delimiter=how.delimiter, quoting=quoting, lineterminator=how.line_end
    )
    if how.header:
        writer.writerow(list(cells)[how.short :])
    for row in zip(*cells.values(), strict=True):
        writer.writerow([localised(cell, how.decimal) for cell in row])
    buffer.write(how.after)
    return buffer.getvalue().encode(how.encoding)


def _parquet(text: bytes) -> bytes:
    import pyarrow.csv
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(text)), buffer)
    return buffer.getvalue()
