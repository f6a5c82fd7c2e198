"""Columns of Arrow: Parquet and Arrow files, data frames, and cells that hold a whole row of outputs.

Such cells become a column for each class:
``[0.1, 0.9]`` by place; ``{"cat": 0.1, "dog": 0.9}``, lists of a label with its score, and scores beside a list of
their labels by name. JSON and Parquet hold them as they are, text tables as text.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calib.data.findings import InvalidUpload, check_count, info, listed
from calib.data.names import OUTPUTS, canonical, is_prediction
from calib.data.options import Choices, Sign
from calib.data.read.base import check_size, reading
from calib.data.read.numerals import from_fractions, parsed, read_written
from calib.data.read.table import SAMPLE_ROWS, Table, cells_of

if TYPE_CHECKING:
    import pyarrow as pa

Columns = list[tuple[str, "pa.ChunkedArray"]]
"""Names with their columns; a name may stand there twice."""

VALUES = {"score", "prob", "probability", "confidence", "value"}
"""Names of the number beside a label."""

HEAD = 4096
"""Rows of which one shows what the cells of a column of text hold."""

DEPTH = 3
"""Values inside values that become columns; what lies deeper is left out."""


def open_parquet(name: str, file: BinaryIO, choices: Choices) -> Table:
    """A Parquet file, all of whose columns are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(name):
        opened = pq.ParquetFile(file)
        plain = filter(pa.types.is_primitive, opened.schema_arrow.types)
        bits = sum(kind.bit_width for kind in plain)
        # Runs of one value pack to nothing.
        check_size(opened.metadata.num_rows * bits // 8, f"The columns of {name}")
        return open_columns(name, opened.read(use_threads=False), choices)


GROUPS = 8
"""Row groups of a Parquet file that are looked at where it is larger than memory."""


def sample_of_parquet(name: str, file: BinaryIO, choices: Choices) -> tuple[Table, int]:
    """The first rows of some row groups from all of a Parquet file, and how many rows the file has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(name):
        opened = pq.ParquetFile(file)
        groups = np.unique(np.linspace(0, opened.num_row_groups - 1, GROUPS).astype(int)).tolist()
        heads: list[pa.RecordBatch] = []
        for group in groups:
            batches = opened.iter_batches(SAMPLE_ROWS // len(groups), [group], use_threads=False)
            heads += islice(batches, 1)
        table = pa.Table.from_batches(heads, opened.schema_arrow)
        return open_columns(name, table, choices), opened.metadata.num_rows


def open_arrow(name: str, file: BinaryIO, choices: Choices) -> Table:
    """The columns of an Arrow IPC file (Feather version 2) or stream."""
    import pyarrow as pa

    opened = pa.ipc.open_file if file.read(6) == b"ARROW1" else pa.ipc.open_stream
    file.seek(0)
    with reading(name):
        table = opened(file, options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()
        table.validate(full=True)  # offsets are of the file's making
        return open_columns(name, table, choices)


NAME = "The table"


def is_pandas(source: Any) -> bool:
    """Return whether a source is a pandas DataFrame, without importing pandas."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def open_frame(source: Any, choices: Choices) -> Table:
    """A data frame, or whatever else gives Arrow its columns.

    Raises
    ------
    InvalidUpload
        If it is a single column, if two columns have the same name, or if Arrow knows no type for one.
    """
    import pyarrow as pa

    with reading(NAME):
        try:
            table = pandas_table(source) if is_pandas(source) else pa.table(source)
        except pa.ArrowInvalid as error:
            reason = f"A {type(source).__name__} is one column, and outputs need the outcome beside them."
            raise InvalidUpload("source", reason, "Give a DataFrame that holds both.") from error
        return open_columns(NAME, table, choices)


def pandas_table(frame: Any) -> pa.Table:
    """The columns of a pandas DataFrame, with its index where that has a name; objects of several types as text."""
    import pyarrow as pa

    def as_arrow(column: Any) -> pa.Array:
        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            return pa.array(column.astype(str), from_pandas=True)

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns
    ]
    return pa.table([as_arrow(frame.iloc[:, j]) for j in range(len(names))], names=names)


def open_columns(
    name: str,
    table: pa.Table,
    choices: Choices,
    decimal: Sign | None = None,
    certain: bool = False,
) -> Table:
    """The table of columns as a file has them: written numbers as numbers, and nested outputs as columns.

    Parameters
    ----------
    decimal, certain : as for :func:`calib.data.read.numerals.read_written`; what was chosen unless given.
    """
    import pyarrow as pa

    table = without_views(table)
    decimal, certain = decimal or choices.decimal, certain or choices.decimal is not None
    table, findings = read_written(table, name, decimal, certain)
    columns = from_texts(list(zip(table.column_names, table.columns, strict=True)))
    for _ in range(DEPTH if any(pa.types.is_nested(column.type) for _, column in columns) else 0):
        columns = opened(by_label(columns), name)
    nested = {field: kind_of(column) for field, column in columns}
    nested = {field: kind for field, kind in nested.items() if kind}
    if unused := [f"{field} ({kind})" for field, kind in nested.items()]:
        findings.append(info("nested", f"Nested values of {name} were left out: {listed(unused)}."))
    table = pa.table([column for _, column in columns], names=[field for field, _ in columns])
    contents = Table(name, table, bool(choices.drop_bad_rows))
    contents.findings = findings
    contents.nested = nested
    return contents


