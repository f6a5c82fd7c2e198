"""What each method costs in processor time, and GPcalib's engines and kernels beside each other.

    python -m benchmarks.speed [--rows 10000] [--classes 1000] [--methods NAME ...]
    python -m benchmarks.speed --engines FILE.npz ... [--rows 1000]
    python -m benchmarks.speed --peers PYTHON [--rows 10000]

Simulated outputs; each method in a process of its own, on one thread, without imports. Engines and kernels are fitted
to the first rows of files with ``predictions`` and ``ground_truth``, and judged on all others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import arena_peers
from benchmarks.measure import (
    cost_of,
    in_fresh_process,
    machine,
    markdown,
    megabytes,
)
from benchmarks.outputs import of_network, simulated
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


ENGINES = (
    ("numpy", "rbf"),
    ("gpflow", "rbf"),
    ("gpflow", "matern52"),
    ("gpflow", "matern32"),
    ("gpflow", "rational_quadratic"),
    ("gpflow", "rbf by Monte Carlo"),
)


def cost_of_engine(path: str, engine: str, kernel: str, rows: int) -> list[str]:
    """One line of the table: seconds and iterations of a fit, its objective, and the NLL of the other rows."""
    from calib.calibrators.gpcalib import GPCalib

    logits, labels = of_network(path)
    order = np.random.default_rng(0).permutation(len(labels))
    fitting, judged = order[:rows], order[rows:]
    name, _, sampled = kernel.partition(" by ")
    likelihood = "monte_carlo" if sampled else "expansion"
    made = GPCalib(engine=engine, kernel=name, likelihood=likelihood, device="cpu")
    made.fit(*simulated(50, 3))  # imports are not counted
    fitted, cost = cost_of(lambda: made.fit(logits[fitting], labels[fitting]))
    probs = fitted.predict_proba(logits[judged])
    nll = -np.log(probs[np.arange(len(judged)), labels[judged]]).mean()
    return [
        Path(path).stem,
        f"{engine}, {kernel}",
        f"{cost.cpu_seconds:.2f}",
        str(fitted.n_iter_),
        f"{fitted.objective_:.3f}",
        f"{nll:.6f}",
    ]


def main() -> None:
    """Print the table asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--engines", nargs="+", metavar="FILE", help="GPcalib's engines and kernels instead"
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
    if given.engines:
        lines = [
            in_fresh_process(cost_of_engine, path, engine, kernel, given.rows or 1000)
            for path in given.engines
            for engine, kernel in ENGINES
        ]
        header = ["", "engine, kernel", "fit, CPU s", "iterations", "objective, nats", "NLL"]
        print(markdown(header, lines, left=2))
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
