"""Where the visitor's data are kept, in words, with the switch that keeps nothing and the button that deletes all."""

from __future__ import annotations

import streamlit as st

from calib.ui import link
from calib.ui.session import session
from calib.workspace import keeper

SWITCH = "link/private"


def where_data_are_kept() -> None:
    """A folded part at the foot of the Data page."""
    made = keeper()
    with st.expander("Where your data are kept", icon=":material/folder_managed:"):
        if made is None:
            st.write("In this server's memory, while this page is open. Nothing is kept on disk.")
            return
        st.write(
            "On this server's disk, and deleted when unused for "
            f"{made.configuration.max_days:g} days, or sooner when its room is needed. The address of this page is "
            "your link to them: it brings them back after a refresh or a restart, here or in another browser. Whoever "
            "has the link sees what you see; nobody finds it otherwise."
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.toggle(
                "Private mode: keep nothing on disk",
                value=link.private(),
                key=SWITCH,
                on_change=_switched,
                help="Removes what was kept. Closing or refreshing the page then loses the data, fits and studies.",
            )
            if session().data is not None:
                with st.popover("Delete my data", icon=":material/delete:"):
                    st.write(
                        "The open data, their fits and studies, and what was open before in this tab. This cannot be "
                        "undone."
                    )
                    st.button("Delete now", key="link/delete", type="primary", on_click=link.delete)
        st.fragment(_state, run_every=1.0 if _saving() else None)()


def _switched() -> None:
    link.be_private(bool(st.session_state[SWITCH]))


def _saving() -> bool:
    now: link.Link | None = st.session_state.get(link.LINK)
    return now is not None and any(work is not None and not work.done() for work in (now.writing, now.saving))


def _state() -> None:
    now: link.Link | None = st.session_state.get(link.LINK)
    if link.private():
        st.caption(":material/visibility_off: Private: nothing is kept, and the address leads to nothing.")
    elif now is not None:
        failed = [
            error
            for work in (now.writing, now.saving)
            if work is not None and work.done() and (error := work.exception()) is not None
        ]
        if failed:
            st.warning(f"Not kept on disk: {failed[0]}. Export what you need before you close this page.")
        elif _saving():
            st.caption(":material/cloud_sync: Saving…")
        else:
            st.caption(":material/cloud_done: Saved.")
