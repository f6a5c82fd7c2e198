"""A seeded sequence of hostile uploads: half of them HDF5 and Parquet, the others of every other format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from benchmarks.mutants import arrow, bases, hdf5, parquet, texts
from benchmarks.mutations import mutant
from benchmarks.originals import originals


@dataclass(frozen=True)
class Upload:
    """One file: its place in the sequence, what it was made from, its name and its bytes."""

    number: int
    form: str
    name: str
    content: bytes


def upload(number: int, seed: int = 0) -> Upload:
    """The upload of this number; equal arguments give equal bytes."""
    random = Random(seed << 40 | number)
    form = FORMS[number % len(FORMS)]
    return Upload(number, form, *MAKERS[form](random))


def of_files(
    files: Callable[[], Mapping[str, bytes]], damaged: Callable[[bytes, Random], bytes], ending: str
) -> Callable[[Random], tuple[str, bytes]]:
    """One of these files, damaged."""
    return lambda random: (f"mutant{ending}", damaged(random.choice(list(files().values())), random))


def of_any(random: Random) -> tuple[str, bytes]:
    """A small file of another format, damaged as its format is known to be believed."""
    forms = tuple(form for form in originals() if form not in ("hdf5", "parquet"))
    made = mutant(random.randrange(len(forms) << 40), only=forms)
    return made.files["source"]


MAKERS: dict[str, Callable[[Random], tuple[str, bytes]]] = {
    "hdf5": of_files(bases.hdf5_files, hdf5.damaged, ".h5"),
    "parquet": of_files(bases.parquet_files, parquet.damaged, ".parquet"),
    "arrow": of_files(bases.arrow_files, arrow.damaged, ".arrow"),
    "csv": lambda random: ("mutant.csv", texts.csv_text(random)),
    "json": lambda random: ("mutant.json", texts.json_text(random)),
    "others": of_any,
}
FORMS = ("hdf5", "csv", "parquet", "others", "hdf5", "json", "parquet", "others",
         "hdf5", "csv", "parquet", "arrow", "hdf5", "json", "parquet", "others")  # fmt: skip
"""What comes after what."""
