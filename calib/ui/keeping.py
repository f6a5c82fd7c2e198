"""What pages say about keeping: where the data are, what could not be written or deleted, and how to keep nothing."""

from __future__ import annotations

import streamlit as st

from calib.formatting import escape_markdown, listed
from calib.store import DELETED, NotDeleted, Standing, counted
from calib.ui import fits, link, restore
from calib.ui.link import ARRIVED, LINK, PARAMETER, PRIVATE, find_link, private, remember
from calib.ui.server.presence import refresh_interval
from calib.ui.session import find_session
from calib.ui.text import add_notice

SWITCH = "link/private"


def be_private(wanted: bool) -> None:
    """Write nothing from now on and remove what was written; or write again."""
    st.session_state[PRIVATE] = wanted
    if wanted:
        _drop()


def delete() -> None:
    """Delete all that this visitor opened and fitted, on disk and in memory, unless others have the same data open.

    What cannot be deleted from the disk stays open under its link, to be deleted again.
    """
    if not _drop():
        return
    if (session := find_session()) is not None:
        fits.forget_all(session)
    restore.forget_earlier()
    for key in list(st.session_state):
        # Uploaders keep what they show; without their marks they would be read again at once.
        if not str(key).startswith("upload/") and key not in (PRIVATE, ARRIVED):
            del st.session_state[key]
    add_notice("Your data, fits and studies were deleted.")


def _drop() -> bool:
    """Remove what was written; whether nothing of it is left."""
    store, current = link.keeper(), find_link()
    if store is not None and current is not None:
        try:
            store.forget(current.name, current.earlier)
        except NotDeleted as error:
            current.undeleted = str(error)
            return False
    st.session_state.pop(LINK, None)
    if PARAMETER in st.query_params:
        del st.query_params[PARAMETER]
    return True


def where_data_are_kept() -> None:
    """A folded part at the foot of the Data page."""
    store = link.keeper()
    with st.expander("Where your data are kept", icon=":material/folder_managed:"):
        if store is None:
            st.write("In this server's memory, while this page is open. Nothing is kept on disk.")
            return
        st.write(
            "On this server's disk, and deleted when unused for "
            f"{store.configuration.max_days:g} days, or sooner when its room is needed. The address of this page is "
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
        st.fragment(_state, run_every=refresh_interval(1.0) if _standing().missing else None)()


def _switched() -> None:
    be_private(bool(st.session_state[SWITCH]))


def _standing() -> Standing:
    """How far what is open is kept; what is missing is handed over anew, lest it was dropped while nobody looked."""
    store, current = link.keeper(), find_link()
    if store is None or current is None:
        return Standing()
    standing = store.standing(current.name)
    if standing.missing:
        remember()
    return standing


def _state() -> None:
    current, standing = find_link(), _standing()
    if current is None:
        if private():
            st.caption(":material/visibility_off: Private: nothing is kept, and the address leads to nothing.")
    elif current.undeleted or standing.reasons:
        st.caption(":material/cloud_off: See above: not all was done.")
    elif standing.missing:
        st.caption(":material/cloud_sync: Saving…")
    else:
        st.caption(":material/cloud_done: Saved.")


def trouble() -> None:
    """At the top of every page, what could not be kept or deleted, until it is; nothing where all was done."""
    current, standing = find_link(), _standing()
    if current is not None:
        unsettled = bool(current.undeleted or standing.missing or standing.reasons)
        st.fragment(_trouble, run_every=refresh_interval(2.0) if unsettled else None)()


def _trouble() -> None:
    current, standing = find_link(), _standing()
    if current is None:
        return
    if current.undeleted:
        left = escape_markdown(current.undeleted)
        st.warning(
            f"Not deleted. {left} Your link still leads to it, and nothing more is written.",
            icon=":material/delete:",
        )
        st.button("Delete again", key="link/delete/again", on_click=_delete_again)
    elif standing.reasons:
        what, why = counted(standing.missing) or "what is open", escape_markdown(listed(standing.reasons))
        for_good = DELETED in standing.reasons
        st.warning(
            f"Not kept on disk: {what}, because {why}. {'' if for_good else 'Saving is tried again by itself. '}"
            "Export what you need before you close this page.",
            icon=":material/cloud_off:",
        )
        if not for_good:
            st.button("Save again now", key="link/save/again", on_click=_save_again)


def _delete_again() -> None:
    if private():
        be_private(True)
    else:
        delete()


def _save_again() -> None:
    store = link.keeper()
    if store is not None:
        store.try_again()
        remember()
