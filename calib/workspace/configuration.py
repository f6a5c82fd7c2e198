"""Where the workspace lies and how much it may hold, as the server is configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from calib.settings import environment

FOLDER, GIGABYTES, DAYS = "CALIB_WORKSPACE", "CALIB_WORKSPACE_GB", "CALIB_WORKSPACE_DAYS"
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
    env = environment() if variables is None else variables
    folder = env.get(FOLDER, "").strip()
    if folder.lower() == OFF:
        return None
    if not folder:
        folder = str(Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib")
    return Configuration(
        Path(folder).expanduser().resolve(), int(_positive(env, GIGABYTES, 10.0) * 1e9), _positive(env, DAYS, 30.0)
    )


def _positive(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError(f"{name}={text!r} must be a positive number; unset it for {default:g}.")
    return value
