"""The vocabulary of array and column names: which words mean outputs, labels, features, groups and parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from calib.data.names import tokens
from calib.data.words import listed_words

Part = Literal["calibration", "test", "train"]

PARTS: dict[str, Part] = {
    "cal": "calibration", "calib": "calibration", "calibration": "calibration", "val": "calibration",
    "valid": "calibration", "validation": "calibration", "dev": "calibration", "holdout": "calibration",
    "test": "test", "tst": "test", "eval": "test", "evaluation": "test", "train": "train", "training": "train",
}  # fmt: skip

OUTPUTS, LABELS, FEATURES, CLASS_NAMES = map(
    listed_words, ("array_outputs", "array_labels", "array_features", "array_class_names")
)
SPLIT, ROW_NAMES, HARD = map(listed_words, ("array_split", "array_row_names", "array_hard"))
"""Names of arrays, the least ambiguous first; lower case, without separators. ``HARD`` are predicted classes."""


NO_TEST: Part = "train"
"""Stands for "the file has one part only": training outputs are never used for calibration."""


class Name(NamedTuple):
    """A name without its part: ``cal_logits`` is ("calibration", "logits")."""

    part: Part | None
    base: str


@lru_cache(maxsize=2**14)
def canonical(name: str) -> Name:
    """Part and base of a name; ``val/logits``, ``logits_val`` and ``valLogits`` are the same."""
    found = tokens(name)
    part = next((PARTS[word] for word in found if word in PARTS), None)
    return Name(part, "".join(word for word in found if word not in PARTS))


def first_named(names: Iterable[str], vocabulary: Sequence[str], *parts: Part | None) -> str | None:
    """The name that comes first in a vocabulary.

    Parameters
    ----------
    parts : of which the first that has one counts; any part where none is given.
    """
    found = [
        (parts.index(part) if parts else 0, vocabulary.index(base), name)
        for name in names
        for part, base in [canonical(name)]
        if base in vocabulary and (not parts or part in parts)
    ]
    return min(found, key=lambda item: item[:2])[2] if found else None


def named_arrays(
    names: Iterable[str], sought: Mapping[str, tuple[Sequence[str], tuple[Part | None, ...]]]
) -> dict[str, str | None]:
    """Return for each role the name that comes first in its vocabulary, of its parts in their order."""
    return {role: first_named(names, words, *parts) for role, (words, parts) in sought.items()}


def parts_of(names: Iterable[str]) -> tuple[Part | None, Part | None]:
    """Return the part to calibrate on and the part to test on, from the names of the arrays.

    Training outputs are left out, since a model is overconfident on the rows it was trained on.
    """
    named = [canonical(name) for name in names]
    parts = {name.part for name in named if name.base in OUTPUTS} - {"train"}
    pairs: tuple[tuple[Part | None, Part | None], ...]
    pairs = (("calibration", "test"), (None, "test"), ("calibration", None))
    both = (pair for pair in pairs if parts.issuperset(pair))
    return next(both, (next(iter(parts), None), NO_TEST))


class Column(NamedTuple):
    """A column's name as what it is one column of, and which: ``p_cat`` is ("p", "cat")."""

    stem: str
    suffix: str


def numbered_column(name: str, vocabulary: tuple[str, ...]) -> Column | None:
    """A column whose first words are in a vocabulary, with those that follow, such as ``p_0`` or ``logit 3``."""
    pieces = tokens(name)
    stems = (j for j in range(len(pieces) - 1, 0, -1) if "".join(pieces[:j]) in vocabulary)
    return next((Column("".join(pieces[:j]), "_".join(pieces[j:])) for j in stems), None)


def feature_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names like those of features, in the order of their numbers where all have one."""
    found = []
    for name in names:
        column = numbered_column(name, FEATURES) or (
            Column(name, "") if canonical(name).base in FEATURES else None
        )
        if column is not None and canonical(name).part != "train":
            found.append((column, name))
    if all(column.suffix.isdecimal() for column, _ in found):
        found.sort(key=lambda pair: (pair[0].stem, int(pair[0].suffix)))
    return tuple(name for _, name in found)


def outcome_name(column: str) -> str:
    """Name of the event in the name of a column; empty where it only says that it holds labels."""
    return "" if canonical(column).base in LABELS or "." in column else column
