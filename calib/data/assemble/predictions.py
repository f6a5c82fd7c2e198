"""Arrays and what is chosen about them, made to :class:`calib.data.Predictions`: the steps in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import KINDS, ONE_COLUMN, to_plain
from calib.data.array_names import outcome_name
from calib.data.assemble.arrays import Arrays
from calib.data.assemble.beside import row_fields
from calib.data.assemble.checks import check_outputs, check_predicted, predicted_classes
from calib.data.assemble.features import feature_fields, own_features
from calib.data.assemble.labels import decode_labels
from calib.data.assemble.outputs import (
    bad_rows,
    check_plain,
    decide_form,
    refuse_single_column,
    to_logits,
)
from calib.data.event import Event
from calib.data.findings import InvalidUpload, Notes, Step, info, shortened, verb, warning
from calib.data.options import OPTION_OF_ROLE, Choices
from calib.data.predictions import Predictions
from calib.data.roles import ColumnRole
from calib.formatting import plural, row_numbers
from calib.numerics import Ints

Bools = npt.NDArray[np.bool_]


def predictions_of_arrays(arrays: Arrays, name: str, notes: Notes) -> Predictions:
    """The data set that the arrays make; it has no hash yet. Arrays of float64 are overwritten, and not copied.

    Parameters
    ----------
    name : how pages call the data set.

    Raises
    ------
    InvalidUpload
        At the first check that fails.
    """
    choices, what = notes.choices, arrays.outputs_name
    is_table = arrays.column_names is not None
    n_classes = max(arrays.outputs.shape[1], 2)
    dropped = {"no outputs": bad_rows(arrays.outputs, what, choices, is_table)}
    refuse_single_column(arrays.outputs, arrays.labels, what, choices)
    good = ~dropped["no outputs"]
    form = notes.take(
        decide_form(arrays.outputs if good.all() else arrays.outputs[good], what, choices)
    )
    if form.scale is not None:
        own = arrays.outputs if arrays.outputs.dtype == np.float64 else None
        arrays = replace(arrays, outputs=to_plain(arrays.outputs, form.scale, out=own))
    columns = arrays.column_names or (
        arrays.class_names if arrays.labels.dtype.kind == "U" else None
    )
    labels = notes.take(
        decode_labels(arrays.labels, n_classes, columns, arrays.labels_name, choices, is_table)
    )
    dropped |= {"no label": labels.missing, "a label of no column": labels.unknown}
    features = None
    if "features" in arrays.rows:
        features, dropped["bad features"] = notes.take(
            own_features(arrays.rows["features"], choices)
        )
    keep = notes.take(rows_to_keep(dropped, choices))
    arrays = arrays.with_rows(keep)
    codes = labels.codes[keep]
    features = features[keep] if features is not None and not keep.all() else features
    outputs, kind = arrays.outputs, form.kind
    check_plain(outputs, kind, what)
    class_names = notes.take(name_classes(arrays, n_classes, notes.choices))
    notes.add(*check_outputs(outputs, kind, codes, class_names, what, notes.choices))
    accuracy = float(
        (codes if kind == "pairs" else predicted_classes(outputs, kind) == codes).mean()
    )
    if "predicted" in arrays.rows and kind != "pairs":
        predicted = arrays.rows["predicted"]
        notes.add(
            check_predicted(predicted, outputs, kind, n_classes, arrays.column_names, notes.choices)
        )
    converted = to_logits(outputs, kind, what, notes.choices)
    logits = notes.take(converted)
    floor = converted.decided.get("floor")
    said = (
        f"{plural(len(codes), 'row')} with {n_classes:,} classes: {what} holds {KINDS[kind]}, {arrays.labels_name} the "
        f"labels; accuracy {accuracy:.2%}."
    )
    notes.add(info("understood", said))
    fields = feature_fields(features, arrays.train, class_names, notes, "features" in arrays.rows)
    fields |= notes.take(row_fields(arrays.rows, notes.choices.split or ""))
    if fields.get("weights") is not None:
        fields["weight_kind"] = choices.weight_kind
    if n_classes == 2:
        fields["event"] = notes.take(
            decide_event(class_names, codes, arrays.labels_name, notes.choices)
        )
    return Predictions(
        logits,
        codes,
        class_names,
        kind,
        scale=form.scale,
        floor=floor,
        **fields,
        name=name,
        findings=notes.findings,
        roles=roles_in_use(arrays.roles, fields),
    )


def roles_in_use(
    roles: tuple[ColumnRole, ...], fields: Mapping[str, Any]
) -> tuple[ColumnRole, ...]:
    """The roles of columns; those that could not be used, which a finding says, have none."""
    held = {"split": "given_split"}
    unused = {
        role
        for role, option in OPTION_OF_ROLE.items()
        if fields.get(held.get(option, option)) is None
    }
    unused &= {"split", "features", "group", "cluster", "weight", "time"}
    left = {
        role: replace(role, role="ignore", reason="it could not be used, as a finding says")
        for role in roles
    }
    return tuple(left[role] if role.role in unused else role for role in roles)


def rows_to_keep(dropped: dict[str, Bools], choices: Choices) -> Step[Bools]:
    """(n,) rows without a reason to be left out; each reason is said. Most rows go only where that was chosen."""
    gone = np.logical_or.reduce(list(dropped.values()))
    reasons = [
        f"{plural(int(mask.sum()), 'row')} of {len(mask):,} {verb(int(mask.sum()), 'has', 'have')} {reason} "
        f"({row_numbers(mask)})"
        for reason, mask in dropped.items()
        if mask.any()
    ]
    if 2 * int(gone.sum()) > len(gone) and not choices.drop_bad_rows:
        raise InvalidUpload(
            "mostly_missing",
            f"More than half of the rows would have to be left out: {'; '.join(reasons)}. Another column may be meant, "
            "or a join found few partners.",
            "Leave these rows out all the same, or choose other columns.",
            drop_bad_rows=True,
        )
    said = [
        warning("rows_left_out", f"{reason}; left out, nothing was filled in.")
        for reason in reasons
    ]
    return Step(~gone, tuple(said))


def name_classes(arrays: Arrays, n_classes: int, choices: Choices) -> Step[tuple[str, ...]]:
    """Names by hand, from the file, from the labels or from the columns; numbers otherwise."""
    columns = arrays.column_names
    values = choices.label_values
    findings = []
    numbered = values is not None and not isinstance(values[0], str)
    if numbered and columns and len(columns) == n_classes and not all(map(str.isdecimal, columns)):
        values = None  # names of columns say more than the numbers that stand for them
    given = choices.class_names or arrays.class_names
    candidates: tuple[Any, ...] = (given, values, columns)
    names = next((each for each in candidates if each and len(each) == n_classes), range(n_classes))
    class_names = tuple(map(str, names))
    if given and len(given) != n_classes:
        reason = f"{plural(len(given), 'class name')} given, but there are {n_classes:,} classes; none was used."
        findings.append(warning("class_names", reason, "Give one name for each class."))
    if n_same := n_classes - len(set(class_names)):
        reason = f"{plural(n_same, 'class name')} of {n_classes:,} repeat another, so no page can tell them apart."
        findings.append(warning("class_names", reason, "Give each class a name of its own."))
    return Step(class_names, tuple(findings), {"class_names": class_names})


def decide_event(
    class_names: tuple[str, ...], labels: Ints, labels_name: str, choices: Choices
) -> Step[Event]:
    """Which of two classes is the event: the one that was chosen, else the one that the labels say."""
    outcome = outcome_name(labels_name)
    chosen = choices.event
    if choices.kind == "pairs":
        return Step(Event(1, "correct", "the confidence is that of a correct answer"))
    if chosen is None:
        event = Event.infer(class_names, labels, outcome, scored=choices.kind in ONE_COLUMN)
        return Step(event, decided={"event": class_names[event.column]})
    if chosen not in class_names:
        raise InvalidUpload(
            "event",
            f"The event was chosen as {shortened(chosen)}, but the classes are {' and '.join(class_names)}.",
            "Choose one of the two.",
        )
    return Step(Event.chosen(class_names, class_names.index(chosen), outcome))
