"""The text that travels with an exported calibrator: what it is, what it was fitted on, how to use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calib.base import ROWS_SUM_TO_ONE
from calib.canonical import KINDS, describe_scale
from calib.export.runtime import ExportedCalibrator, damage_in_words
from calib.formatting import escape_markdown, fixed, with_interval
from calib.registry import METHODS

LABELS = {
    "data_name": "data",
    "data_sha256": "SHA-256 of the data",
    "n_rows": "rows",
    "n_calibration": "rows fitted on",
    "n_test": "rows of the scores",
    "event_class": "class of the event",
    "device": "fitted on the device",
    "exported_on": "exported on",
}
"""Titles of recorded facts on the card; anything else has its own name."""

COLUMNS = {"before": "before", "after": "after", "frequencies": "class frequencies"}
"""Columns of the scores by their names in the metadata."""

USE = """## Use

In this folder, with Python and NumPy alone:

```python
from predict import load

calibrator = load("calibrator.npz")
{call}
```

or from a shell: `python predict.py {file} --out calibrated.csv`; other columns of a table stay.

Outputs that look like another kind than those it was fitted on are refused; `kind=` (`--kind`) says what they are.
`calibrator.npz` is data and safe to load. The pickle, a file of its own, holds the fitted object and needs calib; as
with every pickle, load it only if you trust where it came from."""
WITH_CALIB = """## Use

Where calib is installed:

```python
import calib

calibrator = calib.runtime.load("calibrator.pkl")
confidence = calibrator.predict_confidence(outputs, features)  # (n,), in the predicted class
```"""


@damage_in_words()
def model_card(exported: ExportedCalibrator) -> str:
    """Markdown text of the model card.

    Of the metadata ``audit`` is the verdict on the raw model, ``notes`` are a list of sentences, and ``scores`` score
    name to ``{"before": value, "after": value, "frequencies": value}``, each a number or ``[value, low, high]`` with
    its 95 % interval; all other entries are listed as they are.
    """
    method = METHODS[exported.method]
    metadata = dict(exported.metadata)
    scores = metadata.pop("scores", None) or {}
    notes = metadata.pop("notes", None) or ()
    audit = metadata.pop("audit", None)
    recorded = {LABELS.get(key, key): value for key, value in metadata.items() if value is not None}
    facts = {
        **_in_and_out(exported),
        **_decisions(exported),
        "parameters": exported.params,
        **recorded,
    }
    parts = [
        f"# Calibrator: {method.title}",
        f"**Audit of the raw model**: {_text(audit)}" if audit else "",
        method.summary,
        f"Source: {method.paper}." if method.paper else "",
    ]
    parts += [
        _use(exported),
        "## What it takes, gives and was fitted on",
        _table(["", ""], [(_text(name), _text(value)) for name, value in facts.items()]),
    ]
    if scores:
        of = {"event": " of the event's probability", "pairs": " of the confidence"}.get(
            str(metadata.get("view")), ""
        )
        rows = [
            (_text(name), *(_value(row.get(column)) for column in COLUMNS))
            for name, row in scores.items()
        ]
        parts += [f"## Scores{of} on test data", _table(["score", *COLUMNS.values()], rows)]
    if notes:
        parts += ["## Notes", "\n".join(f"- {_text(note)}" for note in notes)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _use(exported: ExportedCalibrator) -> str:
    if not exported.calibrator.gives_probabilities:
        return WITH_CALIB
    call = f"probs = calibrator.predict_proba(outputs)  # {_shape(exported)} -> (n, {exported.calibrator.n_classes_})"
    if exported.kind == "pairs":
        call = "confidence = calibrator.predict_proba(outputs)[:, 1]  # (n,) -> (n,), that each answer is correct"
    if exported.needs_groups:
        call = "probs = calibrator.predict_proba(outputs, groups=groups)  # groups: (n,), one for each row"
    lines = [call]
    lines += ["actions = calibrator.decide(outputs)"] if exported.decision is not None else []
    lines += ["sets = calibrator.prediction_sets(outputs)"] if exported.sets is not None else []
    return USE.format(call="\n".join(lines), file="new.csv" if exported.columns else "outputs.npy")


def _in_and_out(exported: ExportedCalibrator) -> dict[str, Any]:
    """Inputs and outputs of the calibrator."""
    promises = exported.calibrator.promises(exported.n_classes)
    kind = exported.kind
    gives = f"calibrated probabilities: (n, {exported.calibrator.n_classes_}), float64"
    if kind == "pairs" or not exported.calibrator.gives_probabilities:
        of = "that each answer is correct" if kind == "pairs" else "in the predicted class"
        gives = f"calibrated confidence {of}: (n,), float64"
    elif ROWS_SUM_TO_ONE not in promises:
        gives = f"{gives}; rows are not normalised and need not sum to one"
    facts: dict[str, Any] = {"input": f"{KINDS[kind]}: {_shape(exported)}", "output": gives}
    if exported.scale is not None:
        facts["scale of the input"] = describe_scale(exported.scale)
    if exported.needs_features:
        facts["features"] = "the inputs of the rows, (n, ...), as they were uploaded"
    if exported.needs_groups:
        facts["groups"] = (
            f"that of each row{f', column {exported.group_column}' * bool(exported.group_column)}"
        )
    if exported.seen is not None:
        facts["range of the input"] = (
            f"{exported.seen.low:.6g} to {exported.seen.high:.6g}; nothing else was tested"
        )
    if exported.floor is not None:
        facts["zero probabilities"] = f"become {exported.floor:.4g} before the logarithm"
    facts["classes"] = f"{exported.n_classes:,}: {', '.join(exported.class_names[:100])}"
    if exported.base_rate is not None and exported.n_classes == 2:
        facts["frequencies of the classes"] = ", ".join(
            f"{rate:.4g}" for rate in exported.base_rate
        )
    return facts | {"guarantees": ", ".join(sorted(promises))}


def _decisions(exported: ExportedCalibrator) -> dict[str, Any]:
    """The rule and the sets that the file carries."""
    rows: dict[str, Any] = {}
    if exported.decision is not None:
        rows["decision"] = (
            f"{exported.decision.said(exported.class_names)} {exported.decision.chosen}".strip()
        )
        rows["actions"] = dict(list(exported.action_names.items())[:100])
    if exported.sets is not None:
        rows["prediction sets"] = exported.sets.said()
        rows["coverage"] = (
            "on average over rows that are exchangeable with those of the quantiles, not of each row"
        )
    return rows


def _shape(exported: ExportedCalibrator) -> str:
    return "(n,)" if exported.n_outputs == 1 else f"(n, {exported.n_outputs})"


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return with_interval(value, fixed) if isinstance(value, (list, tuple)) else fixed(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: Any) -> str:
    """Escape text of a record, which may come from anybody, for a cell or a line."""
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}: {entry}" for name, entry in value.items())
    return escape_markdown(str(value))
