"""From the files of one upload to its arrays: opened, joined by ids, guessed and read, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from calib.data.build.part import Part, check_names, concatenated, named_by_file, read_part
from calib.data.findings import Findings, InvalidUpload, info, listed, shortened, verb, warning
from calib.data.guess.arrays import infer_arrays, infer_label
from calib.data.guess.files import SOURCE
from calib.data.guess.question import infer_columns
from calib.data.names import (
    FEATURES,
    HARD,
    LABELS,
    OUTPUTS,
    SPLIT,
    canonical,
    numbered_column,
    texts_of,
    tokens,
)
from calib.data.options import (
    FEATURE_ARRAYS,
    INFERRED,
    NOTHING,
    Choices,
    LoadOptions,
    names_in,
)
from calib.data.read.base import Contents
from calib.data.read.files import open_source
from calib.data.read.table import Table
from calib.data.read.top_k import CONFIDENCE, CORRECT, read_as_pairs
from calib.data.roles import ColumnRole
from calib.data.rows import ROLE_NAMES, ROW_ROLES
from calib.data.words import listed_terms
from calib.formatting import plural

Files = dict[str, Contents]
Roles = tuple[ColumnRole, ...]


def open_files(
    first: Contents, options: LoadOptions, stack: ExitStack
) -> tuple[Files, Choices, Findings]:
    """Open the other files of an upload.

    Parameters
    ----------
    stack : closes what is opened here.
    """
    files: Files = {SOURCE: first}
    for role, file in options.files.items():
        if file is not None:
            files[role] = open_source(file, options.choices, stack)
    findings = tuple(finding for file in files.values() for finding in file.findings)
    choices = options.choices
    if first.format_choices:
        choices = replace(choices, **first.format_choices)
    return files, choices, findings


def align_files(files: Files, choices: Choices) -> tuple[Files, Choices, Findings]:
    """Join tables by their ids, and read the top k of very many classes as pairs."""
    files = dict(files)
    findings: Findings = ()
    for role, of_labels in ((SOURCE, "labels"), ("test", "test_labels")):
        if role not in files:
            continue
        of_part = choices
        if role == "test":
            of_part = replace(choices, outputs=choices.test_outputs, labels=choices.test_labels)
        pairs, options, more = read_as_pairs(files[role], files.get(of_labels), of_part)
        findings += more
        if pairs is not files[role]:
            files[role] = pairs
            files.pop(of_labels, None)
            if role == "test":
                options = {"test_outputs": CONFIDENCE, "test_labels": CORRECT}
            choices = replace(choices, **options)
        if of_labels in files:
            files[role], files[of_labels], more = joined(files[role], files[of_labels])
            findings += more
    return files, choices, findings


# Joined by ids.

POSITIONS, ID_NAMES, ID_ENDINGS = map(listed_terms, ("array_positions", "array_ids", "id_endings"))
"""Names of columns of ids; ``POSITIONS`` may count the rows of one file, and say nothing of those of another."""


def joined(first: Contents, second: Contents) -> tuple[Contents, Contents, Findings]:
    """Join two tables by their ids, in the order of the first; leave others as they are."""
    if not isinstance(first, Table) or not isinstance(second, Table):
        return first, second, ()
    theirs = {canonical(name).base: name for name in reversed(second.names)}
    shared = (name for name in first.names if is_id(name) and canonical(name).base in theirs)
    name = next(shared, None)
    if name is None:
        return first, second, ()
    base = canonical(name).base
    ids, others = ids_of(first, name, second, theirs[base])
    # Its ids are left out where it has other columns, since the first table has them too.
    without = theirs[base] if len(second.names) > 1 else ""
    row_of = {text: row for row, text in enumerate(others) if text}
    rows = [row for row, text in enumerate(ids) if text in row_of]
    counts_rows = base in POSITIONS and len(rows) < min(len(ids), len(others))
    if ids == others or counts_rows:
        return first, second.selected(None, without), ()
    check_unique(ids, f"{shortened(name)} of {first.name}")
    check_unique(others, f"{shortened(theirs[base])} of {second.name}")
    if not rows:
        examples = f"{listed(ids[:3])} in {first.name}, {listed(others[:3])} in {second.name}"
        reason = f"The two files have no {shortened(name)} in common: {examples}."
        raise InvalidUpload("ids_differ", reason, "Use files of the same rows, or leave ids out.")
    alone = {first.name: len(ids) - len(rows), second.name: len(others) - len(rows)}
    reason = f"{second.name} has the rows of {first.name} in another order; joined by {name}."
    finding = info("joined", reason)
    if k := sum(alone.values()):
        lacking = " and ".join(f"{plural(n, 'row')} of {file}" for file, n in alone.items() if n)
        reason = (
            f"{lacking} {verb(k, 'has', 'have')} no partner by {shortened(name)} and "
            f"{verb(k, 'was', 'were')} left out; {plural(len(rows), 'row')} {verb(len(rows), 'has', 'have')} one."
        )
        finding = warning("unpaired_rows", reason, "Check that both files hold the same rows.")
    partners = second.selected([row_of[ids[row]] for row in rows], without)
    return first.selected(rows), partners, (finding,)


def is_id(name: str) -> bool:
    """Return whether a column's name is that of an id and of nothing else."""
    base = canonical(name).base
    pieces = tokens(name)
    scores = numbered_column(name, OUTPUTS) or numbered_column(name, FEATURES)
    if scores or base in (*LABELS, *HARD, *SPLIT, *ROLE_NAMES):
        return False
    return base in (*ID_NAMES, *POSITIONS) or (
        bool(pieces) and (pieces[-1] in ID_ENDINGS or pieces[0] == "id")
    )


