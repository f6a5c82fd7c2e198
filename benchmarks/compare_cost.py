"""What a whole comparison costs: all methods on real outputs, and the memory of a test set of 50,000 x 1000.

    python -m benchmarks.compare_cost [--quick] [--data FILE.npz] [--methods NAME ...]
    python -m benchmarks.compare_cost --fits NAME ... [--quick]

Fits go through the app's own queue, in its worker processes; judging and intervals run here. The large test set is
simulated; its peak includes the outputs themselves, and every method's probabilities are dropped once they are scored.
With ``--fits`` each of these methods is fitted alone to 5,000 x 10,000 simulated outputs, in a process of its own.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import calib
from benchmarks.measure import cost_of, in_fresh_process, machine, megabytes
from benchmarks.simulated import simulated
from calib.data.predictions import Predictions
from calib.evaluation import Evaluation
from calib.evaluation.compare import compare, compare_evaluations
from calib.evaluation.score_table import verdict
from calib.jobs import FitQueue, FitSpec
from calib.registry import calibrator, presets

LARGE, QUICK = (50_000, 1000), (500, 20)
WIDE = (5000, 10_000)
LARGE_METHODS = ("temperature", "isotonic", "imax", "vector", "bbq", "scaling_binning")


def comparison(data: Predictions, methods: list[str], rows: int) -> str:
    """Fit in workers, judge and compare; what each part took."""
    calibration, test = data.split(rows, random_state=0)
    queue, start = FitQueue(), time.monotonic()
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


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, help="a model's outputs with labels")
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--fits", nargs="+", default=[], help="methods to fit alone to very many classes")
    given = parser.parse_args()
    print(machine())
    shape = QUICK if given.quick else WIDE
    for method in given.fits:
        seconds, peak, held = in_fresh_process(wide_fit, shape, method)
        print(
            f"{method} fitted to {shape[0]:,} x {shape[1]:,}: {seconds:.1f} CPU s, the whole process at most "
            f"{megabytes(peak)}, of which the outputs {megabytes(held)}."
        )
    if given.fits:
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
