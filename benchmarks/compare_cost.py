"""What a whole comparison costs: all methods on real outputs, and the memory of a test set of 50,000 x 1000.

    python -m benchmarks.compare_cost [--quick] [--data FILE.npz] [--methods NAME ...]
    python -m benchmarks.compare_cost --fits NAME ... [--quick] [--before CHECKOUT]
    python -m benchmarks.compare_cost --each [--methods NAME ...] [--quick] [--before CHECKOUT]

Fits go through the app's own queue, in its worker processes; judging and intervals run here. The large test set is
simulated; its peak includes the outputs themselves, and every method's probabilities are dropped once they are scored.
With ``--fits`` each of these methods is fitted alone to 5,000 x 10,000 simulated outputs, in a process of its own. With
``--each`` every method that needs outputs alone is fitted to 10,000 x 1000 simulated outputs in float32, predicts them
and is judged by NLL, Brier score and ECE. With ``--before`` another checkout of this repository takes turns with this.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import calib
from benchmarks.measure import cost_of, in_checkout, in_fresh_process, machine, markdown, megabytes
from benchmarks.outputs import simulated
from calib.data.predictions import Predictions
from calib.engine import Engine, FitSpec
from calib.evaluation import Evaluation
from calib.evaluation.compare import compare, compare_evaluations
from calib.evaluation.comparison_table import verdict
from calib.registry import calibrator, presets

LARGE, QUICK = (50_000, 1000), (500, 20)
WIDE = (5000, 10_000)
EACH = (10_000, 1000)
EACH_METHODS = (
    *("identity", "temperature", "isotonic", "gpcalib", "beta", "platt", "histogram", "vector", "bbq", "imax"),
    *("bayes_iso", "enir", "ensemble_temperature", "structured_vector", "scaling_binning"),
)
SCORES = ("nll", "brier", "ece")
LARGE_METHODS = ("temperature", "isotonic", "imax", "vector", "bbq", "scaling_binning")


def comparison(data: Predictions, methods: list[str], rows: int) -> str:
    """Fit in workers, judge and compare; what each part took."""
    calibration, test = data.split(rows, random_state=0)
    queue, start = Engine(), time.monotonic()
    keys = [queue.submit(FitSpec(name, {}, "benchmark"), calibration.logits, calibration.labels) for name in methods]
    while any(job.active for job in queue.snapshot(keys)):
        time.sleep(0.1)
    jobs = queue.snapshot(keys)
    wall = time.monotonic() - start
    queue.shutdown()
    raw = calibrator("identity").fit(test.logits[:2], test.labels[:2])
    made = {"identity": raw} | {
        name: job.calibrator for name, job in zip(methods, jobs, strict=True) if job.calibrator is not None
    }
    judged, judging = cost_of(
        lambda: {name: Evaluation.from_calibrator(one, test.logits, test.labels) for name, one in made.items()}
    )
    table, intervals = cost_of(lambda: compare_evaluations(judged))
    return (
        f"{len(made) - 1} of {len(methods)} methods fitted on {len(calibration):,} x {data.n_classes} and judged on "
        f"{len(test):,}: {sum(job.cpu_seconds for job in jobs):.1f} CPU s to fit ({wall:.0f} s by the clock), "
        f"{judging.cpu_seconds:.1f} to judge, {intervals.cpu_seconds:.1f} for the intervals.\n{verdict(table)}"
    )


def large(shape: tuple[int, int], methods: tuple[str, ...]) -> tuple[float, int, int]:
    """CPU seconds and peak bytes of a comparison, and the bytes of the outputs."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.normal(size=shape)
    labels = np.empty(len(logits), dtype=np.int64)
    for first in range(0, len(logits), 2000):
        part = logits[first : first + 2000] / 1.5
        labels[first : first + 2000] = np.argmax(part + generator.gumbel(size=part.shape), axis=1)
    names = tuple(map(str, range(shape[1])))
    data = Predictions(logits, labels, names, sha256="simulated")
    calibration = data.take(np.arange(min(1000, len(data) // 2)))
    _, cost = cost_of(lambda: compare({name: calibrator(name) for name in methods}, calibration, data), baseline=0)
    return cost.cpu_seconds, cost.peak_bytes, logits.nbytes


def wide_fit(shape: tuple[int, int], method: str) -> tuple[float, int, int]:
    """CPU seconds and peak bytes of a process that fits one method, and the bytes of the outputs."""
    calibrator(method).fit(*simulated(50, 50))  # what it imports is not counted in the seconds
    logits, labels = simulated(*shape)
    _, cost = cost_of(lambda: calibrator(method).fit(logits, labels), baseline=0)
    return cost.cpu_seconds, cost.peak_bytes, logits.nbytes


def each_method(shape: tuple[int, int], method: str) -> tuple[float, float, float, dict[str, float]]:
    """CPU seconds of a fit, of the prediction of the same rows and of three scores, and these scores."""
    tiny = simulated(50, 3)
    calib.metrics.ece(calibrator(method).fit(*tiny).predict_proba(tiny[0]), tiny[1])  # imports are not counted
    logits, labels = simulated(*shape)
    logits = logits.astype(np.float32)
    fitted, fit = cost_of(lambda: calibrator(method).fit(logits, labels))
    probs, predicted = cost_of(lambda: fitted.predict_proba(logits))
    scores, judged = cost_of(lambda: {name: getattr(calib.metrics, name)(probs, labels) for name in SCORES})
    return fit.cpu_seconds, predicted.cpu_seconds, judged.cpu_seconds, scores


def print_fits(shape: tuple[int, int], methods: list[str], checkouts: dict[str, Path | None]) -> None:
    """Print what fits to very many classes cost."""
    rows = []
    for method in methods:
        row = [method]
        for folder in checkouts.values():
            seconds, peak, held = in_checkout(folder, wide_fit, shape, method)
            row += [f"{seconds:.1f}", megabytes(peak)]
        rows.append(row)
    print(f"Fits to {shape[0]:,} x {shape[1]:,}; memory is that of the whole process, {megabytes(held)} of it outputs.")
    print(markdown(["method", *(f"{of}{what}" for of in checkouts for what in ("CPU s", "peak"))], rows))


def print_each(shape: tuple[int, int], methods: list[str], checkouts: dict[str, Path | None]) -> None:
    """Print what each method costs and all together, and how far the checkouts' scores are apart."""
    total, rows, apart = np.zeros((len(checkouts), 3)), [], 0.0
    for method in methods:
        found = [in_checkout(folder, each_method, shape, method) for folder in checkouts.values()]
        seconds = np.array([each[:3] for each in found])
        total += seconds
        apart = max(apart, *(abs(each[3][name] / found[0][3][name] - 1) for each in found for name in SCORES))
        rows.append([method, *(f"{value:.2f}" for value in seconds.ravel())])
    rows.append(["**all**", *(f"{value:.1f}" for value in total.ravel())])
    print(f"{shape[0]:,} x {shape[1]:,} in float32, CPU s: {', '.join(f'{sum(each):.1f}' for each in total)} together.")
    print(markdown(["method", *(f"{of}{what}" for of in checkouts for what in ("fit", "predict", "scores"))], rows))
    print(f"Scores of the checkouts differ by at most {apart:.0e}, relatively.")


def main() -> None:
    """Print the measurements asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, help="a model's outputs with labels")
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--fits", nargs="+", default=[], help="methods to fit alone to very many classes")
    parser.add_argument("--each", action="store_true", help="fit, predict and judge each method alone")
    parser.add_argument("--before", type=Path, help="another checkout to measure beside this one")
    given = parser.parse_args()
    print(machine())
    checkouts: dict[str, Path | None] = (
        {"": None} if given.before is None else {"before: ": given.before, "now: ": None}
    )
    if given.fits:
        print_fits(QUICK if given.quick else WIDE, given.fits, checkouts)
    if given.each:
        print_each(QUICK if given.quick else EACH, given.methods or list(EACH_METHODS), checkouts)
    if given.fits or given.each:
        return
    if given.data is not None:
        data = calib.load(given.data)
        methods = given.methods or presets(data)["All"]
        print(comparison(data, methods, min(1000, len(data) // 2)))
    shape = QUICK if given.quick else LARGE
    methods = tuple(given.methods or LARGE_METHODS)
    seconds, peak, held = in_fresh_process(large, shape, methods)
    print(
        f"{len(methods)} methods judged on {shape[0]:,} x {shape[1]:,}: {seconds:.1f} CPU s, "
        f"peak {megabytes(peak)} of which the outputs {megabytes(held)}."
    )


if __name__ == "__main__":
    main()
