"""A seeded sequence of damaged uploads, of one format after another."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.mutations import mutant
from benchmarks.originals import originals

FORMS = tuple(originals())
"""What comes after what."""


@dataclass(frozen=True)
class Upload:
    """One file: its place in the sequence, what it was made from, its name and its bytes."""

    number: int
    form: str
    name: str
    content: bytes


def upload(number: int, seed: int = 0) -> Upload:
    """The upload of this number; equal arguments give equal bytes."""
    made = mutant(number, seed)
    name, content = made.files["source"]
    return Upload(number, made.form, name, content)
