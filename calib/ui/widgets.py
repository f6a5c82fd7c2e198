"""Widgets of all pages: choices that stay, downloads, figures and tables.

A choice stays while fits come and go. Streamlit can build a file when its button is clicked, but forgets it two runs
of any visitor later, also while the browser still fetches it: so a small file is built with the page, and a large one
by a worker (:mod:`calib.ui.progress`). Every figure has a text alternative, a line on how to read it, its picture and
its data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from html import escape
from typing import Any, Literal, TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from pandas.io.formats.style import Styler

from calib.formatting import safe_table
from calib.plots import alt_text, figure_data
from calib.plots.axes import Scale
from calib.plots.style import Style, text_color
from calib.ui.fits import ShownFit
from calib.ui.ready import waiting_line
from calib.ui.session import current_session, find_session, find_visitor, keep

T = TypeVar("T")
N = TypeVar("N", int, float)
SCALES: tuple[Scale, ...] = ("linear", "logit")
HALF = 495
"""Pixels: two figures and the menu fill a window of 1500."""
PARAMETERS = {
    "random_state": "Seed",
    "share_classes": "One map for all classes",
    "normalize": "Rows sum to one",
    "n_inducing": "Number of inducing points",
    "n_draws": "Number of draws",
    "max_iter": "Most iterations",
    "n_bins": "Number of bins",
    "n_maps": "Number of maps",
}
"""Labels of parameters whose names are abbreviated; others are their names."""
LONG_NAME, WIDEST_NAME = 18, 220
"""Characters of a name in a table's first column that its width is set by, and the most pixels of it."""


def choose(
    fits: list[ShownFit],
    key: str,
    label: str = "Methods",
    *,
    most: int | None = None,
    aside: Collection[str] = (),
) -> list[ShownFit]:
    """Let the visitor pick which fits a page shows, at least one; see :func:`several`."""
    if len(fits) == 1:
        return fits
    chosen = several({fit.key: fit.title for fit in fits}, key, label, most=most, aside=aside)
    if not chosen:
        st.caption(f"Nothing is chosen, so {fits[0].title} is shown.")
    return [fit for fit in fits if fit.key in chosen] or fits[:1]


def several(
    options: Mapping[str, str],
    key: str,
    label: str = "Methods",
    *,
    most: int | None = None,
    aside: Collection[str] = (),
) -> list[str]:
    """Let the visitor pick some of the options, which may be others in every run.

    Options stay as the visitor left them, also where they were gone for a while.

    Parameters
    ----------
    options : their titles.
    key : of the widget, unique in the app.
    most : so many are picked until the visitor does, the first ones; all by default.
    aside : those that are offered, but not picked until the visitor does.
    """
    picked: dict[str, bool] = current_session().picked.setdefault(key, {})
    begin = [option for option in options if option not in picked and option not in aside][:most]
    put(key, [option for option in options if picked.get(option, option in begin)])

    def remember() -> None:
        picked.update({option: option in st.session_state[key] for option in options})

    chosen = st.pills(
        label,
        list(options),
        selection_mode="multi",
        format_func=options.__getitem__,
        key=key,
        on_change=remember,
        persist_state="session",
        wrap=True,
    )
    return [option for option in options if option in chosen]


def choose_option(
    options: Mapping[str, str],
    key: str,
    label: str,
    begin: str,
    *,
    style: Literal["segments", "list"] = "segments",
    shared: str = "",
) -> str:
    """Let the visitor pick one of the options; until they do, and where what they picked is gone, it is ``begin``.

    Parameters
    ----------
    key : of the widget, unique in the app: Streamlit empties one whose key was on another page.
    shared : name of a choice that widgets of several pages show.
    """
    picked = current_session().picked
    name = shared or key
    put(key, picked[name] if picked.get(name) in options else begin)

    def remember() -> None:
        picked[name] = st.session_state[key]

    same: dict[str, Any] = {
        "format_func": options.__getitem__,
        "key": key,
        "on_change": remember,
        "persist_state": "session",
    }
    if style == "list":
        return str(st.selectbox(label, list(options), **same))
    return str(st.segmented_control(label, list(options), required=True, wrap=True, **same))


def choose_fit(
    fits: Sequence[ShownFit], key: str, label: str, begin: ShownFit, **looks: Any
) -> ShownFit:
    """Let the visitor pick one of the fits; see :func:`choose_option`."""
    chosen = choose_option({fit.key: fit.title for fit in fits}, key, label, begin.key, **looks)
    return next(fit for fit in fits if fit.key == chosen)


