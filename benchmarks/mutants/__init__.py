"""Hostile uploads in a seeded sequence, and the values that parsers are known to believe in place of a number."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

EXTREMES = (0, 1, 2**7, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
CODES = (*range(13), 127, 128, 255)
"""Versions, types, classes and flags, known ones and others."""

HOSTILE_TEXTS = ("", ".", "..", "/", "a/b", "label", "p_0", "a\0b", "\x1b[31m", "\u202e", "<img src=x>", "x" * 300)


def other_number(old: int, width: int, random: Random, known: Sequence[int] = ()) -> int:
    """An unsigned number of so many bytes: at an edge, near the old one, or one that stands elsewhere in the file.

    Parameters
    ----------
    known : numbers with a meaning in the file, such as the addresses of its structures.
    """
    bits = 8 * width
    near = (old + 1, old - 1, 2 * old, old // 2, old ^ 1 << random.randrange(bits), old + random.randrange(2, 100))
    pools = [near, CODES if width == 1 else EXTREMES, *([known] if known else [])]
    return random.choice(random.choice(pools)) % 2**bits
