"""Largest difference of each export from NumPy, by method: ``python -m benchmarks.exports``.

Simulated: 2 classes with log-odds, and 5 of which one has no calibration rows. The rows compared are 10,000 random
ones, among them ties, logits of -1000 and 1000, and the calibration rows, where maps have their steps. Where an engine is
not installed its column is left out, and a line says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module, util
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

import calib
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.export.writer import exported
from calib.numerics import Floats, Ints, softmax
from calib.registry import METHODS

N_ROWS = 10_000

ONE_SCORE = ("platt", "beta", "quadratic", "spline", "isotonic", "bayes_iso", "enir", "histogram", "bbq",
             "scaling_binning", "imax", "venn_abers")  # fmt: skip

FORMS: dict[str, list[dict[str, Any]]] = {
    **{name: [{}, {"share_classes": False}, {"classes": "top"}] for name in ONE_SCORE},
    "platt": [{}, {"share_classes": False}, {"classes": "top"}, {"input": "score"}],
    "quadratic": [{}, {"share_classes": False}, {"classes": "top"}, {"monotone": False}],
    "isotonic": [{}, {"share_classes": False}, {"classes": "top"}, {"after_temperature": True, "centred": True}],
    "ensemble_temperature": [{}, {"form": "paper"}],
    "vector": [{}, {"strength": "likelihood"}],
    "structured_vector": [{}, {"penalty": 0.01}],
    "structured_matrix": [{}, {"penalty": 0.01}],
    "dirichlet": [{}, {"strength": "fixed", "penalty": 1.0}, {"target": "odir"}],
    "order_preserving": [{}, {"strength": "fixed", "penalty": 1e-3}],
    "gpcalib": [{"prediction": way} for way in ("draws", "mean", "delta", "mc")]
    + [{"inputs": "probs"}, {"monotone": True}],
}
"""Forms of each method that are compared, the first the default; others have that alone."""


def simulated(n: int, n_classes: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Overconfident logits and labels; of more than two classes the last has no label."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.standard_normal((n, n_classes))
    chances = softmax(0.6 * logits + (np.arange(n_classes) % 2) * 0.5)
    if n_classes > 2:
        chances[:, -1] = 0
        chances /= chances.sum(axis=1, keepdims=True)
    labels = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return logits, labels


def compared_rows(fitted_on: Floats, seed: int = 1) -> Floats:
    """10,000 rows: random ones of several widths, ties, calibration rows, and logits of -1000, 0 and 1000."""
    rng = np.random.default_rng(seed)
    n_classes = fitted_on.shape[1]
    rows = rng.standard_normal((N_ROWS, n_classes)) * rng.choice([0.01, 1.0, 5.0, 30.0, 300.0], size=(N_ROWS, 1))
    rows[:2000] = np.round(rows[:2000])
    rows[2000:3000] = rng.choice([-1000.0, 0.0, 1000.0], size=(1000, n_classes))
    rows[3000:3500] = rows[3000:3500, :1]
    rows[4000 : 4000 + len(fitted_on)] = fitted_on[: N_ROWS - 4000]
    return rows


def fits(n_classes: int, methods: list[str]) -> Iterator[tuple[str, dict[str, Any], ExportedCalibrator, Floats]]:
    """Each form of each method with the rows that it is compared on."""
    logits, labels = simulated(1500, n_classes)
    if n_classes == 2:
        logits = np.stack([np.zeros(len(logits)), logits[:, 1] - logits[:, 0]], axis=1)
    rows = compared_rows(logits)
    for name in methods:
        if METHODS[name].needs:
            continue
        for params in FORMS.get(name, [{}]):
            fitted = calib.calibrator(name, **params).fit(logits, labels)
            if n_classes == 2:
                yield name, params, exported(fitted, {"kind": "binary_log_odds"}), rows[:, 1] - rows[:, 0]
            else:
                yield name, params, exported(fitted), rows


Predict = Callable[[Floats], Floats]


def of_torch(given: ExportedCalibrator, folder: Path) -> Predict:
    """The PyTorch module, through ``torch.export``."""
    import torch

    from calib.export.torch_module import to_torch

    spaces: dict[str, Any] = {}
    exec(to_torch(given, folder).read_text(encoding="utf-8"), spaces)
    module = spaces["Calibrator"]()

    def predict(outputs: Floats) -> Floats:
        rows = torch.tensor(outputs)
        program = torch.export.export(module, (rows[:7],), dynamic_shapes=({0: torch.export.Dim("rows")},))
        return program.module()(rows).numpy()

    return predict


FORMATS: dict[str, tuple[str, Callable[[ExportedCalibrator, Path], Predict]]] = {
    "PyTorch": ("torch", of_torch),
}
"""Each format's column: the module that its engine needs, and how outputs become probabilities there."""


def largest_difference(write: Callable[[ExportedCalibrator, Path], Predict], given: Any, rows: Floats) -> str:
    """Of any probability from NumPy's; "-" where the format refuses the method."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            predict = write(given, Path(folder))
        except CalibrationError as error:
            print(f"{given.method}: {error}", file=sys.stderr)
            return "-"
        return f"{np.abs(predict(rows) - given.calibrate(rows, given.kind)).max():.0e}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 5])
    asked = parser.parse_args()
    formats = {name: write for name, (module, write) in FORMATS.items() if util.find_spec(module)}
    for name in FORMATS.keys() - formats.keys():
        print(f"{name} is left out: {FORMATS[name][0]} is not installed.")
    versions = [f"{FORMATS[name][0]} {import_module(FORMATS[name][0]).__version__}" for name in formats]
    print(", ".join(versions))
    print(f"| method | classes | {' | '.join(formats)} |\n|---|---|{'---|' * len(formats)}")
    for n_classes in asked.classes:
        for name, params, given, rows in fits(n_classes, asked.methods):
            form = METHODS[name].title + (f" ({', '.join(f'{k}={v}' for k, v in params.items())})" if params else "")
            cells = [largest_difference(write, given, rows) for write in formats.values()]
            print(f"| {form} | {n_classes} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
