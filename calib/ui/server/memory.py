"""What one visitor may hold in memory, and how much that is."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from calib.data import DataError, Finding
from calib.data.limits import megabytes
from calib.settings import limit

MOST_OF_ONE = int(limit("CALIB_SESSION_GB") * 1e9)
"""Bytes that one visitor may hold."""
_DEEPEST = 8
"""Objects inside each other that are looked into; lists and dictionaries among them may lie any number deep."""
_CONTAINERS = (dict, list, tuple, set, frozenset)
_NUMBERS = (int, float, complex)
_NOTHING = (bool, type(None), type)


def admit(*held: Any) -> None:
    """Refuse what would make one visitor hold too much; called before anything large is kept for a visitor.

    Parameters
    ----------
    *held : all that the visitor would hold: the session with its data, split, fits, figures and files, and the rows and
        results of the Monitoring page while that is open.

    Raises
    ------
    DataError
        If it is more than ``CALIB_SESSION_GB``.
    """
    asked = nbytes(*held)
    if asked > MOST_OF_ONE:
        raise DataError([Finding("error", "session_full", (
            f"With these data you would hold {megabytes(asked)} of memory, and one visitor may hold "
            f"{megabytes(MOST_OF_ONE)} of this server's."
        ), "Upload fewer rows: 20,000 are plenty to calibrate.")])  # fmt: skip


def nbytes(*things: Any) -> int:
    """Bytes of the arrays, texts, numbers, lists and dictionaries that these things consist of, each counted once.

    What is mapped from disk takes none, and of a view counts what it keeps alive.
    """
    sizes: dict[int, int] = {}
    seen: set[int] = set()
    todo = [(thing, 0) for thing in things]
    while todo:
        thing, depth = todo.pop()
        if isinstance(thing, np.ndarray):
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
            if not isinstance(thing, np.memmap):
                sizes[id(thing)] = thing.nbytes
        elif isinstance(thing, (str, bytes, bytearray)):
            sizes[id(thing)] = len(thing)
        elif id(thing) not in seen and depth < _DEEPEST:
            seen.add(id(thing))
            if hasattr(thing, "memory_usage") and hasattr(thing, "to_numpy"):  # a column or a table of pandas
                sizes[id(thing)] = int(np.sum(thing.memory_usage(deep=True)))
                continue
            parts = _parts(thing)
            inside = isinstance(thing, _CONTAINERS)
            if inside:
                numbers = sum(sys.getsizeof(part) for part in parts if isinstance(part, _NUMBERS))
                sizes[id(thing)] = sys.getsizeof(thing) + numbers
            deeper = depth if inside else depth + 1
            todo.extend((part, deeper) for part in parts if not isinstance(part, (*_NUMBERS, *_NOTHING)))
    return sum(sizes.values())


def _parts(thing: Any) -> list[Any]:
    """What a thing consists of at this moment: other threads add to what their visitors hold meanwhile."""
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, _CONTAINERS):
        return list(thing)
    return [] if callable(thing) else list(getattr(thing, "__dict__", {}).values())
