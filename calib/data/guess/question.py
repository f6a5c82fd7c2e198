"""The roles of a table's columns: the reading that is clearly meant, or the question which one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calib.data.event import Event
from calib.data.findings import Findings, InvalidUpload, listed, shortened, warning
from calib.data.guess.beside import left_as, names_models, with_others
from calib.data.guess.columns import Column
from calib.data.guess.direction import auroc, event_value
from calib.data.guess.outputs import Candidates
from calib.data.guess.table import (
    Guess,
    Reading,
    guess,
    label_order,
    places_of,
    possible_outcomes,
)
from calib.data.names import about, class_names, tokens
from calib.data.options import Choices, names_in
from calib.data.read.base import Contents
from calib.data.roles import ColumnRole, Question, TableReading
from calib.data.spelling import as_text, correct_value, texts_of
from calib.data.words import (
    CONFIDENCE,
    CORRECT,
    DID_NOT,
    EVENTS,
    JUDGE,
    LABEL,
    PERCENT,
    PROBABILITY,
    SCORE,
    TRUTH,
)

NAMED_SCORES = PROBABILITY | SCORE | PERCENT
"""Words for outputs."""

OUTCOMES = TRUTH | LABEL | CORRECT | EVENTS
"""Words for an outcome."""


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
    n_rows = contents.info(contents.names[0]).shape[0] if sample else 0
    if sample and not n_rows:
        reason = f"{contents.name} has 0 rows."
        raise InvalidUpload("no_rows", reason, "Check that saving it ended, and upload it again.")
    found = guess(sample, n_rows, choices, labels_elsewhere=separate_labels)
    if not found.readings:
        raise nothing_to_read(contents, found, choices, separate_labels)
    if not found.is_clear:
        raise ask(contents, found, n_rows)
    read = found.choices(choices)
    if read.drop_bad_rows is None and is_judged(found.readings[0]):
        read = replace(read, drop_bad_rows=True)
    used = {*choices.columns(but="groups"), *names_in(read.labels), *names_in(read.outputs)}
    models = [
        name for name, column in found.columns.items() if names_models(column) and name not in used
    ]
    pooled: Findings = ()
    for column in models[:1]:
        names = listed([shortened(value) for value in found.columns[column].values])
        of_models = (
            f"of several models or questions, named in the column {shortened(column)}: {names}"
        )
        whole = f"Read the rows of all together, with {shortened(column)} as the subgroup"
        if choices.groups is None:
            raise InvalidUpload(
                "several_models",
                f"The rows of {contents.name} are {of_models}.",
                f"{EACH} Or read all together.",
                readings={whole: {"groups": column}},
                question=Question(
                    models={value: {"group": column} for value in found.columns[column].values}
                ),
            )
        reason = f"The rows of {contents.name} are {of_models}; they were read together."
        action = EACH
        fix = {} if [*names_in(choices.groups)] == [column] else {"groups": column}
        pooled = (warning("several_models", reason, action, **fix),)
    nested = contents.nested
    roles = [
        replace(r, reason=nested.get(r.column, r.reason)) if r.role == "ignore" else r
        for r in found.roles
    ]
    return read, tuple(roles), pooled


def is_judged(reading: Reading) -> bool:
    """Return whether a judge's score stands beside labels of people, who label only some rows."""
    words = {*tokens(reading.outputs.stem)}
    return bool(words & JUDGE) and reading.outcome is not None and not reading.outcome.known.all()


EACH = "calib tasks judges each by itself, in Python calib.tasks.tasks_of."
"""What is done with a file of several problems."""


def nothing_to_read(
    contents: Contents, found: Guess, choices: Choices, separate_labels: bool
) -> InvalidUpload:
    """The error for a table without outputs or without an outcome: what was found, and what is missing."""
    if found.problem is not None:
        return InvalidUpload(
            found.problem.code,
            f"{contents.name} holds {found.problem.reason}.",
            found.problem.action,
        )
    columns, name = found.columns, contents.name
    outcomes = [] if separate_labels else possible_outcomes(columns, choices)
    named = [column for column in outcomes if column.words & OUTCOMES or choices.labels]
    outcomes = named or (outcomes if len(outcomes) == 1 else [])
    outputs = [
        o
        for o in Candidates(columns, choices).beside(None)
        if not o.is_single or o.columns[0].says == "output"
    ]
    held = f"{name} has the columns {listed(contents.names)}"
    if outputs and not outcomes and not separate_labels:
        reason = f"{held}; {listed(outputs[0].names)} may be outputs, but none looks like the true class of a row."
        action = "Name the column with the outcome, or add a second file that holds it."
        return InvalidUpload("no_labels", reason, action)
    like_scores = [
        column
        for column in columns.values()
        if column.words & NAMED_SCORES and column not in outcomes
    ]
    if odd := next((column.name for column in like_scores if column.name in contents.nested), None):
        reason = f"{shortened(odd)} of {name} holds {contents.nested[odd]}."
        return InvalidUpload(
            "lists", reason, "Save equally many numbers in each row, one for each class."
        )
    texts = [column for column in like_scores if column.cells.dtype.kind == "U"]
    if half := next(
        (column.name for column in texts if np.char.endswith(column.cells, "%").any()), None
    ):
        reason = f"Some cells of {shortened(half)} in {name} have a percent sign and the others have none."
        return InvalidUpload(
            "percent_signs", reason, "Write all cells of the column with a percent sign, or none."
        )
    if words := next((column for column in texts if column.words & CONFIDENCE), None):
        reason = f"{shortened(words.name)} of {name} holds words, {listed(words.values)}, and no numbers."
        return InvalidUpload(
            "words",
            reason,
            "Save a probability for each, as column.map({'likely': 0.8, ...}) gives.",
        )
    hard = [c.name for c in like_scores if {*c.values} == {"0", "1"}]
    hard = hard or [column.name for column in columns.values() if column.says == "predicted"]
    if hard and outcomes:
        reason = f"{listed(hard)} of {name} may be predicted classes, which carry no confidence."
        action = (
            "Save predict_proba beside predict: one column for each class, or that of the event."
        )
        return InvalidUpload("hard_predictions", reason, action)
    known = (
        f"; {shortened(outcomes[0].name)} may be the outcome ({listed(outcomes[0].values)})"
        if outcomes
        else ""
    )
    reason = f"{held}{known}; no others hold a score of each class, or of two the probability of the event."
    action = "Save one column of logits or probabilities for each class, called p_0, p_1, ..., or that of the event."
    return InvalidUpload("no_outputs", reason, action)


