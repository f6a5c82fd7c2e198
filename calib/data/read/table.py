"""Tables over Arrow columns: a sample of all, and those that are used as NumPy arrays, whose sizes are booked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.data.findings import InvalidUpload, shortened
from calib.data.limits import MAX_DISTINCT
from calib.data.read.base import OTHERS, Allowance, Array, ArrayInfo, Contents, book_texts, reading

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$|^\s*[-+]?(?i:nan|inf|infinity)\s*$"

SAMPLE_ROWS, SAMPLE_LEAST, SAMPLE_CELLS, SAMPLE_TEXT = 5_000, 50, 500_000, 64
"""Rows of a sample, fewer in wide tables but at least so many, cells of all of it, and characters of a text."""

FIRST_ROWS = 8
"""Rows that are shown where somebody is to say what the columns are."""


class Table(Contents):
    """Columns of one table.

    Parameters
    ----------
    schema, n_rows : names and Arrow types of the columns, and how many rows there are.
    columns : the columns, unless a subclass reads them when they are asked for.
    drop_bad_cells : whether text in a column of numbers becomes NaN instead of an error.

    Attributes
    ----------
    written : columns of whole numbers as text, where the file writes them in another way, such as 007.
    """

    tabular = True

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        n_rows: int,
        allowance: Allowance,
        drop_bad_cells: bool,
        columns: pa.Table | None = None,
    ):
        check_names(schema.names, name)
        super().__init__(name, tuple(ArrayInfo(f.name, (n_rows,), str(f.type)) for f in schema), allowance)
        self.n_rows = n_rows
        self.schema = schema
        self.written: dict[str, pa.ChunkedArray] = {}
        self._types = {field.name: field.type for field in schema}
        self._columns = columns
        self._drop_bad_cells = drop_bad_cells
        self._sample: dict[str, Array] | None = None

    @classmethod
    def from_arrow(cls, name: str, table: pa.Table, allowance: Allowance, drop_bad_cells: bool) -> Table:
        """A table in memory; of columns that say the same under the same name, one is kept."""
        table = without_twins(table)
        return Table(name, table.schema, table.num_rows, allowance, drop_bad_cells, table)

    def fetch(self, names: list[str]) -> list[pa.ChunkedArray]:
        """Columns as Arrow has them."""
        assert self._columns is not None
        return [self._columns.column(name) for name in names]

    def some_rows(self, most: int) -> list[pa.ChunkedArray]:
        """About so many rows of all columns."""
        assert self._columns is not None
        rows = spread(self.n_rows, most)
        return [column.take(rows) if is_plain(column.type) else column for column in self._columns.columns]

    def column(self, name: str) -> pa.ChunkedArray:
        """One column as Arrow has it."""
        with reading(f"Column {shortened(name)} of {self.name}"):
            return self.fetch([name])[0]

    def taken(self, rows: pa.Array | None, without: str = "") -> Table:
        """The same table with the rows of these numbers, in their order.

        Parameters
        ----------
        rows : their numbers; None for all rows.
        without : a column that is left out.
        """
        import pyarrow as pa

        names = [name for name in self.names if name != without]
        with reading(self.name):
            table = pa.table(dict(zip(names, self.fetch(names), strict=True)))
            table = table if rows is None else table.take(rows)
        found = Table.from_arrow(self.name, table, self.allowance, self._drop_bad_cells)
        found.format_choices = self.format_choices
        found.written = {name: c if rows is None else c.take(rows) for name, c in self.written.items()}
        return found

    def sample(self) -> dict[str, Array]:
        """Some rows from all of the table, at most :data:`SAMPLE_ROWS`, to tell the columns by.

        Numbers, booleans, text cut after :data:`SAMPLE_TEXT` characters, or dates; missing text is empty, missing
        numbers and whatever is none of these are NaN.
        """
        if self._sample is None:
            most = max(SAMPLE_LEAST, min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(self.names))))
            with reading(self.name):
                columns = self.some_rows(most)
                n = next((len(c) for c in columns if is_plain(c.type)), len(spread(self.n_rows, most)))
                self._sample = {name: sampled(column, n) for name, column in zip(self.names, columns, strict=True)}
        return self._sample

    def read(self, name: str) -> Array:
        """One column: numbers, booleans, or strings."""
        import pyarrow as pa

        what = f"Column {shortened(name)} of {self.name}"
        kind = value_type(self._types[name])
        if not is_plain(kind) or pa.types.is_temporal(kind):
            raise not_numbers(what, str(kind))
        with reading(what):
            (column,) = self.fetch([name])
            if is_text(kind):
                return text_column(column, what, self.allowance)
            if pa.types.is_boolean(kind):
                if column.null_count:
                    return text_column(column.cast(pa.string()), what, self.allowance)
                self.allowance.take(self.n_rows, what)
                return column.to_numpy().astype(bool)
            self.allowance.take(self.n_rows * 8, what)
            return numbers(column, what, self._drop_bad_cells)

    def read_matrix(self, name: str) -> Array:
        """A column of lists of numbers, all of one length, as (n, k)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        what, kind = f"Column {shortened(name)} of {self.name}", self._types[name]
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
            raise not_numbers(what, str(kind))
        with reading(what):
            (column,) = self.fetch([name])
            lengths = pc.unique(pc.list_value_length(column))
            if len(lengths) != 1 or not lengths[0].is_valid or not lengths[0].as_py():
                raise InvalidUpload(
                    "lists",
                    f"The lists of {what} differ in length, or some are missing.",
                    "Save k numbers in each row.",
                )
            flat = pc.list_flatten(column)
            if flat.null_count or not (pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type)):
                raise not_numbers(what, str(kind))
            self.allowance.take(len(flat) * 8, what)
            return flat.to_numpy().reshape(self.n_rows, -1)

    def read_ids(self, name: str) -> Array:
        """One column, whose numbers are text where the file writes them in another way, such as 007."""
        if name not in self.written:
            return self.read(name)
        return text_column(self.written[name], f"Column {shortened(name)} of {self.name}", self.allowance)

    def read_times(self, name: str) -> Array:
        """One column: numbers, or dates and other texts as text."""
        import pyarrow as pa

        if not pa.types.is_temporal(self._types[name]):
            return self.read(name)
        what = f"Column {shortened(name)} of {self.name}"
        with reading(what):
            (column,) = self.fetch([name])
            return text_column(column.cast(pa.date32()).cast(pa.string()), what, self.allowance)

    def read_columns(self, names: tuple[str, ...]) -> Array:
        """Numbers of several columns side by side."""
        single = all(str(self._types[name]) in ("float", "halffloat") for name in names)
        dtype = np.dtype(np.float32 if single else np.float64)
        what = f"The {len(names):,} columns from {shortened(names[0])} of {self.name}"
        self.allowance.take(self.n_rows * len(names) * dtype.itemsize, what)
        with reading(what):
            out = np.empty((self.n_rows, len(names)), dtype=dtype)
            for j, (name, column) in enumerate(zip(names, self.fetch(list(names)), strict=True)):
                out[:, j] = numbers(column, f"Column {shortened(name)} of {self.name}", self._drop_bad_cells)
        return out


