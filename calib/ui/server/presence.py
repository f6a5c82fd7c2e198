"""Who is connected, and how often a part of a page may refresh itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from streamlit.runtime.scriptrunner import get_script_run_ctx

REFRESH_SHARE = 0.1
"""Seconds between two refreshes of a part of a page, for each open page: each costs 10 ms, so that those of all
visitors together leave the processor to pages, however many they are."""

_connected: set[object] = set()


@contextmanager
def connection() -> Iterator[None]:
    """Count an open page for as long as the block runs."""
    mark = object()
    _connected.add(mark)
    try:
        yield
    finally:
        _connected.remove(mark)


def refresh_interval(seconds: float) -> float:
    """Seconds between refreshes of a part of a page, given those for a visitor who is alone."""
    return max(seconds, REFRESH_SHARE * len(_connected))


def session_id() -> str:
    """Streamlit's name of the visitor whose page runs; empty where none does."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id