def ask(contents: Contents, found: Guess, n_rows: int) -> InvalidUpload:
    """The error for a table with several readings, or one that is not sure enough, with the readings as a question."""
    whole = all_rows(contents, found)
    readings = tuple(
        table_reading(in_rows(reading, whole), found.columns, n_rows) for reading in found.readings
    )
    readings = tuple(offered for offered in readings if offered.rows)
    if not readings:
        reason = f"No row of {contents.name} has both an outcome and finite outputs."
        return InvalidUpload("no_rows", reason, "Check that saving it ended, and upload it again.")
    models = {
        n: roles_of(reading, found.columns) for n, reading in models_of(found.readings).items()
    }
    if len(readings) == 1:
        reason = (
            f"{contents.name} can perhaps be read as {readings[0].sentence}, but {found.doubt}."
        )
    else:
        ways = "; ".join(reading.sentence for reading in readings)
        reason = (
            f"{contents.name} can be read in {len(readings):,} ways, since {found.doubt}: {ways}."
        )
    call = ", ".join(f"{role}={value!r}" for role, value in readings[0].roles.items())
    outcomes = dict.fromkeys(
        str(offered.roles["outcome"]) for offered in readings if "outcome" in offered.roles
    )
    problems = questions_of(contents.names) or [*models] or [*outcomes]
    if len(problems) > 1:
        reason += f" It may hold several tasks ({listed(problems)}). {EACH}"
    each = {reading.sentence: Choices.from_roles(reading.roles).given() for reading in readings}
    question = Question(readings, models)
    return InvalidUpload(
        "ambiguous",
        reason,
        f"Say which one is meant, as with roles=dict({call}).",
        readings=each,
        question=question,
    )


def questions_of(names: Sequence[str]) -> list[str]:
    """Questions of a log of decisions, whose answers have a type each."""
    types = [name for name in names if name.startswith("answers_") and name.endswith("_type")]
    return [name.removeprefix("answers_").removesuffix("_type") for name in types]


def all_rows(contents: Contents, found: Guess) -> dict[str, Column]:
    """The columns that readings need with all rows; those that cannot be read as they are with their sample."""
    columns = {}
    for reading in found.readings:
        for column in (reading.outcome, reading.predicted, *reading.outputs.columns):
            if column is None or column.name in columns:
                continue
            try:
                cells = contents.read(column.name)
            except InvalidUpload:
                continue
            columns[column.name] = Column(column.name, column.position, cells)
    lengths = {len(column.cells) for column in columns.values()}
    needed = {c.name for r in found.readings for c in columns_of_reading(r)}
    return columns if len(lengths) == 1 and needed <= columns.keys() else {}


def columns_of_reading(reading: Reading) -> list[Column]:
    """Outcome, prediction and outputs of a reading."""
    every = (reading.outcome, reading.predicted, *reading.outputs.columns)
    return [column for column in every if column is not None]


def in_rows(reading: Reading, columns: Mapping[str, Column]) -> Reading:
    """The same reading of other rows; as it is where there are none."""
    if not columns:
        return reading
    outputs = tuple(columns[column.name] for column in reading.outputs.columns)
    return replace(
        reading,
        outcome=reading.outcome and columns[reading.outcome.name],
        predicted=reading.predicted and columns[reading.predicted.name],
        outputs=replace(reading.outputs, columns=outputs),
    )


