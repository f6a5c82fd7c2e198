"""Large arrays leave the process when they are freed, and the collector finds what it was told not to look at."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref

import pytest

from calib.ui.server import memory
from tests.conftest import ROOT, wait_until

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from calib.ui.server import memory

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

if sys.argv[1] == "prepared":
    memory.prepare_allocator()
np.ones(3_900_000)  # 31 MB, freed at once: from now on only what is larger would be mapped by itself
before = megabytes()
large, small = [], []
for _ in range(40):
    large.append(np.ones(500_000))
    small.append(np.ones(2_000))
del large
after = megabytes()
memory.collect(nobody_there=False)
print(after - before, megabytes() - before)
"""


def held(how: str) -> list[float]:
    command = [sys.executable, "-c", SCRIPT, how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    return [float(part) for part in done.stdout.split()]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library")
def test_freed_arrays_go_back() -> None:
    at_once, returned = held("prepared")
    assert at_once < 10
    assert returned < 10
    holes, returned = held("as it is")
    assert holes > 100, "else there is nothing to prepare for"
    assert returned < 10


class Circle:
    """Refers to itself, so that only the collector finds it."""

    def __init__(self) -> None:
        self.itself = self


def test_what_was_left_out_of_the_collectors_sight_is_found_when_nothing_refers_to_it() -> None:
    try:
        kept = Circle()
        seen = weakref.ref(kept)
        memory.collect(nobody_there=True)
        assert gc.get_freeze_count() > 0
        assert seen() is kept
        del kept
        gc.collect()
        assert seen() is not None

        def found() -> bool:
            memory.collect(nobody_there=False)  # does nothing while another thread collects
            return seen() is None

        wait_until(found)
        assert gc.get_freeze_count() == 0
    finally:
        gc.unfreeze()
