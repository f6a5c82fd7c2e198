"""The one place where a server is configured: environment variables, and a file of them beside the app."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

FILE = "calib.toml"


def environment() -> Mapping[str, str]:
    """The environment, with what the configuration file sets and the environment does not.

    The file is ``calib.toml`` in the current folder, or the one that ``CALIB_CONFIG`` names; it need not exist. Its
    entry ``scheduler`` stands for ``CALIB_SCHEDULER``, and so on.

    Raises
    ------
    ValueError
        If the file is there and cannot be read; the text is one sentence.
    """
    path = Path(os.environ.get("CALIB_CONFIG") or FILE)
    if not path.is_file():
        return os.environ
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # errors of TOML and of UTF-8 are ValueErrors
        why = str(error).splitlines()[0]
        raise ValueError(f"{path.name} cannot be read: {why}. Correct or remove it.") from error
    return {**{f"CALIB_{name.upper()}": str(value) for name, value in entries.items()}, **os.environ}
