"""What outlives the server: data, fits and studies on disk by content, and the links that lead to them."""

from calib.workspace.configuration import Configuration, configured
from calib.workspace.entry import Entry, KeptSpec, KeptStudy
from calib.workspace.folders import Damaged, Items
from calib.workspace.keeper import Keeper, keep_fit, keeper
from calib.workspace.token import entry_id, new_token

__all__ = [
    "Configuration",
    "Damaged",
    "Entry",
    "Items",
    "Keeper",
    "KeptSpec",
    "KeptStudy",
    "configured",
    "entry_id",
    "keep_fit",
    "keeper",
    "new_token",
]
