"""``rate``: the share of rows that people would pass, from a judge of all rows and people's labels of some."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from calib.calibrators.by_group import MISSING
from calib.cli import text
from calib.cli.arguments import Given, on_data, refuse
from calib.data import Choices
from calib.data.findings import InvalidUpload, listed, shortened
from calib.data.loading import findings_as_error, in_a_reader
from calib.data.names import tokens
from calib.data.options import Source, names_in
from calib.data.read.base import Array
from calib.data.read.files import open_file, open_source, reads_apart
from calib.data.words import JUDGE
from calib.formatting import for_terminal, plural, with_interval
from calib.metrics.bootstrap import Interval
from calib.metrics.judge_correction import corrected_rate, judge_agreement

HALF = 0.5
"""Share of the interval's width for which labels are counted."""


@on_data
def rate(given: Given, answer: text.Answer) -> int:
    """Correct a judge's pass rate by the labels that people gave to some rows."""
    if any(file is not None for file in given.options.files.values()):
        refuse("a judge's verdicts and people's labels stand in one table; give that alone")
    choices = given.options.choices
    with findings_as_error(), ExitStack() as stack:
        source = open_file(given.file, stack)
        if reads_apart(given.options.isolate, given.file):
            judge, human, columns = in_a_reader(read_judge, source, choices)
        else:
            judge, human, columns = read_judge(source, choices)
    verdicts, labels = columns[judge], columns[human]
    clusters = columns.get("clusters")
    found = corrected_rate(verdicts, labels, clusters)
    needed = found.labels_for(HALF)
    agreement = {
        name: estimate.interval()
        for name, estimate in judge_agreement(verdicts, labels, clusters).items()
    }
    lines = [
        f"{shortened(judge)} is the judge, {shortened(human)} the labels of people.",
        str(found),
        more_labels(needed, found.n_labelled),
        "Agreement: "
        + ", ".join(f"{name} {_share(ends)}" for name, ends in agreement.items())
        + ".",
    ]
    answer.say(
        "\n".join(map(for_terminal, lines)),
        judge=judge,
        human=human,
        rate=found.interval(),
        by_judge=found.by_judge.interval(),
        by_people=found.by_people.interval(),
        labelled=found.n_labelled,
        unlabelled=found.n_unlabelled,
        p_value=found.p_value,
        strata=found.n_strata,
        labels_for_half_width=needed,
        agreement=agreement,
    )
    return answer.end()


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


def _share(ends: Interval) -> str:
    return with_interval(ends, lambda value: f"{value:.2f}")
