"""A judge of all rows beside people's labels of some: its columns, and the corrected rate in sentences."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from calib.calibrators.by_group import MISSING
from calib.data import Choices
from calib.data.findings import InvalidUpload, listed
from calib.data.loading import findings_as_error
from calib.data.names import tokens
from calib.data.options import Source, names_in
from calib.data.read.base import Array
from calib.data.read.files import open_source
from calib.data.words import JUDGE
from calib.formatting import plural
from calib.metrics.judge_correction import corrected_rate

HALF = 0.5
"""Share of the interval's width for which labels are counted."""


def judge_sentences(verdicts: Array, labels: Array, clusters: Array | None = None) -> list[str]:
    """Sentences on a judge's rate: corrected with its interval, by people alone, and what more labels would give."""
    found = corrected_rate(verdicts, labels, clusters)
    return [str(found), more_labels(found.labels_for(HALF), found.n_labelled)]


def read_judge(source: Source, choices: Choices) -> tuple[str, str, dict[str, Array]]:
    """Names of the judge's column and of people's, and both with the clusters that were chosen."""
    with findings_as_error():
        return _read_judge(source, choices)


def _read_judge(source: Source, choices: Choices) -> tuple[str, str, dict[str, Array]]:
    with ExitStack() as stack:
        contents = open_source(source, choices, stack)
        chosen = (names_in(choices.outputs), names_in(choices.labels), names_in(choices.clusters))
        missing = [name for names in chosen for name in names if name not in contents]
        if missing:
            reason = (
                f"{contents.name} has no column {listed(missing)}; it has {listed(contents.names)}."
            )
            raise InvalidUpload("no_such_array", reason, "Choose columns that are there.")
        columns = {name: contents.read(name) for name in contents.names}
    judges = [*chosen[0]] or judge_columns(columns)
    people = [*chosen[1]] or [
        name for name, cells in columns.items() if name not in judges and is_partly_labelled(cells)
    ]
    if len(judges) != 1 or len(people) != 1:
        reason = (
            f"{contents.name} may have {listed(judges) or 'nothing'} of a judge, and "
            f"{listed(people) or 'nothing'} of people in some rows."
        )
        action = "Name both columns: --read outputs=JUDGE --read outcome=HUMAN."
        raise InvalidUpload("judge", reason, action)
    read = {name: columns[name] for name in (*judges, *people)}
    if chosen[2]:
        read["clusters"] = columns[chosen[2][0]]
    return judges[0], people[0], read


def judge_columns(columns: dict[str, Array]) -> list[str]:
    """Columns that are called a judge's and are complete: verdicts of 0 and 1, or where there are none, scores."""
    named = {
        name: cells.astype(float)
        for name, cells in columns.items()
        if JUDGE & {*tokens(name)} and cells.dtype.kind in "biuf"
    }
    scores = [name for name, cells in named.items() if ((cells >= 0) & (cells <= 1)).all()]
    verdicts = [name for name in scores if np.isin(named[name], (0, 1)).all()]
    return verdicts or scores


def is_partly_labelled(cells: Array) -> bool:
    """Return whether a column holds 0 and 1 in some rows and nothing in others."""
    known = [str(cell) for cell in cells.tolist() if str(cell) not in MISSING]
    return 0 < len(known) < len(cells) and {*known} <= {"0", "1", "0.0", "1.0", "True", "False"}


def more_labels(needed: int | None, labelled: int) -> str:
    """Describe the labels with which the interval would be half as wide."""
    if needed is None:
        return "Labels of all rows would not halve the interval's width."
    return f"{plural(needed - labelled, 'more label')} would halve the interval's width."
