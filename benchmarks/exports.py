"""Largest difference of each export from NumPy, by method: ``python -m benchmarks.exports``.

Simulated: 2 classes with log-odds, and more of which one has no calibration rows. The rows compared are 10,000 random
ones, among them ties, logits of -1000 and 1000, and the calibration rows, where maps have their steps; of 1,000
classes 550. Where an engine is not installed its column is left out, and a line says so. ``--numpy PYTHON`` names an
interpreter with another NumPy, which runs the bundles; ``--worst`` prints a line for each format and number of classes.
"""

from __future__ import annotations

import argparse
import atexit
import io
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np

import calib
from calib.errors import CalibrationError
from calib.export.predict import load
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.export.writer import save, to_bytes, to_onnx, to_sql
from calib.numerics import Floats, Ints, one_vs_rest_log_odds, softmax
from calib.registry import METHODS

N_ROWS = 10_000

POSTGRES_USER = "postgres"
"""Who runs the server where we are root, as whom it does not start."""

ONE_SCORE = ("platt", "beta", "quadratic", "spline", "isotonic", "bayes_iso", "enir", "histogram", "bbq",
             "scaling_binning", "imax", "venn_abers")  # fmt: skip

FORMS: dict[str, list[dict[str, Any]]] = {
    **{name: [{}, {"share_classes": False}] for name in ONE_SCORE},
    "platt": [{}, {"share_classes": False}, {"input": "score"}],
    "gpcalib": [{"prediction": way} for way in ("draws", "mean")]
    + [{"inputs": "probs"}, {"monotone": True}],
}
"""Forms of each method that are compared, the first the default; others have that alone."""


MANY = 100
"""Classes from which on fits are quick ones and matrices are not learned."""

QUICK: dict[str, dict[str, Any]] = {"gpcalib": {"max_iter": 5}, "bayes_iso": {"n_maps": 200}}
"""What shortens fits to many classes, and nothing that a prediction does."""

OF_MATRICES = ("dirichlet", "structured_matrix", "order_preserving", "auto")


def near_steps(given: ExportedCalibrator, rows: Floats) -> Any:
    """Rows of canonical logits with log-odds at a step of a map, where rounding decides on which side they lie."""
    fitted = given.calibrator
    edges = [each.edges for each in getattr(fitted, "maps_", []) if hasattr(each, "edges")]
    if not edges:
        return np.zeros(len(rows), dtype=bool)
    log_odds = one_vs_rest_log_odds(rows)
    known = np.unique(np.concatenate(edges))
    after = np.clip(np.searchsorted(known, log_odds), 1, len(known) - 1)
    away = np.minimum(np.abs(log_odds - known[after - 1]), np.abs(log_odds - known[after]))
    near = away <= 1e-9 * (1 + np.abs(log_odds))
    return near.any(axis=1)


