"""The experiment of Wenger et al. (2020), section 4: calibrate on 1000 rows, score on the others, ten times over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from benchmarks.wenger2020 import Printed
from calib.base import Calibrator
from calib.metrics.confidence import top_label
from calib.numerics import Floats, Ints, bin_index
from calib.registry import calibrator

ECE_BINS = 100

CLASS_WISE = {"share_classes": False}
"""One map for each class, as in the paper; calib's default is one for all."""


@dataclass(frozen=True)
class Column:
    """One column of a table: a calibrator and how it is set, by its registry name."""

    title: str
    name: str
    params: dict[str, Any] = field(default_factory=dict)


def columns(inputs: str) -> list[Column]:
    """The methods of the paper's tables, with GPcalib's kernel on "logits" or "probs"."""
    gp = {"inputs": inputs, "device": "cpu"}
    return [
        Column("Uncal.", "identity"),
        Column("Platt", "platt", {"input": "score", **CLASS_WISE}),
        Column("Isotonic", "isotonic", CLASS_WISE),
        Column("Beta", "beta", CLASS_WISE),
        Column("BBQ", "bbq", CLASS_WISE),
        Column("Temp.", "temperature"),
        Column("GPcalib", "gpcalib", gp),
        Column("GPcalib mean", "gpcalib", {**gp, "prediction": "mean"}),
    ]


def score_folds(
    logits: Floats,
    labels: Ints,
    methods: list[Column],
    *,
    n_folds: int,
    n_calibration: int,
    n_test: int,
) -> dict[str, Floats]:
    """Fit every method on every fold; the ECE of each on the folds, (n_folds,), by its title.

    Parameters
    ----------
    logits, labels : a model's outputs on rows it was not trained on.
    n_folds, n_calibration, n_test : random divisions of these rows, seeded.
    """
    found: dict[str, list[float]] = {method.title: [] for method in methods}
    folds = ShuffleSplit(n_folds, train_size=n_calibration, test_size=n_test, random_state=1)
    for calibration, test in folds.split(logits):
        fitted = None
        for method in methods:
            wanted = calibrator(method.name, **method.params)
            if fitted is not None and _differ_in_prediction_alone(fitted, wanted):
                fitted.set_params(**method.params)
            else:
                fitted = wanted.fit(logits[calibration], labels[calibration])
            probs = fitted.predict_proba(logits[test])
            found[method.title].append(printed_ece(probs, labels[test]))
    return {title: np.array(values) for title, values in found.items()}


def printed_ece(probs: Floats, labels: Ints, n_bins: int = ECE_BINS) -> float:
    """ECE as in the tables of Wenger et al. (2020) and the authors' public code.

    Bins of equal width divide [1/K, 1]. In place of mean confidences stand fixed centres, half a bin of a grid on
    [0, 1] inside the ends, which are not the middles of these bins.
    """
    confidence, correct = top_label(probs, labels)
    low = 1.0 / probs.shape[1]
    index = bin_index(confidence, np.linspace(low, 1.0, n_bins + 1))
    centres = np.linspace(low + 0.5 / n_bins, 1.0 - 0.5 / n_bins, n_bins)
    return float(np.abs(np.bincount(index, weights=correct - centres[index])).sum()) / len(labels)


def _differ_in_prediction_alone(fitted: Calibrator, wanted: Calibrator) -> bool:
    """Whether GPcalib need not be fitted again, but only asked to predict another way."""
    have, want = ({**c.get_params(), "prediction": None} for c in (fitted, wanted))
    return type(fitted) is type(wanted) and have == want


def beside(here: dict[str, dict[str, Floats]], printed: Printed) -> list[list[str]]:
    """Rows of a table with our numbers above the paper's; ``*`` marks a mean outside its interval.

    Parameters
    ----------
    here : errors of the folds by model and column.
    printed : the paper's, by model and column.
    """
    rows = []
    for model, ours in here.items():
        marks = [
            "" if agrees(values, printed[model].get(title)) else " *"
            for title, values in ours.items()
        ]
        cells = [cell(values) + mark for values, mark in zip(ours.values(), marks, strict=True)]
        rows.append([model, "here", *cells])
        rows.append(["", "paper", *(cell_of_paper(printed[model].get(title)) for title in ours)])
    return rows


def agrees(errors: Floats, printed: tuple[float, float | None] | None) -> bool:
    """Whether a mean is at most two of the paper's standard deviations above the paper's."""
    return (
        printed is None or printed[1] is None or bool(errors.mean() <= printed[0] + 2 * printed[1])
    )


def cell(values: Floats) -> str:
    """Mean and standard deviation over folds, to four digits."""
    return f"{values.mean():.4f} ± {values.std():.4f}"


def cell_of_paper(printed: tuple[float, float | None] | None) -> str:
    """What the paper prints, in the same form."""
    if printed is None:
        return "–"
    mean, spread = printed
    return f"{mean:.4f}" + (f" ± {spread:.4f}" if spread is not None else "")
