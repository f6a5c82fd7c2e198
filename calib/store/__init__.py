"""What survives a restart: data, fits and studies on disk by content, and the links that reopen a session."""

from calib.store.arrays import Damaged, in_words
from calib.store.contents import Decided, Entry, Study, link_name, new_link, plain_findings
from calib.store.index import Content
from calib.store.saving import DELETED, Configuration, Keeper, NotDeleted, Standing, counted, keep_fit, keeper

__all__ = [
    "DELETED",
    "Configuration",
    "Content",
    "Damaged",
    "Decided",
    "Entry",
    "Keeper",
    "NotDeleted",
    "Standing",
    "Study",
    "counted",
    "in_words",
    "keep_fit",
    "keeper",
    "link_name",
    "new_link",
    "plain_findings",
]
