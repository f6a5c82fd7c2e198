"""What calib makes of a table, compared with what the table means."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from calib.data import Inspection, inspect
from calib.records import flatten, unflatten
from tests.data.corpus.tables import CorpusTable, Truth, softmax

Outcome = Literal[
    "right", "partly", "asked first", "asked", "asked without", "refused", "misread", "crashed"
]


@dataclass(frozen=True)
class Judgement:
    """What became of a table.

    Attributes
    ----------
    outcome : ``right``: opened with the labels, probabilities, event, clusters, weights and groups of the truth.
        ``partly``: with its labels and probabilities, something else differs. ``misread``: opened with other content.
        ``asked first``: asked, and the first answer that is offered is right; ``asked``: another one is;
        ``asked without``: none is. ``refused``: not opened and nothing offered. ``crashed``: an exception.
    said : what differs, or what was asked or said.
    """

    table: CorpusTable
    outcome: Outcome
    said: str


def judge(table: CorpusTable) -> Judgement:
    """Read a table without any help, hand the result over as a reader of uploads does, and compare."""
    try:
        found = unflatten(*flatten(inspect((table.filename, table.content))), Inspection)
    except Exception as error:  # whatever it is, the person is left with nothing
        return Judgement(table, "crashed", f"{type(error).__name__}: {error}")
    data, truth = found.predictions, table.truth
    if data is None:
        if found.readings:
            right = [matches(reading.roles, truth) for reading in found.readings]
        else:
            right = [opens(table, roles) for roles in offers(found)] if truth.kind else []
        said = " ".join(finding.message for finding in found.findings if finding.level == "error")
        if not right:
            return Judgement(table, "refused", said)
        return Judgement(
            table, "asked first" if right[0] else "asked" if any(right) else "asked without", said
        )
    if truth.kind is None:
        return Judgement(table, "misread", f"opened as {described(data)}")
    wrong = content_differs(data, truth)
    if wrong and not any(not content_differs(data, other) for other in other_models(truth)):
        return Judgement(table, "misread", f"{wrong}; opened as {described(data)}")
    missing = beside_content(data, truth)
    return Judgement(table, "partly" if missing else "right", "; ".join(missing))


def offers(found: Inspection) -> list[dict[str, Any]]:
    """The answers to a question that is not about columns, such as how probabilities are written."""
    changes = [
        dict(change)
        for finding in found.findings
        if finding.level == "error"
        for change in finding.offers.values()
    ]
    return [
        {"outcome" if name == "labels" else name: value for name, value in change.items()}
        for change in changes
    ]


def opens(table: CorpusTable, roles: dict[str, Any]) -> bool:
    """Whether this answer opens the table as it is meant."""
    data = inspect((table.filename, table.content), roles=roles).predictions
    return data is not None and not content_differs(data, table.truth)


def described(data: Any) -> str:
    """One line about what was opened."""
    shown = softmax(np.asarray(data.logits, dtype=float)[:3]).round(4).tolist()
    names = [data.class_names[k] for k in data.labels[:3]]
    return f"{data.kind}, {data.logits.shape}, classes {data.class_names[:6]}, first rows {shown} {names}"


def names_of(columns: Any) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def matches(roles: Any, truth: Truth) -> bool:
    """Whether a reading that is offered is one of the acceptable ones."""
    found = str(roles.get("outcome")), sorted(names_of(roles.get("outputs")))
    values = roles.get("label_values")
    if values and truth.column_is and plain_name(values[-1]) != plain_name(truth.column_is):
        return False
    if (
        truth.kind == "pairs"
        and "predicted" in truth.roles
        and roles.get("predicted") != truth.roles["predicted"]
    ):
        return False
    return any(found == (outcome, sorted(outputs)) for outcome, outputs in truth.readings)


def other_models(truth: Truth) -> list[Truth]:
    """The truth for each further model of a wide table: opening one of them is right too where it is asked about."""
    return [
        replace(truth, probs=probs)
        for rows, probs in truth.models.values()
        if len(rows) == len(truth.rows)
    ]


def content_differs(data: Any, truth: Truth) -> str:
    """How labels or probabilities differ from the truth; empty where they agree to 1e-6."""
    n, n_classes = truth.probs.shape
    if data.logits.shape != (n, n_classes):
        return f"{data.logits.shape} instead of {(n, n_classes)}"
    found, expected = softmax(np.asarray(data.logits, dtype=float)), truth.probs
    order = matching_columns(found, expected)
    if order is None:
        return f"probabilities differ, expected {expected[:3].round(4).tolist()}"
    labels = np.array([truth.classes.index(name) for name in truth.labels])
    place = np.argsort(order)  # place[k]: the class of the truth that column k holds
    if not np.array_equal(place[data.labels], labels):
        return f"labels differ in {np.mean(place[data.labels] != labels):.0%} of rows"
    if truth.kind != "pairs" and n_classes > 2:
        plain = [plain_name(name) for name in truth.classes]
        for k, name in enumerate(data.class_names):
            if plain_name(name) in plain and plain.index(plain_name(name)) != place[k]:
                return f"column {k} is named {name}, but holds {truth.classes[place[k]]}"
    return ""


def matching_columns(found: np.ndarray, expected: np.ndarray) -> np.ndarray | None:
    """For each class of the truth the column that holds it to 1e-6, or None.

    What stands for an exact zero is the reader's to choose, up to half of the smallest positive probability; the others
    of its row are compared as shares of their sum.
    """
    order = np.argmin(np.abs(found[:, None, :] - expected[:, :, None]).mean(axis=0), axis=1)
    if len(set(order)) < len(order):
        return None
    found, zero = found[:, order], expected == 0
    if zero.any() and found[zero].max() > 0.55 * min(expected[~zero].min(), 1 / expected.shape[1]):
        return None
    found = np.where(zero, 0, found)
    found /= found.sum(axis=1, keepdims=True)
    return order if np.abs(found - expected).max() < 1e-6 else None


def plain_name(name: str) -> str:
    """A class name without what writing adds: ``2.0`` is ``2``."""
    return re.sub(r"\.0+$", "", str(name).strip().casefold())


def beside_content(data: Any, truth: Truth) -> list[str]:
    """What differs beside labels and probabilities."""
    different = []
    if (data.kind == "pairs") != (truth.kind == "pairs"):
        different.append(f"kind {data.kind} instead of {truth.kind}")
    event = getattr(data, "event", None)
    if truth.event is not None:
        wanted = truth.labels == truth.event
        if event is None:
            different.append("no event")
        elif not np.array_equal(data.labels == event.column, wanted):
            different.append(f"the event is {event.name} instead of {truth.event}")
    clusters, weights, maybe = (
        getattr(data, "clusters", None),
        getattr(data, "weights", None),
        truth.maybe.values(),
    )
    if not any(same_partition(clusters, expected) for expected in (truth.clusters, *maybe)):
        different.append(
            f"clusters: {role_of(data, 'cluster')} instead of {truth.roles.get('cluster')}"
        )
    if not any(proportional(weights, expected) for expected in (truth.weights, *maybe)):
        different.append(
            f"weights: {role_of(data, 'weight')} instead of {truth.roles.get('weight')}"
        )
    if truth.weights is None and getattr(data, "weight_kind", None) is not None:
        different.append("weights are applied that are none of the sample")
    groups = set(truth.roles.get("group", ()))
    if not groups <= set(role_of(data, "group")):
        different.append(f"groups: {role_of(data, 'group')} instead of {sorted(groups)}")
    return different


def role_of(data: Any, role: str) -> list[str]:
    return [item.column for item in getattr(data, "roles", ()) if item.role == role]


def same_partition(found: Any, expected: Any) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    pairs = set(zip(map(str, found), map(str, expected), strict=True))
    return len(pairs) == len(set(map(str, found))) == len(set(map(str, expected)))


def proportional(found: Any, expected: Any) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    try:
        expected = np.asarray(expected, dtype=float)
    except ValueError:
        return False
    ratio = np.asarray(found, dtype=float) / expected
    return bool(np.allclose(ratio, ratio[0], rtol=1e-5))
