"""Keep what TensorFlow's libraries print while they are loaded out of a terminal."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# TensorFlow's own switch works from the end of its import on: until then its libraries log to the terminal.
CHATTER = re.compile(rb"^(WARNING: All log messages before absl::InitializeLog|[IWE]\d{4} [\d:.]+ +\d+ )")
"""Lines in the form of TensorFlow's log, and the line that announces them."""


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
