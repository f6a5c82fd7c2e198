"""How much memory each visitor and all together take, so that one upload too many is refused and nobody is ended."""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from calib.data import DataError, Finding
from calib.data.limits import megabytes
from calib.settings import limit
from calib.ui.session import MOST_OF_ONE, Session
from calib.ui.sizes import nbytes

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
        If it would take more memory than one visitor may, or all together more than the server allows.
    """
    most = int(limit("CALIB_MEMORY_GB") * 1e9)
    asked = held(opened)
    if asked > MOST_OF_ONE:
        raise _refused(
            f"These data with their split need {megabytes(asked)} of memory, and one visitor may take "
            f"{megabytes(MOST_OF_ONE)} of this server's.",
            "Upload fewer rows: 20,000 are plenty to calibrate.",
        )
    with _lock:
        others = sum(held(other) for other in _open.values() if other is not leaving and other is not opened)
        if others and others + asked > most:
            raise _refused(
                f"These data need {megabytes(asked)}, and other visitors' data take {megabytes(others)} of the "
                f"{megabytes(most)} that this server sets aside.",
                "Try again in some minutes, or with fewer rows.",
            )
        _open[id(opened)] = opened


def held(of: Session) -> int:
    """Bytes of a session's data, verdicts and figures; those mapped from disk take none."""
    return nbytes(of.data, of.calibration, of.test, of.raw, of.evaluated, of.built) + sum(of.kept_bytes.values())


def release(left: Session) -> None:
    """Take all from a session that is over: Streamlit may hold the last one that it served for long."""
    with _lock:
        _open.pop(id(left), None)
    vars(left).update(vars(Session(visitor=left.visitor)))


def open_sessions() -> list[Session]:
    """All sessions that hold data now."""
    with _lock:
        return list(_open.values())


def _refused(message: str, action: str) -> DataError:
    return DataError([Finding("error", "server_full", message, action)])
