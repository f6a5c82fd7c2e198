"""Memory and temporary files of one visitor: their limit, and how much they take."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from calib.data import DataError, Finding
from calib.data.findings import megabytes
from calib.settings import limit

MOST_OF_ONE = int(limit("CALIB_SESSION_GB") * 1e9)
"""Bytes that one visitor may hold."""
_DEEPEST = 8
"""Objects inside each other that are looked into; lists and dictionaries among them may lie any number deep."""
_CONTAINERS = (dict, list, tuple, set, frozenset)
_NUMBERS = (int, float, complex, type(None))


def admit(*things: Any) -> None:
    """Refuse what would make one visitor hold too much; called before anything large is kept for a visitor.

    Parameters
    ----------
    *things : all that the visitor would hold: the session with its data, split, fits, figures and files, and the rows
        and results of the Monitoring page while that is open.

    Raises
    ------
    DataError
        If it is more than ``CALIB_SESSION_GB``.
    """
    size = nbytes(*things)
    if size > MOST_OF_ONE:
        raise DataError(
            [
                Finding(
                    "error",
                    "session_full",
                    (
                        f"These data need {megabytes(size)} of memory and temporary files; the limit of one visitor "
                        f"is {megabytes(MOST_OF_ONE)}."
                    ),
                    "Upload fewer rows: 20,000 are plenty to calibrate.",
                )
            ]
        )


def nbytes(*things: Any) -> int:
    """Bytes of the arrays, texts, numbers, lists and dictionaries that these things consist of, each counted once.

    What is mapped from disk takes its room there, and of a view counts what it keeps alive.
    """
    sizes: dict[int, int] = {}
    todo = [(thing, 0) for thing in things]
    while todo:
        thing, depth = todo.pop()
        while isinstance(thing, np.ndarray) and isinstance(thing.base, np.ndarray):
            thing = thing.base
        if id(thing) in sizes or depth > _DEEPEST or callable(thing):
            continue
        if isinstance(thing, np.ndarray):
            sizes[id(thing)] = thing.nbytes
        elif hasattr(thing, "memory_usage") and hasattr(
            thing, "to_numpy"
        ):  # a column or a table of pandas
            sizes[id(thing)] = int(np.sum(thing.memory_usage(deep=True)))
        elif isinstance(thing, _CONTAINERS):
            # As they are at this moment: other threads add to what their visitors hold meanwhile.
            parts = [*thing, *thing.values()] if isinstance(thing, dict) else list(thing)
            numbers = [part for part in parts if isinstance(part, _NUMBERS)]
            sizes[id(thing)] = sys.getsizeof(thing) + sum(map(sys.getsizeof, numbers))
            todo.extend((part, depth) for part in parts if not isinstance(part, _NUMBERS))
        elif isinstance(thing, (str, bytes, bytearray)):
            sizes[id(thing)] = len(thing)
        else:
            sizes[id(thing)] = 0
            todo.extend((part, depth + 1) for part in list(getattr(thing, "__dict__", {}).values()))
    return sum(sizes.values())
