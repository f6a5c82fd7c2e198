"""One hash of what a data set says, the key of every cache and fit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np


def fingerprint(fields: Mapping[str, Any]) -> str:
    """Hash of names, types, shapes and bytes; arrays are read in place.

    Parameters
    ----------
    fields : arrays, numbers, strings and tuples of strings, by name; None counts as absent.
    """
    digest = hashlib.sha256()
    for name in sorted(fields):
        value = fields[name]
        if value is None:
            continue
        if isinstance(value, np.ndarray):
            digest.update(f"{name}:{value.dtype.str}:{value.shape}:".encode())
            # Text has no buffer of plain bytes, so every type is seen as bytes.
            digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        else:
            digest.update(f"{name}={value!r};".encode())
    return digest.hexdigest()
