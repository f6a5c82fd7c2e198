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

LEAST_STEM = 3
"""Letters of a word that may be short for another one."""


@lru_cache(maxsize=2**14)
def tokens(name: str) -> tuple[str, ...]:
    """The words and numbers of a name in lower case without accents: ``P(Güte)_1`` is ("p", "guete", "1")."""
    spaced = CAMEL.sub("_", name[:LONGEST]).lower().translate(FOLDED)
    plain = "".join(c for c in unicodedata.normalize("NFKD", spaced) if not unicodedata.combining(c))
    return tuple(PIECES.findall(plain))


@lru_cache(maxsize=2**14)
def known_words(name: str) -> frozenset[str]:
    """The words of a name that are in the lists: two that belong together count as one, ``y_pred`` is "ypred".

    Of a compound such as "Ausfallwahrscheinlichkeit" its beginning and its end count.
    """
    words = list(tokens(name))
    if "".join(words) in KNOWN:
        return frozenset(["".join(words)])
    # A letter after a number is a unit: the "y" of "1y" is a year.
    words = [word for j, word in enumerate(words) if not (len(word) == 1 and j and words[j - 1].isdecimal())]
    found: set[str] = set()
    while words:
        if len(words) > 1 and words[0] + words[1] in KNOWN:
            found.add(words.pop(0) + words.pop(0))
            continue
        word = words.pop(0)
        found |= {word} if word in KNOWN else compound(word)
    # A letter alone tells something; beside other words it hardly does, as the "z" of "prs_z".
    longer = {word for word in found if word not in ("z", "w", "s")}
    return frozenset(longer or found)


def compound(word: str) -> set[str]:
    """The two known words that a compound is made of, else its longest known beginning and end."""
    for j in range(len(word) - 2, 1, -1):
        if {word[:j], word[j:]} <= KNOWN and max(j, len(word) - j) >= 4:
            return {word[:j], word[j:]}
    start = next((word[:j] for j in range(len(word) - 1, 4, -1) if word[:j] in LONG), None)
    end = next((word[j:] for j in range(1, len(word) - 3) if word[j:] in ENDS), None)
    return {part for part in (start, end) if part}


def has(name: str, words: Collection[str]) -> bool:
    """Whether a name holds one of these words."""
    return not known_words(name).isdisjoint(words)


def is_prediction(name: str) -> bool:
    """Whether a name speaks of what a model said."""
    return has(name, PROBABILITY | SCORE | PREDICTED)


def about(name: str) -> set[str]:
    """The words of a name that say what it is about: neither numbers nor words for outputs and outcomes."""
    return telling(tokens(name))


def telling(words: Iterable[str]) -> set[str]:
    """Words that are neither numbers, letters, nor words that outputs and outcomes share."""
    return {word for word in words if len(word) > 1 and word.isalpha() and word not in GENERAL}


def same_word(first: str, second: str) -> bool:
    """Whether two words are about the same thing: equal, one short for the other, or forms of one word."""
    short, long = sorted((first, second), key=len)
    return short == long or (len(short) >= LEAST_STEM and long.startswith(short)) or long[:6] == short[:6] != short


def is_anonymous(name: str) -> bool:
    """Whether a name only says which column it is: column_3, 3, V3, a."""
    return all(word.isdecimal() or word in ("column", "col", "unnamed") or len(word) == 1 for word in tokens(name))


def plain_name(name: str) -> str:
    """A name without case and separators, since columns and labels spell them differently."""
    return "".join(c for c in name.lower() if c.isalnum()) or name


def class_names(names: Sequence[str]) -> tuple[str, ...]:
    """What names do not have in common, as they spell it, from where a word begins to where one ends."""
    if len(names) < 2 or (all(map(is_anonymous, names)) and not any(map(known_words, names))):
        return tuple(names)
    pieces = [SPELLED.findall(name) for name in names]
    start = _in_common(pieces)
    end = _in_common([own[start:][::-1] for own in pieces])
    middles = tuple("".join(own[start : len(own) - end]).strip(" _.-:()[]/=\"'") for own in pieces)
    return middles if all(middles) and len(set(middles)) == len(names) else tuple(names)


def _in_common(pieces: Sequence[Sequence[str]]) -> int:
    """How many pieces all begin with."""
    return sum(1 for _ in takewhile(lambda here: len(set(here)) == 1, zip(*pieces, strict=False)))
