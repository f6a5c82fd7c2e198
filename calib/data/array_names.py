"""The vocabulary of array and column names: which words mean outputs, labels, features, groups and parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from calib.data.words import listed_words

Part = Literal["calibration", "test", "train"]

PARTS: dict[str, Part] = {
    **dict.fromkeys(("cal", "calib", "calibration", "val", "valid", "validation", "dev", "holdout"), "calibration"),
    **dict.fromkeys(("test", "tst", "eval", "evaluation"), "test"),
    **dict.fromkeys(("train", "training"), "train"),
}

OUTPUTS, LABELS, FEATURES, CLASS_NAMES = map(
    listed_words, ("array_outputs", "array_labels", "array_features", "array_class_names")
)
SPLIT, ROW_NAMES, HARD = map(listed_words, ("array_split", "array_row_names", "array_hard"))
"""What arrays are called, the least ambiguous first; lower case, without separators. ``HARD`` are predicted classes."""

LONGEST_BASE, LONGEST_COLUMN, STEM_PIECES = 64, 200, 8
"""Characters of a name, and of one with the class in it, and pieces of its stem, that are looked at.

The words above have fewer; 10,000 columns may have names of any length, and each is looked at some twenty times, which
is also why what was found is remembered.
"""

BOUNDARY = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
SEPARATOR = re.compile(r"[_.\-:\[\(/= ]")
NUMBERED = re.compile(
    r"(?P<stem>[^\W\d][\w .\-]{0,63}?)[ _.\-:\[\(/=]{0,4}(?P<suffix>\d{1,18}+)[\]\)]?"  # bounded: no name takes long
)


class Name(NamedTuple):
    """A name without its part: ``cal_logits`` is ("calibration", "logits")."""

    part: Part | None
    base: str


def words(name: str) -> list[str]:
    """The words of a name: separated by anything that is no letter or digit, or by a capital inside."""
    return [word.lower() for word in BOUNDARY.split(name) if word]


def canonical(name: str) -> Name:
    """Part and base of a name; ``val/logits``, ``logits_val`` and ``valLogits`` are the same."""
    return _canonical(name[:LONGEST_BASE])


@lru_cache(maxsize=2**14)
def _canonical(name: str) -> Name:
    found = words(name)
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


class Column(NamedTuple):
    """A column's name as what it is one column of, and which: ``p_cat`` is ("p", "cat")."""

    stem: str
    suffix: str


def output_column(name: str) -> Column | None:
    """Stem and class of a column such as ``p_0``, ``prob_cat``, ``logit 3`` or ``logits.12``; None for others."""
    return numbered_column(name, OUTPUTS)


def feature_column(name: str) -> Column | None:
    """Stem and number or name of a feature such as ``feature_0``, ``x1`` or ``feat_age``; None for others."""
    column = numbered_column(name, FEATURES)
    return None if column is None or canonical(name).part == "train" else column


def numbered_column(name: str, vocabulary: tuple[str, ...]) -> Column | None:
    """A column whose stem is in a vocabulary, with what follows the stem."""
    name = name.strip()
    if len(name) > LONGEST_COLUMN:
        return None
    spelled = NUMBERED.fullmatch(name)
    if spelled and canonical(spelled["stem"]).base in vocabulary:
        return Column(canonical(spelled["stem"]).base, spelled["suffix"])
    found, stem, start = None, "", 0
    for piece in SEPARATOR.split(name, maxsplit=STEM_PIECES)[:-1]:
        stem += canonical(piece).base
        start += len(piece) + 1
        if stem in vocabulary and canonical(piece).base:
            found = Column(stem, name[start:].rstrip("])"))
    return found


def feature_names(names: Iterable[str]) -> tuple[str, ...]:
    """Those that are called like features, in the order of their numbers where all have one."""
    found = []
    for name in names:
        column = feature_column(name) or (Column(name, "") if canonical(name).base in FEATURES else None)
        if column is not None:
            found.append((column, name))
    if all(column.suffix.isdecimal() for column, _ in found):
        found.sort(key=lambda pair: (pair[0].stem, int(pair[0].suffix)))
    return tuple(name for _, name in found)


def outcome_name(column: str) -> str:
    """What happened, as the name of a column says it; empty where it only says that it holds labels."""
    return "" if canonical(column).base in LABELS or "." in column else column
