"""Logs without anybody's data: what failed and where, never messages in which names and values could stand.

What TensorFlow's libraries print while they are loaded is kept out of the terminal.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
OURS = "calib"


# TensorFlow's own switch works from the end of its import on: until then its libraries log to the terminal.
CHATTER = re.compile(rb"^(WARNING: All log messages before absl::InitializeLog|[IWE]\d{4} [\d:.]+ +\d+ )")
"""Lines in the form of TensorFlow's log, and the line that announces them."""


def trace(error: BaseException) -> str:
    """The traceback of an error and of those that led to it, with their types and without their messages."""
    parts = []
    for each in reversed(list(_chain(error))):
        lines = ["Traceback (most recent call last):\n", *traceback.format_tb(each.__traceback__)]
        parts.append("".join(lines) + type(each).__qualname__)
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
        record.msg, record.args = f"{written} ({record.name}, line {record.lineno})", ()
    return record


def _warn(
    message: Any, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    logging.getLogger(OURS).warning("%s:%d: %s", filename, lineno, category.__name__)


def _uncaught(kind: Any, error: BaseException, where: Any) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)
    else:
        logging.getLogger(OURS).critical("ended by what nobody caught\n%s", trace(error))


def _uncaught_in_thread(found: Any) -> None:
    if found.exc_type is not SystemExit and found.exc_value is not None:
        logging.getLogger(OURS).error("a thread was ended by what nobody caught\n%s", trace(found.exc_value))


def _unraisable(found: Any) -> None:
    if found.exc_value is not None:
        logging.getLogger(OURS).error("an error that could not be raised\n%s", trace(found.exc_value))


def quiet_start(module: str = "tensorflow") -> None:
    """Let a module load without its log lines, when it is first imported; everything else is still written."""
    if module not in sys.modules:
        sys.meta_path.insert(0, _Finder(module))


@contextmanager
def without_chatter() -> Iterator[None]:
    """Hold back what is written to file descriptor 2, from C too, and then write all but the chatter."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with tempfile.TemporaryFile() as held:
            os.dup2(held.fileno(), 2)
            try:
                yield
            finally:
                sys.stderr.flush()
                os.dup2(kept, 2)
                held.seek(0)
                for line in held:
                    if not CHATTER.match(line):
                        os.write(2, line)
    finally:
        os.close(kept)


class _Finder(MetaPathFinder):
    """Finds one module in the usual places, once."""

    def __init__(self, module: str):
        self._module = module

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Another loader that runs its module without chatter."""

    def __init__(self, loader: Loader):
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # what else the loader offers, such as resources and sources

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with without_chatter():
            self._loader.exec_module(module)
