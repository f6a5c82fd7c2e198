"""What each method costs in processor time, and GPcalib beside a plain GPflow model of the same objective.

    python -m benchmarks.speed [--rows 10000] [--classes 1000] [--methods NAME ...]
    python -m benchmarks.speed --plain [--rows 1000] [--classes 1000]
    python -m benchmarks.speed --peers PYTHON [--rows 10000]

Simulated outputs; each method in a process of its own, on one thread, without imports. The plain model is optimised as
the authors' code does, compiled by XLA, from the same k-means centres as calib's fit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import arena_peers
from benchmarks.measure import (
    bytes_after_imports,
    cost_of,
    in_fresh_process,
    machine,
    markdown,
    megabytes,
)
from benchmarks.outputs import simulated
from calib.data.samples import exaggerated_logits
from calib.parameters import parameter_names
from calib.registry import METHODS, calibrator

PEERS = {
    "temperature": "probmetrics temperature", "ensemble_temperature": "authors", "vector": "svs",
    "structured_vector": "svs", "dirichlet": "sms", "structured_matrix": "sms", "histogram": "netcal histogram",
    "isotonic": "scikit-learn isotonic", "platt": "scikit-learn sigmoid", "beta": "betacal",
    "quadratic": "probmetrics quadratic",
}  # fmt: skip
"""Other packages' methods; maps of one score are class-wise as theirs."""


def ratios(python: str, rows: int, n_classes: int) -> Iterator[list[str]]:
    """Lines of the table: seconds of a peer by ours, of a fit and of a prediction."""
    logits, labels = simulated(rows, n_classes)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/given.npz", logits=logits, labels=labels)
        worker = [python, arena_peers.__file__, f"{folder}/given.npz", *PEERS.values()]
        theirs = json.loads(
            subprocess.run(worker, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1]
        )
    for name, peer in PEERS.items():
        if peer in theirs:
            params = (
                {"share_classes": False}
                if "share_classes" in parameter_names(METHODS[name].cls)
                else {}
            )
            fit = partial(calibrator(name, **params).fit, logits, labels)
            own = [
                arena_peers.least_seconds(fit),
                arena_peers.least_seconds(partial(fit().predict_proba, logits)),
            ]
            cells = [
                f"{b:.4f} / {a:.4f} = {b / a:.2f}" for a, b in zip(own, theirs[peer], strict=True)
            ]
            yield [str(n_classes), name, peer, *cells]


def cost_of_method(name: str, rows: int, n_classes: int) -> list[str]:
    """One line of the table: seconds of a fit and of a prediction of the same rows, and memory beside the outputs."""
    params: dict[str, Any] = (
        {"device": "cpu"} if "device" in parameter_names(METHODS[name].cls) else {}
    )
    calibrator(name, **params).fit(*simulated(50, 3)).predict_proba(
        simulated(5, 3)[0]
    )  # imports are not counted
    logits, labels = simulated(rows, n_classes)
    logits = logits.astype(np.float32)
    fitted, fit = cost_of(lambda: calibrator(name, **params).fit(logits, labels))
    _, predicted = cost_of(lambda: fitted.predict_proba(logits))
    return [
        METHODS[name].title,
        f"{fit.cpu_seconds:.2f}",
        f"{predicted.cpu_seconds:.2f}",
        megabytes(fit.peak_bytes),
    ]


def own_fit(rows: int, n_classes: int) -> tuple[float, int, float, Any]:
    """Processor seconds, peak memory, objective in nats and posterior of calib's fit."""
    from calib.calibrators.gpcalib import GPCalib
    from calib.calibrators.gpcalib.posterior import Posterior

    GPCalib(device="cpu").fit(*simulated(50, 3))
    logits, labels = exaggerated_logits(rows, n_classes, seed=0)
    fitted, cost = cost_of(lambda: GPCalib(device="cpu").fit(logits, labels))
    posterior = Posterior(
        variance=fitted.variance_,
        lengthscale=fitted.lengthscale_,
        noise_variance=fitted.noise_variance_,
        inducing_inputs=fitted.inducing_inputs_,
        q_mean=fitted.q_mean_,
        q_sqrt=fitted.q_sqrt_,
    )
    return cost.cpu_seconds, cost.peak_bytes, float(fitted.objective_trace_[-1]), posterior


def plain_fit(
    rows: int, n_classes: int, xla: bool, posterior: Any
) -> tuple[float, int, float, float]:
    """Seconds and memory of the plain fit, its objective where it ended, and where calib's fit did; in nats."""
    baseline = bytes_after_imports("benchmarks.plain_gpflow")
    from benchmarks.plain_gpflow import PlainModel
    from calib.calibrators.backend import tensorflow
    from calib.calibrators.gpcalib.statistics import starting_inducing_inputs

    tensorflow()  # with one thread
    logits, labels = exaggerated_logits(rows, n_classes, seed=0)

    def fit() -> tuple[PlainModel, float]:
        start = starting_inducing_inputs(logits, "logits", 10, 0)
        model = PlainModel(
            logits.astype(float), labels, np.random.default_rng(0).permutation(start)
        )
        return model, -float(model.train(xla, memory=10).fun)

    (model, end), cost = cost_of(fit, baseline)
    model.put(posterior)
    return cost.cpu_seconds, cost.peak_bytes, end, model.objective()


def main() -> None:
    """Print the table asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--plain", action="store_true", help="GPcalib beside a plain GPflow model instead"
    )
    parser.add_argument(
        "--peers", metavar="PYTHON", help="beside other packages at 2, 10 and 100 classes instead"
    )
    parser.add_argument("--rows", type=int)
    parser.add_argument("--classes", type=int, default=1000)
    own = [name for name, method in METHODS.items() if not method.needs]
    parser.add_argument("--methods", nargs="+", choices=own, default=own)
    given = parser.parse_args()
    print(machine(), end="\n\n")
    if given.peers:
        lines = [
            line
            for n_classes in (2, 10, 100)
            for line in ratios(given.peers, given.rows or 10_000, n_classes)
        ]
        print(
            markdown(["classes", "", "peer", "fit: peer / calib, CPU s", "predict"], lines, left=3)
        )
        return
    if given.plain:
        size = given.rows or 1000, given.classes
        seconds, peak, own_end, posterior = in_fresh_process(own_fit, *size)
        plain_seconds, plain_peak, end, _ = in_fresh_process(plain_fit, *size, True, posterior)
        rows = [
            ["calib", f"{seconds:.2f}", megabytes(peak), f"{own_end:.3f}"],
            ["plain GPflow + XLA", f"{plain_seconds:.2f}", megabytes(plain_peak), f"{end:.3f}"],
        ]
        print(
            markdown(
                [f"{size[0]:,} x {size[1]:,}", "CPU s", "peak memory", "objective, nats"], rows
            )
        )
        return
    size = given.rows or 10_000, given.classes
    rows = []
    for name in given.methods:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows.append(in_fresh_process(cost_of_method, name, *size))
    print(
        markdown(
            [f"{size[0]:,} x {size[1]:,}", "fit, CPU s", "predict, CPU s", "memory of the fit"],
            rows,
        )
    )


if __name__ == "__main__":
    main()
