"""Content of each of several files, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from string import digits

from calib.data.names import FEATURES, LABELS, OUTPUTS, canonical, tokens
from calib.data.options import NOTHING

SOURCE = "source"
"""The file with the model's outputs."""


def roles_of_files(names: Sequence[str], n_read: int = 0) -> tuple[str, ...]:
    """Role of each of several files: the outputs, or one of :data:`calib.data.options.FILES`.

    Each role is given once; later files that seem to have it too are left aside, since nothing says what they are.

    Parameters
    ----------
    n_read : so many of the first files are open already: they are left aside where a new one holds outputs.
    """
    roles = [_role_of(name) for name in names]
    if 0 < n_read < len(names) and SOURCE in roles[n_read:]:
        return (*[NOTHING] * n_read, *roles_of_files(names[n_read:]))
    if SOURCE not in roles:  # the only outputs are those of the test set
        roles = [{"test": SOURCE, "test_labels": "labels"}.get(role, role) for role in roles]
    return tuple(role if role not in roles[:j] else NOTHING for j, role in enumerate(roles))


def holds_features(name: str) -> bool:
    """Return whether a file's name is that of features."""
    base = canonical(PurePath(name).stem).base
    return base in FEATURES or base.endswith(("features", "embeddings"))


def _role_of(name: str) -> str:
    """Role in a name, without a number at its end: ``val_y2.npy`` holds the labels "y" of the calibration part."""
    stem = PurePath(name).stem
    part, base = canonical(stem)
    if part == "train" or holds_features(name):
        return NOTHING
    base = base.rstrip(digits) or base
    words = {*tokens(stem)}
    if base in LABELS or (words & {*LABELS} and not words & {*OUTPUTS}):
        return "test_labels" if part == "test" else "labels"
    return "test" if part == "test" else SOURCE
