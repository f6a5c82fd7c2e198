"""Tables as Arrow columns: a sample of all first, then the columns that are used, with their sizes counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, shortened
from calib.data.formats.base import Allowance, Array, ArrayInfo, Contents, reading
from calib.data.formats.texts import OTHERS, book_texts
from calib.data.limits import MAX_DISTINCT

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$|^\s*[-+]?(?i:nan|inf|infinity)\s*$"


class TableContents(Contents):
    """Columns of one table, read when they are first asked for.

    Parameters
    ----------
    schema : names and Arrow types of the columns.
    fetch : gives the columns of these names.
    drop_bad_cells : whether text in a column of numbers becomes NaN instead of an error.
    sample : gives some rows of all columns where the table should not be read as a whole for that.
    """

    tabular = True

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        n_rows: int,
        fetch: Callable[[list[str]], list[pa.ChunkedArray]],
        allowance: Allowance,
        drop_bad_cells: bool,
        sample: Callable[[int], list[pa.ChunkedArray]] | None = None,
    ):
        check_names(schema.names, name)
        arrays = tuple(ArrayInfo(field.name, (n_rows,), str(field.type)) for field in schema)
        super().__init__(name, arrays, allowance)
        self.n_rows = n_rows
        self._schema = schema
        self._types = {field.name: field.type for field in schema}
        self._fetch_anew = fetch
        self._fetched: dict[str, pa.ChunkedArray] = {}
        self._drop_bad_cells = drop_bad_cells
        self._sample = sample

    def _fetch(self, names: list[str]) -> list[pa.ChunkedArray]:
        """Columns, each of which is used once; what the sample has fetched is let go with it."""
        missing = [name for name in names if name not in self._fetched]
        anew = dict(zip(missing, self._fetch_anew(missing) if missing else [], strict=True))
        return [self._fetched.pop(name) if name in self._fetched else anew[name] for name in names]

    def sample(self) -> dict[str, Array]:
        """Some rows from all of the table, at most :data:`SAMPLE_ROWS`, to tell the columns by.

        Numbers, booleans, text cut after :data:`SAMPLE_TEXT` characters, or dates; missing text is empty, missing
        numbers and whatever is none of these are NaN.
        """
        most = max(SAMPLE_LEAST, min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(self.names))))
        with reading(self.name):
            if self._sample is None:
                self._fetched |= dict(zip(self.names, self._fetch(self.names), strict=True))
                columns = [self._fetched[name].take(spread(self.n_rows, most)) for name in self.names]
            else:
                columns = self._sample(most)
            return {name: sampled(column) for name, column in zip(self.names, columns, strict=True)}

    @classmethod
    def from_table(cls, name: str, table: pa.Table, allowance: Allowance, drop_bad_cells: bool) -> Self:
        """The columns of a table in memory; each is used once, and then let go."""
        columns = dict(zip(table.column_names, table.columns, strict=True))
        schema, n_rows = table.schema, table.num_rows
        del table
        return cls(name, schema, n_rows, lambda names: [columns.pop(n) for n in names], allowance, drop_bad_cells)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column as Arrow has it; what is read here is not read again."""
        with reading(f"Column {shortened(name)} of {self.name}"):
            self._fetched[name] = self._fetch([name])[0]  # it may be used again, for a sample
            return self._fetched[name]

    def taken(self, rows: pa.Array | None, columns: dict[str, pa.ChunkedArray], without: str = "") -> Self:
        """The same table with the rows of these numbers, in their order.

        Parameters
        ----------
        rows : their numbers; None for all rows.
        columns : those that :meth:`column` has given already.
        without : a column that is left out.
        """
        fetch = self._fetch
        schema = self._schema.remove(self.names.index(without)) if without else self._schema

        def fetch_rows(names: list[str]) -> list[pa.ChunkedArray]:
            others = [name for name in names if name not in columns]
            found = dict(zip(others, fetch(others), strict=True)) if others else {}
            whole = [columns[name] if name in columns else found.pop(name) for name in names]
            return whole if rows is None else [column.take(rows) for column in whole]

        n_rows = self.n_rows if rows is None else len(rows)
        taken = type(self)(self.name, schema, n_rows, fetch_rows, self.allowance, self._drop_bad_cells)
        taken.format_choices = self.format_choices
        return taken

    def read(self, name: str) -> Array:
        """One column: numbers, booleans, or strings."""
        import pyarrow as pa

        what = f"Column {shortened(name)} of {self.name}"
        kind = self._types[name]
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        with reading(what):
            (column,) = self._fetch([name])
            if pa.types.is_string(kind) or pa.types.is_large_string(kind):
                return text_column(column, what, self.allowance)
            if pa.types.is_boolean(kind):
                if column.null_count:
                    return text_column(column.cast(pa.string()), what, self.allowance)
                self.allowance.take(self.n_rows, what)
                return column.to_numpy().astype(bool)
            if pa.types.is_temporal(kind) or pa.types.is_nested(kind) or pa.types.is_binary(kind):
                raise not_numbers(what, str(kind))
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
            (column,) = self._fetch([name])
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

    def read_times(self, name: str) -> Array:
        """One column: numbers, or dates and other texts as text."""
        import pyarrow as pa

        if not pa.types.is_temporal(self._types[name]):
            return self.read(name)
        what = f"Column {shortened(name)} of {self.name}"
        with reading(what):
            (column,) = self._fetch([name])
            return text_column(column.cast(pa.date32()).cast(pa.string()), what, self.allowance)

    def read_columns(self, names: tuple[str, ...]) -> Array:
        """Numbers of several columns side by side; each Arrow column is let go as soon as it is copied."""
        dtype = common_dtype([self._types[name] for name in names])
        what = f"The {len(names):,} columns from {shortened(names[0])} of {self.name}"
        self.allowance.take(self.n_rows * len(names) * dtype.itemsize, what)
        with reading(what):
            out = np.empty((self.n_rows, len(names)), dtype=dtype)
            columns = self._fetch(list(names))[::-1]
            for j, name in enumerate(names):
                out[:, j] = numbers(columns.pop(), f"Column {shortened(name)} of {self.name}", self._drop_bad_cells)
        return out


