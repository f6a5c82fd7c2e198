"""Long work that is stopped from outside ends in a sentence, and cleans up first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from calib.errors import CalibrationError


@contextmanager
def stopped_in_words(consequence: str) -> Iterator[None]:
    """Let Ctrl-C, and the signal with which systems end a process, run through the work's own cleaning up.

    Raises
    ------
    CalibrationError
        Then, with what it means.
    """
    on_main_thread = threading.current_thread() is threading.main_thread()  # no other may set signals
    before = signal.signal(signal.SIGTERM, _interrupt) if on_main_thread else None
    try:
        yield
    except KeyboardInterrupt:
        raise CalibrationError(f"Stopped before the end: {consequence}.") from None
    finally:
        if on_main_thread:
            signal.signal(signal.SIGTERM, before)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
