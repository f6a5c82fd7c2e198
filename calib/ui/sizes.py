"""How much memory things take, as far as it comes to arrays and texts."""

from __future__ import annotations

from typing import Any

import numpy as np

_DEEPEST = 8
_NOTHING = (int, float, complex, bool, type(None), type)


def nbytes(*things: Any) -> int:
    """Bytes of the arrays and texts in these things and whatever they consist of, each counted once.

    What is mapped from disk takes none, and of a view counts what it keeps alive.
    """
    found: dict[int, int] = {}
    seen: set[int] = set()
    todo = [(thing, 0) for thing in things]
    while todo:
        thing, depth = todo.pop()
        if isinstance(thing, np.ndarray):
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
            if not isinstance(thing, np.memmap):
                found[id(thing)] = thing.nbytes
        elif isinstance(thing, (str, bytes, bytearray)):
            found[id(thing)] = len(thing)
        elif id(thing) not in seen and depth < _DEEPEST:
            seen.add(id(thing))
            if hasattr(thing, "memory_usage") and hasattr(thing, "to_numpy"):  # a column or a table of pandas
                found[id(thing)] = int(np.sum(thing.memory_usage(deep=True)))
            else:
                todo.extend((part, depth + 1) for part in _parts(thing) if not isinstance(part, _NOTHING))
    return sum(found.values())


def _parts(thing: Any) -> Any:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, (list, tuple, set, frozenset)):
        return thing
    return () if callable(thing) else getattr(thing, "__dict__", {}).values()
