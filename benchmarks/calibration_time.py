"""Time to fit and to predict of every registered calibrator: table S1 of Wenger et al. (2020).

    python -m benchmarks.calibration_time [--quick] [--classes 2 10 100 1000] [--methods NAME ...]

1000 simulated rows calibrate and 9000 are predicted, as in the paper. CPU seconds on one thread, without imports; every
method in a process of its own. The paper's numbers are wall-clock seconds of another machine.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import Any

from benchmarks.measure import cost_of, in_fresh_process, machine, markdown
from benchmarks.outputs import simulated
from benchmarks.wenger2020 import SECONDS
from calib.errors import CalibrationError
from calib.parameters import parameter_names
from calib.registry import METHODS, calibrator

CLASSES = (2, 10, 100, 1000)
FIT_ROWS, PREDICT_ROWS = 1000, 9000
QUICK_ROWS = 50, 90
REPEATS, SHORT = 3, 1.0
"""What takes less than SHORT seconds is done so many times, and the median counts."""

LONG = 30.0
"""A method that took more seconds is not tried at more classes."""

Times = tuple[float, float] | str
"""CPU seconds to fit and to predict, or why there are none."""


def variants(names: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Title, name and parameters: every method as it comes, and those for two classes also one map for each class."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for name in names:
        method = METHODS[name]
        if method.needs:
            continue
        found.append((method.title, name, {}))
        if "share_classes" in parameter_names(method.cls):
            found.append((f"{method.title}, class-wise", name, {"share_classes": False}))
    return found


def times(name: str, params: dict[str, Any], rows: tuple[int, int], classes: tuple[int, ...]) -> list[Times]:
    """Times of one method at every number of classes; one tiny fit before pays for the imports."""
    if "device" in parameter_names(METHODS[name].cls):
        params = {**params, "device": "cpu"}
    calibrator(name, **params).fit(*simulated(QUICK_ROWS[0], 3)).predict_proba(simulated(5, 3)[0])
    found: list[Times] = []
    for n_classes in classes:
        last = found[-1] if found else (0.0, 0.0)
        if isinstance(last, str) or sum(last) > LONG:
            found.append(f"{n_classes:,} classes were not tried.")
        else:
            found.append(_times(name, params, rows, n_classes))
    return found


def _times(name: str, params: dict[str, Any], rows: tuple[int, int], n_classes: int) -> Times:
    logits, labels = simulated(rows[0], n_classes)
    test, _ = simulated(rows[1], n_classes, seed=1)
    fits, predictions = [], []
    for _ in range(REPEATS):
        try:
            fitted, cost = cost_of(lambda: calibrator(name, **params).fit(logits, labels))
        except CalibrationError as error:
            return str(error)
        fits.append(cost.cpu_seconds)
        predictions.append(cost_of(lambda: fitted.predict_proba(test))[1].cpu_seconds)  # noqa: B023
        if fits[0] + predictions[0] > SHORT:
            break
    return median(fits), median(predictions)


def table_rows(part: int, measured: dict[str, tuple[str, list[Times]]], classes: tuple[int, ...]) -> list[list[str]]:
    """Rows of one table: part 0 is fitting, 1 is predicting; the paper's numbers behind ours.

    Parameters
    ----------
    measured : registry name and times, by title.
    """
    rows = []
    for title, (name, found) in measured.items():
        printed = SECONDS[("fit", "predict")[part]].get(name, ())
        theirs = dict(zip(CLASSES, printed, strict=False))
        class_wise = "share_classes" not in parameter_names(METHODS[name].cls) or title.endswith("class-wise")
        row = [title]
        for n_classes, value in zip(classes, found, strict=True):
            row.append("–" if isinstance(value, str) else f"{value[part]:.4f}")
            row.append(f"{theirs[n_classes]:.4f}" if n_classes in theirs and class_wise else "")
        rows.append(row)
    return rows


def main() -> None:
    """Time every method and print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="50 rows and few classes, to see that everything runs")
    parser.add_argument("--classes", nargs="+", type=int, default=CLASSES)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments = parser.parse_args()
    rows, classes = (FIT_ROWS, PREDICT_ROWS), tuple(arguments.classes)
    if arguments.quick:
        rows, classes = QUICK_ROWS, (2, 10)
    measured, said = {}, []
    for title, name, params in variants(arguments.methods):
        print(f"{title} ...", file=sys.stderr, flush=True)
        found = in_fresh_process(times, name, params, rows, classes)
        measured[title] = name, found
        said += [f"{title}: {value}" for value in found if isinstance(value, str)]
    said += [
        f"{METHODS[n].title} needs {', '.join(sorted(METHODS[n].needs))}."
        for n in arguments.methods
        if METHODS[n].needs
    ]
    print(machine(), end="\n\n")
    for part, verb, n_rows in ((0, "fit", rows[0]), (1, "predict", rows[1])):
        header = [f"{verb} {n_rows:,} rows, CPU s", *(h for k in classes for h in (f"{k:,} classes", "paper"))]
        print(markdown(header, table_rows(part, measured, classes)), end="\n\n")
    print("Paper: table S1, wall-clock seconds; its binary methods are class-wise.", *said, sep="\n")


if __name__ == "__main__":
    main()