def simulated(n: int, n_classes: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Overconfident logits and labels; of more than two classes the last has no label."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.standard_normal((n, n_classes))
    chances = softmax(0.6 * logits + (np.arange(n_classes) % 2) * 0.5)
    if n_classes > 2:
        chances[:, -1] = 0
        chances /= chances.sum(axis=1, keepdims=True)
    labels = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return logits, labels


def compared_rows(fitted_on: Floats, seed: int = 1) -> Floats:
    """10,000 rows: random ones of several widths, ties, calibration rows, and logits of -1000, 0 and 1000."""
    rng = np.random.default_rng(seed)
    n_classes = fitted_on.shape[1]
    rows = rng.standard_normal((N_ROWS, n_classes)) * rng.choice(
        [0.01, 1.0, 5.0, 30.0, 300.0], size=(N_ROWS, 1)
    )
    rows[:2000] = np.round(rows[:2000])
    rows[2000:3000] = rng.choice([-1000.0, 0.0, 1000.0], size=(1000, n_classes))
    rows[3000:3500] = rows[3000:3500, :1]
    rows[4000 : 4000 + len(fitted_on)] = fitted_on[: N_ROWS - 4000]
    return rows


def fits(
    n_classes: int, methods: list[str], n: int = 1500
) -> Iterator[tuple[str, dict[str, Any], ExportedCalibrator, Floats]]:
    """Each form of each method, fitted to so many rows, with the rows that it is compared on."""
    logits, labels = simulated(n, n_classes)
    if n_classes == 2:
        logits = np.stack([np.zeros(len(logits)), logits[:, 1] - logits[:, 0]], axis=1)
    rows = compared_rows(logits)
    many = n_classes >= MANY
    rows = rows[np.r_[:200, 2000:2100, 3000:3050, 4000:4200]] if many else rows
    for name in methods:
        if METHODS[name].needs or (many and name in OF_MATRICES):
            continue
        for params in FORMS.get(name, [{}]):
            quick = QUICK.get(name, {}) if many else {}
            fitted = calib.calibrator(name, **{**quick, **params}).fit(logits, labels)
            if n_classes == 2:
                yield (
                    name,
                    params,
                    exported(fitted, {"kind": "binary_log_odds"}),
                    rows[:, 1] - rows[:, 0],
                )
            else:
                yield name, params, exported(fitted), rows


Predict = Callable[[Floats], Floats]


def of_npz(given: ExportedCalibrator, folder: Path) -> Predict:
    """The npz, by the script of a bundle under this NumPy."""
    made = load(io.BytesIO(to_bytes("npz", given)))
    return lambda outputs: made.predict_proba(outputs, given.kind)


def of_bundle(python: str) -> Callable[[ExportedCalibrator, Path], Predict]:
    """The bundle, as a command of another interpreter."""

    def write(given: ExportedCalibrator, folder: Path) -> Predict:
        with zipfile.ZipFile(io.BytesIO(to_bytes("zip", given))) as bundle:
            bundle.extractall(folder)

        def predict(outputs: Floats) -> Floats:
            np.save(folder / "o.npy", outputs)
            command = ["predict.py", "o.npy", "--out", "p.npz", "--kind", given.kind]
            subprocess.run([python, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            with np.load(folder / "p.npz") as said:
                return said["probabilities"]

        return predict

    return write


def of_onnx(dtype: str) -> Callable[[ExportedCalibrator, Path], Predict]:
    """The ONNX model of outputs with a dtype, in onnxruntime on one thread."""

    def write(given: ExportedCalibrator, folder: Path) -> Predict:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = str(to_onnx(given, folder / "m.onnx", dtype=dtype))
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda outputs: session.run(None, {"outputs": outputs.astype(dtype)})[0]

    return write


def of_torch(how: str) -> Callable[[ExportedCalibrator, Path], Predict]:
    """The PyTorch module as it is, through ``torch.jit.script`` or through ``torch.export``."""

    def write(given: ExportedCalibrator, folder: Path) -> Predict:
        import torch

        place = util.spec_from_file_location(
            "exported_calibrator", save(given, folder / "calibrator.py")
        )
        file = util.module_from_spec(place)
        place.loader.exec_module(file)
        module = file.Calibrator()

        def predict(outputs: Floats) -> Floats:
            rows, ready = torch.tensor(outputs), module
            if how == "jit":
                ready = torch.jit.script(module)
            elif how == "export":
                dynamic = ({0: torch.export.Dim("rows")},)
                ready = torch.export.export(module, (rows[:7],), dynamic_shapes=dynamic).module()
            with torch.no_grad():
                return ready(rows).numpy()

        return predict

    return write


def of_sql(run: Callable[[str, Floats], Any]) -> Callable[[ExportedCalibrator, Path], Predict]:
    """The SQL expression, evaluated by an engine over a table ``scores`` of row numbers and scores."""

    def write(given: ExportedCalibrator, folder: Path) -> Predict:
        query = f"SELECT {to_sql(given)} FROM scores ORDER BY row_number"

        def predict(outputs: Floats) -> Floats:
            event = np.array([row[0] for row in run(query, outputs)], dtype=np.float64)
            return np.stack([1 - event, event], axis=1)

        return predict

    return write


def in_duckdb(query: str, scores: Floats) -> Any:
    """Rows of an answer of DuckDB."""
    import duckdb
    import pyarrow

    table = pyarrow.table({"row_number": np.arange(len(scores)), "score": scores})
    with duckdb.connect() as connection:
        connection.register("scores", table)
        return connection.execute(query).fetchall()


def in_sqlite(query: str, scores: Floats) -> Any:
    """Rows of an answer of SQLite."""
    import sqlite3

    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE TABLE scores (row_number INTEGER, score REAL)")
        connection.executemany("INSERT INTO scores VALUES (?, ?)", enumerate(scores.tolist()))
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def postgresql_programs() -> Path | None:
    """The folder of PostgreSQL's server programs, if there is one."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).parent]
        if found
        else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return folders[0] if folders else None


@cache
def postgresql_socket() -> Path:
    """The folder of the socket of a server of our own, which ends with this process; it listens to no network."""
    programs, home = postgresql_programs(), Path(tempfile.mkdtemp())
    assert programs is not None
    shutil.chown(
        home, *([POSTGRES_USER] * 2 if os.geteuid() == 0 else [os.geteuid(), os.getegid()])
    )
    as_user = ["runuser", "-u", POSTGRES_USER, "--"] if os.geteuid() == 0 else []
    data, quiet = str(home / "data"), {"check": True, "stdout": subprocess.DEVNULL}
    setup = [
        programs / "initdb",
        "--pgdata",
        data,
        "--username",
        "postgres",
        "--auth",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
    ]
    subprocess.run([*as_user, *map(str, setup)], **quiet)
    options = f"-k {home} -c listen_addresses= -c fsync=off"
    control = [*as_user, str(programs / "pg_ctl"), "--pgdata", data, "--wait"]
    subprocess.run([*control, "--options", options, "--log", str(home / "log"), "start"], **quiet)

    def stop() -> None:
        subprocess.run([*control, "--mode", "immediate", "stop"], **quiet)
        shutil.rmtree(home, ignore_errors=True)

    atexit.register(stop)
    return home


def in_postgresql(query: str, scores: Floats) -> Any:
    """Rows of an answer of PostgreSQL, in one column."""
    values = "".join(f"{row}\t{score!r}\n" for row, score in enumerate(scores.tolist()))
    script = f"""CREATE TEMPORARY TABLE scores (row_number integer, score double precision);
COPY scores FROM STDIN;
{values}\\.
{query};
"""
    psql = [
        "psql",
        "-h",
        str(postgresql_socket()),
        "-U",
        "postgres",
        "-d",
        "postgres",
        "-v",
        "ON_ERROR_STOP=1",
    ]
    done = subprocess.run([*psql, "-qAt"], input=script, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [(float(line) if line else None,) for line in done.stdout.removesuffix("\n").split("\n")]


FORMATS: dict[str, tuple[str, Callable[[ExportedCalibrator, Path], Predict]]] = {
    "npz": ("numpy", of_npz),
    "ONNX float64": ("onnxruntime", of_onnx("float64")),
    "ONNX float32": ("onnxruntime", of_onnx("float32")),
    "PyTorch": ("torch", of_torch("eager")),
    "torch.jit": ("torch", of_torch("jit")),
    "torch.export": ("torch", of_torch("export")),
    "DuckDB": ("duckdb", of_sql(in_duckdb)),
    "SQLite": ("sqlite3", of_sql(in_sqlite)),
    "PostgreSQL": ("", of_sql(in_postgresql)),
}
"""Each format's column: the module that its engine needs, and how outputs become probabilities there."""


def differences(
    write: Callable[[ExportedCalibrator, Path], Predict], given: Any, rows: Floats
) -> tuple[float, int, float] | None:
    """The largest difference of a probability from NumPy's away from steps, how many rows at a step came out on its
    other side, and by how much; None where the format refuses the method."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            predict = write(given, Path(folder))
        except CalibrationError:
            return None
        apart = np.abs(predict(rows) - given.predict_proba(rows, given.kind)).max(axis=1)
        at_step = near_steps(given, given.to_logits(rows, given.kind))
        return (
            apart[~at_step].max(),
            int((apart[at_step] > 1e-9).sum()),
            apart[at_step].max(initial=0.0),
        )


def version_of(module: str) -> str:
    """Of an engine."""
    if not module:
        return subprocess.run(["psql", "--version"], capture_output=True, text=True).stdout.split()[
            2
        ]
    loaded = import_module(module)
    return str(loaded.sqlite_version if module == "sqlite3" else loaded.__version__)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--formats", nargs="+", default=[*FORMATS], choices=[*FORMATS])
    parser.add_argument("--numpy", metavar="PYTHON", help="an interpreter with another NumPy")
    parser.add_argument(
        "--worst", action="store_true", help="only the worst of all methods and forms"
    )
    asked = parser.parse_args()
    there = {
        name: util.find_spec(module) if module else postgresql_programs()
        for name, (module, _) in FORMATS.items()
    }
    formats = {name: FORMATS[name][1] for name in asked.formats if there[name]}
    for name in [name for name in asked.formats if not there[name]]:
        print(f"{name} is left out, for it is not installed.")
    print(", ".join(f"{name} {version_of(FORMATS[name][0])}" for name in formats))
    if asked.numpy:
        formats["other NumPy"] = of_bundle(asked.numpy)
    worst: dict[tuple[str, int], list[Any]] = defaultdict(list)
    if not asked.worst:
        print(f"| method | classes | {' | '.join(formats)} |\n|---|---|{'---|' * len(formats)}")
    for n_classes in asked.classes:
        for name, params, given, rows in fits(n_classes, asked.methods):
            form, cells = METHODS[name].title + (f" {params}" if params else ""), []
            for column, write in formats.items():
                exact = (
                    rows.astype(np.float32).astype(float) if column.endswith("float32") else rows
                )
                found = differences(write, given, exact)
                worst[column, n_classes] += [found] if found else []
                cells.append(
                    "-"
                    if found is None
                    else f"{found[0]:.0e}" + f" ({found[1]} at a step)" * (found[1] > 0)
                )
            if not asked.worst:
                print(f"| {form} | {n_classes} | {' | '.join(cells)} |", flush=True)
    print(
        "| format | classes | fits | largest difference | rows on the other side of a step | by at most |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for (column, n_classes), found in worst.items():
        apart, crossed, by = (np.array(each) for each in zip(*found, strict=True))
        print(
            f"| {column} | {n_classes:,} | {len(found)} | {apart.max():.0e} | {crossed.sum()} | {by.max():.2g} |"
        )


if __name__ == "__main__":
    main()
