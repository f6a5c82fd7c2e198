"""Opening data in the place of others: what that stops is said, and data that were open before get their fits back."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from calib.formatting import listed
from calib.ui import fits
from calib.ui.notices import tell
from calib.ui.restore import bring_back_fits, bring_back_studies, counted, take_in
from calib.ui.session import SESSION, Session, session
from calib.ui.standing import entry_of, keys_of
from calib.workspace import Entry, keeper

EARLIER = "calib_earlier"


def remember(entries: Iterable[Entry]) -> None:
    """Keep in mind what was open before in this tab."""
    known: dict[str, Entry] = st.session_state.setdefault(EARLIER, {})
    known.update({_content(entry): entry for entry in entries})


def open_data(opened: Session) -> None:
    """Replace what the visitor has open.

    The same data opened once more go on as they are. Fits and studies on others are stopped; those that were finished
    come back with these data.
    """
    before = session()
    if before.data is not None and opened.data is not None and before.data.sha256 == opened.data.sha256:
        _go_on(before, opened)
        return
    fits.stop("other data were opened")
    if before.data is not None:
        jobs = fits.queue().snapshot(keys_of(before), owner=before.visitor)
        remember([entry_of(before, {job.key: job for job in jobs})])
    st.session_state[SESSION] = opened
    _bring_back(opened)


def _go_on(before: Session, opened: Session) -> None:
    opened.visitor = before.visitor
    _split(opened, before.part, before.seed)
    opened.specs_of_splits = before.specs_of_splits
    opened.specs = opened.specs_of_splits.setdefault(opened.split_key, {})
    if opened.split_key == before.split_key:
        opened.studies = before.studies
    st.session_state[SESSION] = opened


def _bring_back(opened: Session) -> None:
    assert opened.data is not None
    entry = st.session_state.get(EARLIER, {}).get(opened.sample or opened.data.sha256)
    if entry is None or not (entry.specs or entry.studies):
        return
    _split(opened, entry.part, entry.seed)
    take_in(opened, entry)
    bring_back_fits(keeper(), entry, opened)
    bring_back_studies(keeper(), entry, opened)
    if back := counted(opened):
        tell(f"These data were open before: {listed([*back, 'their split'])} are back.")


def _split(opened: Session, part: float | None, seed: int) -> None:
    assert opened.data is not None
    if part is not None or opened.data.given_split is not None:
        opened.split(part, seed)


def _content(entry: Entry) -> str:
    return entry.sample or entry.data
