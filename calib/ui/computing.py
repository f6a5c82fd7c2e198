"""Turns at the processor: few pages compute at once, so that each is done sooner and the quick ones are not held up.

Python runs one thread at a time. Were the pages of thirty visitors all computed at once, each would take as long as all
together, and pages that have nothing to compute would share with them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = min(4, max(2, os.cpu_count() or 2))
"""More than one, because NumPy lets other threads run."""
PATIENCE = 10.0
"""Seconds after which nobody waits any longer for what others compute."""

_turns = threading.BoundedSemaphore(AT_ONCE)
_here = threading.local()


@contextmanager
def my_turn() -> Iterator[None]:
    """Compute when it is this thread's turn; what is computed within is part of it."""
    if getattr(_here, "computing", False) or not _turns.acquire(timeout=PATIENCE):
        yield
        return
    _here.computing = True
    try:
        yield
    finally:
        _here.computing = False
        _turns.release()
