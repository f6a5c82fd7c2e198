"""Which of several files holds what: by their names, else by the shapes of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePath

from calib.data.array_names import FEATURES, LABELS, canonical
from calib.data.findings import InvalidUpload
from calib.data.guess.arrays import array_width, describe
from calib.data.options import FILES, NOTHING, Choices, Source
from calib.data.read.base import Allowance, Contents
from calib.data.read.files import open_source

SOURCE = "source"
"""The file with the model's outputs."""


@dataclass(frozen=True)
class Looked:
    """What a file is called, and what it holds.

    Attributes
    ----------
    name : of the file.
    is_labels : whether it holds one value for each row alone; None where it cannot be opened.
    says : what it holds, for people.
    """

    name: str
    is_labels: bool | None
    says: str


def look_at(files: tuple[Source, ...]) -> tuple[Looked, ...]:
    """List what each file holds, without reading it; one that cannot be opened says why when it is read."""
    found = []
    for file in files:
        with ExitStack() as stack:
            try:
                contents = open_source(file, Allowance(), Choices(), stack)
            except InvalidUpload:
                name = str(file[0]) if isinstance(file, tuple) else ""
                found.append(Looked(name, None, ""))
            else:
                found.append(Looked(contents.name, _is_labels(contents), describe(contents)))
    return tuple(found)


def _is_labels(contents: Contents) -> bool:
    """Whether a file holds labels alone: one array of one value a row, perhaps beside ids, none of which are floats."""
    values = [array for array in contents.arrays if array_width(array) == 1 and len(array.shape) > 0]
    floats = [array for array in values if "float" in array.dtype or "double" in array.dtype or "<f" in array.dtype]
    return 0 < len(values) == len(contents.arrays) <= 2 and not floats


def roles_of_files(looked: Sequence[Looked], n_read: int = 0) -> tuple[str, ...]:
    """What each of several files is given for: the outputs, or one of :data:`calib.data.options.FILES`.

    Each role is given once. Where more files have one, the later ones get those that are left, in their order.

    Parameters
    ----------
    n_read : so many of the first files are open already: they are left aside where a new one holds outputs.
    """
    wanted = [_role_of(file) for file in looked]
    if 0 < n_read < len(looked) and SOURCE in wanted[n_read:]:
        return (*[NOTHING] * n_read, *roles_of_files(looked[n_read:]))
    parts = [canonical(PurePath(file.name).stem).part for file in looked]
    if SOURCE not in wanted:  # all outputs are those of the test set, or every file holds one value a row
        test = wanted.index("test") if "test" in wanted else 0
        wanted[test] = SOURCE
        if parts[test] == "test" and "test" not in wanted:
            wanted = ["labels" if role == "test_labels" else role for role in wanted]
    taken: list[str] = []
    left = [SOURCE, *FILES]
    for role in wanted:
        taken.append(role if role not in taken else "")
    free = [role for role in left if role not in taken]
    return tuple(role or free.pop(0) for role in taken) if len(looked) <= len(left) else ()


def _role_of(file: Looked) -> str:
    part, base = canonical(PurePath(file.name).stem)
    if base in FEATURES or any(base.endswith(word) for word in ("features", "embeddings")):
        return "train_features" if part == "train" else "features"
    if part == "train" and not base:
        return "train_features"
    if base in LABELS or (file.is_labels and base not in ("outputs", "probs", "logits")):
        return {"train": "train_labels", "test": "test_labels"}.get(part or "", "labels")
    return "test" if part == "test" else SOURCE
