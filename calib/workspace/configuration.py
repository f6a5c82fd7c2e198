"""Where the workspace lies and how much it may hold, as the server is configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from calib import settings

OFF = "off"


@dataclass(frozen=True)
class Configuration:
    """Folder and caps of a workspace.

    Attributes
    ----------
    root : the folder; made on first use, readable by its owner alone.
    max_bytes : most bytes on disk; what was unused for longest goes first.
    max_days : days after the last use at which anything goes.
    """

    root: Path
    max_bytes: int = 10 * 10**9
    max_days: float = 30.0


def configured(variables: Mapping[str, str] | None = None) -> Configuration | None:
    """The workspace that the configuration asks for, or these variables; None where it is ``off``.

    Raises
    ------
    ValueError
        If a cap is not a positive number, or the configuration file cannot be read.
    """
    variables = settings.environment() if variables is None else variables
    folder = settings.text("CALIB_WORKSPACE", variables)
    if folder.lower() == OFF:
        return None
    if not folder:
        folder = str(Path(variables.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib")
    gigabytes = settings.number("CALIB_WORKSPACE_GB", variables)
    days = settings.number("CALIB_WORKSPACE_DAYS", variables)
    return Configuration(Path(folder).expanduser().resolve(), int(gigabytes * 1e9), days)
