"""The menu: which pages there are, in which order, and what each needs of the open data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from calib.evaluation.view import TOP_LABEL
from calib.formatting import listed, plural
from calib.ui.link import page_link
from calib.ui.session import OpenSession

ARRAY_NAMES = {
    "features": "features",
    "groups": "a column of groups",
    "train_features": "the training set",
    "train_labels": "the training set",
}
"""Names of missing arrays."""
FEATURES = ("features",)
TRAINING = ("features", "train_features", "train_labels")


def describe_missing(arrays: Iterable[str]) -> str:
    """Arrays that are missing, in words."""
    return listed(list(dict.fromkeys(ARRAY_NAMES[name] for name in arrays)))


@dataclass(frozen=True)
class Entry:
    """One page in the menu.

    Attributes
    ----------
    path : of its file, from the folder of ``app.py``.
    title : in the menu and above the page.
    icon : before the title in the menu.
    needs : arrays of the open data.
    """

    path: str
    title: str
    icon: str
    needs: tuple[str, ...] = ()

    def title_for(self, session: OpenSession | None) -> str:
        """The title in the words of the view."""
        if session is not None and self.title == TOP_LABEL.wording.over_under_title:
            return session.view.wording.over_under_title
        return self.title

    def missing(self, session: OpenSession | None) -> str:
        """Data that the page needs and the open data lack, in words; "" where nothing is missing, or open."""
        if session is None:
            return ""
        data = session.data
        there = {name for name in ARRAY_NAMES if getattr(data, name) is not None}
        return describe_missing(name for name in self.needs if name not in there)


MENU = {
    "Start": [
        Entry("app.py", "Data", ":material/upload_file:"),
        Entry("pages/1_Fit.py", "Fit", ":material/model_training:"),
    ],
    "Results": [
        Entry("pages/2_Compare.py", "Compare", ":material/leaderboard:"),
        Entry("pages/3_Reliability.py", "Reliability", ":material/show_chart:"),
        Entry("pages/13_Groups.py", "Groups", ":material/groups:"),
        Entry("pages/6_Over_underconfidence.py", "Over- and underconfidence", ":material/balance:"),
    ],
    "Act": [
        Entry("pages/4_Decide.py", "Decide", ":material/rule:"),
        Entry("pages/5_Export.py", "Export", ":material/download:"),
        Entry("pages/11_Monitoring.py", "Monitoring", ":material/update:"),
    ],
    "Methods": [
        Entry("pages/7_Calibration_maps.py", "Calibration maps", ":material/stairs:"),
        Entry("pages/8_Latent_GP.py", "Latent GP", ":material/airwave:"),
        Entry("pages/9_IMax_binning.py", "I-Max binning", ":material/view_column:"),
        Entry("pages/10_Geometry.py", "Geometry", ":material/hub:", TRAINING),
    ],
    "Lab": [
        Entry("pages/12_Active_learning.py", "Active learning", ":material/school:", FEATURES),
    ],
}
"""Fourteen pages. A new one is one line here and one file in ``pages``."""


def entries() -> list[Entry]:
    """Entries of every page, in the order of the menu."""
    return [entry for section in MENU.values() for entry in section]


def entry_of(title: str) -> Entry:
    """The page with this title."""
    return next(entry for entry in entries() if entry.title == title)


def draw_menu(session: OpenSession | None) -> None:
    """The pages that the open data allow, by section, and behind one line those that they do not, with the reason."""
    unavailable: list[str] = []
    for section, pages in MENU.items():
        with st.container(gap="xsmall", key=f"menu/{section}"):
            if not all(entry.missing(session) for entry in pages):
                st.caption(section)
            for entry in pages:
                if missing := entry.missing(session):
                    unavailable.append(f"- **{entry.title_for(session)}** needs {missing}.")
                else:
                    closed = session is None and entry.path != "app.py"
                    title = entry.title_for(session)
                    page_link(entry.path, title, entry.icon, width="stretch", disabled=closed)
    if unavailable:
        with st.popover(
            f"{plural(len(unavailable), 'page')} left out", type="tertiary", icon=":material/block:"
        ):
            st.markdown("These data do not hold what some pages need.\n" + "\n".join(unavailable))
