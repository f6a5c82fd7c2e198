"""Which of several files holds what: by their names, else by the shapes of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePath
from string import digits

from calib.data.array_names import FEATURES, LABELS, canonical, feature_names
from calib.data.findings import InvalidUpload
from calib.data.guess.arrays import array_width, describe
from calib.data.options import NOTHING, Choices, Source
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
    may_be_labels : whether it holds one column of floats or a matrix of whole numbers, which are labels beside outputs.
    has_features : whether some of it is called like features; None where it cannot be opened.
    """

    name: str
    is_labels: bool | None
    says: str
    may_be_labels: bool = False
    has_features: bool | None = None


def look_at(files: tuple[Source, ...]) -> tuple[Looked, ...]:
    """List what each file holds, without reading it; one that cannot be opened says why when it is read."""
    found = []
    for file in files:
        with ExitStack() as stack:
            try:
                contents = open_source(file, Choices(), stack)
            except InvalidUpload:
                found.append(Looked(str(file[0]) if isinstance(file, tuple) else "", None, ""))
                continue
            widths = [array_width(array) for array in contents.arrays]
            floats = [any(kind in array.dtype for kind in ("float", "double", "<f")) for array in contents.arrays]
            alone = len(widths) <= 2 and set(widths) == {1}  # labels, perhaps beside ids
            is_labels = alone and not any(floats) and all(array.shape for array in contents.arrays)
            one_hot = len(widths) == 1 and widths[0] > 1 and not floats[0]
            features = any(canonical(name).base in FEATURES for name in contents.names) or feature_names(contents.names)
            found.append(Looked(contents.name, is_labels, describe(contents), alone or one_hot, bool(features)))
    return tuple(found)


def roles_of_files(looked: Sequence[Looked], n_read: int = 0) -> tuple[str, ...]:
    """What each of several files is given for: the outputs, or one of :data:`calib.data.options.FILES`.

    Each role is given once; later files that seem to have it too are left aside, since nothing says what they are.

    Parameters
    ----------
    n_read : so many of the first files are open already: they are left aside where a new one holds outputs.
    """
    wanted = [_role_of(file) for file in looked]
    if 0 < n_read < len(looked) and SOURCE in wanted[n_read:]:
        return (*[NOTHING] * n_read, *roles_of_files(looked[n_read:]))
    if "labels" not in wanted and wanted.count(SOURCE) == 2:
        labels = [j for j, file in enumerate(looked) if wanted[j] == SOURCE and file.may_be_labels]
        if len(labels) == 1:
            wanted[labels[0]] = "labels"
    if SOURCE not in wanted:  # all outputs are those of the test set, or every file holds one value a row
        others = [j for j, file in enumerate(looked) if _part_and_base(file)[1] not in LABELS]
        test = wanted.index("test") if "test" in wanted else next(iter(others), 0)
        wanted[test] = SOURCE
        if _part_and_base(looked[test])[0] == "test" and "test" not in wanted:
            wanted = ["labels" if role == "test_labels" else role for role in wanted]
    return tuple(role if role not in wanted[:j] else NOTHING for j, role in enumerate(wanted))


def _part_and_base(file: Looked) -> tuple[str | None, str]:
    """What a file is called without a number at its end: ``val_y2.npy`` is ("calibration", "y")."""
    part, base = canonical(PurePath(file.name).stem)
    return part, base.rstrip(digits) or base


def _role_of(file: Looked) -> str:
    part, base = _part_and_base(file)
    if base in FEATURES or base.endswith(("features", "embeddings")):
        return "train_features" if part == "train" else "features"
    if part == "train" and not base:
        return NOTHING if file.has_features is False else "train_features"
    if base in LABELS or (file.is_labels and base not in ("outputs", "probs", "logits")):
        return {"train": "train_labels", "test": "test_labels"}.get(part or "", "labels")
    return "test" if part == "test" else SOURCE
