"""Where fits run, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where fits run at one moment.

    Attributes
    ----------
    cluster : such as "cluster of 2 workers"; empty on this machine.
    trouble : one sentence on why they do not run where they were meant to; empty where they do.
    connecting : whether all this is still to be found out.
    """

    cluster: str = ""
    trouble: str = ""
    connecting: bool = False


HERE = Place()