def models_of(found: Sequence[Reading]) -> dict[str, Reading]:
    """The readings that are as good as the best but for other outputs, as with columns for each of several models."""
    best = [r for r in found if r.ranks == found[0].ranks and r.pairs == found[0].pairs]
    if not found[0].pairs:  # of each the likelier direction
        firsts: dict[object, Reading] = {}
        for r in best:
            firsts.setdefault((r.outcome, r.outputs.names), r)
        best = [*firsts.values()]
    outputs = {reading.outputs.names for reading in best}
    outcomes = {reading.outcome for reading in best} - {None}
    if not 1 < len(best) == len(outputs) or len(outcomes) not in (0, 1, len(best)):
        return {}
    stems = [reading.outputs.stem or reading.outputs.names[0] for reading in best]
    names = (
        class_names(stems)
        if len(set(stems)) == len(stems)
        else [reading.outputs.names[0] for reading in best]
    )
    return dict(zip(names, best, strict=True))


def roles_of(reading: Reading, columns: Mapping[str, Column]) -> dict[str, Any]:
    """The roles of a reading as :func:`calib.load` takes them; with the options that settle what names leave open."""
    outputs = reading.outputs.names
    roles: dict[str, Any] = {} if reading.outcome is None else {"outcome": reading.outcome.name}
    roles["outputs"] = outputs[0] if len(outputs) == 1 else outputs
    if reading.predicted is not None:
        roles["predicted"] = reading.predicted.name
    others = with_others(columns, Choices.from_roles(roles))
    roles |= {
        role: value
        for role in ("cluster", "weight", "group")
        if (value := getattr(others, f"{role}s"))
    }
    if others.weight_kind is not None:
        roles["weight_kind"] = others.weight_kind
    if reading.pairs:
        roles["kind"] = "pairs"
    elif reading.predicted is not None and len(outputs) == 1:
        roles["kind"] = "binary_probability" if reading.score.in_unit else "binary_log_odds"
    if reading.label_values is not None:
        roles["label_values"] = reading.label_values
        if len(outputs) == 1:
            roles["event"] = str(reading.label_values[-1])
    return roles


def table_reading(reading: Reading, columns: Mapping[str, Column], n_rows: int) -> TableReading:
    """A reading for people: its roles as they are given to load, and a sentence with what the sample says of it."""
    roles = roles_of(reading, columns)
    used = Choices.from_roles(roles).columns()
    groups = tuple(n for n, c in columns.items() if n not in used and left_as(c) == "metadata")
    outcome = reading.outcome
    outputs = reading.outputs
    numbers = [
        np.full(len(c.cells), np.nan) if c.numbers is None else c.numbers for c in outputs.columns
    ]
    scores = np.column_stack(numbers)
    keep = np.isfinite(scores).all(axis=1) & (True if outcome is None else outcome.known)
    rows = round(n_rows * float(keep.mean())) if len(keep) else 0
    if outcome is None or not rows:
        return TableReading(roles, f"outputs in {listed(outputs.names)}", rows, groups)
    if not outputs.is_single:
        shown = listed(outputs.names, 3) + (
            f" for {listed(reading.label_values, 3)}" if reading.label_values else ""
        )
        of = f"{len(outputs.names):,} classes of {shortened(outcome.name)}"
        return TableReading(roles, f"{of}, one column each ({shown})", rows, groups)
    area = area_of(reading)
    truth = texts_of(outcome.cells[keep])
    stem = shortened(outputs.stem)
    inside = -1e-6 <= scores[keep].min() <= scores[keep].max() <= 1 + 1e-6
    mean = f"mean {scores[keep].mean():.1%}, " if inside else ""
    if reading.pairs:
        answer = (
            f", {shortened(reading.predicted.name)} against {shortened(outcome.name)}"
            if reading.predicted
            else ""
        )
        right: Any = (
            texts_of(reading.predicted.cells[keep])
            if reading.predicted
            else correct_value(outcome.values)
        )
        return TableReading(
            roles,
            f"confidence in an answer ({stem}{answer}): {mean}correct {(truth == right).mean():.1%}{area}",
            rows,
            groups,
        )
    event = (
        as_text(reading.label_values[-1])
        if reading.label_values
        else event_value(outcome) or outcome.values[-1]
    )
    never = len(outcome.values) == 1 and outcome.values[0].lower() in DID_NOT
    rate = 0.0 if never else (np.char.lower(truth) == event.lower()).mean()
    named = shortened(outcome.name) if never else event_name(event, outcome)
    return TableReading(
        roles, f"P({named}) in {stem}: {mean}happened {rate:.1%}{area}", rows, groups
    )


def area_of(reading: Reading) -> str:
    """The AUROC of a single column for a sentence; empty where it is not defined."""
    order = label_order(reading)
    place = places_of(reading, order) if order is not None else np.array([])
    score = reading.score.numbers
    if score is None or not len(place):
        return ""
    known = (place >= 0) & np.isfinite(score)
    area = auroc(score[known], place[known] == 1)[0]
    return "" if np.isnan(area) else f", AUROC {area:.2f}"


def event_name(event: str, outcome: Column) -> str:
    """What a probability is of, for a sentence: ``default``, ``bad``, or ``label = 1`` where no name says more."""
    name = Event.chosen((event, event), 1, outcome.name).name
    says_more = about(tokens(outcome.name)) and event == event_value(outcome)
    return shortened(name if name == event or says_more else f"{outcome.name} = {event}")
