"""The roles of a table's columns: the reading that is clearly meant, or the question which one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib.data import words as w
from calib.data.event import chosen_event
from calib.data.findings import Findings, InvalidUpload, listed, shortened, warning
from calib.data.guess.columns import Column
from calib.data.guess.direction import event_value
from calib.data.guess.metadata import names_models, unused_role, with_others
from calib.data.guess.outputs import by_pattern, candidates
from calib.data.guess.reading import Reading
from calib.data.guess.table import Guess, guess, possible_outcomes, with_reading
from calib.data.names import about, as_text, class_names, tokens
from calib.data.options import (
    OPTION_OF_ROLE,
    Choices,
    choices_from_roles,
    columns_in_use,
    explicit_options,
    names_in,
)
from calib.data.read.base import Contents
from calib.data.roles import ColumnRole, Question, TableReading

EACH = "calib tasks judges each by itself, in Python calib.tasks.tasks_of."
"""Action for a file of several problems."""


def infer_columns(
    contents: Contents, choices: Choices, separate_labels: bool
) -> tuple[Choices, tuple[ColumnRole, ...], Findings]:
    """Return the choices with the columns that were left to be inferred, and the role of every column.

    Parameters
    ----------
    separate_labels : whether the labels lie in another file, so that none are looked for here.

    Raises
    ------
    InvalidUpload
        Where no reading is clearly meant, with the readings as a question; or where there is none.
    """
    sample = contents.sample()
    n_rows = contents.by_name[contents.names[0]].shape[0] if sample else 0
    if sample and not n_rows:
        raise no_rows(f"{contents.name} has 0 rows.")
    guessed = guess(sample, n_rows, choices, labels_elsewhere=separate_labels)
    if not guessed.readings:
        raise nothing_to_read(contents, guessed, choices, separate_labels)
    if not guessed.is_clear:
        raise ask(contents, guessed, n_rows)
    read = guessed.choices(choices)
    if read.drop_bad_rows is None and is_judged(guessed.readings[0]):
        read = replace(read, drop_bad_rows=True)
    pooled = several_models(contents, guessed, choices)
    nested = contents.nested
    roles = [
        replace(r, reason=nested.get(r.column, r.reason)) if r.role == "ignore" else r
        for r in guessed.roles
    ]
    return read, tuple(roles), pooled


def is_judged(reading: Reading) -> bool:
    """Return whether a judge's score stands beside labels of people, who label only some rows."""
    pieces = {*tokens(reading.outputs.stem)}
    return (
        bool(pieces & w.JUDGE) and reading.outcome is not None and not reading.outcome.filled.all()
    )


def several_models(contents: Contents, guessed: Guess, choices: Choices) -> Findings:
    """Ask where a column names the model or question of each row; warn where these were read together by choice."""
    used = columns_in_use(choices, but="groups")
    models = [n for n, column in guessed.columns.items() if names_models(column) and n not in used]
    if not models:
        return ()
    column, values = models[0], guessed.columns[models[0]].values
    named = f"named in the column {shortened(column)}: {listed(values)}"
    reason = f"The rows of {contents.name} are of several models or questions, {named}"
    if choices.groups is not None:
        fix = {} if [*names_in(choices.groups)] == [column] else {"groups": column}
        return (warning("several_models", f"{reason}; they were read together.", EACH, **fix),)
    whole = f"Read the rows of all together, with {shortened(column)} as the subgroup"
    raise InvalidUpload(
        "several_models",
        f"{reason}.",
        f"{EACH} Or read all together.",
        readings={whole: {"groups": column}},
        question=Question(models={value: {"group": column} for value in values}),
    )


# Nothing to read.


def no_rows(reason: str) -> InvalidUpload:
    """Return the error for a table without rows that can be used."""
    return InvalidUpload("no_rows", reason, "Check that saving it ended, and upload it again.")


