"""The top k logits of very many classes: memory and CPU time of reading, fitting, predicting and scoring (Linux).

    nice python -m benchmarks.top_k [--quick]

20,000 rows x 100 of 100,000 simulated logits, whose matrix would have 16 GB. The logit of a row's class of rank r is
about -a log r (Zipf's law), a between 1.2 and 3, with noise; labels are drawn at a temperature of 1.3 from all classes.
Every method has a process of its own; memory is all that it holds at most, its imports included.

What is lost outside the top k: 4,000 rows of 2,000 such logits to fit to and 4,000 to score, all of them and the 100
largest.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Cost, bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes

METHODS = ("identity", "temperature", "imax", "isotonic", "beta", "gpcalib", "auto")
ROWS, KEPT, CLASSES = 20_000, 100, 100_000
TEMPERATURE, NOISE, EXPONENTS = 1.3, 0.7, (1.2, 3.0)
AT_ONCE = 200
BOTH = ("identity", "temperature", "isotonic", "gpcalib", "auto")
BOTH_ROWS, BOTH_CLASSES = 8000, 2000


def logits_and_labels(
    generator: np.random.Generator, n: int, classes: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Logits (n, classes) in float32, and labels drawn from all classes."""
    falling = np.log(np.arange(1, classes + 1, dtype=np.float32))
    logits = generator.standard_normal((n, classes), dtype=np.float32)
    logits *= NOISE
    logits -= generator.uniform(*EXPONENTS, size=(n, 1)).astype(np.float32) * generator.permutation(falling)
    return logits, np.argmax(logits / TEMPERATURE + generator.gumbel(size=(n, classes)), axis=1)


def simulate(path: Path, rows: int, kept: int, classes: int) -> None:
    """Write top k logits, in blocks of rows."""
    generator = np.random.default_rng(0)
    parts = []
    for start in range(0, rows, AT_ONCE):
        n = min(AT_ONCE, rows - start)
        logits, labels = logits_and_labels(generator, n, classes)
        chosen = np.argpartition(logits, -kept, axis=1)[:, -kept:]
        values = np.take_along_axis(logits, chosen, axis=1)
        own = logits[np.arange(n), labels].copy()
        np.put_along_axis(logits, chosen, -np.inf, axis=1)
        top = logits.max(axis=1)
        rest = top + np.log(np.exp(logits - top[:, None]).sum(axis=1, dtype=np.float64))
        parts.append(
            {"values": values, "indices": chosen.astype(np.int32), "rest": rest, "label_logit": own, "labels": labels}
        )
    held = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    np.savez(path, **held, n_classes=classes)


def measured(path: Path, name: str) -> tuple[Cost, int, dict[str, float]]:
    """What a whole round costs, the bytes after the imports, and the scores."""
    imports = bytes_after_imports("scipy.optimize", "calib.data.load", "calib.evaluation")

    def work() -> dict[str, float]:
        import calib
        from calib.evaluation import Evaluation
        from calib.top_k import fit_top_k

        data = calib.load(path)
        fitted = fit_top_k(calib.calibrator(name), data.logits, data.labels)
        scored = Evaluation.from_calibrator(fitted, data.logits, data.labels)
        assert scored.row_nll is not None
        return {"NLL": float(scored.row_nll.mean()), "ECE": calib.metrics.ece(scored.confidence, scored.correct)}

    found, cost = cost_of(work, baseline=0)
    return cost, imports, found


def scored_twice(name: str, n: int, kept: int, classes: int) -> list[str]:
    """NLL and ECE of a method fitted to all logits and to the largest, on the other half of the rows."""
    import calib
    from calib.evaluation import Evaluation
    from calib.top_k import TopK, fit_top_k

    logits, labels = logits_and_labels(np.random.default_rng(1), n, classes)
    found = []
    for outputs in (logits.astype(np.float64), TopK.from_matrix(logits, kept, labels)):
        fitted = fit_top_k(calib.calibrator(name), outputs[::2], labels[::2])
        scored = Evaluation.from_calibrator(fitted, outputs[1::2], labels[1::2])
        assert scored.row_nll is not None
        found.append((float(scored.row_nll.mean()), 100 * calib.metrics.ece(scored.confidence, scored.correct)))
    (nll, error), (nll_kept, error_kept) = found
    return [f"{nll:.4f}", f"{nll_kept:.4f}", f"{error:.2f}", f"{error_kept:.2f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny size, to see that everything works")
    quick = parser.parse_args().quick
    rows, kept, classes = (200, 10, 1000) if quick else (ROWS, KEPT, CLASSES)
    print(f"{machine()}\n\n{rows:,} rows, the {kept} largest of {classes:,} logits.\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outputs.npz"
        in_fresh_process(simulate, path, rows, kept, classes)
        print(
            f"The file has {megabytes(path.stat().st_size)}; the matrix would have {megabytes(8 * rows * classes)}.\n"
        )
        lines = []
        for name in METHODS:
            cost, imports, found = in_fresh_process(measured, path, name)
            costs = f"{cost.cpu_seconds:.1f}", megabytes(cost.peak_bytes), megabytes(imports)
            lines.append([name, *costs, f"{found['NLL']:.4f}", f"{100 * found['ECE']:.2f}"])
    print(markdown(["method", "CPU s", "peak memory", "of which imports", "NLL", "ECE %"], lines))
    n, classes = (400, 100) if quick else (BOTH_ROWS, BOTH_CLASSES)
    print(f"\n{n:,} rows, half of them to fit to; all {classes:,} logits, and the {kept} largest.\n")
    lines = [[name, *in_fresh_process(scored_twice, name, n, kept, classes)] for name in BOTH]
    print(markdown(["method", "NLL of all", "NLL of the top k", "ECE % of all", "ECE % of the top k"], lines))


if __name__ == "__main__":
    main()
