"""Largest difference of each export from NumPy, by method: ``python -m benchmarks.exports``.

Simulated: 2 classes with log-odds, and 5 of which one has no calibration rows. The rows compared are 10,000 random
ones, among them ties, logits of -1000 and 1000, and the calibration rows, where maps have their steps. Where an engine
is not installed its column is left out, and a line says so.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np

import calib
from calib.calibrators.top_class import top_log_odds
from calib.errors import CalibrationError
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.export.writer import to_mlflow, to_sql, to_torch
from calib.numerics import Floats, Ints, one_vs_rest_log_odds, softmax
from calib.registry import METHODS

N_ROWS = 10_000

POSTGRES_USER = "postgres"
"""Who runs the server where we are root, as whom it does not start."""

ONE_SCORE = ("platt", "beta", "quadratic", "spline", "isotonic", "bayes_iso", "enir", "histogram", "bbq",
             "scaling_binning", "imax", "venn_abers")  # fmt: skip

FORMS: dict[str, list[dict[str, Any]]] = {
    **{name: [{}, {"share_classes": False}, {"classes": "top"}] for name in ONE_SCORE},
    "platt": [{}, {"share_classes": False}, {"classes": "top"}, {"input": "score"}],
    "isotonic": [{}, {"share_classes": False}, {"classes": "top"}, {"centred": True}],
    "gpcalib": [{"prediction": way} for way in ("draws", "mean")] + [{"inputs": "probs"}, {"monotone": True}],
}
"""Forms of each method that are compared, the first the default; others have that alone."""


def near_steps(given: ExportedCalibrator, rows: Floats) -> Any:
    """Rows of canonical logits with log-odds at a step of a map, where rounding decides on which side they lie."""
    fitted = given.calibrator
    edges = [each.edges for each in getattr(fitted, "maps_", []) if hasattr(each, "edges")]
    if not edges:
        return np.zeros(len(rows), dtype=bool)
    log_odds = top_log_odds(rows)[:, None] if fitted.classes == "top" else one_vs_rest_log_odds(rows)
    near = np.zeros(log_odds.shape, dtype=bool)
    for edge in np.unique(np.concatenate(edges)):
        near |= np.abs(log_odds - edge) <= 1e-9 * (1 + np.abs(log_odds))
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
    rows = rng.standard_normal((N_ROWS, n_classes)) * rng.choice([0.01, 1.0, 5.0, 30.0, 300.0], size=(N_ROWS, 1))
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
    for name in methods:
        if METHODS[name].needs:
            continue
        for params in FORMS.get(name, [{}]):
            fitted = calib.calibrator(name, **params).fit(logits, labels)
            if n_classes == 2:
                yield name, params, exported(fitted, {"kind": "binary_log_odds"}), rows[:, 1] - rows[:, 0]
            else:
                yield name, params, exported(fitted), rows


Predict = Callable[[Floats], Floats]


def of_torch(given: ExportedCalibrator, folder: Path) -> Predict:
    """The PyTorch module, through ``torch.export``."""
    import torch

    spaces: dict[str, Any] = {}
    exec(to_torch(given, folder).read_text(encoding="utf-8"), spaces)
    module = spaces["Calibrator"]()

    def predict(outputs: Floats) -> Floats:
        rows = torch.tensor(outputs)
        program = torch.export.export(module, (rows[:7],), dynamic_shapes=({0: torch.export.Dim("rows")},))
        return program.module()(rows).numpy()

    return predict


def of_mlflow(given: ExportedCalibrator, folder: Path) -> Predict:
    """The MLflow model, loaded by MLflow."""
    import mlflow.pyfunc

    model = mlflow.pyfunc.load_model(str(to_mlflow(given, folder / "model")))
    return lambda outputs: model.predict(outputs)


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
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return folders[0] if folders else None


@cache
def postgresql_socket() -> Path:
    """The folder of the socket of a server of our own, which ends with this process; it listens to no network."""
    programs, home = postgresql_programs(), Path(tempfile.mkdtemp())
    assert programs is not None
    shutil.chown(home, *([POSTGRES_USER] * 2 if os.geteuid() == 0 else [os.geteuid(), os.getegid()]))
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
    psql = ["psql", "-h", str(postgresql_socket()), "-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run([*psql, "-qAt"], input=script, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [(float(line) if line else None,) for line in done.stdout.removesuffix("\n").split("\n")]


FORMATS: dict[str, tuple[str, Callable[[ExportedCalibrator, Path], Predict]]] = {
    "PyTorch": ("torch", of_torch),
    "DuckDB": ("duckdb", of_sql(in_duckdb)),
    "SQLite": ("sqlite3", of_sql(in_sqlite)),
    "PostgreSQL": ("", of_sql(in_postgresql)),
    "MLflow": ("mlflow", of_mlflow),
}
"""Each format's column: the module that its engine needs, and how outputs become probabilities there."""


def largest_difference(write: Callable[[ExportedCalibrator, Path], Predict], given: Any, rows: Floats) -> str:
    """Of any probability from NumPy's; "-" where the format refuses the method."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            predict = write(given, Path(folder))
        except CalibrationError as error:
            if given.n_classes == 2:
                print(f"{given.method}: {error}", file=sys.stderr)
            return "-"
        apart = np.abs(predict(rows) - given.calibrate(rows, given.kind)).max(axis=1)
        at_step = near_steps(given, given.to_logits(rows, given.kind))
        other_side = f" ({(apart[at_step] > 1e-9).sum()} at a step)" if (apart[at_step] > 1e-9).any() else ""
        return f"{apart[~at_step].max():.0e}{other_side}"


def version_of(module: str) -> str:
    """Of an engine."""
    if not module:
        return subprocess.run(["psql", "--version"], capture_output=True, text=True).stdout.split()[2]
    loaded = import_module(module)
    return str(loaded.sqlite_version if module == "sqlite3" else loaded.__version__)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS])
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 5])
    asked = parser.parse_args()
    there = {name: util.find_spec(module) if module else postgresql_programs() for name, (module, _) in FORMATS.items()}
    formats = {name: write for name, (_, write) in FORMATS.items() if there[name]}
    for name in [name for name in FORMATS if not there[name]]:
        print(f"{name} is left out, for it is not installed.")
    print(", ".join(f"{name} {version_of(FORMATS[name][0])}" for name in formats))
    print(f"| method | classes | {' | '.join(formats)} |\n|---|---|{'---|' * len(formats)}")
    for n_classes in asked.classes:
        for name, params, given, rows in fits(n_classes, asked.methods):
            form = METHODS[name].title + (f" ({', '.join(f'{k}={v}' for k, v in params.items())})" if params else "")
            cells = [largest_difference(write, given, rows) for write in formats.values()]
            print(f"| {form} | {n_classes} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