def nothing_to_read(
    contents: Contents, guessed: Guess, choices: Choices, separate_labels: bool
) -> InvalidUpload:
    """Return the error for a table without outputs or without an outcome: what it holds, and what is missing."""
    name, columns = contents.name, guessed.columns
    if guessed.problem is not None:
        code, reason, action = guessed.problem
        return InvalidUpload(code, f"{name} holds {reason}.", action)
    outcomes = [] if separate_labels else possible_outcomes(columns, choices)
    named = [
        c for c in outcomes if choices.labels or c.meaning in ("truth", "correct", "label", "event")
    ]
    outcomes = named or (outcomes if len(outcomes) == 1 else [])
    holds = f"{name} has the columns {listed(contents.names)}"
    free = [*columns.values()]
    likely = candidates(free, by_pattern(free), None, choices)
    outputs = [o.names for o in likely if not o.is_single or o.columns[0].meaning == "output"]
    chosen = names_in(choices.outputs)
    outputs = [chosen] if chosen else outputs
    if outputs and not outcomes and not separate_labels:
        reason = f"{holds}; {listed(outputs[0])} may be outputs, but none looks like the true class of a row."
        action = "Name the column with the outcome, or add a second file that holds it."
        return InvalidUpload("no_labels", reason, action)
    scores = [
        c
        for c in columns.values()
        if c.terms & (w.PROBABILITY | w.SCORE | w.PERCENT) and c not in outcomes
    ]
    if unreadable := unreadable_scores(contents, scores):
        return unreadable
    hard = [c.name for c in scores if {*c.values} == {"0", "1"}]
    hard = hard or [column.name for column in columns.values() if column.meaning == "predicted"]
    if hard and outcomes:
        reason = f"{listed(hard)} of {name} may be predicted classes, which carry no confidence."
        action = (
            "Save predict_proba beside predict: one column for each class, or that of the event."
        )
        return InvalidUpload("hard_predictions", reason, action)
    candidate = (
        f"; {shortened(outcomes[0].name)} may be the outcome ({listed(outcomes[0].values)})"
        if outcomes
        else ""
    )
    return InvalidUpload(
        "no_outputs",
        f"{holds}{candidate}; no others hold a score of each class, or of two the probability of the event.",
        "Save one column of logits or probabilities for each class, called p_0, p_1, ..., or that of the event.",
    )


def unreadable_scores(contents: Contents, scores: Sequence[Column]) -> InvalidUpload | None:
    """Return the error for columns that are named as scores and hold lists, some percent signs, or words."""
    texts = [column for column in scores if column.cells.dtype.kind == "U"]
    for column in scores:
        if column.name in contents.nested:
            reason = (
                f"{shortened(column.name)} of {contents.name} holds {contents.nested[column.name]}."
            )
            action = "Save equally many numbers in each row, one for each class."
            return InvalidUpload("lists", reason, action)
    for column in texts:
        if np.char.endswith(column.cells, "%").any():
            cells = f"Some cells of {shortened(column.name)} in {contents.name}"
            reason = f"{cells} have a percent sign and the others have none."
            action = "Write all cells of the column with a percent sign, or none."
            return InvalidUpload("percent_signs", reason, action)
    for column in texts:
        if column.terms & w.CONFIDENCE:
            holds = f"holds words, {listed(column.values)}, and no numbers"
            reason = f"{shortened(column.name)} of {contents.name} {holds}."
            action = "Save a probability for each, as column.map({'likely': 0.8, ...}) gives."
            return InvalidUpload("words", reason, action)
    return None


# Several readings.


def ask(contents: Contents, guessed: Guess, n_rows: int) -> InvalidUpload:
    """Return the error for a table with several readings, or none that is sure enough, with them as a question."""
    offered = [
        table_reading(reading, guessed, n_rows)
        for reading in in_all_rows(contents, guessed.readings)
    ]
    readings = tuple(reading for reading in offered if reading.rows)
    if not readings:
        return no_rows(f"No row of {contents.name} has both an outcome and finite outputs.")
    models = {
        name: roles_of(reading, guessed) for name, reading in models_of(guessed.readings).items()
    }
    ways = "; ".join(reading.sentence for reading in readings)
    if len(readings) == 1:
        reason = f"{contents.name} can perhaps be read as {ways}, but {guessed.doubt}."
    else:
        reason = (
            f"{contents.name} can be read in {len(readings):,} ways, since {guessed.doubt}: {ways}."
        )
    outcomes = dict.fromkeys(str(r.roles["outcome"]) for r in readings if "outcome" in r.roles)
    problems = questions_of(contents.names) or [*models] or [*outcomes]
    if len(problems) > 1:
        reason += f" It may hold several tasks ({listed(problems)}). {EACH}"
    call = ", ".join(f"{role}={value!r}" for role, value in readings[0].roles.items())
    return InvalidUpload(
        "ambiguous",
        reason,
        f"Say which one is meant, as with roles=dict({call}).",
        readings={r.sentence: explicit_options(choices_from_roles(r.roles)) for r in readings},
        question=Question(readings, models),
    )


def questions_of(names: Sequence[str]) -> list[str]:
    """Return the questions of a log of decisions, whose answers have a type each."""
    types = [name for name in names if name.startswith("answers_") and name.endswith("_type")]
    return [name.removeprefix("answers_").removesuffix("_type") for name in types]


def in_all_rows(contents: Contents, readings: Sequence[Reading]) -> Sequence[Reading]:
    """Return readings with all rows in place of a sample; as they are where a column cannot be read whole."""
    names = {column.name for reading in readings for column in reading.columns}
    try:
        columns = {name: Column(name, contents.read(name)) for name in names}
    except InvalidUpload:
        return readings
    return [reading.with_columns(columns) for reading in readings]


