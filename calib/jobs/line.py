"""The line of what waits, as people see it: how long it may be, and what comes before one's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from calib.errors import CalibrationError
from calib.settings import limit

Owners = Collection[str]


class LineFull(CalibrationError):
    """Nothing more may wait; the text says how much does, and what to do."""


@dataclass(frozen=True)
class Room:
    """How many tasks may wait.

    Attributes
    ----------
    for_one : for one owner.
    in_all : for all together.
    """

    for_one: int = 60
    in_all: int = 500

    @classmethod
    def configured(cls) -> Room:
        """As the server's settings say."""
        return cls(int(limit("CALIB_WAITING")), int(limit("CALIB_WAITING_IN_ALL")))

    def check(self, waiting: Iterable[Owners], owner: str) -> None:
        """See that one more may wait for an owner, given the owners of each task that waits.

        Raises
        ------
        LineFull
            If not.
        """
        waiting = list(waiting)
        own = sum(owner in owners for owners in waiting)
        if own >= self.for_one:
            raise LineFull(
                f"{own} fits and studies of yours are waiting, and a visitor may have {self.for_one}. "
                "Cancel some, or start the rest when these are done."
            )
        if len(waiting) >= self.in_all:
            raise LineFull(
                f"{len(waiting)} fits and studies of all visitors are waiting, and this server takes {self.in_all}. "
                "Try again in some minutes."
            )


def place_in_line(before: Iterable[Owners], owner: str, kind: tuple[str, str]) -> str:
    """Say what really comes before a task that waits.

    Parameters
    ----------
    before : owners of each task that would start before it.
    owner : who is told; what is theirs, too, is not that of others.
    kind : what such a task is called, one and many.
    """
    before = list(before)
    own = sum(owner in owners for owners in before)
    others = len(before) - own
    if not before:
        return "Waiting: next to start."
    counts = [f"{own} of your own" if own else "", f"{others} of others" if others else ""]
    first, *rest = [count for count in counts if count]
    number, _, whose = first.partition(" ")
    noun = f"{kind[int(number) != 1]} {whose}"
    words = " and ".join([f"{number} {noun}", *rest])
    return f"Waiting: {words} {'comes' if len(before) == 1 else 'come'} first."
