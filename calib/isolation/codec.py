"""What goes to a reader and what comes back: a request is pickled by this program, an answer is checked by it.

An answer is a record (:mod:`calib.records`), read as the type that the receiver expects; nothing in it chooses a class
or a function.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from typing import IO, Any, BinaryIO

from calib.records import write


class RequestWriter(pickle.Pickler):
    """Pickles what a reader is asked; in place of a named file goes the number of a descriptor.

    Parameters
    ----------
    to : where the pickle goes.
    number : called with the name of a file and the file.
    """

    def __init__(self, to: IO[bytes], number: Callable[[str, BinaryIO], int]):
        super().__init__(to)
        self._number = number

    def persistent_id(self, value: Any) -> tuple[str, int] | None:
        """The name and the number of a file, which is a pair of a name and an open file; None for all else."""
        if type(value) is tuple and len(value) == 2 and hasattr(value[1], "read"):
            return value[0], self._number(*value)
        return None


class RequestReader(pickle.Unpickler):
    """Undoes :class:`RequestWriter`, in the reader and before it opens any file."""

    def __init__(self, asked: IO[bytes], descriptors: Sequence[int]):
        super().__init__(asked)
        self._descriptors = descriptors

    def persistent_load(self, held: tuple[str, int]) -> tuple[str, BinaryIO]:
        """The name and the file."""
        name, number = held
        return name, os.fdopen(self._descriptors[number], "rb")


def write_answer(fd: int, value: Any) -> None:
    """Write a value to an empty file; what :func:`calib.records.flatten` takes, with arrays of numbers and text."""
    with os.fdopen(fd, "wb", closefd=False) as file:
        write(file, value)
