"""Which columns of a table are the outputs and the labels: first by name, then by what is left over."""

from __future__ import annotations

from dataclasses import replace

from calib.data.checks.report import Rejected, listed
from calib.data.formats.base import Contents
from calib.data.interpret.guess_arrays import no_labels
from calib.data.interpret.names import (
    FEATURES,
    GROUPS,
    HARD,
    LABELS,
    OUTPUTS,
    ROW_NAMES,
    SPLIT,
    SUMMARIES,
    Column,
    canonical,
    feature_column,
    output_column,
)
from calib.data.options import Choices


def guess_columns(contents: Contents, choices: Choices, separate_labels: bool) -> Choices:
    """Fill in the columns that are left to guessing; see :func:`guess_arrays`."""
    labels = choices.labels or None
    if labels is None and not separate_labels:
        labels = label_column(contents, choices.outputs)
    groups = first_column(contents, GROUPS) if choices.groups is None else choices.groups
    split = first_column(contents, SPLIT) if choices.split is None else choices.split
    features = feature_columns(contents) if choices.features is None else choices.features
    taken: set[object] = {labels, groups, split, *((features,) if isinstance(features, str) else features or ())}
    outputs = choices.outputs or output_columns(contents, taken)
    if not outputs:
        raise Rejected(
            "no_outputs",
            f"{contents.name} has the columns {listed(contents.names)}; none holds the score of a class.",
            "Save one column of logits or probabilities for each class, called p_0, p_1, ...",
        )
    if labels is None and not separate_labels:
        raise no_labels(contents)
    return replace(choices, outputs=outputs, labels=labels, groups=groups, split=split, features=features)


def label_column(contents: Contents, outputs: object) -> str | None:
    """By name; else the only column of strings; else the first or last column if it alone holds integers."""
    named = first_column(contents, LABELS)
    if named is not None:
        return named
    used = set(outputs) if isinstance(outputs, tuple) else {outputs}
    free = [
        n
        for n in contents.names
        if n not in used
        and not has_role(n)
        and not is_summary(n)
        and output_column(n) is None
        and feature_column(n) is None
    ]
    strings = [name for name in free if "string" in contents.info(name).dtype]
    if len(strings) == 1:
        return strings[0]
    integers = [name for name in free if "int" in contents.info(name).dtype or contents.info(name).dtype == "bool"]
    for name in (*free[:1], *free[-1:], *integers[:1]):
        if name in integers and len(contents.names) > 1:
            return name
    return None


def output_columns(contents: Contents, taken: set[object]) -> tuple[str, ...]:
    """Columns with the same telling stem, in the order of their numbers; else all numbers that are left."""
    stems: dict[str, list[tuple[str, str]]] = {}
    for name in contents.names:
        column = output_column(name)
        if column is not None and name not in taken:
            stems.setdefault(column.stem, []).append((column.suffix, name))
    wide = {stem: columns for stem, columns in stems.items() if len(columns) > 1} or stems
    if wide:
        columns = wide[min(wide, key=OUTPUTS.index)]
        if all(suffix.isdecimal() for suffix, _ in columns):
            columns.sort(key=lambda pair: int(pair[0]))
        return tuple(name for _, name in columns)
    single = first_column(contents, OUTPUTS)
    left = tuple(
        name for name in contents.names if name not in taken and not has_role(name) and is_number(contents, name)
    )
    if single is not None and (len(left) < 2 or single not in left):
        return (single,)
    return without_summaries(contents, left)


def without_summaries(contents: Contents, names: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what sums up a row beside the scores of its classes: predicted class, or confidence in it.

    A column such as ``y_pred`` is no class where others carry the scores. With only one other column it may be
    the score itself, unless it holds integers.
    """
    scores = tuple(name for name in names if not is_summary(name))
    if len(scores) > 1:
        return scores
    floats = tuple(name for name in names if not (is_summary(name) and is_integer(contents, name)))
    return floats or names


def left_out(contents: Contents, choices: Choices) -> list[str]:
    """Columns that look like predicted classes or confidences and are not used."""
    used = {name for role in vars(choices).values() if isinstance(role, tuple) for name in role}
    used |= {role for role in vars(choices).values() if isinstance(role, str)}
    return [name for name in contents.names if name not in used and is_summary(name)]


def feature_columns(contents: Contents) -> tuple[str, ...] | str:
    """Columns called feature_0, x1, feat_age, ..., in the order of their numbers; empty if there are none."""
    found = []
    for name in contents.names:
        column = feature_column(name) or (Column(name, "") if canonical(name).base in FEATURES else None)
        if column is not None and is_number(contents, name) and not has_role(name):
            found.append((column, name))
    if all(column.suffix.isdecimal() for column, _ in found):
        found.sort(key=lambda pair: (pair[0].stem, int(pair[0].suffix)))
    return tuple(name for _, name in found) or ""


def has_role(name: str) -> bool:
    """Whether a name says that the column is neither outputs nor labels."""
    return canonical(name).base in (*ROW_NAMES, *HARD, *GROUPS, *SPLIT)


def is_summary(name: str) -> bool:
    """Whether a name means what was predicted for the row, not the score of one class."""
    return canonical(name).base in (*HARD, *SUMMARIES)


def is_integer(contents: Contents, name: str) -> bool:
    """Whether a column was read as whole numbers."""
    return contents.info(name).dtype.startswith(("int", "uint"))


def is_number(contents: Contents, name: str) -> bool:
    """Whether a column was read as numbers."""
    return contents.info(name).dtype.startswith(("float", "double", "int", "uint", "half", "decimal"))


def first_column(contents: Contents, vocabulary: tuple[str, ...]) -> str | None:
    """The column whose name comes first in a vocabulary."""
    found = [(vocabulary.index(canonical(n).base), n) for n in contents.names if canonical(n).base in vocabulary]
    return min(found, key=lambda pair: pair[0])[1] if found else None
