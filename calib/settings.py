"""The one place where a server is configured: what can be set in the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def studio() -> Path:
    """The folder of the app with its pages, samples and Streamlit's configuration: in the wheel, or the checkout."""
    package = Path(__file__).resolve().parent
    return inside if (inside := package / "studio").is_dir() else package.parent


@dataclass(frozen=True)
class Setting:
    """Something that whoever runs the app can choose.

    Attributes
    ----------
    name : of its environment variable.
    meaning : in a few words, for the documentation; it names the unit of a number.
    default : what holds where nothing is set: text or a number.
    otherwise : the default in words, where the value itself would not tell.
    whole : whether a number counts things.
    """

    name: str
    meaning: str
    default: str | float
    otherwise: str = ""
    whole: bool = False

    @property
    def default_text(self) -> str:
        """The default for people."""
        return self.otherwise or (
            self.default if isinstance(self.default, str) else f"{self.default:,}"
        )


DECLARED = (
    Setting(
        "CALIB_WORKSPACE",
        "folder for data, fits and studies, readable by its owner alone; `off` keeps nothing",
        "",
        "`calib` below `XDG_CACHE_HOME`, or `~/.cache/calib`",
    ),
    Setting("CALIB_WORKSPACE_GB", "GB that it holds; what was unused for longest goes first", 10),
    Setting(
        "CALIB_WORKSPACE_DAYS",
        "days without use after which anything in it goes, while a server runs",
        30,
    ),
    Setting(
        "CALIB_SESSION_GB",
        "GB of memory and temporary files for one visitor's data, fits and figures",
        2,
    ),
    Setting(
        "CALIB_UPLOADS_GB",
        "GB of memory for the uploaded files of all visitors on their way to their pages; one visitor's may take half, "
        "and no more than `CALIB_SESSION_GB`, and as much as that again in the temporary folder",
        8,
    ),
    Setting(
        "CALIB_TRUST_NETWORK",
        "`yes` lets other machines ask for `localhost`, as a container's own must, and upload where readers have no "
        "filter",
        "",
        "no",
    ),
    Setting(
        "CALIB_WAITING",
        "fits and studies of one visitor that may wait for a worker",
        60,
        whole=True,
    ),
    Setting(
        "CALIB_SCHEDULER",
        "address of a Dask scheduler on whose workers fits run",
        "",
        "worker processes here",
    ),
    Setting(
        "CALIB_UPLOAD_MB",
        "size of one uploaded file in MB of 2^20 bytes, as Streamlit counts; no more than its "
        "`STREAMLIT_SERVER_MAX_UPLOAD_SIZE`",
        1024,
    ),
    Setting(
        "CALIB_DATA_MB",
        "MB of each array read from an upload; reading needs as much again for a moment",
        500,
    ),
    Setting(
        "CALIB_TEXT_MB",
        "MB of a text table, unpacked; reading takes several times as much for a moment",
        225,
    ),
    Setting(
        "CALIB_READERS",
        "uploads that are read at once, each in a process of its own",
        2,
        whole=True,
    ),
    Setting("CALIB_ROWS", "rows of one upload", 10_000_000, whole=True),
    Setting("CALIB_CLASSES", "classes of one upload", 100_000, whole=True),
    Setting("CALIB_ARRAYS", "arrays or columns in one file", 10_000, whole=True),
)
SETTINGS = {setting.name: setting for setting in DECLARED}


def text(name: str) -> str:
    """Text of a declared setting in the environment, without spaces around it, or the default."""
    declared = SETTINGS[name]
    stripped = os.environ.get(name, "").strip()
    return stripped or (declared.default if isinstance(declared.default, str) else "")


def number(name: str) -> float:
    """The positive number that is set, or the default.

    Raises
    ------
    ValueError
        If something else is set; the text is one sentence.
    """
    declared = SETTINGS[name]
    entered = text(name)
    if not entered:
        return float(declared.default)
    try:
        value = float(entered)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf") or (declared.whole and value != int(value)):
        kind = "whole number above 0" if declared.whole else "positive number"
        raise ValueError(
            f"{name}={entered!r} must be a {kind}; unset it for {declared.default_text}."
        )
    return value


def limit(name: str) -> float:
    """A number that is needed while modules load; where something wrong is set, the default: :func:`check` says so."""
    try:
        return number(name)
    except ValueError:
        return float(SETTINGS[name].default)


def check() -> None:
    """Raise ValueError with one sentence if anything that is set is wrong; called where the app or a command starts."""
    for declared in DECLARED:
        if not isinstance(declared.default, str):
            number(declared.name)
    if (trust := text("CALIB_TRUST_NETWORK")) not in ("", "yes", "no"):
        raise ValueError(f"CALIB_TRUST_NETWORK={trust!r} must be yes or no.")
    largest = number("CALIB_UPLOAD_MB") * 2**20 / 1e9
    room = min(number("CALIB_SESSION_GB"), number("CALIB_UPLOADS_GB") / 2)
    if largest > room:
        raise ValueError(
            f"CALIB_UPLOAD_MB allows a file of {largest:.3g} GB, and one visitor's may take {room:.3g} GB "
            "(CALIB_SESSION_GB, or half of CALIB_UPLOADS_GB); lower the first or raise these."
        )
