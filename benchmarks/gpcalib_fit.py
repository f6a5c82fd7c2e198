"""CPU time of a GPcalib fit beside a plain GPflow model of the same objective, in one run.

    python -m benchmarks.gpcalib_fit [--rows 1000] [--classes 100] [--data FILE.npz]

Without ``--data`` (an npz with ``predictions`` and ``ground_truth``) the logits are simulated: observed through
``h(z) = z + 0.06 max(z - 4, 0)^2``. Both fits start at the same point and use the same optimiser on one thread;
imports are not counted.
"""

from __future__ import annotations

import argparse
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import gpflow
import numpy as np
import sklearn.cluster  # noqa: F401  (imported here so that the first fit does not pay for it)
import tensorflow as tf

from calib.calibrators.gpcalib import GPCalib
from calib.gp.device import choose
from calib.gp.training import starting_inducing_inputs


class PlainModel(gpflow.models.SVGP):
    """The same objective the direct way: the latent function at every one of the n * n_classes logits."""

    def __init__(self, logits: np.ndarray, labels: np.ndarray, inducing_inputs: np.ndarray):
        kernel = gpflow.kernels.SquaredExponential(1.0, 10.0) + gpflow.kernels.White(0.01)
        super().__init__(kernel, gpflow.likelihoods.Gaussian(), inducing_inputs[:, None], q_diag=True, whiten=True)
        gpflow.set_trainable(self.likelihood, False)
        self.logits = tf.constant(logits)
        self.inputs = tf.reshape(self.logits, (-1, 1))
        self.labels = tf.constant(labels)

    def maximum_log_likelihood_objective(self) -> tf.Tensor:
        """Taylor-approximated expected log-likelihood minus the divergence from the prior."""
        shift, variance = (tf.reshape(moment, self.logits.shape) for moment in self.predict_f(self.inputs))
        latent = self.logits + shift
        probs = tf.nn.softmax(latent)
        log_likelihood = -tf.nn.sparse_softmax_cross_entropy_with_logits(self.labels, latent)
        correction = 0.5 * tf.reduce_sum(probs * (probs - 1.0) * variance, axis=1)
        return tf.reduce_sum(log_likelihood + correction) - self.prior_kl()


def simulated(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits observed through a known function, and labels from what they were before."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(rows, classes)) * 2.5
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    return logits + 0.06 * np.maximum(logits - 4.0, 0.0) ** 2, labels


def calibration_set(arguments: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of a fixed permutation of a file, or simulated data."""
    if arguments.data is None:
        return simulated(arguments.rows, arguments.classes)
    with np.load(arguments.data) as stored:
        rows = np.random.RandomState(0).permutation(len(stored["ground_truth"]))[: arguments.rows]
        return np.log(stored["predictions"][rows].astype(float)), stored["ground_truth"][rows]


def fit_calib(logits: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
    """Objective and iterations of the fit on the grid."""
    fitted = GPCalib(device="cpu").fit(logits, labels)
    return fitted.objective_, fitted.n_iter_


def fit_plain(logits: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
    """Objective and iterations of the plain model."""
    plain = PlainModel(logits, labels, starting_inducing_inputs(logits, "logits", 10, 0))
    result = gpflow.optimizers.Scipy().minimize(
        lambda: -plain.maximum_log_likelihood_objective(),
        plain.trainable_variables,
        options={"maxiter": 1000, "ftol": 2.2e-9, "maxcor": 40},
    )
    return -float(result.fun), int(result.nit)


def main() -> None:
    """Fit both ways and print CPU seconds, objectives and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--data")
    logits, labels = calibration_set(parser.parse_args())
    print(f"{logits.shape[0]} x {logits.shape[1]} on {choose('cpu').description}, one thread")

    seconds = {}
    for name in ("calib, first fit of the process", "calib, second fit", "plain GPflow"):
        started = time.process_time()
        objective, n_iter = (fit_plain if name == "plain GPflow" else fit_calib)(logits, labels)
        seconds[name] = time.process_time() - started
        print(f"{name:32s}{seconds[name]:7.2f} CPU s, objective {objective:.3f}, {n_iter} iterations")
    first, _, plain = seconds.values()
    print(f"plain / first{plain / first:26.1f}")


if __name__ == "__main__":
    main()
