"""Studies that fit again in the background: on repeated splits, and on ever more labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.calibrators.backend import on_cpu
from calib.engine import TaskSpec
from calib.evaluation.comparison_table import CONFIDENCE_ONLY, MARKS_SAID, verdict
from calib.evaluation.studies import (
    N_SIZE_SPLITS,
    SIZE_SCORES,
    SIZES,
    SPLITS,
    halved_sizes,
    labels_needed,
    repeat_task,
    summarise_sizes,
    summarise_splits,
)
from calib.formatting import escape_markdown, listed, plural
from calib.plots.compare import size_curves
from calib.ui import progress, widgets
from calib.ui.compare.scores import show_scores, styled_scores
from calib.ui.fits import ShownFit
from calib.ui.session import OpenSession, current_session, keep

TABLE = ("NLL", "Brier", "accuracy", "ECE")
N_SPLITS = 10


def repeated(session: OpenSession, fits: list[ShownFit]) -> None:
    """Show whether other splits agree."""
    st.write(
        f"Every method is fitted again on {N_SPLITS} random splits of all rows, as the papers do. The intervals allow "
        "for splits that share most of their rows (Nadeau and Bengio 2003)."
    )
    arguments = (
        _methods(session, fits[1:]),
        len(session.calibration),
        N_SPLITS,
        session.seed,
        session.view.column,
    )
    _offer(SPLITS, f"Repeat on {N_SPLITS} splits", arguments, fits[1:], N_SPLITS)
    if (splits := progress.result_of(SPLITS)) is not None:
        _repeated_result(splits, session.studies[SPLITS].key)


def sizes(session: OpenSession, fits: list[ShownFit]) -> None:
    """Show the number of labels that each method needs."""
    st.write(
        f"Every method is fitted on ever more of the calibration rows of {N_SIZE_SPLITS} random splits of all rows, "
        "and scored on the rows left."
    )
    tried = halved_sizes(len(session.calibration))
    arguments = (
        _methods(session, fits[1:]),
        tried[-1],
        N_SIZE_SPLITS,
        session.seed,
        session.view.column,
        tried,
    )
    label = f"Try {plural(len(tried), 'size')} up to {tried[-1]:,}"
    _offer(
        SIZES, label, arguments, fits[1:], 2 * N_SIZE_SPLITS
    )  # all halves together are less than one fit on all
    if (splits := progress.result_of(SIZES)) is not None:
        _sizes_result(splits, session.studies[SIZES].key, fits)


def _methods(session: OpenSession, fits: list[ShownFit]) -> list[tuple[str, str, dict[str, Any]]]:
    """The methods as a study is told of them, with the parameters they were fitted with."""
    return [(fit.title, fit.method, dict(session.specs[fit.key].params)) for fit in fits]


def _offer(
    kind: str, label: str, arguments: tuple[Any, ...], fits: list[ShownFit], n_fits: int
) -> None:
    """The button that starts a study, and what so many fits on all rows would take, which is the most that it takes."""
    title = f"{label}: {listed([fit.title for fit in fits])}"
    spec = TaskSpec(repeat_task, arguments, current_session().data.sha256, title)
    seconds = n_fits * sum(seconds_of(fit) + fit.predict_seconds for fit in fits)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            key=f"study/{kind}/start",
            icon=":material/play_arrow:",
            on_click=progress.start,
            args=(kind, spec),
        )
        st.caption(
            f"At most {progress.about(seconds)} of processor time in the background; you can go on meanwhile."
        )


def seconds_of(fit: ShownFit) -> float:
    """Cost of one more such fit: processor time, which does not count what else ran then, or time on the GPU."""
    return fit.cpu_seconds if on_cpu(fit.calibrator) else fit.fit_seconds


def _repeated_result(splits: pd.DataFrame, key: str) -> None:
    table = keep(("splits", key), lambda: summarise_splits(splits))
    n_splits = int(table["n_splits"].max())
    scores = ["NLL", *(["ECE"] if (table["note"] == CONFIDENCE_ONLY).any() else [])]
    for score in scores:
        st.markdown(verdict(table, score, f"over {n_splits} splits"))
    keys = [score for score in TABLE if score in set(table["score"])]
    show_scores(
        keep(
            ("splits table", key),
            partial(styled_scores, table, keys, True, True, current_session().view),
        )
    )
    st.caption(
        "Mean over splits ± standard deviation from split to split, with the 95\u00a0% interval of the mean in "
        f"brackets. {MARKS_SAID}, 95\u00a0% for all pairs of methods together."
    )
    failed = table[
        (table["note"] != "") & table["n_splits"].between(1, n_splits - 1)
    ].drop_duplicates("method")
    for title, note in zip(failed["title"], failed["note"], strict=True):
        st.caption(escape_markdown(f"{title}: {note}"))
    widgets.csv("All numbers as CSV", "study/splits/csv", "splits.csv", lambda: table, of=(table,))


def _sizes_result(splits: pd.DataFrame, key: str, fits: list[ShownFit]) -> None:
    table = keep(("sizes", key), lambda: summarise_sizes(splits))
    last = table[
        (table["score"] == "NLL") & (table["size"] == table["size"].max()) & table["value"].notna()
    ]
    answers = [labels_needed(table, name).sentence for name in last["method"].iloc[1:]]
    st.markdown("\n".join(f"- {answer}" for answer in answers))
    styles = {fit.title: fit.style for fit in fits}
    columns = st.columns(2, gap="large")
    for place, score in enumerate(SIZE_SCORES):
        with columns[place]:
            widgets.show_kept(
                ("size curve", score, key, *styles.items()),
                partial(size_curves, table, score, styles),
                f"compare-sizes-{score}",
                f"Each line is the mean over {N_SIZE_SPLITS} random splits, with so many of the calibration rows of "
                "each; its band is the 95\u00a0% interval of the mean, which allows for splits that share most rows. "
                "The dotted line is the raw model. Where scores differ by more than a factor of four the axis is "
                "logarithmic.",
            )
    notes = table[(table["note"] != "") & (table["score"] == "NLL")]
    for title, size, note in zip(notes["title"], notes["size"], notes["note"], strict=True):
        st.caption(escape_markdown(f"{title} on {size:,} rows: {note}"))
    widgets.csv("All numbers as CSV", "study/sizes/csv", "sizes.csv", lambda: table, of=(table,))
