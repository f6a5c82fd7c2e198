"""Limits on the size of an upload, as configured."""

from __future__ import annotations

from calib.data.findings import InvalidUpload
from calib.settings import limit

MAX_UPLOAD = int(limit("CALIB_UPLOAD_MB") * 2**20)
"""Bytes of a file as it lies on disk (1 GiB)."""

MAX_BYTES = int(limit("CALIB_DATA_MB") * 1e6)
"""Bytes of one array of an upload (500 MB).

50,000 x 1000 float64 logits take 400 MB. Reading needs up to one copy more, which keeps the process near 1 GB.
"""

MAX_TEXT = int(limit("CALIB_TEXT_MB") * 1e6)
"""Characters of a text table once unpacked, and bytes of its cells as numbers (225 MB).

Arrow holds the text, the cells and the columns at the same time while it finds out their types.
"""

MAX_CLASSES = int(limit("CALIB_CLASSES"))
"""Columns of the outputs (100,000); a class costs a name and a counter, whatever the array costs."""

MAX_ROWS = int(limit("CALIB_ROWS"))
"""Rows of the outputs (10 million); a row costs a label and several masks, however narrow it is."""

MAX_ARRAYS = int(limit("CALIB_ARRAYS"))
"""Arrays or columns in one file (10,000; 1000 classes of a table are 1000 columns); each costs a line in the list."""


RESAVE = "Save the outputs and labels again with numpy.savez(file, logits=..., labels=...)."


def check_count(n: int, name: str) -> None:
    """Refuse a file with more arrays or columns than :data:`MAX_ARRAYS`."""
    if n > MAX_ARRAYS:
        reason = f"{name} holds {n:,} arrays or columns; at most {MAX_ARRAYS:,} are read."
        raise InvalidUpload("too_large", reason, RESAVE)


def megabytes(nbytes: int) -> str:
    """A size for people."""
    if nbytes < 10_000_000:
        return f"{nbytes:,} bytes"
    if nbytes < 10_000_000_000:
        return f"{nbytes / 1e6:,.0f} MB"
    return f"{nbytes / 1e9:,.0f} GB"
