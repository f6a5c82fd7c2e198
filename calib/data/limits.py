"""How large an upload may be; every reader asks here before it allocates."""

from __future__ import annotations

from math import prod

from calib.data.findings.report import Rejected

MAX_UPLOAD = 2**30
"""Bytes of a file as it lies on disk (1 GiB)."""

MAX_BYTES = 2**29
"""Bytes of all arrays read from an upload together (512 MiB).

50,000 x 1000 float64 logits take 400 MB. Reading needs up to one copy more, which keeps the process near 1 GB.
"""

MAX_TEXT = 225_000_000
"""Characters of a text table once unpacked, and bytes of its cells as numbers (225 MB).

Arrow holds the text, the cells and the columns at the same time while it finds out their types.
"""

MAX_CLASSES = 100_000
"""Columns of the outputs; a class costs a name and a counter, whatever the array costs."""

MAX_ROWS = 10_000_000
"""Rows of the outputs; a row costs a label and several masks, however narrow it is."""

MAX_ARRAYS = 10_000
"""Arrays or columns in one file (1000 classes of a table are 1000 columns); each costs a line in the list."""


class Allowance:
    """Bytes that may still be read from one upload and the files that belong to it."""

    def __init__(self, size: int | None = None):
        self.size = MAX_BYTES if size is None else size
        self.left = self.size

    def take(self, nbytes: int, what: str) -> None:
        """Book ``nbytes`` for ``what``.

        Raises
        ------
        Rejected
            If they are not left; nothing has been allocated then.
        """
        if nbytes > self.left:
            spent = "" if self.left == self.size else f", of which {megabytes(self.size - self.left)} are taken"
            raise Rejected(
                "too_large",
                f"{what} would take {megabytes(nbytes)} of memory; at most {megabytes(self.size)} are allowed{spent}.",
                "Save float32 and only the arrays that are needed, or fewer rows: 20,000 are plenty to calibrate.",
            )
        self.left -= nbytes


def nbytes_of(shape: tuple[int, ...], itemsize: int, what: str) -> int:
    """Bytes of an array as a file declares it; Python integers, so that no product overflows.

    An item size of zero would let a header ask for any number of rows for nothing.
    """
    if itemsize <= 0 or any(n < 0 for n in shape):
        raise Rejected("dtype", f"{what} declares items of {itemsize} bytes and the shape {shape}.", RESAVE)
    return prod(shape) * itemsize


def check_upload(size: int, name: str) -> None:
    """Refuse a file that is larger than :data:`MAX_UPLOAD`."""
    if size > MAX_UPLOAD:
        raise Rejected(
            "too_large",
            f"{name} has {megabytes(size)}; at most {megabytes(MAX_UPLOAD)} are read.",
            "Save float32 instead of float64, or fewer rows: 20,000 are plenty to calibrate.",
        )


def check_count(n: int, what: str, name: str) -> None:
    """Refuse a file with more arrays or columns than :data:`MAX_ARRAYS`."""
    if n > MAX_ARRAYS:
        raise Rejected("too_large", f"{name} holds {n:,} {what}; at most {MAX_ARRAYS:,} are read.", RESAVE)


RESAVE = "Save the outputs and labels again with numpy.savez(file, logits=..., labels=...)."


def megabytes(nbytes: int) -> str:
    """A size for people."""
    if nbytes < 10_000_000:
        return f"{nbytes:,} bytes"
    if nbytes < 10_000_000_000:
        return f"{nbytes / 1e6:,.0f} MB"
    return f"{nbytes / 1e9:,.0f} GB"
