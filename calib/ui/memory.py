"""How much memory all open sessions take together, so that one upload too many is refused and not everybody ended."""

from __future__ import annotations

import os
import threading
from weakref import WeakValueDictionary

import numpy as np

from calib.data import DataError, Finding, Predictions
from calib.settings import environment
from calib.ui.session import Session

GIGABYTES = "CALIB_MEMORY_GB"

_open: WeakValueDictionary[int, Session] = WeakValueDictionary()
_lock = threading.Lock()


def admit(opened: Session, leaving: Session | None = None) -> None:
    """Count a session among the open ones; it is forgotten by itself when its visitor is gone.

    Parameters
    ----------
    opened : with its data and split.
    leaving : the visitor's session so far, whose place it takes.

    Raises
    ------
    DataError
        If all together would take more memory than the server allows.
    """
    most = _most_bytes()
    with _lock:
        others = sum(_nbytes(other) for other in _open.values() if other is not leaving and other is not opened)
        asked = _nbytes(opened)
        if others and others + asked > most:
            message = (
                f"These data need {asked / 1e6:,.0f} MB, and other visitors' data take {others / 1e6:,.0f} MB of the "
                f"{most / 1e6:,.0f} MB that this server sets aside."
            )
            raise DataError(
                [Finding("error", "server_full", message, "Try again in some minutes, or with fewer rows.")]
            )
        _open[id(opened)] = opened


def _most_bytes() -> float:
    """What the configuration allows, or half of the machine's memory."""
    try:
        if text := environment().get(GIGABYTES, "").strip():
            return float(text) * 1e9
    except ValueError:
        pass  # said where the configuration is read first; the default is safe
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    except (AttributeError, ValueError, OSError):  # Windows
        return 4e9


def _nbytes(of: Session) -> int:
    """Bytes of a session's arrays, each counted once; those mapped from disk take none."""
    parts: list[Predictions] = [part for part in (of.data, of.calibration, of.test) if part is not None]
    arrays = {id(a): a for part in parts for a in vars(part).values() if isinstance(a, np.ndarray)}
    return sum(array.nbytes for array in arrays.values() if not isinstance(array.base, np.memmap))