def segments(
    label: str,
    options: Sequence[T] | Mapping[T, str],
    begin: T,
    key: str,
    format_func: Any = str,
    **looks: Any,
) -> T:
    """Let the visitor pick one of a few options, which stays picked on other pages; a mapping has their titles."""
    titles = options.__getitem__ if isinstance(options, Mapping) else format_func
    chosen = st.segmented_control(
        label,
        list(options),
        default=begin,
        required=True,
        format_func=titles,
        key=key,
        persist_state="session",
        **looks,
    )
    return begin if chosen is None else chosen


def folded(label: str, key: str, draw: Callable[[], object]) -> None:
    """Offer a further question, which is computed and drawn only while it is opened.

    It stays open on other pages while data are. Choices that the page needs while it is closed belong elsewhere.

    Parameters
    ----------
    label : the question; a number in it must not change while the visitor reads, or it closes.
    key : unique in the app.
    draw : draws what is inside.
    """
    session = find_session()
    picked = {} if session is None else session.picked
    if key not in st.session_state and key in picked:
        st.session_state[key] = picked[key]

    def remember() -> None:
        picked[key] = st.session_state[key]

    part = st.expander(label, key=key, on_change=remember)
    if part.open:
        with part, st.spinner("Computing…"), waiting_line():
            draw()


def choose_class(
    label: str, every: str, titles: Sequence[str], key: str, begin: int | None = None, **looks: Any
) -> int | None:
    """Let the visitor pick a class; None stands for ``every``, which is offered unless it is empty."""
    options = [*([None] if every else []), *range(len(titles))]
    chosen: int | None = st.selectbox(
        label,
        options,
        options.index(begin),
        format_func=lambda k: every if k is None else titles[k],
        key=key,
        persist_state="session",
        **looks,
    )
    return chosen


def whole_number(label: str, low: int, high: int, begin: int, key: str, **looks: Any) -> int:
    """Let the visitor give a number, which stays on other pages."""
    return int(st.number_input(label, low, high, begin, key=key, persist_state="session", **looks))


def declared(
    name: str, default: Any, meta: Mapping[str, Any], key: str, title: Callable[[Any], str] = str
) -> Any:
    """Let the visitor set a parameter that is declared by :func:`calib.parameters.param`.

    Parameters
    ----------
    title : of each of its choices, if it has any.
    """
    label = PARAMETERS.get(name, name.replace("_", " ").capitalize())
    low = meta.get("low")
    high = meta.get("high")
    looks: dict[str, Any] = {"key": key, "help": meta.get("help"), "persist_state": "session"}
    if meta.get("choices") is not None:
        options = list(meta["choices"])
        return st.selectbox(label, options, options.index(default), format_func=title, **looks)
    if isinstance(default, bool):
        return st.toggle(label, value=default, **looks)
    kind = float if isinstance(default, float) else int
    looks |= {"format": "%.4g"} if kind is float else {"format": "%d", "step": 1}
    looks |= {
        "min_value": None if low is None else kind(low),
        "max_value": None if high is None else kind(high),
    }
    return st.number_input(label, value=default, placeholder="no end", **looks)


def scale_of_probabilities(begin: Scale, key: str) -> Scale:
    """Let the visitor pick the scale of axes of probabilities."""
    return segments("Scale of probabilities", SCALES, begin, key, str.capitalize)


def put(key: str, value: Any) -> None:
    """Put a value into a widget that is about to be drawn.

    Not where it is there already: what is put in overrides a click that is on its way.
    """
    there = st.session_state.get(key)
    if (
        (sorted(there) != sorted(value)) if isinstance(there, list) else (there != value)
    ):  # widgets list in any order
        st.session_state[key] = value


def drawn_with(key: str, value: N) -> N | None:
    """Initial value of a number's widget that is about to be drawn; one that holds another value gets this one.

    A value that is put in reaches the browser with one run alone. A run that ends before its end, as on a click in the
    menu, never shows it, and the widget would stand at its lowest value; what it begins with comes with every run.
    """
    if st.session_state.get(key, value) == value:
        return value
    st.session_state[key] = value
    return None


def csv(
    label: str, key: str, file_name: str, table: Callable[[], pd.DataFrame], of: tuple[object, ...]
) -> None:
    """Offer a table, free of formulas.

    Parameters
    ----------
    key : of the button, unique in the app.
    table : makes the table, which is of some thousand cells at most.
    of : objects that it is made of; while they are the same ones it is not made again.
    """

    visitor = find_visitor()
    assert visitor is not None  # a page is drawn
    built = visitor.built.get(key)
    if (
        built is None
        or len(built[0]) != len(of)
        or any(a is not b for a, b in zip(built[0], of, strict=True))
    ):
        built = visitor.built[key] = of, safe_table(table()).to_csv(index=False)
    offer(label, built[1], file_name, key, icon=":material/table:")


