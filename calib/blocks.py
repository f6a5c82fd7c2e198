"""Rows in blocks, so that a pass over a large array needs only a small one beside it."""

from __future__ import annotations

from collections.abc import Iterator

ELEMENTS = 1_000_000


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of rows of about :data:`ELEMENTS` numbers each."""
    step = max(1, ELEMENTS // max(shape[1], 1))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)
