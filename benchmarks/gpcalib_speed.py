"""GPcalib beside a plain GPflow model of the same objective: CPU time, memory and objectives, in one run.

    python -m benchmarks.gpcalib_speed [--quick] [--only-xla] [--data FILE.npz]
    python -m benchmarks.gpcalib_speed --before CHECKOUT [--quick]

The logits are simulated (:func:`calib.data.samples.exaggerated_logits`) unless ``--data`` names an npz with
``predictions`` (probabilities) and ``ground_truth``, of which 1000 rows are taken. All fits have the same kernel and
tolerance and start from the same k-means centres, on one thread of the CPU and in a process each. Imports are not
counted; tracing and XLA's compilation are. The plain model is optimised as the authors' code does, and where it says
"tuned" with the two settings that calib's fit has beyond that: the largest inducing input first, and a longer memory of
L-BFGS.

With ``--before`` another checkout of this repository fits the same data in turn: the first fit of a process with the
start of Python and all imports, and the same again in the warm process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import Cost, bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes
from benchmarks.outputs import of_network
from calib.data.samples import exaggerated_logits
from calib.numerics import Floats, Ints

SIZES = ((1000, 10), (1000, 100), (1000, 1000), (5000, 100))
QUICK = ((500, 20),)

MEMORY, LONG_MEMORY = 10, 40
"""Pairs that L-BFGS-B keeps: SciPy's default, and calib's."""

NEEDED = (
    "scipy.cluster.vq",
    "calib.calibrators.gpcalib.training",
    "calib.calibrators.gpcalib.posterior",
    "calib.calibrators.gpcalib.statistics",
)
"""What the first fit would import."""


@dataclass(frozen=True)
class CalibrationSet:
    """What to fit on; made in the process that fits.

    Attributes
    ----------
    rows, n_classes : size of a simulated set; rows to take from a file.
    path : npz with probabilities, or None.
    """

    rows: int
    n_classes: int
    path: str | None = None

    def load(self) -> tuple[Floats, Ints]:
        """Logits (rows, n_classes) and labels; of a file, the first rows of a fixed permutation."""
        if self.path is not None:
            return of_network(self.path, self.rows)
        logits, labels = exaggerated_logits(self.rows, self.n_classes, seed=0)
        return logits.astype(float), labels


@dataclass(frozen=True)
class Plain:
    """One way to fit the plain model: compiled by XLA or not, optimised like calib's or as the authors' code does."""

    xla: bool = True
    tuned: bool = False

    def __str__(self) -> str:
        return "plain GPflow" + " + XLA" * self.xla + ", tuned" * self.tuned


WAYS = (Plain(), Plain(tuned=True), Plain(xla=False))


@dataclass(frozen=True)
class CalibFit:
    """calib's fit, measured.

    Attributes
    ----------
    cost : of the first fit of its process; the memory is above that after the imports and includes the data.
    second_seconds : CPU seconds of the same fit done again in the same process.
    n_iter : iterations of L-BFGS.
    at_start, at_end : the objective on the grid, in nats.
    posterior : :class:`calib.calibrators.gpcalib.posterior.Posterior` at the end.
    """

    cost: Cost
    second_seconds: float
    n_iter: int
    at_start: float
    at_end: float
    posterior: Any


@dataclass(frozen=True)
class PlainFit:
    """The plain model's fit, measured.

    Attributes
    ----------
    cost : as for calib's.
    n_iter : iterations of L-BFGS.
    at_start, at_end : its own objective, in nats.
    at_calibs_end : its objective at the parameters that calib's fit ended with.
    """

    cost: Cost
    n_iter: int
    at_start: float
    at_end: float
    at_calibs_end: float


def fit_calib(data: CalibrationSet) -> CalibFit:
    """Fit with calib, twice."""
    imported = bytes_after_imports(*NEEDED)
    from calib.calibrators.gpcalib import GPCalib
    from calib.calibrators.gpcalib.posterior import Posterior

    logits, labels = data.load()
    fitted, cost = cost_of(lambda: GPCalib(device="cpu").fit(logits, labels), imported)
    if fitted.scale_ != 1.0 or fitted.n_rows_ < len(labels):
        raise SystemExit("This calibration set is rescaled or subsampled, so the objectives cannot be compared.")
    _, again = cost_of(lambda: GPCalib(device="cpu").fit(logits, labels))
    posterior = Posterior(
        variance=fitted.variance_,
        lengthscale=fitted.lengthscale_,
        noise_variance=fitted.noise_variance_,
        inducing_inputs=fitted.inducing_inputs_,
        q_mean=fitted.q_mean_,
        q_sqrt=fitted.q_sqrt_,
    )
    trace = fitted.objective_trace_
    return CalibFit(cost, again.cpu_seconds, fitted.n_iter_, float(trace[0]), float(trace[-1]), posterior)


def fit_plain(data: CalibrationSet, way: Plain, posterior: Any) -> PlainFit:
    """Fit the plain model, then evaluate it where calib's fit ended."""
    imported = bytes_after_imports("benchmarks.plain_gpflow", *NEEDED)
    from benchmarks.plain_gpflow import PlainModel
    from calib.calibrators.backend import tensorflow
    from calib.calibrators.gpcalib.statistics import starting_inducing_inputs

    tensorflow()  # with one thread
    logits, labels = data.load()

    def fit() -> tuple[PlainModel, float, Any]:
        start = starting_inducing_inputs(logits, "logits", 10, 0)
        if not way.tuned:
            start = np.random.default_rng(0).permutation(start)  # k-means has its centres in no order
        model = PlainModel(logits, labels, start)
        return model, model.objective(), model.train(way.xla, LONG_MEMORY if way.tuned else MEMORY)

    (model, at_start, result), cost = cost_of(fit, imported)
    model.put(posterior)
    return PlainFit(cost, int(result.nit), at_start, -float(result.fun), model.objective())