def offer(label: str, content: str | bytes, file_name: str, key: str, **looks: Any) -> None:
    """Offer a file that is there; ``looks`` are ``icon``, ``type``, ``width`` and ``help`` of the button."""
    st.download_button(
        label, data=content, file_name=file_name, key=key, on_click="ignore", **looks
    )


def show_cached(key: Hashable, draw: Callable[[], go.Figure], name: str, how_to_read: str) -> None:
    """Show a figure that is drawn once for each ``key``; see :func:`show` and :func:`calib.ui.session.keep`."""
    show(keep(key, draw), name, how_to_read)


def show(
    fig: go.Figure,
    key: str,
    how_to_read: str,
    *,
    on_select: Callable[[], None] | None = None,
    on_drag: Callable[[float], None] | None = None,
) -> Any:
    """Draw a figure with its folded "how to read this" and its downloads.

    Parameters
    ----------
    fig : the figure; ``fig.layout.meta["alt"]`` is its text alternative.
    key : unique on the page; also the file name of the downloads.
    how_to_read : one line for a newcomer.
    on_select : called when a point is clicked, before the page reruns; the event is returned.
    on_drag : called with its new place on the axis when the figure's first line was dragged, before the page reruns.
    """
    image = st.session_state.get(f"{key}/format", "png")
    options: dict[str, Any] = {
        "displaylogo": False,
        "toImageButtonOptions": {
            "format": image,
            "filename": key,
            "scale": 2 if image == "png" else 1,
        },
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "edits": {"shapePosition": on_drag is not None},
    }
    square = bool(fig.layout.yaxis.scaleanchor)
    with st.container(key=f"square/{key}") if square else nullcontext():
        event = st.plotly_chart(
            fig,
            key=key,
            width="stretch",
            height="stretch" if square else "content",
            alt=alt_text(fig),
            config=options,
            on_select=on_select or "ignore",
            selection_mode="points",
        )
    if on_drag is not None:
        _listen(key, on_drag)
    with st.popover("How to read this", icon=":material/help:", type="tertiary"):
        st.write(how_to_read)
        st.segmented_control(
            "Picture saved by the camera above the figure",
            ["png", "svg"],
            default="png",
            required=True,
            key=f"{key}/format",
            format_func=str.upper,
        )
        csv("Data as CSV", f"{key}/csv", f"{key}.csv", partial(figure_data, fig), of=(fig,))
    return event


LISTEN = """
export default ({ data, setTriggerValue }) => {
  let figure
  const moved = (change) => "shapes[0].x0" in change && setTriggerValue("place", change["shapes[0].x0"])
  const timer = setInterval(() => {  // React may draw the figure anew at any time
    const found = document.querySelector(`.st-key-${CSS.escape(data)} .js-plotly-plot`)
    if (found && found !== figure && found.on) {
      figure = found
      figure.on("plotly_relayout", moved)
    }
  }, 200)
  return () => {
    clearInterval(timer)
    figure?.removeListener?.("plotly_relayout", moved)
  }
}
"""
_listener = st.components.v2.component("calib_line", js=LISTEN)


def _listen(key: str, on_drag: Callable[[float], None]) -> None:
    """Be told where the first line of a figure was dragged to: Streamlit hands on clicks alone."""
    name = f"{key}/line"

    def dragged() -> None:
        on_drag(float(st.session_state[name]["place"]))

    _listener(key=name, data=key, on_place_change=dragged)


def method_title(title: str, style: Style) -> None:
    """A method's name after a dot in its colour."""
    st.html(
        f'<span style="color:{text_color(style.color)}">●</span> <strong>{escape(title)}</strong>'
    )


def show_table(table: pd.DataFrame | Styler, pinned: str = "", **looks: Any) -> None:
    """Draw a table, with the column of this name held at the left."""
    columns = None
    if pinned:  # Streamlit measures the first few rows alone, and cuts a longer name further down
        frame = table if isinstance(table, pd.DataFrame) else table.data  # type: ignore[attr-defined]
        longest = max(map(len, map(str, frame[pinned])), default=0)
        width = min(8 * longest + 24, WIDEST_NAME) if longest > LONG_NAME else None
        columns = {pinned: st.column_config.TextColumn(pinned=True, width=width)}
    draw_table(table, column_config=columns, **looks)


def draw_table(table: pd.DataFrame | Styler, **looks: Any) -> Any:
    """Draw a table without its index; free of formulas, since Streamlit offers each as a CSV of what it shows."""
    safe = safe_table(table) if isinstance(table, pd.DataFrame) else table
    return st.dataframe(safe, hide_index=True, **looks)


def draw_editor(table: pd.DataFrame, key: str, **looks: Any) -> pd.DataFrame:
    """Draw a table whose cells can be changed, free of formulas."""
    return st.data_editor(safe_table(table), hide_index=True, key=key, **looks)
