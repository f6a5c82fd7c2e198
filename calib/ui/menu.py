"""The menu: which pages there are, in which order, and what each needs of the open data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from calib.evaluation.view import TOP_LABEL
from calib.formatting import listed, plural
from calib.registry import is_top_k, missing_arrays
from calib.ui.link import page_link
from calib.ui.session import OpenSession

SAID_OF = {
    "logits": "the outputs of all classes",
    "features": "features",
    "train_features": "the training set",
    "train_labels": "the training set",
}
"""What an array that is missing is called."""


def said_of_missing(arrays: list[str]) -> str:
    """Arrays that are missing, in words."""
    return listed(list(dict.fromkeys(SAID_OF[name] for name in arrays)))


def training_features(session: OpenSession) -> list[str]:
    """What is missing of the features and the training set that distances are measured in."""
    return missing_arrays("geometric", session.data)


def features(session: OpenSession) -> list[str]:
    """The features, where the data hold none."""
    return [] if session.data.features is not None else ["features"]


def all_classes(session: OpenSession) -> list[str]:
    """The outputs of all classes, where the data hold the largest of very many."""
    return ["logits"] if is_top_k(session.data) else []


def nothing_more(session: OpenSession) -> list[str]:
    """Outputs and labels are enough."""
    return []


@dataclass(frozen=True)
class Entry:
    """One page in the menu.

    Attributes
    ----------
    path : of its file, from the folder of ``app.py``.
    title : in the menu and above the page.
    icon : before the title in the menu.
    missing : the arrays that the page needs and the open data do not hold; the menu leaves such a page out.
    """

    path: str
    title: str
    icon: str
    missing: Callable[[OpenSession], list[str]] = nothing_more

    def title_for(self, session: OpenSession | None) -> str:
        """The title in the words of the view."""
        return session.view.menu if session is not None and self.title == TOP_LABEL.menu else self.title


MENU = {
    "Start": [
        Entry("app.py", "Data", ":material/upload_file:"),
        Entry("pages/1_Fit.py", "Fit", ":material/model_training:"),
    ],
    "Results": [
        Entry("pages/2_Compare.py", "Compare", ":material/leaderboard:"),
        Entry("pages/3_Reliability.py", "Reliability", ":material/show_chart:"),
        Entry("pages/6_Over_underconfidence.py", "Over- and underconfidence", ":material/balance:", all_classes),
    ],
    "Act": [
        Entry("pages/4_Decide.py", "Decide", ":material/rule:", all_classes),
        Entry("pages/5_Export.py", "Export", ":material/download:"),
        Entry("pages/11_Monitoring.py", "Monitoring", ":material/update:", all_classes),
    ],
    "Methods": [
        Entry("pages/7_Calibration_maps.py", "Calibration maps", ":material/stairs:", all_classes),
        Entry("pages/8_Latent_GP.py", "Latent GP", ":material/airwave:", all_classes),
        Entry("pages/9_IMax_binning.py", "I-Max binning", ":material/view_column:", all_classes),
        Entry("pages/10_Geometry.py", "Geometry", ":material/hub:", training_features),
    ],
    "Lab": [
        Entry("pages/12_Active_learning.py", "Active learning", ":material/school:", features),
    ],
}
"""Thirteen pages. A new one is one line here and one file in ``pages``."""
LAST_OF_JOURNEY = "Export"
"""The pages up to this one are the journey, in order; the others are looked up."""


def entries() -> list[Entry]:
    """All pages, in the order of the menu."""
    return [entry for section in MENU.values() for entry in section]


def draw_menu(session: OpenSession | None) -> None:
    """The pages that the open data allow, by section, and behind one line those that they do not, with the reason."""
    left_out: list[str] = []
    for section, pages in MENU.items():
        with st.container(gap="xsmall", key=f"menu/{section}"):
            missing = [[] if session is None else entry.missing(session) for entry in pages]
            if not all(missing):
                st.caption(section)
            for entry, lacks in zip(pages, missing, strict=True):
                if lacks:
                    left_out.append(f"- **{entry.title_for(session)}** needs {said_of_missing(lacks)}.")
                else:
                    page_link(entry.path, entry.title_for(session), entry.icon, width="stretch")
    if left_out:
        with st.popover(f"{plural(len(left_out), 'page')} left out", type="tertiary", icon=":material/block:"):
            st.markdown("These data do not hold what some pages need.\n" + "\n".join(left_out))


def needs_all_classes(title: str, session: OpenSession) -> bool:
    """Whether a page by its title needs the outputs of all classes, which the open data do not hold."""
    return any("logits" in entry.missing(session) for entry in entries() if entry.title == title)


def onward(title: str, session: OpenSession | None) -> None:
    """At a page's foot, the next one of the journey that the data allow: on a phone the menu is folded away."""
    pages = entries()
    titles = [entry.title for entry in pages]
    place, last = titles.index(title), titles.index(LAST_OF_JOURNEY)
    if session is None or place == 0:  # Data has its own buttons that lead on
        return
    following = next((entry for entry in pages[place + 1 : last + 1] if not entry.missing(session)), None)
    if following is not None:
        st.divider()
        page_link(following.path, f"Next: {following.title_for(session)}", ":material/arrow_forward:")