def measured(data: CalibrationSet, ways: list[Plain]) -> tuple[CalibFit, dict[Plain, PlainFit]]:
    """calib's fit and the plain ones, each in a process of its own."""
    ours = in_fresh_process(fit_calib, data)
    return ours, {way: in_fresh_process(fit_plain, data, way, ours.posterior) for way in ways}


COSTS = ("fit", "by", "CPU s", "times calib's", "times its second", "peak memory", "iterations")


def cost_rows(size: str, ours: CalibFit, plain: dict[Plain, PlainFit]) -> list[list[str]]:
    """Rows of the table of costs, calib's first."""
    rows = [[size, "calib", f"{ours.cost.cpu_seconds:.2f}", "", "", megabytes(ours.cost.peak_bytes), str(ours.n_iter)]]
    for way, fit in plain.items():
        seconds = fit.cost.cpu_seconds
        ratios = [f"{seconds / ours.cost.cpu_seconds:.1f}", f"{seconds / ours.second_seconds:.1f}"]
        rows.append([size, str(way), f"{seconds:.2f}", *ratios, megabytes(fit.cost.peak_bytes), str(fit.n_iter)])
    return rows


OBJECTIVES = ("fit", "relative difference at the start", "at calib's end", "calib's end", "plain end", "difference")


def objective_row(size: str, ours: CalibFit, plain: dict[Plain, PlainFit]) -> list[str]:
    """Row of the table of objectives, against the plain fit that ended best."""
    best = max(plain.values(), key=lambda fit: fit.at_end)
    start = abs(ours.at_start / best.at_start - 1)
    end = abs(ours.at_end / best.at_calibs_end - 1)
    difference = best.at_calibs_end - best.at_end
    return [size, f"{start:.1e}", f"{end:.1e}", f"{best.at_calibs_end:.3f}", f"{best.at_end:.3f}", f"{difference:+.3f}"]


ALONE = """
import sys, time
import numpy as np
stored = np.load(sys.argv[1])
logits, labels = stored["logits"], stored["labels"]
loaded = time.process_time()
from calib.calibrators.gpcalib import GPCalib
fits, seconds = [], [loaded]
for _ in range(3):
    fits.append(GPCalib(device="cpu").fit(logits, labels))
    seconds.append(time.process_time())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(seconds[1], min(seconds[2] - seconds[1], seconds[3] - seconds[2]), 1024 * int(peak), fits[0].objective_)
"""
"""What a process of its own runs; it prints seconds up to the first fit and of a later one, bytes and the objective."""

IN_TURN = ("1,000 x 1,000", "first fit, with imports: CPU s", "fit in a warm process", "peak memory", "objective")
TURNS = 3


def in_turn(data: CalibrationSet, checkouts: dict[str, Path], turns: int) -> list[list[str]]:
    """A row for each checkout: medians over so many processes, which take turns."""
    found: dict[str, list[list[float]]] = {name: [] for name in checkouts}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        logits, labels = data.load()
        np.savez(file, logits=logits, labels=labels)
        for _ in range(turns):
            for name, checkout in checkouts.items():
                done = subprocess.run(
                    [sys.executable, "-c", ALONE, str(file)],
                    cwd=checkout,
                    env={**os.environ, "PYTHONPATH": str(checkout)},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                found[name].append([float(number) for number in done.stdout.split()])
    rows = []
    for name, numbers in found.items():
        first, warm, peak, objective = np.median(numbers, axis=0)
        rows.append([name, f"{first:.2f}", f"{warm:.2f}", megabytes(int(peak)), f"{objective:.3f}"])
    return rows


def main() -> None:
    """Fit every way at every size and print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one tiny size, to see that everything runs")
    parser.add_argument("--only-xla", action="store_true", help="leave out the plain model without XLA")
    parser.add_argument("--before", type=Path, help="another checkout, to compare one fit with")
    parser.add_argument("--data", help="npz with predictions (probabilities) and ground_truth")
    arguments = parser.parse_args()
    if arguments.before is not None:
        data = CalibrationSet(*QUICK[0]) if arguments.quick else CalibrationSet(1000, 1000)
        checkouts = {"before": arguments.before.resolve(), "now": Path(__file__).resolve().parents[1]}
        print(machine(), end="\n\n")
        print(markdown(IN_TURN, in_turn(data, checkouts, 1 if arguments.quick else TURNS)))
        return
    sets = [CalibrationSet(*size) for size in (QUICK if arguments.quick else SIZES)]
    if arguments.data is not None:
        sets = [CalibrationSet(1000, of_network(arguments.data, 1)[0].shape[1], arguments.data)]
    costs, objectives = [], []
    for data in sets:
        size = f"{data.rows:,} x {data.n_classes:,}"
        print(f"{size} ...", file=sys.stderr, flush=True)
        fits = measured(data, [way for way in WAYS if way.xla or not arguments.only_xla])
        costs += cost_rows(size, *fits)
        objectives.append(objective_row(size, *fits))
    print(machine(), end="\n\n")
    print(markdown(COSTS, costs, left=2))
    print("\nTimes are of the first fit of a process, calib's also against its second, which traces faster.")
    print("Peak memory is above that after the imports, with the data.\n")
    print(markdown(OBJECTIVES, objectives))
    print("\nObjectives in nats; both ends are computed by the plain model, and positive differences favour calib.")


if __name__ == "__main__":
    main()
