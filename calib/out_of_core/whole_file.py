"""Files that appear under their names when they are complete, and not at all otherwise."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from calib.errors import CalibrationError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, beside its place until all is written; removed where that fails.

    What kills the process without a chance to clean up leaves ``.NAME.XXXX.part``, never a part of ``path``.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_space(path: Path, nbytes: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    free = shutil.disk_usage(path.parent).free
    if nbytes > free:
        raise CalibrationError(
            f"{path.name} will take {nbytes / 1e6:,.0f} MB, but {free / 1e6:,.0f} MB are free where it is written; "
            "give --out on a larger disk."
        )
