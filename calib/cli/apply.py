"""``apply``: new outputs through a saved calibrator, at once or, for files of any size, in blocks of rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from calib.apply import predict_file
from calib.apply.parts import ENDINGS, has_blocks
from calib.canonical import Kind
from calib.cli import arguments, text
from calib.cli.check import check_sums, read_its_columns, saved_calibrator
from calib.data import Choices, read_rows
from calib.data.findings import MAX_BYTES
from calib.data.options import FORMATS
from calib.errors import CalibrationError, Finding
from calib.export import calibrated
from calib.export.runtime import ExportedCalibrator
from calib.formatting import plural


def apply(
    calibrator: arguments.CalibratorFile,
    file: Annotated[
        Path,
        Argument(help=f"Outputs, without labels too: {FORMATS}, or a folder of Parquet files."),
    ],
    out: Annotated[
        Path,
        Option(
            help="What to write: .npz, .npy, .parquet or .csv, and of a folder the folder of the results."
        ),
    ] = Path("calibrated.npz"),
    decide: Annotated[
        bool, Option("--decide", help="Also the action of each row, by the calibrator's rule.")
    ] = False,
    sets: Annotated[bool, Option("--sets", help="Also the prediction set of each row.")] = False,
    kind: Annotated[
        Kind | None, Option(help="What the outputs are, where they look like another kind.")
    ] = None,
    groups: Annotated[
        str | None,
        Option(
            metavar="COLUMN", help="Column of groups, for a map by group; else that of the fit."
        ),
    ] = None,
    read: arguments.Read = [],  # noqa: B006  # Typer copies it
    isolate: arguments.Isolate = None,
    json: arguments.Json = False,
) -> int:
    """Calibrate new outputs with a saved calibrator."""
    if out.suffix:
        arguments.must_end(arguments.target(str(out)), (".npz", ".npy", ".parquet", ".csv"))
    arguments.keep_inputs([calibrator, file], out=out)
    if file.is_dir() == bool(out.suffix):
        arguments.refuse(
            "the results of a folder are a folder, and those of a file a file; give --out another name"
        )
    how = arguments.choices(read)
    ending = out.suffix.lower()
    exported = saved_calibrator(calibrator, how)
    if exported.needs_groups:
        how = replace(how, groups=groups or how.groups or exported.group_column or None)
        if how.groups is None:
            arguments.refuse("the calibrator has a map by group; name its column with --groups")
    elif groups:
        arguments.refuse(f"{exported.method} takes no groups; leave --groups out")
    more = [name for name, chosen in (("actions", decide), ("sets", sets)) if chosen]
    at_once = exported.needs_features or exported.needs_groups or isolate or more
    in_blocks = has_blocks(file) and not at_once
    unseen = ""
    if in_blocks and ending in ("", *ENDINGS):
        n = _in_blocks(exported, file, out, how, kind)
    elif file.is_dir() or ending == ".parquet" or (in_blocks and file.stat().st_size > MAX_BYTES):
        raise CalibrationError(
            f"{file.name} cannot be calibrated to {out.name}: folders, files of over {MAX_BYTES / 1e6:,.0f} MB and "
            "all results in Parquet go in blocks of rows, from .npy or Parquet to .npy or Parquet, without features, "
            "groups, --isolate, --decide and --sets. For other files take --out .npz."
        )
    else:
        rows = _rows_at_once(exported, file, how, kind, isolate)
        calibrated.write_predictions(out, exported, rows, more)
        n = len(rows.logits)
        unseen = calibrated.unseen_groups(exported, rows)
    output = text.Output(json)
    output.say(
        f"Wrote {plural(n, 'row')} to {out}.", rows=n, method=exported.method, file=out, added=more
    )
    output.note(unseen, "note")
    return output.end()


def _in_blocks(exported: ExportedCalibrator, file: Path, out: Path, how: Choices, kind: Any) -> int:
    """Calibrate a file, or each of the Parquet files of a folder, in blocks of rows; returns how many these are."""
    jobs = [(file, out)]
    n = 0
    noticed = list[Finding]()
    if file.is_dir():
        out.mkdir(exist_ok=True)
        jobs = [(part, out / part.name) for part in sorted(file.glob("*.parquet"))]
    if not jobs:
        raise CalibrationError(f"The folder {file.name} holds no .parquet files; name another one.")
    with text.progress("rows") as show:
        for part, to in jobs:

            def predicted(how: Choices, part: Path = part, to: Path = to) -> int:
                return predict_file(
                    exported, part, to, kind=kind, choices=how, progress=show, warn=noticed.append
                )

            n += read_its_columns(exported, how, predicted)
    if noticed:
        text.say(text.findings(noticed), apart=True)
    return n


def _rows_at_once(
    exported: ExportedCalibrator,
    file: Path,
    how: Choices,
    kind: Any,
    isolate: bool | None,
) -> calibrated.Rows:
    """Every row of a file as the calibrator takes them."""
    needed = exported.needs_features
    read = read_its_columns(exported, how, lambda how: read_rows(file, how, isolate, needed))
    outputs = exported.in_class_order(read.outputs, read.columns)
    ids = {name: column.tolist() for name, column in read.ids.items()}
    logits = exported.to_logits(outputs, kind)
    check_sums(exported, outputs, file.name)
    return calibrated.Rows(logits, features=read.features, ids=ids, groups=read.groups)
