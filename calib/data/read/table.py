"""Tables over Arrow columns: a sample of all, and those that are used as NumPy arrays, whose sizes are booked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calib.data.findings import InvalidUpload, shortened, verb
from calib.data.read.base import Array, ArrayInfo, Contents, check_size, place_in, reading
from calib.formatting import plural

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$|^\s*[-+]?(?i:nan|inf|infinity)\s*$"

SAMPLE_ROWS = 5_000
SAMPLE_LEAST = 50
SAMPLE_CELLS = 500_000
SAMPLE_TEXT = 64
"""Rows of a sample, fewer in wide tables but at least so many, cells of all of it, and characters of a text."""

FIRST_ROWS = 8
"""Rows that are shown where somebody is to say what the columns are."""

Cells = Literal["text", "number", "truth", "date", "nothing", "list", "other"]
"""Content of the cells of a column."""


def cells_of(kind: Any) -> Cells:
    """Return the content of the cells of an Arrow type; of a dictionary, that of its values."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests: dict[Cells, tuple[Callable[[Any], bool], ...]] = {
        "text": (types.is_string, types.is_large_string, types.is_string_view),
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "list": (types.is_list, types.is_large_list, types.is_fixed_size_list),
        "truth": (types.is_boolean,),
        "date": (types.is_date, types.is_timestamp),
        "nothing": (types.is_null,),
    }
    return next((cells for cells, fits in tests.items() if any(fit(kind) for fit in fits)), "other")


class Table(Contents):
    """Columns of one table.

    Parameters
    ----------
    table : the columns; of those that say the same under the same name, one is kept.
    drop_bad_cells : whether text in a column of numbers becomes NaN instead of an error.

    Attributes
    ----------
    cells : what each column holds, by its name.
    """

    tabular = True

    def __init__(self, name: str, table: pa.Table, drop_bad_cells: bool):
        table = without_twins(table)
        check_names(table.column_names, name)
        super().__init__(
            name, tuple(ArrayInfo(f.name, (table.num_rows,), str(f.type)) for f in table.schema)
        )
        self.n_rows = table.num_rows
        self.cells = {field.name: cells_of(field.type) for field in table.schema}
        self.table = table
        self._drop_bad_cells = drop_bad_cells
        self._sample: dict[str, Array] | None = None

    def column(self, name: str) -> pa.ChunkedArray:
        """One column as Arrow has it."""
        return self.table.column(name)

    def selected(self, rows: list[int] | None, without: str = "") -> Table:
        """The same table with the rows of these numbers, in their order, or all; without one of its columns."""
        with reading(self.name):
            table = self.table.drop_columns([without]) if without else self.table
            table = table if rows is None else table.take(rows)
            chosen = Table(self.name, table, self._drop_bad_cells)
        chosen.format_choices = self.format_choices
        chosen.nested = self.nested
        return chosen

    def sample(self) -> dict[str, Array]:
        """Return rows from all of the table, at most :data:`SAMPLE_ROWS`, by which columns are recognised.

        Numbers, booleans, text cut after :data:`SAMPLE_TEXT` characters, or dates; missing text is empty, missing
        numbers and whatever is none of these are NaN.
        """
        if self._sample is None:
            most = max(SAMPLE_LEAST, min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(self.names))))
            with reading(self.name):
                rows = spread(self.n_rows, most)
                self._sample = {name: sampled(self.column(name), rows) for name in self.names}
        return dict(self._sample)

    def _read(self, name: str) -> Array:
        """Numbers, booleans, texts, dates as texts, or lists of equally many numbers as (n, k)."""
        import pyarrow as pa

        what = place_in(self.name, name if len(self.names) > 1 else "")
        cells = self.cells[name]
        column = self.column(name)
        if cells == "list":
            return matrix(column, what)
        if cells == "date":
            return texts(column.cast(pa.date32()))
        if cells == "text":
            return texts(column)
        return truths(column) if cells == "truth" else numbers(column, what, self._drop_bad_cells)

    def read_columns(self, names: tuple[str, ...]) -> Array:
        """Numbers of several columns side by side."""
        single = all(self.by_name[name].dtype in ("float", "halffloat") for name in names)
        dtype = np.dtype(np.float32 if single else np.float64)
        what = f"The {len(names):,} columns from {shortened(names[0])} of {self.name}"
        check_size(self.n_rows * len(names) * dtype.itemsize, what)
        with reading(what):
            out = np.empty((self.n_rows, len(names)), dtype=dtype)
            columns = [f"Column {shortened(name)} of {self.name}" for name in names]
            for j, (name, what) in enumerate(zip(names, columns, strict=True)):
                out[:, j] = numbers(self.column(name), what, self._drop_bad_cells)
        return out


