"""A judge of all rows beside people's labels of some: its columns, and the corrected rate in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import as_array
from calib.calibrators.by_group import MISSING
from calib.data import Choices
from calib.data.findings import InvalidUpload, listed
from calib.data.loading import findings_as_error
from calib.data.names import tokens
from calib.data.options import Source, names_in
from calib.data.read.base import Array
from calib.data.read.files import open_source
from calib.data.upload import is_id
from calib.data.words import JUDGE
from calib.diagnostics.find_groups import FoundGroups, find_groups
from calib.formatting import percent, plural, points_between
from calib.metrics.judge_correction import corrected_rate, human_labels
from calib.tasks.shapes import is_there

HALF = 0.5
"""Share of the interval's width for which labels are counted."""


@dataclass(frozen=True)
class JudgedRows:
    """Columns of a judge and of people.

    Attributes
    ----------
    judge, human : names of both columns.
    verdicts : (n,) the judge's verdicts, 0 and 1, or probabilities.
    labels : (n,) people's labels, blank where nobody looked.
    clusters : (n,) what rows that belong together share, where it was chosen.
    features : other columns of the labelled rows, by name.
    """

    judge: str
    human: str
    verdicts: Array
    labels: Array
    clusters: Array | None
    features: Mapping[str, Array]

    def sentences(self) -> list[str]:
        """Sentences on the corrected rate, on what more labels would give, and on groups that the judge favours."""
        rate = corrected_rate(self.verdicts, self.labels, self.clusters)
        more = more_labels(rate.labels_for(HALF), rate.n_labelled)
        return [str(rate), more, *describe_leaning(self.leaning())]

    def leaning(self) -> FoundGroups:
        """Groups of the other columns in which the judge is off."""
        rows = is_there(self.labels)
        clusters = None if self.clusters is None else self.clusters[rows]
        return find_judge_groups(self.verdicts[rows], self.labels[rows], self.features, clusters)


def judge_sentences(rows: JudgedRows) -> list[str]:
    """Sentences of a judge's rows, as a worker computes them for a page."""
    return rows.sentences()


def find_judge_groups(
    judge: Any, labels: Any, features: Any, clusters: Any = None, most: int = 3
) -> FoundGroups:
    """Find the groups of rows in which a judge passes more or less than people, beyond its average error.

    These are the columns that the judge leans on, such as the length of an answer. Judged are the labelled rows, by
    :func:`calib.find_groups` with the judge's verdict as the probability.

    Parameters
    ----------
    judge : array_like of shape (n,)
        Verdicts 0 and 1, or probabilities.
    labels : array_like of shape (n,)
        0 and 1, or missing, as for :func:`calib.metrics.corrected_rate`.
    features : DataFrame or mapping of str to array_like
        Columns that the judge may lean on.
    clusters : array_like of shape (n,) or None, default None
        Value that rows which belong together share.
    most : int, default 3
        Groups that are reported.

    Returns
    -------
    FoundGroups
        A gap is the judge's rate minus people's; it prints as a table.

    Examples
    --------
    >>> draws = np.random.default_rng(0)
    >>> tokens, truth = draws.integers(20, 999, 3000), draws.random(3000) < 0.6
    >>> judge = np.where(tokens > 800, True, truth).astype(int)
    >>> labels = np.where(np.arange(3000) < 900, truth, np.nan)
    >>> [group.name for group in find_judge_groups(judge, labels, {"tokens": tokens}).groups]
    ['tokens > 820']
    """
    scores = as_array(judge, "judge").astype(float)
    outcome = human_labels(labels, len(scores))
    labelled = ~np.isnan(outcome)
    columns = {name: np.asarray(features[name])[labelled] for name in features}
    if not columns:
        columns = {"all": np.zeros(labelled.sum())}
    units = None if clusters is None else np.asarray(clusters)[labelled]
    people = outcome[labelled].astype(int)
    return find_groups(scores[labelled], people, columns, clusters=units, most=most)


def describe_leaning(groups: FoundGroups) -> list[str]:
    """Describe the groups that a judge favours or is hard on, a sentence each."""
    return [
        f"Where {group.name}, the judge passes {percent(group.predicted)} and people {percent(group.observed)} "
        f"({points_between(group.gap.low, group.gap.high)} points, {plural(group.rows, 'labelled row')})."
        for group in groups.groups
    ]


def read_judge(source: Source, choices: Choices) -> JudgedRows:
    """Read the judge's column, people's labels, and the other columns.

    Raises
    ------
    DataError
        If not one column of each kind is found.
    """
    with findings_as_error():
        return _read_judge(source, choices)


def _read_judge(source: Source, choices: Choices) -> JudgedRows:
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
    verdicts, labels = columns[judges[0]], columns[people[0]]
    labelled = is_there(labels)
    features = {
        name: cells[labelled]
        for name, cells in columns.items()
        if name not in (*judges, *people, *chosen[2]) and may_lean(name, cells)
    }
    clusters = columns[chosen[2][0]] if chosen[2] else None
    return JudgedRows(judges[0], people[0], verdicts, labels, clusters, features)


def may_lean(name: str, cells: Array) -> bool:
    """Return whether a judge may lean on a column: no id, no other verdict, and no text of its own in each row."""
    if cells.ndim > 1 or is_id(name) or JUDGE & {*tokens(name)}:
        return False
    return cells.dtype.kind in "biuf" or len(np.unique(cells)) <= len(cells) / 2


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
    labels = [str(cell) for cell in cells.tolist() if str(cell) not in MISSING]
    return 0 < len(labels) < len(cells) and {*labels} <= {"0", "1", "0.0", "1.0", "True", "False"}


def more_labels(needed: int | None, labelled: int) -> str:
    """Describe the labels with which the interval would be half as wide."""
    if needed is None:
        return "Labels of all rows would not halve the interval's width."
    return f"{plural(needed - labelled, 'more label')} would halve the interval's width."
