"""Persistence across restarts: data, fits and studies on disk by content, and the links that reopen a session."""

from calib.workspace.files import Damaged, Items, Unreadable
from calib.workspace.keeper import Configuration, Keeper, Standing, content_of, keep_fit, keeper
from calib.workspace.links import (
    Content,
    Entry,
    KeptDecision,
    KeptSpec,
    KeptStudy,
    NotDeleted,
    counted,
    entry_id,
    new_token,
)

__all__ = [
    "Configuration",
    "Content",
    "Damaged",
    "Entry",
    "Items",
    "Keeper",
    "KeptDecision",
    "KeptSpec",
    "KeptStudy",
    "NotDeleted",
    "Standing",
    "Unreadable",
    "content_of",
    "counted",
    "entry_id",
    "keep_fit",
    "keeper",
    "new_token",
]
