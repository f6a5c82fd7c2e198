"""Persistence across restarts: data, fits and studies on disk by content, and the links that reopen a session."""

from calib.workspace.folders import Damaged, Items
from calib.workspace.keeper import Configuration, Keeper, keep_fit, keeper
from calib.workspace.links import Entry, KeptSpec, KeptStudy, entry_id, new_token

__all__ = [
    "Configuration",
    "Damaged",
    "Entry",
    "Items",
    "Keeper",
    "KeptSpec",
    "KeptStudy",
    "entry_id",
    "keep_fit",
    "keeper",
    "new_token",
]
