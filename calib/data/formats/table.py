"""A table in memory, one Arrow column after the other; text tables and Parquet both end here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.data.checks.report import Rejected, shortened
from calib.data.formats.base import Array, Contents, reading
from calib.data.limits import Allowance
from calib.data.options import ArrayInfo

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
    ):
        check_names(schema.names, name)
        arrays = tuple(ArrayInfo(field.name, (n_rows,), str(field.type)) for field in schema)
        super().__init__(name, arrays, allowance)
        self.n_rows = n_rows
        self._types = {field.name: field.type for field in schema}
        self._fetch = fetch
        self._drop_bad_cells = drop_bad_cells

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
            if pa.types.is_boolean(kind) and column.null_count == 0:
                self.allowance.take(self.n_rows, what)
                return column.to_numpy().astype(bool)
            if pa.types.is_temporal(kind) or pa.types.is_nested(kind) or pa.types.is_binary(kind):
                raise not_numbers(what, str(kind))
            self.allowance.take(self.n_rows * 8, what)
            return numbers(column, what, self._drop_bad_cells)

    def read_columns(self, names: tuple[str, ...]) -> Array:
        """Numbers of several columns side by side; each Arrow column is let go as soon as it is copied."""
        dtype = common_dtype([self._types[name] for name in names])
        what = f"The {len(names):,} columns from {shortened(names[0])} of {self.name}"
        self.allowance.take(self.n_rows * len(names) * dtype.itemsize, what)
        out = np.empty((self.n_rows, len(names)), dtype=dtype)
        with reading(what):
            columns = self._fetch(list(names))[::-1]
            for j, name in enumerate(names):
                out[:, j] = numbers(columns.pop(), f"Column {shortened(name)} of {self.name}", self._drop_bad_cells)
        return out


def check_names(names: list[str], file: str) -> None:
    """Refuse columns that cannot be told apart."""
    counts = Counter(names)
    if len(counts) < len(names):
        twice, times = counts.most_common(1)[0]
        raise Rejected(
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
    import pyarrow.compute as pc

    allowance.take(4 * longest_text(column) * len(column), what)
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
        raise Rejected(
            "text_in_cells",
            f"{what} should hold numbers, but {n_bad:,} of {len(column):,} cells hold text; the first is "
            f"{shortened(column[first].as_py())!r} in row {first + 1:,}. A second header line, a comment or a "
            "decimal comma usually causes it.",
            "Leave these rows out, or correct the cells.",
            drop_bad_rows=True,
        )
    return pc.cast(pc.utf8_trim_whitespace(pc.if_else(good, column, None)), pa.float64())


def not_numbers(what: str, kind: str) -> Rejected:
    """Refuse dates, lists and other values that are neither numbers nor names."""
    return Rejected(
        "dtype",
        f"{what} holds values of type {shortened(kind)} where numbers are needed.",
        "Choose another column, or save one number per cell.",
    )