def spread(n_rows: int, most: int) -> npt.NDArray[np.int64]:
    """Numbers of about so many rows from all of a table, the first ones among them."""
    first = np.arange(min(n_rows, FIRST_ROWS))
    return np.union1d(first, np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64))


def sampled(column: pa.ChunkedArray, rows: npt.NDArray[np.int64]) -> Array:
    """The cells of some rows as numbers, booleans, text or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = cells_of(column.type)
    if cells in ("list", "other"):
        return np.full(len(rows), np.nan)
    column = column.take(rows)
    if cells == "date":
        return np.full(len(column), "NaT", dtype="datetime64[s]")
    if cells == "text":
        return texts(pc.utf8_slice_codeunits(column.cast(pa.large_string()), 0, SAMPLE_TEXT))
    return truths(column) if cells == "truth" else numbers(column, "", False)


def truths(column: pa.ChunkedArray) -> Array:
    """A column of true and false; as text where some are missing."""
    import pyarrow as pa

    return texts(column) if column.null_count else column.cast(pa.bool_()).to_numpy().astype(bool)


def check_names(names: list[str], file: str) -> None:
    """Refuse columns that cannot be told apart."""
    twice, times = Counter(names).most_common(1)[0] if names else ("", 1)
    if times > 1:
        reason = f"{file} has {times} columns called {shortened(twice)!r} that differ; a join usually causes it."
        raise InvalidUpload("duplicate_columns", reason, "Rename or delete all but one of them.")


def without_twins(table: pa.Table) -> pa.Table:
    """A table without columns that repeat another one, name and cells, as a join leaves the id."""
    first: dict[str, int] = {}
    places = {j: first.setdefault(name, j) for j, name in enumerate(table.column_names)}
    first_places = [
        j for j, k in places.items() if j == k or not table.column(j).equals(table.column(k))
    ]
    return table if len(first_places) == table.num_columns else table.select(first_places)


def texts(column: pa.ChunkedArray) -> Array:
    """A column as text; what is missing becomes the empty string."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Only the different texts become Python objects, however many rows repeat them.
    encoded = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks().dictionary_encode()
    return np.array(encoded.dictionary.to_pylist(), dtype=np.str_)[encoded.indices.to_numpy()]


def matrix(column: pa.ChunkedArray, what: str) -> Array:
    """A column of lists of equally many numbers, as (n, k)."""
    import pyarrow.compute as pc

    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        reason = f"The lists of {what} differ in length, or some are missing."
        raise InvalidUpload("lists", reason, "Save k numbers in each row.")
    flat = pc.list_flatten(column)
    if flat.null_count or cells_of(flat.type) != "number":
        raise not_numbers(what, str(column.type))
    return flat.to_numpy().reshape(len(column), -1)


def numbers(column: pa.ChunkedArray, what: str, drop_bad_cells: bool) -> Array:
    """A column as numbers; what is missing becomes NaN."""
    import pyarrow as pa

    cells = cells_of(column.type)
    if cells == "text":
        column = parse_cells(column.cast(pa.large_string()), what, drop_bad_cells)
    elif cells not in ("number", "nothing"):
        raise not_numbers(what, str(column.type))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if cells == "nothing" or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
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
        n_percent = pc.sum(pc.match_substring_regex(column, r"\d\s*%\s*$")).as_py()
        cause = "A second header line, a comment or a decimal comma usually causes it."
        if 0 < n_percent < len(column) - column.null_count:
            cause = f"{plural(n_percent, 'cell')} {verb(n_percent, 'has', 'have')} a percent sign, the others none."
        reason = (
            f"{what} should hold numbers, but {n_bad:,} of {len(column):,} cells {verb(n_bad, 'holds', 'hold')} text; "
            f"the first is {shortened(column[first].as_py())!r} in row {first + 1:,}. {cause}"
        )
        action = "Leave these rows out, or correct the cells."
        raise InvalidUpload("text_in_cells", reason, action, drop_bad_rows=True)
    return pc.cast(pc.utf8_trim_whitespace(pc.if_else(good, column, None)), pa.float64())


def not_numbers(what: str, kind: str) -> InvalidUpload:
    """Refuse lists, structures and other values that are neither numbers nor names."""
    reason = f"{what} holds values of type {shortened(kind)} where numbers are needed."
    return InvalidUpload("dtype", reason, "Choose another column, or save one number per cell.")
