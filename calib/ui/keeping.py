"""Notices about keeping: where the data are, what could not be written or deleted, and how to keep nothing."""

from __future__ import annotations

import streamlit as st

from calib.formatting import escape_markdown
from calib.store.index import describe_error, server_store
from calib.ui import fits, link
from calib.ui.link import ARRIVED, PRIVATE, find_link, private, remember
from calib.ui.session import find_session
from calib.ui.text import add_notice

SWITCH = "link/private"


def delete() -> None:
    """Delete all that this visitor opened and fitted, on disk and in memory, unless others have the same data open."""
    if not _dropped():
        return
    if (session := find_session()) is not None:
        fits.stop(session)
    for each in link.links().values():
        fits.queue().forget(each.entry.visitor)
    for key in list(st.session_state):
        # Uploaders keep what they show; without their marks they would be read again at once.
        if not str(key).startswith("upload/") and key not in (PRIVATE, ARRIVED):
            del st.session_state[key]
    add_notice("Your data, fits and studies were deleted.")


def _dropped() -> bool:
    """Remove what was written; whether nothing of it is left."""
    try:
        link.delete_links()
        return True
    except OSError as error:
        add_notice(
            f"Not deleted: your data are still on the server's disk, because {describe_error(error)}. They stay open, "
            "and your link still leads to them. Try again later."
        )
        return False


def where_data_are_kept() -> None:
    """A folded part at the foot of the Data page."""
    store = server_store()
    with st.expander("Where your data are kept", icon=":material/folder_managed:"):
        if store is None:
            st.write(
                "In this server's memory, while this page is open; nothing is kept on disk. After a reload, upload "
                "your files again."
            )
            return
        st.write(
            "On this server's disk, and deleted when unused for "
            f"{store.max_days:g} days, or sooner when its room is needed. The address of this page is "
            "your link to them: it brings them back after a refresh or a restart, here or in another browser. Whoever "
            "has the link sees what you see; nobody finds it otherwise."
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.toggle(
                "Private mode: keep nothing on disk",
                value=private(),
                key=SWITCH,
                on_change=_switched,
                help="Removes what was kept. Closing or refreshing the page then loses the data, fits and studies.",
            )
            if find_session() is not None:
                with st.popover("Delete my data", icon=":material/delete:"):
                    st.write(
                        "The open data, their fits and studies, and what was open before in this tab. This cannot be "
                        "undone."
                    )
                    st.button("Delete now", key="link/delete", type="primary", on_click=delete)
        remember()
        if private():
            st.caption(
                ":material/visibility_off: Private: nothing is kept, and the address leads to nothing."
            )
        elif (current := find_link()) is not None:
            not_saved = ":material/cloud_off: Not saved: see above."
            st.caption(not_saved if current.trouble else ":material/cloud_done: Saved.")


def _switched() -> None:
    """Write nothing from now on and remove what was written; or write again."""
    wanted = bool(st.session_state[SWITCH])
    if not wanted or _dropped():
        st.session_state[PRIVATE] = wanted
    st.session_state[SWITCH] = private()


def trouble() -> None:
    """At the top of every page, what could not be kept, until it is; nothing where all was done."""
    if (current := find_link()) is None or not current.trouble:
        return
    st.warning(
        f"Not kept on disk, because {escape_markdown(current.trouble)}. Export what you need before you close this "
        "page.",
        icon=":material/cloud_off:",
    )
