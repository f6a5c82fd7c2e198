"""Tables whose rows carry an id, joined by it: outputs, labels and features that lie in files of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calib.data.checks.report import InvalidUpload, Report, count, listed, shortened, verb
from calib.data.interpret.names import HARD, LABELS, SPLIT, canonical, feature_column, output_column, words
from calib.data.interpret.roles import ROLE_NAMES
from calib.data.read.base import Allowance, Contents
from calib.data.read.table import Table, longest_text

if TYPE_CHECKING:
    import pyarrow as pa

POSITIONS = ("index", "idx", "row", "rows", "rowname", "unnamed0", "indexlevel0", "level0")
"""Names of a column that may count the rows of one file, and says nothing of those of another."""

ID_NAMES = ("id", "ids", "uid", "uuid", "guid", "key", "filename", "file", "path", "image", "img", "name", *POSITIONS)
ID_ENDINGS = ("id", "ids", "uid", "uuid", "guid", "key", "nr", "no", "number", "nummer", "filename", "path")


@dataclass
class Joined:
    """One of the tables that are joined, with the ids of its rows as text, null where a row has none."""

    contents: Table
    name: str
    ids: pa.Array

    @classmethod
    def from_contents(cls, contents: Table, name: str) -> Joined:
        """Read the column of the ids."""
        return cls(contents, name, as_text(contents.column(name)))

    @property
    def where(self) -> str:
        """The column for a sentence."""
        return f"{shortened(self.name)} of {self.contents.name}"

    def taken(self, rows: pa.Array | None) -> Table:
        """The table with these rows, all of them where it is None."""
        return self.contents.taken(rows)

    def beside(self, rows: pa.Array | None) -> Table:
        """What the table says of these rows, without their ids where it says anything else."""
        return self.contents.taken(rows, self.name if len(self.contents.names) > 1 else "")


class Joining:
    """Joins the tables of one upload by the ids of their rows, and reports what that changed."""

    def __init__(self, report: Report):
        self._report = report
        self._chosen = report.choices.ids

    def both(self, first: Contents, second: Contents | None) -> tuple[Contents, Contents | None]:
        """Outputs and their labels with the rows that both have, in the order of the outputs.

        Raises
        ------
        InvalidUpload
            If ids repeat, or none of one file occurs in the other.
        """
        if not isinstance(first, Table) or not isinstance(second, Table):
            return first, second
        names = self._shared(first, second)
        if names is None:
            return first, second
        a, b = Joined.from_contents(first, names[0]), Joined.from_contents(second, names[1])
        rows, partners = self._pairs(a, b)
        return a.taken(rows), b.beside(partners)

    def features(
        self, first: Contents, labels: Contents | None, files: dict[str, Contents]
    ) -> tuple[Contents, Contents | None]:
        """Outputs and labels with the rows that have features; the file of these is put in their order.

        Features that cannot be joined are left out, and the upload goes on.
        """
        second = files.get("features")
        if not isinstance(first, Table) or not isinstance(second, Table):
            return first, labels
        try:
            names = self._shared(first, second)
            if names is None:
                return first, labels
            a, b = Joined.from_contents(first, names[0]), Joined.from_contents(second, names[1])
            rows, partners = self._pairs(a, b)
        except InvalidUpload as invalid:
            self._report.leave_out_as("features", invalid)
            del files["features"]
            return first, labels
        files["features"] = b.beside(partners)
        if rows is not None and isinstance(labels, Table) and labels.n_rows == first.n_rows:
            labels = labels.taken(rows)
        return a.taken(rows), labels

    def _shared(self, first: Table, second: Table) -> tuple[str, str] | None:
        """The columns with the ids of both tables; None where there are none, or rows are to stay in their order."""
        if self._chosen == "":
            return None
        theirs = {canonical(name).base: name for name in reversed(second.names)}
        pairs = [(name, theirs[base]) for name in first.names if (base := canonical(name).base) in theirs]
        if self._chosen is None:
            named = next((pair for pair in pairs if is_id(pair[0])), None)
            return named or same_ids(first, second)
        found = next((pair for pair in pairs if self._chosen in pair), None)
        if found is None and self._chosen in first.names:
            found = same_ids(first, second, self._chosen)
        if found is None:
            raise InvalidUpload(
                "no_such_array",
                f"{first.name} and {second.name} do not both have a column {shortened(self._chosen)!r} to join by.",
                "Choose one that both have.",
            )
        return found

    def _pairs(self, a: Joined, b: Joined) -> tuple[pa.Array | None, pa.Array | None]:
        """The rows of both tables that belong together; None where all do in the order they have."""
        import pyarrow.compute as pc

        self._report.decide(ids=a.name)
        if a.ids.equals(b.ids):
            return None, None
        found = pc.index_in(a.ids, value_set=pc.drop_null(b.ids))
        rows = pc.indices_nonzero(pc.and_(pc.is_valid(found), pc.is_valid(a.ids)))
        if self._chosen is None and canonical(a.name).base in POSITIONS and not self._counts_the_same(a, b, len(rows)):
            self._report.decide(ids="")
            return None, None
        for table in (a, b):
            check_unique(table, alike=len(a.ids) == len(b.ids))
        if not len(rows):
            raise differing(a, b)
        partners = pc.indices_nonzero(pc.is_valid(b.ids)).take(found.take(rows))
        self._say(a, b, len(rows))
        return rows, partners

    def _counts_the_same(self, a: Joined, b: Joined, n: int) -> bool:
        """Whether numbers of rows mean the same rows in both files: all of them, or all of the shorter file."""
        import pyarrow.compute as pc

        unique = all(pc.count_distinct(table.ids).as_py() == len(table.ids) for table in (a, b))
        return unique and n == min(len(a.ids), len(b.ids))

    def _say(self, a: Joined, b: Joined, n: int) -> None:
        """Report rows without a partner, or that rows were put in order."""
        left = {table.contents.name: len(table.ids) - n for table in (a, b)}
        if not any(left.values()):
            self._report.info(
                "joined", f"{b.contents.name} has the rows of {a.contents.name} in another order; joined by {a.name}."
            )
            return
        said = " and ".join(f"{count(k, 'row')} of {name}" for name, k in left.items() if k)
        k = sum(left.values())
        self._report.warn(
            "unpaired_rows",
            f"{said} {verb(k, 'has', 'have')} no partner by {shortened(a.name)} and {verb(k, 'was', 'were')} left out; "
            f"{count(n, 'row')} {verb(n, 'has', 'have')} one.",
            "Check that both files hold the same rows.",
        )


def is_id(name: str) -> bool:
    """Whether a column's name says that it holds an id, and nothing else."""
    base, parts = canonical(name).base, words(name)
    if base in (*LABELS, *HARD, *SPLIT, *ROLE_NAMES) or output_column(name) or feature_column(name):
        return False
    return base in ID_NAMES or (bool(parts) and (parts[-1] in ID_ENDINGS or parts[0] == "id"))


