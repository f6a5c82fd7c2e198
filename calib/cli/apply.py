"""``apply``: new outputs through a saved calibrator, at once or, for files of any size, in blocks of rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from calib.apply import predict_file
from calib.apply.parts import ENDINGS, has_blocks
from calib.apply.predict import DTYPES
from calib.canonical import KINDS
from calib.cli import text
from calib.cli.arguments import Parser, Target, command_parser, keep_inputs, load_options, refuse
from calib.data import Choices, read_features, read_rows
from calib.data.limits import MAX_BYTES
from calib.data.options import FORMATS
from calib.errors import CalibrationError
from calib.export import calibrated, predict, runtime
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats

WHAT = "calibrate new outputs with a saved calibrator"


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status. The name after ``--out`` decides whether it works in blocks of rows."""
    given = parser().parse_args(arguments)
    keep_inputs(given, "out")
    if given.file.is_dir() == bool(given.out.suffix):
        refuse(given, "the results of a folder are a folder, and those of a file a file; give --out another name")
    exported = runtime.load(given.calibrator)
    in_blocks = has_blocks(given.file) and not exported.needs_features and not given.isolate and not _more(given)
    if in_blocks and given.out.suffix.lower() in ("", *ENDINGS):
        with text.progress(text.rows_done) as show:
            options = {"kind": given.kind, "dtype": given.dtype, "choices": _choices(given)}
            n = predict_file(exported, given.file, given.out, **options, progress=show)
    elif given.file.is_dir():
        raise CalibrationError(
            "A folder is calibrated in blocks of rows: without features, --isolate, --decide and --sets."
        )
    elif given.dtype != DTYPES[0]:
        raise CalibrationError(
            f"--dtype {given.dtype} is for what is written in blocks of rows, from .npy or .parquet to .npy or "
            f".parquet; leave it out for {given.out.name}."
        )
    elif _more(given) and given.out.suffix.lower() == ".parquet":
        raise CalibrationError(f"{given.out.name} holds probabilities alone; for --decide and --sets take --out .npz.")
    elif given.out.suffix.lower() == ".parquet":
        raise CalibrationError(f"{given.out.name} is written from .npy or .parquet; for other files take --out .npz.")
    elif in_blocks and given.file.stat().st_size > MAX_BYTES:
        raise CalibrationError(
            f"{given.file.name} has {given.file.stat().st_size / 1e6:,.0f} MB, more than is read at once; give --out "
            "calibrated.npy or calibrated.parquet, which are written in blocks of rows."
        )
    else:
        n = _apply_at_once(given, exported)
    answer = text.Answer(given.json)
    said = calibrated.written(given.out, exported, n, _more(given))
    answer.say(said, rows=n, method=exported.method, file=given.out, added=_more(given))
    return answer.end()


def _apply_at_once(given: argparse.Namespace, exported: ExportedCalibrator) -> int:
    features: Any = None
    outputs: Any = None
    ids: dict[str, Any] = {}
    if exported.kind == "topk":
        outputs = _top_k_in(given.file)
    elif given.file.suffix.lower() == ".csv" and find_spec("pyarrow") is None:  # an installation for prediction
        outputs, ids = _in_table(exported, given.file, given.key)
    else:
        read = read_rows(given.file, _choices(given), given.isolate)
        outputs = exported.in_class_order(read.outputs, read.columns)
        ids = {name: column.tolist() for name, column in read.ids.items()}
        if exported.needs_features:
            own, choices = (given.features, None) if given.features else (given.file, _choices(given))
            features = read_features(own, choices, given.isolate, beside_outputs=not given.features)
    logits = exported.to_logits(outputs, given.kind)
    rows = calibrated.Rows(logits, features=exported.to_features(features), pairs=exported.kind == "pairs", ids=ids)
    calibrated.write_predictions(given.out, exported, rows, _more(given))
    return len(logits)


def _top_k_in(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".npz":
        raise CalibrationError(f"{path.name} is no .npz with the arrays values, indices and rest.")
    with runtime.damage_in_words(), np.load(path, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in ("values", "indices", "rest") if name in loaded.files}


def _in_table(exported: ExportedCalibrator, path: Path, key: str | None) -> tuple[Floats, dict[str, list[str]]]:
    """The outputs in a csv, and its other columns, where NumPy alone is installed."""
    if exported.needs_features:
        raise CalibrationError("Features are read from a table with pyarrow alone; install it, or give an .npz.")
    with runtime.damage_in_words():
        record = {"columns": key.split(",") if key else exported.columns, "class_names": exported.class_names}
        outputs, names, rows = predict.read_outputs(record, path)
        which = predict.places(record, names)
        return outputs, {name: [row[i] for row in rows] for i, name in enumerate(names) if i not in which}


def _more(given: argparse.Namespace) -> list[str]:
    """What is written beside probabilities."""
    return [name for name, wanted in (("decision", given.decide), ("sets", given.sets)) if wanted]


def _choices(given: argparse.Namespace) -> Choices:
    return Choices(**{"outputs": given.key, **dict(given.read)})


def _target(given: str) -> Path:
    """A file to write, or without an ending the folder of the results of a folder."""
    return Target((".npz", ".npy", ".parquet", ".csv"))(given) if Path(given).suffix else Path(given)


def parser() -> Parser:
    """Of this command's arguments."""
    parser = command_parser("apply", WHAT, answers=True)
    parser.add_argument("calibrator", type=Path, help=".pkl (only one you trust), .npz or .zip")
    parser.add_argument("file", type=Path, help=f"a model's outputs: {FORMATS}, or a folder of Parquet files; labels "
                        "are not needed, features where the calibrator predicts from them")  # fmt: skip
    parser.add_argument("--key", help="name of the array with the outputs; the same as --read outputs=NAME")
    parser.add_argument("--kind", choices=list(KINDS),
                        help="what the outputs are, where they look like another kind than the calibrator takes and so "
                             "were refused")  # fmt: skip
    parser.add_argument("--out", type=_target, default=Path("calibrated.npz"),
                        help="what to write; .npy and .parquet also for files larger than memory, and of a folder the "
                             "folder of the results")  # fmt: skip
    parser.add_argument("--dtype", choices=DTYPES, default=DTYPES[0],
                        help="of .npy and .parquet; float32 takes half the room and rounds probabilities by 6e-8 of "
                             "themselves, those below 1e-45 to zero (default: float64)")  # fmt: skip
    parser.add_argument("--decide", action="store_true", help="also the action of each row, by the calibrator's rule")
    parser.add_argument("--sets", action="store_true", help="also the prediction set of each row")
    load_options(parser, files=("features",))
    return parser
