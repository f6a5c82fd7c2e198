"""Predicted classes changed by GPcalib with ``monotone=True``, over many fits to data that ask for the contrary.

    python -m benchmarks.monotone_fits [--fits 220] [--seed 0]

Every calibration set is simulated, small and unlike the last: 2 to 20 classes, 30 to 300 rows, logits from a narrow to
a very wide range, with ties, and labels from a latent function that falls or swings, so that the best fit is not
monotone. Predictions by mean and by draws are compared with the largest raw logit on the calibration rows and on fresh
rows that reach three times as far. Beside it stands what the same fits do without ``monotone=True``.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.gpcalib.posterior import Posterior, tabulate
from calib.calibrators.gpcalib.statistics import training_grid
from calib.metrics import accuracy
from calib.numerics import softmax

WAYS = ("mean", "draws")
N_FRESH = 2000


@dataclass(frozen=True, eq=False)
class Task:
    """A calibration set that is best fitted by a function that falls somewhere.

    Attributes
    ----------
    kind : what the labels come from.
    logits, labels : (n, n_classes) and (n,) the calibration set.
    fresh, fresh_labels : as many again for the test, from a range three times as wide.
    """

    kind: str
    logits: np.ndarray
    labels: np.ndarray
    fresh: np.ndarray
    fresh_labels: np.ndarray


def adversarial(seed: int) -> Task:
    """A random task; its latent function of the logit over its scale is one of four that are not monotone."""
    generator = np.random.default_rng(seed)
    n_classes, n = int(generator.integers(2, 21)), int(generator.integers(30, 301))
    scale = float(np.exp(generator.uniform(np.log(0.3), np.log(30.0))))
    latents = {
        "confident is wrong": lambda x: np.where(x < 1.0, x, 2.0 - x),
        "lowest is likely": lambda x: np.maximum(x, -3.0 - 2.0 * x),
        "bumps": lambda x: x + 2.0 * np.sin(3.0 * x),
        "a step down": lambda x: x - 3.0 * (x > 0.5),
    }
    kind = list(latents)[seed % len(latents)]

    def draw(n: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
        x = generator.normal(size=(n, n_classes))
        labels = np.argmax(2.0 * latents[kind](x) + generator.gumbel(size=x.shape), axis=1)
        logits = reach * scale * x
        if seed % 3 == 0:
            logits = np.round(2.0 * logits) / 2.0  # with ties
        return logits, labels

    return Task(kind, *draw(n, 1.0), *draw(N_FRESH, 3.0))


def changed(calibrator: GPCalib, logits: np.ndarray) -> tuple[int, int]:
    """Rows whose predicted class is not that of the one largest logit, and rows that have one."""
    ordered = np.sort(logits, axis=1)
    clear = logits[ordered[:, -1] > ordered[:, -2]]
    return int((calibrator.predict_proba(clear).argmax(axis=1) != clear.argmax(axis=1)).sum()), len(clear)


def without(calibrator: GPCalib, logits: np.ndarray) -> GPCalib:
    """The same posterior without ``monotone=True``."""
    posterior = Posterior(
        calibrator.variance_,
        calibrator.lengthscale_,
        calibrator.noise_variance_,
        calibrator.inducing_inputs_,
        calibrator.q_mean_,
        calibrator.q_sqrt_,
    )
    grid = training_grid(logits / calibrator.scale_, calibrator.inputs)
    table = tabulate(
        posterior,
        grid.low,
        grid.high,
        calibrator.inputs,
        n_draws=calibrator.n_draws,
        seed=calibrator.random_state,
        monotone=False,
    )
    loose = GPCalib(**(calibrator.get_params() | {"monotone": False}))
    vars(loose).update(calibrator.get_state())
    loose.fitted_as_ = calibrator.fitted_as_ | {"monotone": False}
    loose.grid_, loose.interpolation_order_ = table.grid.nodes, table.grid.order
    loose.shift_mean_, loose.shift_variance_, loose.shift_draws_ = table.shift, table.variance, table.draws
    return loose


def compared(calibrator: GPCalib, task: Task) -> tuple[float, ...]:
    """Rows, those changed, those changed without ``monotone=True``, and the accuracies: raw, with and without."""
    loose = without(calibrator, task.logits)
    n = changes = loose_changes = 0
    for logits in (task.logits, task.fresh):
        of_these, clear = changed(calibrator, logits)
        n, changes, loose_changes = n + clear, changes + of_these, loose_changes + changed(loose, logits)[0]
    outputs = (softmax(task.fresh), calibrator.predict_proba(task.fresh), loose.predict_proba(task.fresh))
    accuracies = [accuracy(probs, task.fresh_labels, ranking=task.fresh) for probs in outputs]
    return n, changes, loose_changes, *accuracies


def main() -> None:
    """Fit, compare and print one line per kind of task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=220)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.process_time()
    rows: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(arguments.seed, arguments.seed + arguments.fits):
        task = adversarial(seed)
        inputs = ("logits", "probs")[seed // 4 % 2]
        calibrator = GPCalib(monotone=True, inputs=inputs, device="cpu").fit(task.logits, task.labels)
        for way in WAYS:
            calibrator.prediction = way
            rows.setdefault(task.kind, []).append(compared(calibrator, task))
    print(f"{arguments.fits} fits, each predicted by {' and '.join(WAYS)}; {time.process_time() - started:.0f} CPU s")
    print(f"{'labels from':20s}{'rows':>10s}{'changed':>9s}{'without':>9s}   accuracy raw, monotone, without")
    for kind, values in rows.items():
        n, changes, loose_changes = np.sum(values, axis=0)[:3]
        accuracies = "  ".join(f"{value:.4f}" for value in np.mean(values, axis=0)[3:])
        print(f"{kind:20s}{n:10,.0f}{changes:9,.0f}{loose_changes:9,.0f}   {accuracies}")
    largest = max(abs(raw - kept) for values in rows.values() for *_, raw, kept, _ in values)
    print(f"largest difference of the accuracy in any fit: {largest:.1e}")


if __name__ == "__main__":
    main()
