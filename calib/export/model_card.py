"""The text that travels with an exported calibrator: what it is, what it was fitted on, how to use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calib.base import ROWS_SUM_TO_ONE
from calib.canonical import KINDS, ONE_COLUMN
from calib.data.scales import in_words
from calib.export.runtime import ExportedCalibrator, damage_in_words
from calib.formatting import escape_markdown, fixed, plural, with_interval
from calib.registry import METHODS

_DATA = (
    ("data_name", "name"),
    ("n_rows", "rows"),
    ("split", "split"),
    ("data_sha256", "sha256 of the content"),
)
_LIMITS = (("n_calibration", "rows fitted on"), ("n_test", "rows of the scores"), ("device", "fitted on the device"))
_SHOWN = {"scores", "notes", "versions", "event", "event_class", "view", *(key for key, _ in (*_DATA, *_LIMITS))}


@damage_in_words()
def model_card(exported: ExportedCalibrator) -> str:
    """Markdown text of the model card.

    Of the metadata it reads ``data_name``, ``data_sha256``, ``split``, ``n_rows``, ``n_calibration``, ``n_test``,
    ``device``, ``event``, ``event_class``, ``view``, ``notes`` (list of sentences), ``versions`` (name to version) and
    ``scores``: score name to ``{"before": value, "after": value}``, each value a number or ``[value, low, high]`` with
    its 95 % interval. Whatever is absent is left out; other entries are listed as they are.

    Raises
    ------
    CalibrationError
        If these hold something else, as a record can that somebody else has written.
    """
    method = METHODS[exported.method]
    known = exported.metadata
    sections = [
        f"# Calibrator: {method.title}\n\n{method.summary}" + (f"\n\nSource: {method.paper}." if method.paper else "")
    ]
    sections.append(_use(exported))
    sections.append("## What goes in, what comes out\n\n" + _table(_contract(exported)))
    sections.append("## Parameters\n\n" + _table({name: repr(value) for name, value in exported.params.items()}))
    if decided := _decisions(exported):
        sections.append(decided)
    if data := {label: str(known[key]) for key, label in _DATA if known.get(key) is not None}:
        sections.append("## Calibration data\n\n" + _table(data))
    sections.append("## Limits it was tested in\n\n" + _table(_limits(exported)))
    if known.get("scores"):
        of = {"event": " of the event's probability", "pairs": " of the confidence"}.get(str(known.get("view")), "")
        sections.append(f"## Scores{of} on test data\n\n" + _scores(known["scores"]))
    if notes := known.get("notes"):
        sections.append("## Notes\n\n" + "\n".join(f"- {_text(note)}" for note in notes))
    if rest := {key: str(value) for key, value in known.items() if key not in _SHOWN}:
        sections.append("## Further details\n\n" + _table(rest))
    if known.get("versions"):
        sections.append("## Versions\n\n" + _table(known["versions"]))
    return "\n\n".join(sections) + "\n"


def _use(exported: ExportedCalibrator) -> str:
    call = f"probs = calibrator.calibrate(outputs)  # {_shape(exported)} -> (n, {exported.n_classes})"
    if exported.kind == "pairs":
        call = "confidence = calibrator.calibrate(outputs)  # (n,) -> (n,), that each answer is correct"
    elif exported.kind == "topk":
        call = "probs = calibrator.calibrate(outputs)  # arrays values, indices, rest by name -> (n, k + 1)"
    elif not exported.calibrator.gives_probabilities:
        return (
            "## Use\n\nWhere calib is installed:\n\n```python\nimport calib\n\n"
            'calibrator = calib.runtime.load("calibrator.pkl")\n'
            "confidence = calibrator.confidence(outputs, features)  # (n,), in the predicted class\n```"
        )
    file = "new.csv" if exported.columns else "outputs.npz" if exported.kind == "topk" else "outputs.npy"
    said = "what the model writes" if not exported.columns else "the table as it was uploaded, whose other columns stay"
    return (
        "## Use\n\nIn this folder, with Python and NumPy alone:\n\n```python\nfrom predict import load\n\n"
        f'calibrator = load("calibrator.npz")\n{call}\n```\n\n'
        f"or from a shell: `python predict.py {file} --out calibrated.csv` ({said}).\n\n"
        "Outputs that look like another kind than those it was fitted on are refused; `kind=` (`--kind`) says what "
        "they are. `calibrator.npz` is data and safe to load. The pickle, a file of its own, holds the fitted object "
        "and needs calib; as with every pickle, load it only if you trust where it came from."
    )


def _decisions(exported: ExportedCalibrator) -> str:
    """The rule and the sets that the file carries, and how to call them; "" where it has neither."""
    lines, rows = [], {}
    if exported.decision is not None:
        call = (
            "calibrator.decide(outputs, features)"
            if exported.needs_features
            else 'calibrator.answer(outputs)["actions"]'
        )
        lines.append(f"actions = {call}  # (n,) numbers of actions")
        names = list(exported.action_names.items())[:100]
        rows["decision"] = exported.decision.said(exported.class_names)
        rows |= {"chosen by": exported.decision.chosen} if exported.decision.chosen else {}
        rows["actions"] = ", ".join(f"{number}: {name}" for number, name in names)
    if exported.sets is not None:
        lines.append(f'sets = calibrator.answer(outputs)["sets"]  # (n, {exported.n_classes}) booleans')
        rows["prediction sets"] = exported.sets.said()
        rows["coverage"] = (
            "of rows that are exchangeable with those of the quantiles, on average over rows and draws; not of each row"
            + ("" if exported.sets.per_class else " or class")
        )
    if not lines:
        return ""
    code = "\n".join(lines)
    return f"## Decisions\n\n```python\n{code}\n```\n\n{_table(rows)}"


def _limits(exported: ExportedCalibrator) -> dict[str, str]:
    """What it was fitted and tested on; beyond that nothing is known of it."""
    known, seen = exported.metadata, exported.seen
    rows = {label: str(known[key]) for key, label in _LIMITS if known.get(key) is not None}
    rows["classes"] = f"{exported.n_classes:,}"
    if seen is not None:
        rows["range of the outputs"] = f"{seen.low:.6g} to {seen.high:.6g}, in {plural(seen.rows, 'row')}"
    return rows


def _contract(exported: ExportedCalibrator) -> dict[str, str]:
    promises = exported.calibrator.promises(exported.n_classes)
    sums = "" if ROWS_SUM_TO_ONE in promises else "; rows are not normalised and need not sum to one"
    output = f"calibrated probabilities: (n, {exported.n_classes}), float64{sums}"
    if exported.kind == "pairs":
        output = "calibrated confidence that each answer is correct: (n,), float64"
    elif exported.kind == "topk":
        output = "calibrated probabilities of the top k classes, (n, k), and of all others together, (n,), float64"
    elif not exported.calibrator.gives_probabilities:
        output = "confidence in the predicted class, which is that of the largest output: (n,), float64"
    columns = "one column" if exported.kind in ONE_COLUMN else "one column per class"
    columns = "with their classes and the log-sum of the rest" if exported.kind == "topk" else columns
    rows = {"input": f"{KINDS[exported.kind]}, {columns}: {_shape(exported)}"}
    if exported.scale is not None:
        rows["scale of the input"] = f"{in_words(exported.scale)}, converted here as the calibration data were"
    if exported.needs_features:
        scaled = "" if exported.feature_mean is None else "; they are standardised here as the calibration data were"
        rows["features"] = f"the inputs of the rows, prepared as in the calibration data: (n, ...){scaled}"
    rows |= {"output": output, "guarantees": ", ".join(sorted(promises))}
    if exported.floor is not None:
        rows["zero probabilities"] = f"become {exported.floor:.4g} before the logarithm, as in the calibration data"
    if event := exported.metadata.get("event"):
        rows["event"] = f"{event} (class {exported.metadata.get('event_class')})"
    if exported.base_rate is not None and exported.n_classes == 2:
        rates = zip(exported.class_names, exported.base_rate.tolist(), strict=True)
        rows["frequencies of the classes"] = ", ".join(f"{name} {rate:.4g}" for name, rate in rates)
    shown = exported.class_names[:100]
    more = exported.n_classes - len(shown)
    rows["classes"] = ", ".join(shown) + (f" and {more} more (all in calibrator.npz)" if more else "")
    return rows


def _shape(exported: ExportedCalibrator) -> str:
    if exported.kind == "topk":  # beside them one column for all other classes, unless there are none
        return f"(n, {exported.calibrator.n_classes_ - (exported.calibrator.n_classes_ < exported.n_classes)})"
    return "(n,)" if exported.kind in ONE_COLUMN else f"(n, {exported.n_classes})"


def _scores(scores: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| score | before | after |", "|---|---|---|"]
    lines += [
        f"| {_text(name)} | {_value(row.get('before'))} | {_value(row.get('after'))} |" for name, row in scores.items()
    ]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return with_interval(value, fixed) if isinstance(value, (list, tuple)) else fixed(value)


def _table(rows: Mapping[str, str]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {_text(name)} | {_text(value)} |" for name, value in rows.items())])


def _text(value: Any) -> str:
    """What a record says, which may have been written by anybody: text in a cell or in a line, and nothing more."""
    return escape_markdown(str(value))