def spread(n_rows: int, most: int) -> npt.NDArray[np.int64]:
    """Numbers of about so many rows from all of a table, the first ones among them."""
    first = np.arange(min(n_rows, FIRST_ROWS))
    return np.union1d(first, np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64))


def value_type(kind: Any) -> Any:
    """The type of a column's values, whether or not it is a dictionary of them."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: Any) -> bool:
    """Whether a type is that of text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: Any) -> bool:
    """Whether a type is that of whole numbers, of floating point or of decimals."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_plain(kind: Any) -> bool:
    """Whether a cell of this type holds one number, text, date, or truth value."""
    import pyarrow as pa

    kind = value_type(kind)
    rest = pa.types.is_boolean(kind) or pa.types.is_temporal(kind) or pa.types.is_null(kind)
    return is_text(kind) or is_number(kind) or bool(rest)


def sampled(column: pa.ChunkedArray, n: int) -> Array:
    """A few cells of any type as numbers, booleans, text or dates; ``n`` times NaN for whatever is none of these."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = value_type(column.type)
    if not is_plain(kind) or pa.types.is_null(kind):
        return np.full(n, np.nan)
    if pa.types.is_temporal(kind):
        return np.full(n, "NaT", dtype="datetime64[s]")
    if is_text(kind):
        # The few different texts are cut first: a long one may stand in all rows.
        cut = [pc.utf8_slice_codeunits(c.dictionary.cast(pa.string()), 0, SAMPLE_TEXT).take(c.indices)
               for c in dictionaries(column)]  # fmt: skip
        return np.array(pc.fill_null(pa.chunked_array(cut, pa.string()), "").to_pylist(), dtype=np.str_)
    column = column.cast(kind)
    if pa.types.is_boolean(kind):
        if column.null_count:
            return np.array(pc.fill_null(column.cast(pa.string()), "").to_pylist(), dtype=np.str_)
        return column.to_numpy().astype(bool)
    return (pc.cast(column, pa.float64()) if pa.types.is_decimal(kind) else column).to_numpy()


