"""From the files of one upload to Predictions: read, guess, build, one after the other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from calib.data.build.part import (
    Part,
    check_names,
    check_there,
    concatenated,
    named_by_file,
    read_part,
    read_rows,
)
from calib.data.findings import Findings, InvalidUpload, info, listed, shortened, verb, warning
from calib.data.guess.files import SOURCE
from calib.data.guess.roles import (
    Roles,
    guess_roles,
    home_of,
    infer_in_file,
    left_to_files,
    roles_in_test_file,
    roles_of_test_part,
)
from calib.data.names import (
    FEATURES,
    HARD,
    LABELS,
    OUTPUTS,
    SPLIT,
    canonical,
    numbered_column,
    tokens,
)
from calib.data.options import FEATURE_FILES, FILES, INFERRED, Choices, LoadOptions
from calib.data.read.base import Contents
from calib.data.read.files import open_source
from calib.data.read.table import Table, cells_of
from calib.data.read.top_k import CONFIDENCE, CORRECT, read_as_pairs
from calib.data.rows import ROLE_NAMES
from calib.data.words import listed_words
from calib.formatting import plural

if TYPE_CHECKING:
    import pyarrow as pa

Files = dict[str, Contents]


def open_files(
    first: Contents, options: LoadOptions, stack: ExitStack
) -> tuple[Files, Choices, Findings]:
    """Open the other files of an upload; features that cannot be opened are left out.

    Parameters
    ----------
    stack : closes what is opened here.
    """
    files: Files = {SOURCE: first}
    findings: Findings = tuple(first.findings)
    for role in FILES:
        file = options.files[role]
        if file is None:
            continue
        try:
            files[role] = open_source(file, options.choices, stack)
        except InvalidUpload as invalid:
            if role not in FEATURE_FILES:
                raise
            findings += (invalid.left_out(role),)
        else:
            findings += tuple(files[role].findings)
    choices = options.choices
    if first.format_choices:
        choices = replace(choices, **first.format_choices)
    return files, choices, findings


def align_files(files: Files, choices: Choices) -> tuple[Files, Choices, Findings]:
    """Join tables by their ids, and read the top k of very many classes as pairs."""
    files = dict(files)
    ids = choices.ids
    findings: Findings = ()
    for role, of_labels in ((SOURCE, "labels"), ("test", "test_labels")):
        if role not in files:
            continue
        own = choices
        if role == "test":
            own = replace(choices, outputs=choices.test_outputs, labels=choices.test_labels)
        pairs, options, more = read_as_pairs(files[role], files.get(of_labels), own)
        findings += more
        if pairs is not files[role]:
            files[role] = pairs
            files.pop(of_labels, None)
            if role == "test":
                options = {"test_outputs": CONFIDENCE, "test_labels": CORRECT}
            choices = replace(choices, **options)
        if of_labels in files:
            both = joined(files[role], files[of_labels], ids)
            findings += both.findings
            files |= {role: both.first, of_labels: both.second}
            choices = choices if both.ids is None else replace(choices, ids=both.ids)
    if "features" in files and "test" not in files:
        try:
            files, choices, more = join_features(files, choices, ids)
        except InvalidUpload as invalid:
            more = (invalid.left_out("features"),)
            del files["features"]
        findings += more
    return files, choices, findings


def join_features(
    files: Files, choices: Choices, ids: str | None
) -> tuple[Files, Choices, Findings]:
    """Keep the rows of outputs and labels that have features, where these are joined by ids."""
    first, labels = files[SOURCE], files.get("labels")
    both = joined(first, files["features"], ids)
    files = {**files, SOURCE: both.first, "features": both.second}
    in_line = isinstance(labels, Table) and labels.n_rows == first.arrays[0].shape[0]
    if both.rows is not None and isinstance(labels, Table) and in_line:
        files["labels"] = labels.taken(both.rows)
    choices = choices if both.ids is None else replace(choices, ids=both.ids)
    return files, choices, both.findings


# Joined by ids.

POSITIONS, ID_NAMES, ID_ENDINGS = map(listed_words, ("array_positions", "array_ids", "id_endings"))
"""Names of columns of ids; ``POSITIONS`` may count the rows of one file, and say nothing of those of another."""


IN_ORDER = "Take the rows of both files in their order."


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
    places = [
        f"{shortened(name)} of {own.name}" for name, own in zip(names, (first, second), strict=True)
    ]
    check_unique(ids, places[0], in_order)
    check_unique(theirs, places[1], in_order)
    if not len(rows):
        examples = [listed(own.slice(0, 3).to_pylist()) for own in (ids, theirs)]
        reason = (
            f"None of the ids in {places[0]} ({examples[0]}) occurs in {places[1]} ({examples[1]})."
        )
        action = IN_ORDER if in_order else "Use files of the same rows."
        raise InvalidUpload("ids_differ", reason, action, **in_order)
    partners = pc.indices_nonzero(pc.is_valid(theirs)).take(partner.take(rows))
    alone = {first.name: len(ids) - len(rows), second.name: len(theirs) - len(rows)}
    reason = f"{second.name} has the rows of {first.name} in another order; joined by {names[0]}."
    finding = info("joined", reason)
    if k := sum(alone.values()):
        without_partner = " and ".join(
            f"{plural(n, 'row')} of {own}" for own, n in alone.items() if n
        )
        reason = (
            f"{without_partner} {verb(k, 'has', 'have')} no partner by {shortened(names[0])} and "
            f"{verb(k, 'was', 'were')} left out; {plural(len(rows), 'row')} {verb(len(rows), 'has', 'have')} one."
        )
        finding = warning("unpaired_rows", reason, "Check that both files hold the same rows.")
    return Joined(first.taken(rows), second.taken(partners, without), rows, names[0], (finding,))


def shared_ids(first: Table, second: Table, chosen: str | None) -> tuple[str, str] | None:
    """The columns with the ids of both tables: called alike; None where there are none."""
    theirs = {canonical(name).base: name for name in reversed(second.names)}
    bases = {name: canonical(name).base for name in first.names}
    pairs = [(name, theirs[base]) for name, base in bases.items() if base in theirs]
    fits = (pair for pair in pairs if (is_id(pair[0]) if chosen is None else chosen in pair))
    alike = next(fits, None)
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
        zeros = r"^0+(\d)", r"\1"
        ids, theirs = (pc.replace_substring_regex(own, *zeros) for own in (ids, theirs))
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
    reason = (
        f"{repeated:,} of {plural(len(times), 'id')} in {where} {verb(repeated, 'repeats', 'repeat')}, such as "
        f"{shortened(worst['values'])} ({worst['counts']:,} times), so the rows of the two files cannot be joined."
    )
    action = IN_ORDER if in_order else "Keep one row for each id, or one file for all."
    raise InvalidUpload("ids_repeat", reason, action, **in_order)


# Guessed and read.


def guess_files(files: Files, choices: Choices) -> tuple[Choices, Roles, Findings]:
    """Guess the roles in the file with the outputs; those that have files of their own are left to these."""
    if own := feature_files(files):
        left: dict[str, Any] = left_to_files(own, choices)
        choices = replace(choices, **left)
    return guess_file(files[SOURCE], files.get("labels"), choices)


def feature_files(files: Files) -> Files:
    """Return the files of features and of the training set."""
    return {role: files[role] for role in FEATURE_FILES if role in files}


def guess_file(
    contents: Contents, labels: Contents | None, choices: Choices
) -> tuple[Choices, Roles, Findings]:
    """Guess the roles of one file; names that were chosen must be there, and none for two roles."""
    if choices == INFERRED:
        return guess_roles(contents, labels, choices)
    check_names(contents, choices, labels)
    guessed = guess_roles(contents, labels, choices)
    check_names(contents, guessed[0], labels)  # a chosen array may be inferred for another role
    return guessed


def read_arrays(
    files: Files, choices: Choices, chosen: Choices, roles: Roles
) -> tuple[Part, Choices, Findings]:
    """Read all arrays that are used, calibration rows first.

    Parameters
    ----------
    chosen : before anything was inferred.
    """
    first = files[SOURCE]
    part, findings = read_part(first, files.get("labels"), choices, roles)
    if "test" in files:
        test = files["test"]
        of_test = roles_in_test_file(test, choices, chosen)
        of_test, its_roles, of_guess = guess_file(test, files.get("test_labels"), of_test)
        second, more = read_part(test, files.get("test_labels"), of_test, its_roles)
        if isinstance(choices.features, tuple) and choices.features != of_test.features:
            second.rows.pop("features", None)
        names = part.outputs_name, part.labels_name
        both = named_by_file(part, first), named_by_file(second, test)
        part, last = concatenated(*both, choices, of_test.outputs)
        part = replace(part, outputs_name=names[0], labels_name=names[1])
        choices = replace(choices, test_outputs=of_test.outputs, test_labels=of_test.labels)
        findings += of_guess + more + last
    elif choices.test_outputs:
        of_test = roles_of_test_part(first, choices)
        check_names(first, of_test, None)
        second, more = read_part(first, None, of_test)
        part, last = concatenated(part, second, choices, of_test.outputs)
        findings += more + last
    part, choices, more = with_features(part, feature_files(files), choices, chosen)
    return part, choices, findings + more


def with_features(
    part: Part, files: Files, choices: Choices, chosen: Choices
) -> tuple[Part, Choices, Findings]:
    """Add the arrays of the files for features and for the training set; what cannot be used is left out."""
    findings: Findings = ()
    for role in FEATURE_FILES if files else ():
        if getattr(choices, role):
            continue
        of_rows = choices.features if "features" in part.rows else None
        try:
            name = infer_in_file(role, files, getattr(chosen, role), of_rows or None)
        except InvalidUpload as invalid:
            findings += (invalid.left_out(role),)
            continue
        home = home_of(role, files)
        if not name or home is None:
            continue
        check_there(home, name)
        inferred: dict[str, Any] = {role: name}
        choices = replace(choices, **inferred)
        n_rows = len(part.outputs) if role == "features" else None
        arrays, more = read_rows(home, inferred, n_rows)
        (part.rows if role == "features" else part.train).update(arrays)
        findings += more
    return part, choices, findings
