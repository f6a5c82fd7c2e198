"""Logs without anybody's data: what failed and where, never messages in which names and values could stand."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
OURS = "calib"


def trace(error: BaseException) -> str:
    """The traceback of an error and of those that led to it, with their types and without their messages."""
    parts = []
    for link in reversed(list(_chain(error))):
        lines = ["Traceback (most recent call last):\n", *traceback.format_tb(link.__traceback__)]
        parts.append("".join(lines) + type(link).__qualname__)
    return "\n\nwhich led to\n\n".join(parts)


def without_data() -> None:
    """From now on, let this process log no message of an exception or a warning, and no value given to a library's log.

    Our own loggers are given nothing that belongs to anybody; of others the text stays that stands in their code.
    Calling it again changes nothing; hooks that somebody else has set stay.
    """
    if logging.getLogRecordFactory() is logging.LogRecord:
        logging.setLogRecordFactory(_record)
    if not logging.getLogger(OURS).hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(FORMAT))
        logging.getLogger(OURS).addHandler(handler)
    warnings.showwarning = _warn
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _uncaught
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _uncaught_in_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraisable


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = logging.LogRecord(*args, **kwargs)
    if record.exc_info and isinstance(record.exc_info[1], BaseException):
        record.exc_text = trace(record.exc_info[1])  # what a formatter takes in place of its own
    record.exc_info = None
    if record.name.partition(".")[0] != OURS:
        written = (str(record.msg).splitlines() or [""])[0]
        record.msg = f"{written} ({record.name}, line {record.lineno})"
        record.args = ()
    return record


def _warn(
    message: Any,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: Any = None,
) -> None:
    logging.getLogger(OURS).warning("%s:%d: %s", filename, lineno, category.__name__)


def _uncaught(kind: Any, error: BaseException, where: Any) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)
    else:
        logging.getLogger(OURS).critical("ended by what nobody caught\n%s", trace(error))


def _uncaught_in_thread(details: Any) -> None:
    if details.exc_type is not SystemExit and details.exc_value is not None:
        _log_error("a thread was ended by what nobody caught", details.exc_value)


def _unraisable(details: Any) -> None:
    if details.exc_value is not None:
        _log_error("an error that could not be raised", details.exc_value)


def _log_error(event: str, error: BaseException) -> None:
    logging.getLogger(OURS).error("%s\n%s", event, trace(error))
