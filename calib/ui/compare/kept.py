"""Results kept by name beside those of other outputs: epochs, seeds or models."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from calib.evaluation import SCORES
from calib.evaluation.studies import Entry, entry_of, natural_order, together
from calib.formatting import plural
from calib.plots.compare import entry_lines
from calib.plots.style import Style, method_style
from calib.ui import widgets
from calib.ui.compare.answer import comparison_table
from calib.ui.fits import ShownFit
from calib.ui.link import page_link
from calib.ui.session import OpenSession, current_session
from calib.ui.text import literal
from calib.ui.widgets import segments, several

ENTRIES = "calib_entries"
"""Kept results by name, in Streamlit's session state: the visitor's session is replaced when other data are opened."""
MOST_ENTRIES = 30
DRAWN = ("NLL", "ECE", "accuracy")
FIRST = 4
"""So many methods are drawn to begin with, the raw model among them."""


def entries() -> dict[str, Entry]:
    """The kept results by name, in the order kept."""
    return st.session_state.setdefault(ENTRIES, {})


def other_outputs(session: OpenSession, fits: list[ShownFit]) -> None:
    """Keep the present results, and see all kept ones together."""
    _keep_form(session, fits)
    kept = entries()
    if len(kept) < 2:
        st.caption(
            "Keep these results under a name, then open the outputs of another epoch or of another model, fit and keep "
            "them too: scores of all kept results are drawn here side by side. Only scores are kept, no outputs."
        )
        if kept:
            page_link("app.py", "Open other outputs", ":material/upload_file:")
    if kept:
        _view(kept)
        _list(kept)


def _keep_form(session: OpenSession, fits: list[ShownFit]) -> None:
    kept = entries()
    same = next((entry.name for entry in kept.values() if entry.key == session.split_key), None)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Name of these results", value=same or session.data.name, max_chars=40,
            key=f"compare/entry/{session.split_key[:8]}",
        ).strip()  # fmt: skip
        full = len(kept) >= MOST_ENTRIES and name not in kept
        st.button(
            "Update" if name in kept else "Keep these results",
            key="compare/keep", icon=":material/bookmark_add:", disabled=not name or full, on_click=_keep,
            args=(name, fits),
        )  # fmt: skip
    if full:
        st.caption(f"{MOST_ENTRIES} results are kept, which is the most; remove one to keep these.")
    elif name in kept and kept[name].key != session.split_key:
        st.caption(f'"{literal(name)}" is kept already, from other rows; keeping these takes its place.')


def _keep(name: str, fits: list[ShownFit]) -> None:
    session, methods = current_session(), {fit.title: fit.method for fit in fits}
    entries()[name] = entry_of(name, session.split_key, len(session.test), comparison_table(fits), methods)


def _remove(name: str) -> None:
    entries().pop(name, None)


def _view(kept: dict[str, Entry]) -> None:
    order = "by name"
    if len(kept) > 1:
        order = segments("Order", ["by name", "as kept"], "by name", "compare/entry-order")
    names = natural_order(kept) if order == "by name" else list(kept)
    table = together(kept.values(), names)
    styles = _styles(table)
    chosen = several({title: title for title in styles}, "compare/entry-methods", most=FIRST)
    drawn = table[table["title"].isin(chosen or list(styles)[:1])]
    columns = st.columns(len(DRAWN), gap="medium")
    for place, score in enumerate(DRAWN):
        with columns[place]:
            meaning = SCORES[score].seen(current_session().view).meaning
            fig = entry_lines(drawn, score, styles)
            widgets.show(
                fig, f"entries-{score}",
                f"{meaning} One line per method through the kept results, with 95\u00a0% intervals "
                "over the test rows of each. Test rows may differ from one to the next, so neighbours are not paired.",
            )  # fmt: skip
    widgets.csv("All kept scores as CSV", "entries/csv", "kept.csv", lambda: table, of=(table,))


def _styles(table: pd.DataFrame) -> dict[str, Style]:
    """A style for each title: the method's, varied where a method is there in several ways."""
    titles = table.drop_duplicates("title")
    variant = titles.groupby("method").cumcount()
    return {
        str(title): method_style(str(method), int(number))
        for title, method, number in zip(titles["title"], titles["method"], variant, strict=True)
    }


def _list(kept: dict[str, Entry]) -> None:
    for name, entry in kept.items():
        left, right = st.columns([6, 1.4], vertical_alignment="center")
        n_methods = entry.scores["title"].nunique()
        left.markdown(f"**{literal(name)}** · {plural(entry.n_rows, 'test row')} · {plural(n_methods, 'method')}")
        right.button("Remove", key=f"compare/remove/{name}", on_click=partial(_remove, name))
