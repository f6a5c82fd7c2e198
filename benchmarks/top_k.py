"""The top k logits of very many classes: memory and CPU time of reading, fitting, predicting and scoring (Linux).

    nice python -m benchmarks.top_k [--quick]

20,000 rows x 100 of 100,000 simulated logits, whose matrix would have 16 GB. The logit of a row's class of rank r is
about -a log r (Zipf's law), a between 1.2 and 3, with noise; labels are drawn at a temperature of 1.3 from all classes.
Every method has a process of its own; memory is all that it holds at most, its imports included.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Cost, bytes_after_imports, cost_of, in_fresh_process, machine, markdown, megabytes

METHODS = ("identity", "temperature", "ensemble_temperature", "imax", "isotonic", "beta", "gpcalib")
ROWS, KEPT, CLASSES = 20_000, 100, 100_000
TEMPERATURE, NOISE, EXPONENTS = 1.3, 0.7, (1.2, 3.0)
AT_ONCE = 200


def simulate(path: Path, rows: int, kept: int, classes: int) -> None:
    """Write top k logits, in blocks of rows."""
    generator = np.random.default_rng(0)
    parts, falling = [], np.log(np.arange(1, classes + 1, dtype=np.float32))
    for start in range(0, rows, AT_ONCE):
        n = min(AT_ONCE, rows - start)
        logits = generator.standard_normal((n, classes), dtype=np.float32)
        logits *= NOISE
        logits -= generator.uniform(*EXPONENTS, size=(n, 1)).astype(np.float32) * generator.permutation(falling)
        labels = np.argmax(logits / TEMPERATURE + generator.gumbel(size=(n, classes)), axis=1)
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

        data = calib.load(path)
        fitted = calib.calibrator(name).fit(data.logits, data.labels)
        scored = Evaluation.from_calibrator(fitted, data.logits, data.labels)
        assert scored.row_nll is not None
        found = {"NLL": float(scored.row_nll.mean()), "ECE": calib.metrics.ece(scored.confidence, scored.correct)}
        bounds = fitted.nll_bounds(data.logits, data.labels)
        if bounds is not None:
            found |= {"low": float(bounds[0].mean()), "high": float(bounds[1].mean())}
        return found

    found, cost = cost_of(work, baseline=0)
    return cost, imports, found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny size, to see that everything works")
    rows, kept, classes = (200, 10, 1000) if parser.parse_args().quick else (ROWS, KEPT, CLASSES)
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
            bounds = f"{found['low']:.4f} to {found['high']:.4f}" if "low" in found else "–"
            lines.append(
                [
                    *(name, f"{cost.cpu_seconds:.1f}", megabytes(cost.peak_bytes), megabytes(imports)),
                    *(f"{found['NLL']:.4f}", bounds, f"{100 * found['ECE']:.2f}"),
                ]
            )
    header = ["method", "CPU s", "peak memory", "of which imports", "NLL", "bounds of the NLL", "ECE %"]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
