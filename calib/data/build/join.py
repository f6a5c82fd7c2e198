"""Tables whose rows carry an id, joined by it: outputs, labels and features that lie in files of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from calib.data.array_names import (
    FEATURES,
    HARD,
    LABELS,
    OUTPUTS,
    SPLIT,
    canonical,
    numbered_column,
)
from calib.data.findings import Findings, InvalidUpload, info, listed, shortened, verb, warning
from calib.data.names import tokens
from calib.data.read.base import Contents
from calib.data.read.table import Table, cells_of
from calib.data.rows import ROLE_NAMES
from calib.data.words import listed_words
from calib.formatting import plural

if TYPE_CHECKING:
    import pyarrow as pa

POSITIONS, ID_NAMES, ID_ENDINGS = map(listed_words, ("array_positions", "array_ids", "id_endings"))
"""Names of columns of ids; ``POSITIONS`` may count the rows of one file, and say nothing of those of another."""


class Joined(NamedTuple):
    """Two files whose rows belong together.

    Attributes
    ----------
    rows : of the first that are left; None for all.
    ids : column of the first by which they were joined; ``""`` where rows stay in their order, None where none was.
    """

    first: Contents
    second: Contents
    rows: pa.Array | None = None
    ids: str | None = None
    findings: Findings = ()


def joined(first: Contents, second: Contents, chosen: str | None) -> Joined:
    """Join two tables by their ids, in the order of the first; leave others as they are.

    Parameters
    ----------
    chosen : the column of the ids; ``""`` leaves the rows in their order, None looks for one that both have.
    """
    import pyarrow.compute as pc

    if not isinstance(first, Table) or not isinstance(second, Table) or chosen == "":
        return Joined(first, second)
    names = shared_ids(first, second, chosen)
    if names is None:
        return Joined(first, second)
    ids, theirs = ids_of(first, names[0], second, names[1])
    # Its ids are left out where it has other columns, since the first table has them too.
    without = names[1] if len(second.names) > 1 else ""
    if ids.equals(theirs):
        return Joined(first, second.taken(None, without), ids=names[0])
    partner = pc.index_in(ids, value_set=pc.drop_null(theirs))
    rows = pc.indices_nonzero(pc.and_(pc.is_valid(partner), pc.is_valid(ids)))
    counts_rows = chosen is None and canonical(names[0]).base in POSITIONS
    if counts_rows and len(rows) < min(len(ids), len(theirs)):
        return Joined(first, second.taken(None, without), ids="")
    in_order: dict[str, Any] = {"ids": ""} if len(ids) == len(theirs) else {}
    check_unique(ids, f"{shortened(names[0])} of {first.name}", in_order)
    check_unique(theirs, f"{shortened(names[1])} of {second.name}", in_order)
    if not len(rows):
        raise InvalidUpload(
            "ids_differ",
            f"None of the ids in {shortened(names[0])} of {first.name} ({listed(ids.slice(0, 3).to_pylist())}) occurs "
            f"in {shortened(names[1])} of {second.name} ({listed(theirs.slice(0, 3).to_pylist())}).",
            "Take the rows of both files in their order."
            if in_order
            else "Use files of the same rows.",
            **in_order,
        )
    partners = pc.indices_nonzero(pc.is_valid(theirs)).take(partner.take(rows))
    alone = [(first.name, len(ids) - len(rows)), (second.name, len(theirs) - len(rows))]
    reason = f"{second.name} has the rows of {first.name} in another order; joined by {names[0]}."
    finding = info("joined", reason)
    if k := sum(n for _, n in alone):
        without_partner = " and ".join(f"{plural(n, 'row')} of {file}" for file, n in alone if n)
        finding = warning(
            "unpaired_rows",
            f"{without_partner} {verb(k, 'has', 'have')} no partner by {shortened(names[0])} and "
            f"{verb(k, 'was', 'were')} left out; {plural(len(rows), 'row')} {verb(len(rows), 'has', 'have')} one.",
            "Check that both files hold the same rows.",
        )
    return Joined(first.taken(rows), second.taken(partners, without), rows, names[0], (finding,))


def shared_ids(first: Table, second: Table, chosen: str | None) -> tuple[str, str] | None:
    """The columns with the ids of both tables: called alike; None where there are none."""
    theirs = {canonical(name).base: name for name in reversed(second.names)}
    pairs = [
        (name, theirs[base]) for name in first.names if (base := canonical(name).base) in theirs
    ]
    alike = next(
        (pair for pair in pairs if (is_id(pair[0]) if chosen is None else chosen in pair)), None
    )
    if alike is None and chosen:
        reason = f"{first.name} and {second.name} do not both have a column {shortened(chosen)!r} to join by."
        raise InvalidUpload("no_such_array", reason, "Choose one that both have.")
    return alike


def is_id(name: str) -> bool:
    """Return whether a column's name is that of an id and of nothing else."""
    base = canonical(name).base
    parts = tokens(name)
    scores = numbered_column(name, OUTPUTS) or numbered_column(name, FEATURES)
    if scores or base in (*LABELS, *HARD, *SPLIT, *ROLE_NAMES):
        return False
    return base in (*ID_NAMES, *POSITIONS) or (
        bool(parts) and (parts[-1] in ID_ENDINGS or parts[0] == "id")
    )


def ids_of(first: Table, name: str, second: Table, other: str) -> tuple[pa.Array, pa.Array]:
    """The ids of two tables as text, as the files write them; without zeros before them where one has none."""
    import pyarrow.compute as pc

    columns = [first.column(name), second.column(other)]
    ids, theirs = (as_text(column) for column in columns)
    if any(cells_of(column.type) == "number" for column in columns):
        ids, theirs = (
            pc.replace_substring_regex(each, r"^0+(\d)", r"\1") for each in (ids, theirs)
        )
    return ids, theirs


def as_text(column: pa.ChunkedArray) -> pa.Array:
    """Ids as text, so that 7 in one file is 7, 7.0 or "7" in the other; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        whole = pc.and_(pc.equal(pc.round(column), column), pc.less(pc.abs(column), 2.0**53))
        if pc.all(pc.fill_null(whole, True)).as_py():
            column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def check_unique(ids: pa.Array, where: str, in_order: dict[str, Any]) -> None:
    """Refuse ids that occur twice: it is not known which of their rows belongs to which of the other file."""
    import pyarrow.compute as pc

    times: Any = pc.value_counts(pc.drop_null(ids))
    repeated = pc.sum(pc.greater(times.field("counts"), 1)).as_py()
    if not repeated:
        return
    worst = max(times.to_pylist(), key=lambda item: item["counts"])
    raise InvalidUpload(
        "ids_repeat",
        f"{repeated:,} of {plural(len(times), 'id')} in {where} {verb(repeated, 'repeats', 'repeat')}, such as "
        f"{shortened(worst['values'])} ({worst['counts']:,} times), so the rows of the two files cannot be joined.",
        "Take the rows of both files in their order."
        if in_order
        else "Keep one row for each id, or one file for all.",
        **in_order,
    )
