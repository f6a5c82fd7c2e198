"""Build Predictions from the arrays of an upload and the choices how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import KINDS, ONE_COLUMN, PLAIN, Kind, to_plain
from calib.data.build.checks import check_outputs, predicted_classes
from calib.data.build.features import feature_fields, row_features
from calib.data.build.labels import MISSING_LABEL, UNKNOWN_LABEL, decode_labels
from calib.data.build.outputs import (
    bad_rows,
    check_plain,
    decide_form,
    refuse_single_column,
    to_logits,
)
from calib.data.build.part import Part
from calib.data.event import Event, chosen_event, infer_event
from calib.data.findings import Findings, InvalidUpload, info, listed, shortened, verb, warning
from calib.data.names import Order, is_whole, outcome_name, terms_of
from calib.data.options import NOTHING, OPTION_OF_ROLE, Choices
from calib.data.predictions import Predictions
from calib.data.roles import ColumnRole
from calib.data.rows import ROW_ROLES, row_fields
from calib.data.words import WEIGHT
from calib.formatting import plural, row_numbers
from calib.numerics import Ints

Bools = npt.NDArray[np.bool_]


def build(part: Part, choices: Choices, name: str) -> tuple[Predictions, Choices]:
    """Build the data set of some arrays, with findings and without a hash; return it with every option settled.

    Arrays of float64 are overwritten, and not copied.

    Parameters
    ----------
    name : how pages call the data set.

    Raises
    ------
    InvalidUpload
        At the first check that fails.
    """
    what = part.outputs_name
    n_classes = max(part.outputs.shape[1], 2)
    is_table = part.column_names is not None
    no_outputs = bad_rows(part.outputs, what, choices, is_table)
    refuse_single_column(part.outputs, part.labels, what, choices)
    usable = part.outputs[~no_outputs] if no_outputs.any() else part.outputs
    kind, scale, of_form = decide_form(usable, what, choices)
    if scale is not None:
        buffer = part.outputs if part.outputs.dtype == np.float64 else None
        part = replace(part, outputs=to_plain(part.outputs, scale, out=buffer))
    columns = part.column_names or names_of_labels(part)
    codes, order, of_labels = decode_labels(
        part.labels, n_classes, columns, part.labels_name, choices, is_table
    )
    features, of_features = row_features(part.rows)
    dropped = {
        "no outputs": no_outputs,
        "no label": codes == MISSING_LABEL,
        "a label of no column": codes == UNKNOWN_LABEL,
    }
    keep, of_rows = rows_to_keep(dropped, choices)
    codes = codes[keep]
    if not keep.all():
        part = part.take(keep)
        features = None if features is None else features[keep]
    check_plain(part.outputs, kind, what)

    is_usual = [*order] == [*range(n_classes)] and choices.label_values is None
    label_values = None if is_usual else order
    class_names, of_names = name_classes(part, n_classes, choices, label_values)
    event = decide_event(class_names, codes, part.labels_name, kind, choices.event)
    choices = replace(
        choices,
        kind=kind,
        scale=scale or PLAIN,
        label_values=label_values,
        class_names=class_names,
        event=choices.event or (class_names[event.column] if event and kind != "pairs" else None),
    )
    of_checks = [*check_outputs(part.outputs, kind, codes, class_names, what, order)]
    logits, floor, of_zeros = to_logits(part.outputs, kind, what, choices.floor)
    unusable = features is None and "features" in part.rows  # which has a finding of its own
    train = {} if unusable else part.train
    fields, of_training = feature_fields(features, train, class_names, choices)
    of_row, of_metadata = row_fields(part.rows, part.metadata, choices.split or "")
    fields |= of_row
    fields["weight_kind"] = None if fields.get("weights") is None else choices.weight_kind
    right = codes if kind == "pairs" else predicted_classes(part.outputs, kind) == codes
    understood = (
        f"{plural(len(codes), 'row')} with {n_classes:,} classes: {what} holds {KINDS[kind]}, {part.labels_name} the "
        f"labels; accuracy {float(right.mean()):.2%}.{weighting(fields, part.roles)}"
    )
    aside = f"Left aside: {listed(part.unused)}."
    of_reading = *of_form, *of_labels, *of_features, *of_rows, *of_names, *of_checks, *of_zeros
    findings = (*of_reading, info("understood", understood), *of_training, *of_metadata)
    findings += missing_weights(fields, part.roles, choices)
    findings += (info("left_aside", aside),) if part.unused else ()
    data = Predictions(
        logits,
        codes,
        class_names,
        kind,
        scale=scale,
        floor=floor,
        event=event,
        **fields,
        name=name,
        model=part.model,
        findings=findings,
        roles=roles_in_use(part.roles, fields),
    )
    return data, settled(choices, data)


def names_of_labels(part: Part) -> tuple[str, ...] | None:
    """Return the names of the classes of arrays where labels may be called so: texts, or numbers of these names."""
    names = part.class_names
    if names is None or part.labels.dtype.kind == "U":
        return names
    numbers = tuple({"false": "0", "true": "1"}.get(name.lower(), name) for name in names)
    return numbers if all(map(is_whole, numbers)) else None


def settled(choices: Choices, data: Predictions) -> Choices:
    """Return the choices with what the data settle; what could not be used is left out."""
    options = {name: getattr(data, name) for name in ROW_ROLES} | {"split": data.given_split}
    settled: dict[str, Any] = {
        option: NOTHING
        for option, values in options.items()
        if values is None and getattr(choices, option)
    }
    settled |= {"floor": data.floor or choices.floor, "weight_kind": data.weight_kind}
    return replace(choices, **settled)


def weighting(fields: Mapping[str, Any], roles: tuple[ColumnRole, ...]) -> str:
    """Return the sentence that says by which weights rows are counted, "" where each counts once."""
    if fields["weight_kind"] is None:
        return ""
    column = next((role.column for role in roles if role.role == "weight"), "weights")
    return f" Rows are counted by {column}, as {fields['weight_kind']} weights."


def missing_weights(
    fields: Mapping[str, Any], roles: tuple[ColumnRole, ...], choices: Choices
) -> Findings:
    """Warn where a kind of weights was announced and there are none."""
    if choices.weight_kind is None or fields.get("weights") is not None or choices.weights:
        return ()
    reason = f"Weights of the kind {choices.weight_kind} were announced, but none were found."
    if named := [role.column for role in roles if terms_of(role.column) & WEIGHT]:
        reason += f" {listed(named)} holds no numbers from 0 upwards that differ."
    action = "Name the column that holds them, as with weights='exposure'."
    return (warning("weights", reason, action),)


def roles_in_use(
    roles: tuple[ColumnRole, ...], fields: Mapping[str, Any]
) -> tuple[ColumnRole, ...]:
    """Return the roles of columns; those that could not be used, which a finding says, have none."""
    field = {**OPTION_OF_ROLE, "split": "given_split"}
    rows = ("split", "features", "group", "cluster", "weight", "time")
    unused = {role for role in rows if fields.get(field[role]) is None}
    reason = "it could not be used, as a finding says"
    ignored = {role: replace(role, role="ignore", reason=reason) for role in roles}
    return tuple(ignored[role] if role.role in unused else role for role in roles)


def rows_to_keep(dropped: Mapping[str, Bools], choices: Choices) -> tuple[Bools, Findings]:
    """Return (n,) rows without a reason to be left out; most rows go only where that was chosen."""
    gone = np.logical_or.reduce(list(dropped.values()))
    reasons = [
        f"{plural(n, 'row')} of {len(mask):,} {verb(n, 'has', 'have')} {reason} ({row_numbers(mask)})"
        for reason, mask in dropped.items()
        if (n := int(mask.sum()))
    ]
    if 2 * int(gone.sum()) > len(gone) and not choices.drop_bad_rows:
        reason = (
            f"More than half of the rows would have to be left out: {'; '.join(reasons)}. Another column may be meant, "
            "or a join found few partners."
        )
        action = "Leave these rows out all the same, or choose other columns."
        raise InvalidUpload("mostly_missing", reason, action, drop_bad_rows=True)
    ends = "; left out, nothing was filled in."
    return ~gone, tuple(warning("rows_left_out", f"{reason}{ends}") for reason in reasons)


def name_classes(
    part: Part, n_classes: int, choices: Choices, values: Order | None
) -> tuple[tuple[str, ...], Findings]:
    """Return the names of the classes: by hand, from the file, from labels or columns; numbers otherwise.

    Parameters
    ----------
    values : the label of each column, where it is not its number.
    """
    columns = part.column_names
    numbered = values is not None and not isinstance(values[0], str)
    if numbered and columns and len(columns) == n_classes and not all(map(str.isdecimal, columns)):
        values = None  # names of columns say more than the numbers that stand for them
    chosen = choices.class_names or part.class_names
    candidates: tuple[Any, ...] = (chosen, values, columns, range(n_classes))
    names = next(candidate for candidate in candidates if candidate and len(candidate) == n_classes)
    class_names = tuple(map(str, names))
    findings: Findings = ()
    if chosen and len(chosen) != n_classes:
        reason = f"{plural(len(chosen), 'class name')} given, but there are {n_classes:,} classes; none was used."
        findings += (warning("class_names", reason, "Give one name for each class."),)
    if n_same := n_classes - len(set(class_names)):
        reason = f"{plural(n_same, 'class name')} of {n_classes:,} repeat another, so no page can tell them apart."
        findings += (warning("class_names", reason, "Give each class a name of its own."),)
    return class_names, findings


def decide_event(
    class_names: tuple[str, ...], labels: Ints, labels_name: str, kind: Kind, chosen: str | None
) -> Event | None:
    """Return the event of two classes: the one that was chosen, else the one that the labels say."""
    if len(class_names) != 2:
        return None
    outcome = outcome_name(labels_name)
    if kind == "pairs":
        return Event(1, "correct", "the confidence is that of a correct answer")
    if chosen is None:
        return infer_event(class_names, labels, outcome, scored=kind in ONE_COLUMN)
    if chosen not in class_names:
        classes = " and ".join(class_names)
        reason = f"The event was chosen as {shortened(chosen)}, but the classes are {classes}."
        raise InvalidUpload("event", reason, "Choose one of the two.")
    return chosen_event(class_names, class_names.index(chosen), outcome)