def without_views(table: pa.Table) -> pa.Table:
    """A table without views of text, with which Arrow can do little; polars gives them."""
    import pyarrow as pa

    def usual(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return pa.dictionary(kind.index_type, usual(kind.value_type))
        return pa.string() if pa.types.is_string_view(kind) else kind

    pairs = [(column, usual(column.type)) for column in table.columns]
    columns = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
    return pa.table(columns, names=table.column_names)


def kind_of(column: pa.ChunkedArray) -> str:
    """Describe nested values that no role can use; "" for others, and for lists of equally many numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_nested(column.type) or width_of(column):
        return ""
    if not is_numbers(column):
        return "lists that hold no numbers" if cells_of(column.type) == "list" else "objects"
    lengths = pc.min_max(pc.list_value_length(column)).as_py()
    return f"lists of {lengths['min']} to {lengths['max']} numbers"


def is_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds lists of numbers."""
    return cells_of(column.type) == "list" and cells_of(column.type.value_type) == "number"


def width_of(column: pa.ChunkedArray) -> int:
    """Return the length of the lists of numbers in a column; 0 for other columns, and where it differs."""
    import pyarrow.compute as pc

    if not is_numbers(column):
        return 0
    widths = pc.unique(pc.list_value_length(column)).drop_null().to_pylist()
    return widths[0] if len(widths) == 1 else 0


def opened(columns: Columns, file: str) -> Columns:
    """Columns with one for each field of structures, and for each item of lists of equally many numbers.

    Lists of whole numbers beside as long ones of fractions stay, as the top k of very many classes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    widths = [width_of(column) for _, column in columns]
    kinds = {
        (width, pa.types.is_integer(column.type.value_type))
        for width, (_, column) in zip(widths, columns, strict=True)
        if width
    }
    columns_opened: Columns = []
    for width, (name, column) in zip(widths, columns, strict=True):
        items: Columns = [(name, column)]
        if pa.types.is_struct(column.type):
            names = [f"{name}_{field.name}" for field in column.type]
            items = list(zip(names, column.flatten(), strict=True)) or items
        elif width and not {(width, True), (width, False)} <= kinds:
            check_count(len(columns_opened) + width, file)
            items = [(f"{name}_{j}", pc.list_element(column, j)) for j in range(width)]
        columns_opened += items
        check_count(len(columns_opened), file)
    return columns_opened


def by_label(columns: Columns) -> Columns:
    """Columns in which lists of numbers with their labels, in each item or in a list beside them, are numbers by name.

    Such lists are often sorted by their numbers, so that their places name no class.
    """
    import pyarrow as pa

    labelled: Columns = []
    used: set[str] = set()
    for name, column in columns:
        item = column.type.value_type if cells_of(column.type) == "list" else None
        rows: list[dict[str, float] | None] = []
        if item is not None and pa.types.is_struct(item):
            fields = {field.name for field in item} - {"label"}
            if len(fields) == item.num_fields - 1 == 1 and fields <= VALUES:
                (value,) = fields
                cells = column.to_pylist()
                rows = [
                    cell and {str(entry["label"]): entry[value] for entry in cell} for cell in cells
                ]
                name = name if canonical(name).base in OUTPUTS else "score"
        elif is_numbers(column) and is_prediction(name):
            free = [(field, labels) for field, labels in columns if field not in used]
            if labels := label_lists(column, free):
                used.add(labels)
                pairs = zip(dict(columns)[labels].to_pylist(), column.to_pylist(), strict=True)
                rows = [pair[0] and dict(zip(*pair, strict=True)) for pair in pairs]
        if rows:
            names = sorted({label for row in rows if row for label in row})
            kind = pa.struct([(label, pa.float64()) for label in names])
            column = pa.chunked_array([pa.array(rows, kind)])
        labelled.append((name, column))
    return [(name, column) for name, column in labelled if name not in used]


def label_lists(numbers: pa.ChunkedArray, columns: Columns) -> str:
    """Return the column of lists of labels, as many as there are numbers; "" where there is none.

    Of several it is the one whose labels occur in columns of text.
    """
    import pyarrow.compute as pc

    cells = {name: column.slice(0, HEAD) for name, column in columns}
    kinds = {name: cells_of(column.type) for name, column in columns}
    texts = [pc.unique(cells[name]).to_pylist() for name in cells if kinds[name] == "text"]
    classes = {text for values in texts for text in values}
    lengths = pc.list_value_length(numbers)
    common = {
        name: len(classes & {*pc.unique(pc.list_flatten(cells[name])).to_pylist()})
        for name, column in columns
        if kinds[name] == "list" and cells_of(column.type.value_type) == "text"
        if lengths.equals(pc.list_value_length(column))
    }
    return max(common, key=lambda name: common[name], default="")


def from_texts(columns: Columns) -> Columns:
    """Columns, those of text opened where their cells hold several values."""
    texts = {name for name, column in columns if cells_of(column.type) == "text"}
    return [
        (name, from_text(name, column) if name in texts else column) for name, column in columns
    ]


def from_text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text whose cells hold fractions, lists or dictionaries as their values, if it is called outputs.

    Lists of names are opened whatever they are called.
    """
    import pyarrow as pa

    if is_prediction(name):
        column = from_fractions(column)
        if cells_of(column.type) != "text":
            return column
    first = parsed(next(filter(None, column.slice(0, HEAD).to_pylist()), ""))
    names = isinstance(first, list) and all(isinstance(item, str) for item in first)
    if names or (isinstance(first, (list, dict)) and is_prediction(name)):
        with suppress(pa.ArrowException, OverflowError, UnicodeError):  # one is of another kind
            cells = column.to_pylist()
            return pa.chunked_array([pa.array([parsed(cell) if cell else None for cell in cells])])
    return column
