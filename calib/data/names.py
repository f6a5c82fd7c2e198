"""The words of a column's name, and what columns with similar names are called apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

from calib.data.words import ENDS, GENERAL, KNOWN, LONG, PREDICTED, PROBABILITY, SCORE

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
    plain = "".join(
        c for c in unicodedata.normalize("NFKD", spaced) if not unicodedata.combining(c)
    )
    return tuple(PIECES.findall(plain))


@lru_cache(maxsize=2**14)
def known_words(name: str) -> frozenset[str]:
    """The words of a name that are in the lists: two that belong together count as one, ``y_pred`` is "ypred".

    Of a compound such as "Ausfallwahrscheinlichkeit" its beginning and its end count.
    """
    # A letter after a number is a unit: the "y" of "1y" is a year.
    pieces = tokens(name)
    after_number = [False, *(piece.isdecimal() for piece in pieces)]
    pairs = zip(pieces, after_number, strict=False)
    words = [word for word, is_unit in pairs if len(word) > 1 or not is_unit]
    if "".join(pieces) in KNOWN:
        words = ["".join(pieces)]
    found: set[str] = set()
    while words:
        word = words.pop(0)
        if words and word + words[0] in KNOWN:
            word += words.pop(0)
        if word in KNOWN:
            found.add(word)
        else:
            starts = [word[:j] for j in range(5, len(word)) if word[:j] in LONG]
            ends = [word[j:] for j in range(1, len(word) - 3) if word[j:] in ENDS]
            found |= {*starts[-1:], *ends[:1]}
    # A letter alone tells something; beside other words it hardly does, as the "z" of "prs_z".
    return frozenset(found - {"z", "w", "s"} or found)


def has(name: str, words: Collection[str]) -> bool:
    """Return whether a name holds one of these words."""
    return not known_words(name).isdisjoint(words)


def is_prediction(name: str) -> bool:
    """Return whether a name is one of predictions."""
    return has(name, PROBABILITY | SCORE | PREDICTED)


def about(words: Iterable[str]) -> set[str]:
    """Words that say what something is about: neither numbers, letters, nor words that outputs and outcomes share."""
    return {word for word in words if len(word) > 1 and word.isalpha() and word not in GENERAL}


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
    if len(names) < 2 or (all(map(is_anonymous, names)) and not any(map(known_words, names))):
        return tuple(names)
    pieces = [SPELLED.findall(name) for name in names]
    start = _in_common(pieces)
    end = _in_common([own[start:][::-1] for own in pieces])
    middles = tuple("".join(own[start : len(own) - end]).strip(" _.-:()[]/=\"'") for own in pieces)
    return middles if all(middles) and len(set(middles)) == len(names) else tuple(names)


def _in_common(pieces: Sequence[Sequence[str]]) -> int:
    """Count the pieces with which all begin."""
    return sum(1 for _ in takewhile(lambda here: len(set(here)) == 1, zip(*pieces, strict=False)))
