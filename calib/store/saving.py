"""The store of a server: where its settings say, and tidied while it runs."""

from __future__ import annotations

import logging
import os
import threading
import time
from functools import cache
from pathlib import Path

from calib.errors import reason
from calib.isolation.logs import trace
from calib.settings import limit, text
from calib.store.index import Deleted, Store

DELETED = "it was deleted in another window"
"""Why something is not stored, where it is not the disk."""
SWEEP_SECONDS = 3600.0
"""Between two looks at what is to be deleted, beside the one before a data set is stored."""


@cache
def server_store() -> Store | None:
    """The store of this process, as its settings say; None where it is ``off``."""
    folder = text("CALIB_WORKSPACE")
    if folder.lower() == "off":
        return None
    folder = folder or str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calib")
    most = int(limit("CALIB_WORKSPACE_GB") * 1e9)
    store = Store(Path(folder).expanduser().resolve(), most, limit("CALIB_WORKSPACE_DAYS"))
    threading.Thread(target=_sweep_often, args=(store,), name="calib-sweep", daemon=True).start()
    return store


def in_words(error: BaseException) -> str:
    """Why something is not stored, as part of a sentence and without any path."""
    if isinstance(error, Deleted):
        return DELETED
    why = reason(error) or type(error).__name__
    return f"the server's disk failed ({why})" if isinstance(error, OSError) else why


def _sweep_often(store: Store) -> None:
    while True:
        try:
            if store.root.exists():
                store.sweep()
        except OSError as error:
            logging.getLogger("calib.store").error("the store could not be tidied\n%s", trace(error))
        time.sleep(SWEEP_SECONDS)
