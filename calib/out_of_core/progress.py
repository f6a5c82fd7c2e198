"""How far work on stored rows has come."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""``progress(what, rows done, rows in all)``; it may raise to cancel."""


def no_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""