def models_of(readings: Sequence[Reading]) -> dict[str, Reading]:
    """Return readings that are as likely as the first but for other outputs, as with columns of several models."""
    distinct: dict[tuple[object, ...], Reading] = {}
    for r in readings:
        if r.ranks == readings[0].ranks and r.pairs == readings[0].pairs:
            distinct.setdefault((r.outcome, r.outputs.names), r)
    best = [*distinct.values()]
    outcomes = {reading.outcome for reading in best} - {None}
    stems = [reading.outputs.stem or reading.outputs.names[0] for reading in best]
    if len(best) < 2 or len(outcomes) not in (0, 1, len(best)):
        return {}
    if len({reading.outputs.names for reading in best}) < len(best):
        return {}
    firsts = [reading.outputs.names[0] for reading in best]
    names = class_names(stems) if len(set(stems)) == len(stems) else firsts
    return dict(zip(names, best, strict=True))


def roles_of(reading: Reading, guessed: Guess) -> dict[str, Any]:
    """Return the roles of a reading for :func:`calib.load`, with options that settle what names leave open."""
    choices = with_others(guessed.columns, with_reading(reading, Choices()))
    roles: dict[str, Any] = {
        role: value
        for role in (
            "outcome",
            "outputs",
            "predicted",
            "cluster",
            "weight",
            "group",
            "time",
            "split",
        )
        if (value := getattr(choices, OPTION_OF_ROLE[role])) is not None
    }
    for option in ("weight_kind", "kind", "label_values"):
        if (value := getattr(choices, option)) is not None:
            roles[option] = value
    if reading.outputs.is_single:
        roles["outputs"] = reading.score.name
        if reading.label_values is not None:
            roles["event"] = str(reading.label_values[-1])
        if reading.predicted is not None and not reading.pairs:
            roles["kind"] = "binary_probability" if reading.score.in_unit else "binary_log_odds"
    return roles


def table_reading(reading: Reading, guessed: Guess, n_rows: int) -> TableReading:
    """Return a reading for people: its roles, a sentence with its numbers, and the columns kept as groups."""
    roles = roles_of(reading, guessed)
    used = columns_in_use(choices_from_roles(roles))
    groups = [
        n for n, c in guessed.columns.items() if n not in used and unused_role(c) == "metadata"
    ]
    numbers = [column.numbers for column in reading.outputs.columns]
    keep = np.ones(len(reading.score.cells), dtype=bool)
    if reading.outcome is not None:
        keep &= reading.outcome.filled
    for column in numbers:
        keep &= False if column is None else np.isfinite(column)
    rows = round(n_rows * float(keep.mean())) if len(keep) else 0
    sentence = f"outputs in {listed(reading.outputs.names)}"
    if reading.outcome is not None and rows:
        sentence = describe(reading, keep)
    return TableReading(roles, sentence, rows, tuple(groups))


def describe(reading: Reading, keep: Any) -> str:
    """Return what a reading means, with the mean, the observed rate and the AUROC of the rows that have both."""
    outcome, outputs = reading.truth, reading.outputs
    if not outputs.is_single:
        order = f" for {listed(reading.label_values, 3)}" if reading.label_values else ""
        of = f"{len(outputs.names):,} classes of {shortened(outcome.name)}"
        return f"{of}, one column each ({listed(outputs.names, 3)}{order})"
    score = np.asarray(reading.score.numbers)[keep]
    mean = f"mean {score.mean():.1%}, " if -1e-6 <= score.min() <= score.max() <= 1 + 1e-6 else ""
    area = "" if np.isnan(reading.area) else f", AUROC {reading.area:.2f}"
    happened = np.zeros(0) if reading.labels is None else reading.labels[keep] == 1
    rate = f"{happened.mean():.1%}" if len(happened) else "in no row that is known"
    stem = shortened(outputs.stem)
    if reading.pairs:
        comparison = ""
        if reading.predicted is not None:
            comparison = f", {shortened(reading.predicted.name)} against {shortened(outcome.name)}"
        return f"confidence in an answer ({stem}{comparison}): {mean}correct {rate}{area}"
    return f"P({event_name(reading)}) in {stem}: {mean}happened {rate}{area}"


def event_name(reading: Reading) -> str:
    """Return the event of a reading for a sentence: ``default``, ``bad``, or ``label = 1`` where no name says more."""
    outcome = reading.truth
    likely = event_value(outcome)
    if likely is None and len(outcome.values) == 1:
        return shortened(outcome.name)  # it never happened
    event = as_text(reading.label_values[-1]) if reading.label_values else likely
    event = event or outcome.values[-1]
    name = chosen_event((event, event), 1, outcome.name).name
    is_telling = about(tokens(outcome.name)) and event == likely
    return shortened(name if name == event or is_telling else f"{outcome.name} = {event}")
