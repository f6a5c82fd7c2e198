"""The doors through which files of others come in, each held to its rules: declared errors, in words, or whole data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.mutations import Mutant
from calib.data import Choices, DataError, Inspection, Predictions, inspect, load, read_features, read_outputs
from calib.errors import CalibrationError


def wrong(found: Inspection) -> str:
    """What reading a file should not have given, if anything is."""
    if not found.predictions and not any(finding.level == "error" for finding in found.findings):
        return "neither data nor an error"
    return wrong_words(found.findings) or (wrong_data(found.predictions) if found.predictions else "")


def wrong_words(findings: tuple) -> str:
    """What is wrong with the findings' sentences, if anything is."""
    for finding in findings:
        if not finding.message.strip() or (finding.level == "error" and not finding.action.strip()):
            return f"{finding.code} says nothing"
        if len(finding.message) > 2000 or any(ord(c) < 32 and c != "\n" for c in finding.message):
            return f"{finding.code}: {len(finding.message):,} characters, or control characters"
    return ""


def wrong_data(data: Predictions) -> str:
    """The promise of Predictions that is broken, if one is."""
    if not np.isfinite(data.logits).all() or data.logits.shape != (len(data), data.n_classes):
        return "logits that are not finite, or of another shape"
    if data.labels.min() < 0 or data.labels.max() >= data.n_classes or len(data.class_names) != data.n_classes:
        return "labels beyond the classes"
    for array in (data.features, data.train_features):
        if array is not None and not np.isfinite(array).all():
            return "features that are not finite"
    return ""


def met(made: Mutant) -> tuple[str, str]:
    """``read`` or ``refused`` after every door that takes it, and what the readers should not have done."""
    choices = Choices(drop_bad_rows=True) if made.drop else None
    source = made.files["source"]
    aside = {role: file for role, file in made.files.items() if role != "source"}
    found = inspect(source, choices=choices, **aside)
    silent = [
        what
        for what, opened in {
            "load": lambda: load(source, choices=choices, **aside),
            "outputs": lambda: read_outputs(source),
            "features": lambda: read_features(aside.get("features", source)),
        }.items()
        if not in_words(opened)
    ]
    problem = f"{', '.join(silent)}: an error without words" if silent else wrong(found)
    return "read" if found.predictions else "refused", problem


def in_words(opened: Callable[[], Any]) -> bool:
    """Whether it opens, or the declared error says something; other errors pass on."""
    try:
        opened()
    except (DataError, CalibrationError) as error:
        return bool(str(error).strip())
    return True
