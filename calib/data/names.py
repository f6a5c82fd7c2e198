"""Names of arrays, columns and labels: their words, what they mean, and which label a column is named after."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calib.data.read.base import Array, distinct
from calib.data.words import (
    ANSWER_RIGHT,
    ANSWER_WRONG,
    ENDS,
    GENERAL,
    KNOWN,
    LONG,
    MISSING,
    PREDICTED,
    PROBABILITY,
    SCORE,
    listed_terms,
)

LONGEST = 200
"""Characters of a name that are looked at; names of strangers can be of any length."""

PIECES = re.compile(r"[^\W\d_]+|\d+")
SPELLED = re.compile(r"\d+|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|[\W_]")
"""Pieces of a name that together are all of it."""
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
FOLDED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "o"})


@lru_cache(maxsize=2**14)
def tokens(name: str) -> tuple[str, ...]:
    """The words and numbers of a name in lower case without accents: ``P(Güte)_1`` is ("p", "guete", "1")."""
    spaced = CAMEL.sub("_", name[:LONGEST]).lower().translate(FOLDED)
    letters = unicodedata.normalize("NFKD", spaced)
    return tuple(PIECES.findall("".join(c for c in letters if not unicodedata.combining(c))))


def names_model(name: str) -> bool:
    """Return whether a column is called after the model, as ``model``, ``eval_model`` or ``model_version``."""
    words = tokens(name)
    return words[-1:] == ("model",) or {"model"} < {*words} <= {"model", "version", "name", "id"}


@lru_cache(maxsize=2**14)
def terms_of(name: str) -> frozenset[str]:
    """The words of a name that are in the lists: two that belong together count as one, ``y_pred`` is "ypred".

    Of a compound such as "Ausfallwahrscheinlichkeit" its beginning and its end count.
    """
    # A letter after a number is a unit: the "y" of "1y" is a year.
    pieces = tokens(name)
    after_number = [False, *(piece.isdecimal() for piece in pieces)]
    pairs = zip(pieces, after_number, strict=False)
    remaining = [word for word, is_unit in pairs if len(word) > 1 or not is_unit]
    if "".join(pieces) in KNOWN:
        remaining = ["".join(pieces)]
    listed: set[str] = set()
    while remaining:
        word = remaining.pop(0)
        if remaining and word + remaining[0] in KNOWN:
            word += remaining.pop(0)
        if word in KNOWN:
            listed.add(word)
        else:
            starts = [word[:j] for j in range(5, len(word)) if word[:j] in LONG]
            ends = [word[j:] for j in range(1, len(word) - 3) if word[j:] in ENDS]
            listed |= {*starts[-1:], *ends[:1]}
    # A letter alone tells something; with other words it hardly does, as the "z" of "prs_z".
    return frozenset(listed - {"z", "w", "s"} or listed)


def is_prediction(name: str) -> bool:
    """Return whether a name is one of predictions."""
    return not terms_of(name).isdisjoint(PROBABILITY | SCORE | PREDICTED)


def about(pieces: Iterable[str]) -> set[str]:
    """Words that say what something is about: neither numbers, letters, nor words that outputs and outcomes share."""
    return {word for word in pieces if len(word) > 1 and word.isalpha() and word not in GENERAL}


def share_a_word(first: Iterable[str], second: Iterable[str]) -> bool:
    """Return whether words are about the same thing: equal, one short for another, or forms of one word."""
    pairs = [sorted((a, b), key=len) for a in about(first) for b in about(second)]
    return any(
        short == long or (len(short) > 2 and long.startswith(short)) or short[:6] == long[:6]
        for short, long in pairs
    )


def is_anonymous(name: str) -> bool:
    """Return whether a name is only the number or letter of a column: column_3, 3, V3, a."""
    numbered = ("column", "col", "unnamed")
    return all(word.isdecimal() or word in numbered or len(word) == 1 for word in tokens(name))


def is_whole(name: str) -> bool:
    """Return whether a name is a whole number, such as -1."""
    return name.strip().removeprefix("-").isdecimal()


@lru_cache(maxsize=2**14)
def plain_name(name: str) -> str:
    """A name without case and separators, with accents in one way, since columns and labels spell them differently."""
    text = unicodedata.normalize("NFC", name)
    if is_whole(name):
        return text.strip()
    return "".join(c for c in text.lower() if c.isalnum()) or text


def class_names(names: Sequence[str]) -> tuple[str, ...]:
    """Parts that names do not have in common, as they spell them, from where a word begins to where one ends."""
    if len(names) < 2 or (all(map(is_anonymous, names)) and not any(map(terms_of, names))):
        return tuple(names)
    spelled = [SPELLED.findall(name) for name in names]
    start = _in_common(spelled)
    end = _in_common([pieces[start:][::-1] for pieces in spelled])
    middles = tuple(
        "".join(pieces[start : len(pieces) - end]).strip(" _.-:()[]/=\"'") for pieces in spelled
    )
    return middles if all(middles) and len(set(middles)) == len(names) else tuple(names)


def _in_common(spelled: Sequence[Sequence[str]]) -> int:
    """Count the pieces with which all begin."""
    return sum(1 for _ in takewhile(lambda here: len(set(here)) == 1, zip(*spelled, strict=False)))


# Arrays.

Part = Literal["calibration", "test", "train"]

PARTS: dict[str, Part] = {
    "cal": "calibration", "calib": "calibration", "calibration": "calibration", "val": "calibration",
    "valid": "calibration", "validation": "calibration", "dev": "calibration", "holdout": "calibration",
    "test": "test", "tst": "test", "eval": "test", "evaluation": "test", "train": "train", "training": "train",
}  # fmt: skip

OUTPUTS, LABELS, FEATURES, CLASS_NAMES = map(
    listed_terms, ("array_outputs", "array_labels", "array_features", "array_class_names")
)
SPLIT, HARD = map(listed_terms, ("array_split", "array_hard"))
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
    pieces = tokens(name)
    part = next((PARTS[word] for word in pieces if word in PARTS), None)
    return Name(part, "".join(word for word in pieces if word not in PARTS))


def first_named(names: Iterable[str], vocabulary: Sequence[str], *parts: Part | None) -> str | None:
    """The name that comes first in a vocabulary.

    Parameters
    ----------
    parts : the first of them with such a name counts; without any, all do.
    """
    named = [
        (parts.index(part) if parts else 0, vocabulary.index(base), name)
        for name in names
        for part, base in [canonical(name)]
        if base in vocabulary and (not parts or part in parts)
    ]
    return min(named, key=lambda place: place[:2])[2] if named else None


def parts_of(names: Iterable[str]) -> tuple[Part | None, Part | None]:
    """Return the part to calibrate on and the part to test on, from the names of the arrays.

    Training outputs are left out, since a model is overconfident on the rows it was trained on.
    """
    parts = {part for part, base in map(canonical, names) if base in OUTPUTS} - {"train"}
    pairs: list[tuple[Part | None, Part | None]]
    pairs = [("calibration", "test"), (None, "test"), ("calibration", None)]
    both = (pair for pair in pairs if parts.issuperset(pair))
    return next(both, (next(iter(parts), None), NO_TEST))


def numbered_column(name: str, vocabulary: Sequence[str]) -> tuple[str, str] | None:
    """A column whose first words are in a vocabulary, with those that follow: ``p_cat`` is ("p", "cat")."""
    pieces = tokens(name)
    ends = (j for j in range(len(pieces) - 1, 0, -1) if "".join(pieces[:j]) in vocabulary)
    return next((("".join(pieces[:j]), "_".join(pieces[j:])) for j in ends), None)


def outcome_name(column: str) -> str:
    """Name of the event in the name of a column; empty where it only says that it holds labels."""
    return "" if canonical(column).base in LABELS or "." in column else column


# Labels.

NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d{0,15}|\.\d{1,15})")

FEW_NAMES = 100
"""Most columns that are compared with the beginnings of labels."""

Order = tuple[Any, ...]
"""The label of each column."""


def as_text(value: object) -> str:
    """A value as its label is written: 2.0 is 2, True is true."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def texts_of(cells: Array) -> npt.NDArray[np.str_]:
    """Return (n,) values as labels are written, 2.0 as 2."""
    values, places = distinct(cells)
    return np.array([as_text(value) for value in values.tolist()], dtype=np.str_)[places]