def ids_of(first: Table, name: str, second: Table, other: str) -> tuple[list[str], list[str]]:
    """The ids of two tables as text, "" where there is none; without zeros before them where one has numbers."""
    ids, others = (
        texts_of(table.read(column)) for table, column in ((first, name), (second, other))
    )
    both = [["" if text == "nan" else text for text in texts.tolist()] for texts in (ids, others)]
    if "number" in (first.cells[name], second.cells[other]):
        both = [[text and (text.lstrip("0") or "0") for text in texts] for texts in both]
    return both[0], both[1]


def check_unique(ids: Sequence[str], where: str) -> None:
    """Refuse ids that occur twice: it is not known which of their rows belongs to which of the other file."""
    times = Counter(filter(None, ids))
    repeated = sum(n > 1 for n in times.values())
    if not repeated:
        return
    worst, most = times.most_common(1)[0]
    reason = (
        f"{repeated:,} of {plural(len(times), 'id')} in {where} {verb(repeated, 'repeats', 'repeat')}, such as "
        f"{shortened(worst)} ({most:,} times), so the rows of the two files cannot be joined."
    )
    raise InvalidUpload("ids_repeat", reason, "Keep one row for each id, or leave ids out.")


# Guessed and read.


def guess_file(
    contents: Contents, labels: Contents | None, choices: Choices
) -> tuple[Choices, Roles, Findings]:
    """Return the choices with the arrays or columns of one file that were left to be inferred, and the roles.

    Parameters
    ----------
    labels : the file of the labels, where they have one.

    Raises
    ------
    InvalidUpload
        Where a chosen name is not there, or for two roles; where no reading is clearly meant, with the readings as a
        question; or where there is none.
    """
    chosen = choices
    if chosen != INFERRED:
        check_names(contents, chosen, labels)
    roles: Roles = ()
    findings: Findings = ()
    if contents.tabular:
        choices, roles, findings = infer_columns(contents, choices, labels is not None)
    else:
        choices = infer_arrays(contents, choices, labels is not None)
    if labels is not None and not choices.labels:
        choices = replace(choices, labels=infer_label(labels))
    if chosen != INFERRED:  # a chosen array may be inferred for another role
        check_names(contents, choices, labels)
    return choices, roles, findings


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
        of_test = in_test_file(test, choices, chosen)
        of_test, its_roles, of_guess = guess_file(test, files.get("test_labels"), of_test)
        second, more = read_part(test, files.get("test_labels"), of_test, its_roles)
        names = part.outputs_name, part.labels_name
        both = named_by_file(part, first), named_by_file(second, test)
        part, last = concatenated(*both, choices, of_test.outputs)
        part = replace(part, outputs_name=names[0], labels_name=names[1])
        choices = replace(choices, test_outputs=of_test.outputs, test_labels=of_test.labels)
        findings += of_guess + more + last
    elif choices.test_outputs:
        of_test = in_test_part(first, choices)
        check_names(first, of_test, None)
        second, more = read_part(first, None, of_test)
        part, last = concatenated(part, second, choices, of_test.outputs)
        findings += more + last
    return part, choices, findings


def in_test_part(contents: Contents, choices: Choices) -> Choices:
    """Return the choices for the test part that lies in the same file under its own names."""
    if not choices.test_labels:
        outputs = f"{choices.test_outputs} of {contents.name}"
        reason = f"{outputs} was chosen as the outputs of the test part, without labels."
        raise InvalidUpload("no_labels", reason, "Choose the labels of the test part too.")
    bases = {
        canonical(name).base: name for name in contents.names if canonical(name).part == "test"
    }
    rows: dict[str, Any] = dict.fromkeys((*FEATURE_ARRAYS[1:], "split", "predicted"))
    for role in (*ROW_ROLES, "features"):
        name = getattr(choices, role)
        rows[role] = bases.get(canonical(name).base) if isinstance(name, str) and name else None
    return replace(choices, outputs=choices.test_outputs, labels=choices.test_labels, **rows)


def in_test_file(test: Contents, inferred: Choices, chosen: Choices) -> Choices:
    """Return the choices for a test file, whose other roles are inferred anew, since its names may differ.

    Parameters
    ----------
    inferred : of the first file.
    chosen : by hand.
    """
    shared = {role: getattr(inferred, role) for role in (*ROW_ROLES, "features")}
    absent = [role for role, names in shared.items() if any(n not in test for n in names_in(names))]
    # Parts that the first file may bring itself are overruled by giving two files.
    return Choices(
        outputs=chosen.test_outputs,
        labels=chosen.test_labels,
        label_values=chosen.label_values,
        split=NOTHING,
        **{**shared, **dict.fromkeys(absent)},
    )