def check_names(names: list[str], file: str) -> None:
    """Refuse columns that cannot be told apart."""
    counts = Counter(names)
    if len(counts) < len(names):
        twice, times = counts.most_common(1)[0]
        raise InvalidUpload(
            "duplicate_columns",
            f"{file} has {times} columns called {shortened(twice)!r} that differ; a join usually causes it.",
            "Rename or delete all but one of them.",
        )


def without_twins(table: pa.Table) -> pa.Table:
    """A table without columns that repeat another one, name and cells, as a join leaves the id."""
    first: dict[str, int] = {}
    kept = [
        j
        for j, name in enumerate(table.column_names)
        if first.setdefault(name, j) == j or not table.column(j).equals(table.column(first[name]))
    ]
    return table if len(kept) == table.num_columns else table.select(kept)


def text_column(column: pa.ChunkedArray, what: str, allowance: Allowance) -> Array:
    """A column of strings; what is missing becomes the empty string.

    Only the different strings become Python objects, however many rows repeat them.
    """
    import pyarrow.compute as pc

    chunks = dictionaries(column)
    book_texts(len(column), longest_text(column), what, allowance)
    n_different = max((len(chunk.dictionary) for chunk in chunks), default=0)
    if n_different > MAX_DISTINCT:
        raise InvalidUpload(
            "too_large", f"{what} holds {n_different:,} different texts; at most {MAX_DISTINCT:,} are read.", OTHERS
        )
    parts = []
    for chunk in chunks:
        values = np.array([*chunk.dictionary.to_pylist(), ""], dtype=np.str_)
        parts.append(values[pc.fill_null(chunk.indices, len(values) - 1).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts) if parts else np.empty(0, dtype="<U1")


def dictionaries(column: pa.ChunkedArray) -> list[pa.DictionaryArray]:
    """The chunks of a column of strings, each as its different values and the positions of these."""
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return [chunk for chunk in encoded.chunks if len(chunk)]


def longest_text(column: pa.ChunkedArray) -> int:
    """Characters of the longest string."""
    import pyarrow.compute as pc

    return max((pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0 for chunk in dictionaries(column)), default=0)


def numbers(column: pa.ChunkedArray, what: str, drop_bad_cells: bool) -> Array:
    """A column as numbers; what is missing becomes NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        if is_text(column.type.value_type):
            Allowance().take(longest_text(column) * len(column), what)
        column = column.cast(column.type.value_type)
    kind = column.type
    if is_text(kind):
        column = parse_cells(column, what, drop_bad_cells)
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    elif not is_number(kind):
        raise not_numbers(what, str(kind))
    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.float64())
    return column.to_numpy()


def parse_cells(column: pa.ChunkedArray, what: str, drop_bad_cells: bool) -> pa.ChunkedArray:
    """Strings as numbers, where each is one; otherwise say how many are not, and where the first is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    good = pc.match_substring_regex(column, NUMBER)
    bad = pc.fill_null(pc.invert(good), False)
    n_bad = pc.sum(bad).as_py() or 0
    if n_bad and not drop_bad_cells:
        first = pc.index(bad, True).as_py()
        raise InvalidUpload(
            "text_in_cells",
            f"{what} should hold numbers, but {n_bad:,} of {len(column):,} cells hold text; the first is "
            f"{shortened(column[first].as_py())!r} in row {first + 1:,}. A second header line, a comment or a "
            "decimal comma usually causes it.",
            "Leave these rows out, or correct the cells.",
            drop_bad_rows=True,
        )
    return pc.cast(pc.utf8_trim_whitespace(pc.if_else(good, column, None)), pa.float64())


def not_numbers(what: str, kind: str) -> InvalidUpload:
    """Refuse dates, lists and other values that are neither numbers nor names."""
    return InvalidUpload(
        "dtype",
        f"{what} holds values of type {shortened(kind)} where numbers are needed.",
        "Choose another column, or save one number per cell.",
    )