def same_names(values: Sequence[str], columns: Sequence[str]) -> Order | None:
    """The label that each column is named after; one without rows keeps its name.

    None if a label fits nowhere, unless every column has one: then those that are left belong to no column.
    """
    if set(values) <= set(columns):
        return tuple(columns)
    by_name = {plain_name(value): value for value in values}
    plain = [plain_name(column) for column in columns]
    distinct_names = len(by_name) == len(values) and len(set(plain)) == len(plain)
    if not distinct_names or not (set(by_name) <= set(plain) or set(plain) < set(by_name)):
        return None
    return tuple(by_name.get(name, column) for name, column in zip(plain, columns, strict=True))


def same_beginnings(values: Sequence[str], columns: Sequence[str]) -> Order | None:
    """The label that each column begins with: ``H``, ``D`` and ``A`` belong to ``home``, ``draw`` and ``away``."""
    order: list[str] = []
    for column in columns if len(columns) <= FEW_NAMES else ():
        begun = [value for value in values if plain_name(column).startswith(plain_name(value))]
        order += begun if len(begun) == 1 else []
    return tuple(order) if len(order) == len(columns) and len({*order}) == len(values) else None


def is_missing(value: Any, classes: Collection[str] = (), texts: Collection[str] = MISSING) -> bool:
    """Return whether a label is missing: empty, NaN, infinite, or a word such as ``NA`` that names no class.

    ``classes`` are their names without case and separators.
    """
    if isinstance(value, float):
        return not np.isfinite(value)
    if not isinstance(value, str):
        return False
    return not value.strip() or (value.strip() in texts and plain_name(value) not in classes)


def correct_value(values: Sequence[str], chosen: str | None = None) -> str | None:
    """Return the value that means correct: the one that was chosen, or that says so; None where none does.

    A value that no row has is returned where all rows are wrong.
    """
    if chosen in values:
        return chosen
    if len(values) not in (1, 2):
        return None
    plain = {value: value.strip().lower() for value in values}
    right = [value for value in values if plain[value] in ANSWER_RIGHT]
    others = [value for value in values if plain[value] not in ANSWER_WRONG]
    if len(right) == 1:
        return right[0]
    if len(others) < len(values):
        return (*others, "correct")[0] if len(others) == len(values) - 1 else None
    numbers = len(values) == 2 and all(map(NUMBER.fullmatch, values))
    return max(values, key=float) if numbers else None