def same_ids(first: Table, second: Table, own: str | None = None) -> tuple[str, str] | None:
    """Columns of ids under two names, as customer_id and id, that hold the same ids; None unless just one pair does.

    Numbers that only count the rows may be those of other rows.

    Parameters
    ----------
    own : column of the first table, where it is known.
    """
    texts = [
        {
            name: as_text(table.column(name))
            for name in table.names
            if is_id(name) and canonical(name).base not in POSITIONS
        }
        for table in (first, second)
    ]
    found = [
        (name, other)
        for name, ids in texts[0].items()
        for other, theirs in texts[1].items()
        if own in (None, name) and hold_the_same(ids, theirs)
    ]
    return found[0] if len(found) == 1 else None


def hold_the_same(ids: pa.Array, theirs: pa.Array) -> bool:
    """Whether two columns hold the same ids, each once, and these do not only count the rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n = len(ids)
    if n != len(theirs) or n < 2 or any(pc.count_distinct(column).as_py() < n for column in (ids, theirs)):
        return False
    counts = pc.all(pc.is_in(ids, value_set=pa.array([str(j) for j in range(n + 1)]))).as_py()
    return not counts and bool(pc.all(pc.is_in(ids, value_set=theirs)).as_py())


def as_text(column: pa.ChunkedArray) -> pa.Array:
    """Ids as text, so that 7 in one file is 7, 7.0 or "7" in the other; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        Allowance().take(longest_text(column) * len(column), "The ids")
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        whole = pc.equal(pc.round(column), column)
        if pc.all(pc.fill_null(pc.and_(whole, pc.less(pc.abs(column), 2.0**53)), True)).as_py():
            column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def check_unique(table: Joined, alike: bool) -> None:
    """Refuse ids that occur twice: it is not known which of their rows belongs to which of the other file.

    Parameters
    ----------
    alike : whether both files have equally many rows, so that these may be taken in their order.
    """
    import pyarrow.compute as pc

    counts: Any = pc.value_counts(pc.drop_null(table.ids))
    n, times = len(counts), counts.field("counts")
    repeated = pc.sum(pc.greater(times, 1)).as_py() or 0
    if not repeated:
        return
    worst = pc.index(times, pc.max(times)).as_py()
    example = shortened(counts.field("values")[worst].as_py())
    fix: dict[str, Any] = {"ids": ""} if alike else {}
    raise InvalidUpload(
        "ids_repeat",
        f"{repeated:,} of {count(n, 'id')} in {table.where} {verb(repeated, 'repeats', 'repeat')}, such as {example} "
        f"({times[worst].as_py():,} times), so the rows of the two files cannot be joined by it.",
        "Take the rows of both files in their order." if alike else "Keep one row for each id, or one file for all.",
        **fix,
    )


def differing(a: Joined, b: Joined) -> InvalidUpload:
    """The error for ids that do not overlap."""
    alike = len(a.ids) == len(b.ids)
    fix: dict[str, Any] = {"ids": ""} if alike else {}
    first, second = (listed(table.ids.slice(0, 3).to_pylist()) for table in (a, b))
    return InvalidUpload(
        "ids_differ",
        f"None of the ids in {a.where} ({first}) occurs in {b.where} ({second}).",
        "Take the rows of both files in their order." if alike else "Use files of the same rows.",
        **fix,
    )


def same_columns(own: tuple[str, ...], training: tuple[str, ...], report: Report) -> tuple[list[int], tuple[str, ...]]:
    """Features of the rows and of the training set matched by the names of their columns.

    Returns
    -------
    The numbers of the own columns that both have, and the training set's columns in the same order. Where no name is
    in both, all are taken in the order they have.
    """
    theirs = {name.strip().casefold(): name for name in training}
    keys = [name.strip().casefold() for name in own]
    common = [j for j, key in enumerate(keys) if key in theirs]
    if not common:
        return list(range(len(own))), training
    alone = [own[j] for j in range(len(own)) if keys[j] not in theirs]
    others = [name for name in training if name.strip().casefold() not in keys]
    if alone:
        report.warn(
            "features_unmatched",
            f"The training set has no {listed(alone)}; {count(len(common), 'feature')} that both have "
            f"{verb(len(common), 'is', 'are')} used.",
            "Save the same columns of both.",
        )
    elif others:
        report.info("features_unmatched", f"{listed(others)} of the training set left out: not among the features.")
    return common, tuple(theirs[keys[j]] for j in common)
