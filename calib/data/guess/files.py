"""Content of each of several files: by their names, else by the shapes of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from pathlib import PurePath
from string import digits

from calib.data.findings import InvalidUpload
from calib.data.guess.arrays import array_width
from calib.data.names import FEATURES, LABELS, canonical
from calib.data.options import NOTHING, Choices, Source
from calib.data.read.files import open_source

SOURCE = "source"
"""The file with the model's outputs."""


@dataclass(frozen=True)
class FileInfo:
    """Name of a file, and its width.

    Attributes
    ----------
    name : of the file.
    width : values in a row of its only array, or 2 for two columns; infinite for more, and where it cannot be opened.
    has_floats : whether some of them are floats.
    """

    name: str
    width: float = inf
    has_floats: bool = True


def look_at(files: tuple[Source, ...]) -> tuple[FileInfo, ...]:
    """Look at each file without reading it; one that cannot be opened says why when it is read."""
    infos = []
    for file in files:
        with ExitStack() as stack:
            try:
                contents = open_source(file, Choices(), stack)
            except InvalidUpload:
                infos.append(FileInfo(str(file[0]) if isinstance(file, tuple) else ""))
                continue
            widths = [array_width(array) for array in contents.arrays]
            floats = [
                any(kind in array.dtype for kind in ("float", "double", "<f"))
                for array in contents.arrays
            ]
            narrow = len(widths) == 1 or widths == [1, 1]  # labels, perhaps beside ids
            infos.append(FileInfo(contents.name, sum(widths) if narrow else inf, any(floats)))
    return tuple(infos)


def roles_of_files(files: Sequence[FileInfo], n_read: int = 0) -> tuple[str, ...]:
    """Role of each of several files: the outputs, or one of :data:`calib.data.options.FILES`.

    Where no name says which one holds the labels, it is the narrowest. Each role is given once; later files that seem
    to have it too are left aside, since nothing says what they are.

    Parameters
    ----------
    n_read : so many of the first files are open already: they are left aside where a new one holds outputs.
    """
    roles = [_role_of(file.name) for file in files]
    if 0 < n_read < len(files) and SOURCE in roles[n_read:]:
        return (*[NOTHING] * n_read, *roles_of_files(files[n_read:]))
    if SOURCE not in roles:  # the only outputs are those of the test set
        roles = [{"test": SOURCE, "test_labels": "labels"}.get(role, role) for role in roles]
    sources = [j for j, role in enumerate(roles) if role == SOURCE]
    if "labels" not in roles and len(sources) > 1:
        narrow = {j: (files[j].width, files[j].has_floats) for j in sources}
        first, second, *_ = sorted(sources, key=narrow.__getitem__)
        if narrow[first] < narrow[second]:
            roles[first] = "labels"
    return tuple(role if role not in roles[:j] else NOTHING for j, role in enumerate(roles))


def _role_of(name: str) -> str:
    """Role in a name, without a number at its end: ``val_y2.npy`` holds the labels "y" of the calibration part."""
    part, base = canonical(PurePath(name).stem)
    base = base.rstrip(digits) or base
    if base in FEATURES or base.endswith(("features", "embeddings")):
        return "train_features" if part == "train" else "features"
    if base in LABELS:
        return {"train": "train_labels", "test": "test_labels"}.get(part or "", "labels")
    return NOTHING if part == "train" else "test" if part == "test" else SOURCE