SAMPLE_ROWS, SAMPLE_LEAST, SAMPLE_CELLS, SAMPLE_TEXT = 5_000, 50, 500_000, 64
"""Rows of a sample, fewer in wide tables but at least so many, cells of all of it, and characters of a text."""


FIRST_ROWS = 8
"""Rows that are shown where somebody is to say what the columns are."""


def spread(n_rows: int, most: int) -> npt.NDArray[np.int64]:
    """Numbers of about so many rows from all of a table, the first ones among them."""
    first = np.arange(min(n_rows, FIRST_ROWS))
    return np.union1d(first, np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64))


def sampled(column: pa.ChunkedArray) -> Array:
    """A few cells of any type as numbers, booleans, text or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        cut = [pc.utf8_slice_codeunits(c.dictionary.cast(pa.string()), 0, SAMPLE_TEXT).take(c.indices)
               for c in column.chunks]  # fmt: skip
        column, kind = pa.chunked_array(cut, pa.string()), pa.string()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.fill_null(pc.utf8_slice_codeunits(column, 0, SAMPLE_TEXT), "")
        return np.array(column.to_pylist(), dtype=np.str_)
    if pa.types.is_boolean(kind):
        if column.null_count:
            return np.array(pc.fill_null(column.cast(pa.string()), "").to_pylist(), dtype=np.str_)
        return column.to_numpy().astype(bool)
    if pa.types.is_temporal(kind):
        return np.full(len(column), "NaT", dtype="datetime64[s]")
    if pa.types.is_decimal(kind):
        column = pc.cast(column, pa.float64())
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.to_numpy()
    return np.full(len(column), np.nan)


def check_names(names: list[str], file: str) -> None:
    """Refuse columns that cannot be told apart."""
    counts = Counter(names)
    if len(counts) < len(names):
        twice, times = counts.most_common(1)[0]
        raise InvalidUpload(
            "duplicate_columns",
            f"{file} has {times} columns called {shortened(twice)!r}; a join usually causes it.",
            "Rename or delete all but one of them.",
        )


def common_dtype(types: list[Any]) -> np.dtype[Any]:
    """float32 where all columns are, float64 otherwise."""
    single = all(str(kind) in ("float", "halffloat") for kind in types)
    return np.dtype(np.float32 if single else np.float64)


def text_column(column: pa.ChunkedArray, what: str, allowance: Allowance) -> Array:
    """A column of strings; what is missing becomes the empty string.

    Only the different strings become Python objects, however many rows repeat them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    book_texts(len(column), longest_text(column), what, allowance)
    n_different = max((len(chunk.dictionary) for chunk in dictionaries(column)), default=0)
    if n_different > MAX_DISTINCT:
        raise InvalidUpload(
            "too_large", f"{what} holds {n_different:,} different texts; at most {MAX_DISTINCT:,} are read.", OTHERS
        )
    parts = []
    for chunk in dictionaries(column):
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
        Allowance().take(longest_text(column) * len(column), what)
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = parse_cells(column, what, drop_bad_cells)
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
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
