"""ONNX models beside NumPy: largest difference and time of every method: ``python -m benchmarks.onnx_models``.

Differences are of 10,000 random rows of 2 and of 5 classes as in :mod:`benchmarks.exports`: ties, logits of -1000, 0
and 1000, the calibration rows, where maps have their steps, and of 5 classes one without calibration rows. Rows on the
other side of a step are counted apart. Times are processor seconds for 1,000 x 1,000 on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime

import calib
from benchmarks.exports import FORMS, compared_rows, simulated
from calib.export.onnx_model import to_model
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from calib.registry import METHODS

QUICK = {
    "gpcalib": {"max_iter": 5},
    "bayes_iso": {"n_maps": 200},
}
"""What shortens fits to 1,000 classes, and nothing that a prediction does."""


def predictor(given: ExportedCalibrator) -> Callable[[Floats], Floats]:
    """Predict with onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = to_model(given, "float64").SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda outputs: session.run(None, {"outputs": outputs})[0]


def differences(name: str, params: dict[str, Any], n_classes: int) -> tuple[float, int]:
    """The largest difference of rows on the same side of every step, and how many rows are not."""
    logits, labels = simulated(1500, n_classes)
    given, rows = exported(calib.calibrator(name, **params).fit(logits, labels)), compared_rows(logits)
    said, known = predictor(given)(rows), given.calibrate(rows, "logits")
    off = np.abs(said - known).max(axis=1)
    crossed = off > 1e-9
    for row in np.flatnonzero(crossed):
        assert _beside(given, rows[row], said[row]), f"{name} {params}: {rows[row]} gives {said[row]}"
    return float(off[~crossed].max()), int(crossed.sum())


def _beside(given: ExportedCalibrator, row: Floats, said: Floats) -> bool:
    """Whether NumPy says this of logits that differ from a row's in their last digits."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(500, len(row)))
    near = given.calibrate(row + 1e-13 * (1 + np.abs(row).max()) * signs, "logits")
    return bool((np.abs(near - said).max(axis=1) <= 1e-9).any())


def times(name: str, params: dict[str, Any], n: int = 1000) -> tuple[float, float]:
    """Processor seconds of NumPy and of onnxruntime for n x n, the shortest of five."""
    generator = np.random.default_rng(0)
    logits = 3.0 * generator.standard_normal((2 * n, n))
    labels = np.argmax(logits / 2 + generator.gumbel(size=logits.shape), axis=1)
    given = exported(calib.calibrator(name, **{**QUICK.get(name, {}), **params}).fit(logits, labels))
    rows = logits[:n] + 0.1 * generator.standard_normal((n, n))

    def seconds(predict: Callable[[Floats], Floats]) -> float:
        taken = []
        for _ in range(5):
            start = time.process_time()
            predict(rows)
            taken.append(time.process_time() - start)
        return min(taken)

    return seconds(given.calibrator.predict_proba), seconds(predictor(given))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    parser.add_argument("--size", type=int, default=1000, help="rows and classes of the times")
    asked = parser.parse_args()
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, NumPy {np.__version__}\n")
    print("| method | difference, 2 classes | 5 classes | other side of a step, rows | NumPy, ms | ONNX, ms | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in asked.methods:
        if METHODS[name].needs:
            continue
        for number, params in enumerate(FORMS.get(name, [{}])):
            (two, none), (five, crossed) = differences(name, params, 2), differences(name, params, 5)
            form = METHODS[name].title + (f" ({', '.join(f'{k}={v}' for k, v in params.items())})" if params else "")
            line = f"| {form} | {two:.0e} | {five:.0e} | {none + crossed} |"
            if number == 0 or name in ("gpcalib", "platt", "isotonic"):
                numpy_s, onnx_s = times(name, params, asked.size)
                line += f" {1e3 * numpy_s:.0f} | {1e3 * onnx_s:.0f} | {onnx_s / numpy_s:.1f} |"
            else:
                line += " | | |"
            print(line, flush=True)


if __name__ == "__main__":
    main()
