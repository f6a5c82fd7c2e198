"""Files larger than memory: a random sample of their rows to fit on, and predictions for all rows in blocks.

A parameter that is fitted to n rows costs about 1/(2n) nats, so 50,000 rows are as good as all of them. The files are
.npy arrays, Parquet tables, or folders of Parquet tables; a block of about 16 MB is in memory at a time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from calib.base import Calibrator
from calib.canonical import Kind
from calib.data import Choices, Predictions, load
from calib.data.checks.report import InvalidUpload, Report
from calib.data.formats.base import Allowance, Array, reading
from calib.data.formats.detect import contents_of, open_file, open_source, sniff
from calib.data.formats.table import numbers
from calib.data.interpret.families import class_names
from calib.data.interpret.label_values import decode_labels
from calib.data.interpret.reading import check_rows, check_there, infer_label, read_any
from calib.data.interpret.tables import infer_columns
from calib.data.limits import MAX_BYTES
from calib.data.load import check_choices, findings_as_error
from calib.errors import CalibrationError, Finding
from calib.export.runtime import ExportedCalibrator
from calib.export.seen import AmbiguousOutputs
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, block_rows, blocks
from calib.parameters import number_fault

__all__ = ["fewer_rows", "predict_file", "sample_rows"]

SAMPLED_ROWS = 50_000
"""Rows to fit on where there are very many."""

MANY_ROWS = 200_000
"""The app and the command line fit on a sample of more calibration rows than these, unless all are asked for."""

ENDINGS = (".npy", ".parquet")
"""Files that are read and written in blocks of rows."""

DTYPES = ("float64", "float32")
"""Of what is written; float32 is right to 6e-8 of a probability and takes half the room."""

READ_AHEAD = 2**16
"""Bytes of each column of a Parquet file that are read ahead; all columns are open at once."""

Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``; it may raise to stop the work."""


def no_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A file that is read in blocks of rows.

    Attributes
    ----------
    path : of the file.
    n_rows : rows in it.
    columns : of the outputs in a table; empty for an array.
    n_outputs : numbers in a row of outputs.
    row_bytes : bytes of a row in memory, of tables with all other columns.
    """

    path: Path
    n_rows: int
    columns: tuple[str, ...]
    n_outputs: int
    row_bytes: int

    @classmethod
    def from_path(cls, path: Path, report: Report, separate_labels: bool, infer: bool) -> Part:
        """A file; where the columns of a table are inferred, the report gets which are outputs."""
        with ExitStack() as stack:
            name, file = open_file(path, stack)
            found = sniff(name, file)
            if f".{found}" not in ENDINGS:
                raise InvalidUpload(
                    "not_in_blocks",
                    f"{name} holds {found}, which cannot be read in blocks of rows.",
                    "Save one .npy array, a Parquet table, or a folder of Parquet tables.",
                )
            size = file.seek(0, 2)
            file.seek(0)
            contents = contents_of(found, name, file, size, Allowance(), report)
            n_rows, *shape = contents.arrays[0].shape or (0,)
            if not contents.tabular:
                width, itemsize = prod(shape), np.dtype(contents.arrays[0].dtype).itemsize
                return cls(path, n_rows, (), width, width * itemsize)
            if infer:
                infer_columns(contents, report, separate_labels)
            columns = check_there(contents, report.choices.outputs)
            return cls(path, n_rows, columns, len(columns), 8 * len(contents.names))

    def blocks(self, columns: tuple[str, ...] | None = None) -> Iterator[Any]:
        """All rows in order, as arrays or as Arrow tables of these columns (None for all)."""
        if self.columns:
            yield from _table_blocks(self.path, columns)
            return
        for rows in blocks(self.n_rows, self.n_outputs, MEMORY_ENTRIES):
            with reading(self.path.name):
                # Opened anew for each block: pages of a map count as memory for as long as it is open.
                block = np.array(np.load(self.path, mmap_mode="r")[rows])
            yield block

    def outputs(self) -> Iterator[Floats]:
        """The outputs of all rows in order, in blocks; missing cells of tables are NaN."""
        for block in self.blocks(self.columns):
            if self.columns:
                named = [(block.column(name), f"Column {name} of {self.path.name}") for name in self.columns]
                block = np.column_stack([numbers(column, what, False) for column, what in named])
            yield block


def parts_of(path: Path, report: Report, separate_labels: bool = True) -> list[Part]:
    """A file alone, or the Parquet files of a folder, whose outputs have the columns of the first.

    Parameters
    ----------
    report : its choices say how to read the files, and get what is inferred.
    separate_labels : whether the labels lie elsewhere, or none are needed.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InvalidUpload("no_rows", f"The folder {path.name} holds no .parquet files.", "Name another one.")
    return [Part.from_path(file, report, separate_labels, infer=file == files[0]) for file in files]


def has_blocks(path: Path) -> bool:
    """Whether a file is read in blocks of rows, by its name, as a folder is."""
    return path.is_dir() or path.suffix.lower() in ENDINGS


def _table_blocks(path: Path, columns: tuple[str, ...] | None) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A row group may be the whole file, so its pages are read as they are needed.
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
        names = file.schema_arrow.names if columns is None else list(columns)
        batches = file.iter_batches(block_rows(len(names), MEMORY_ENTRIES), columns=names, use_threads=False)
        while True:
            with reading(path.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield pa.Table.from_batches([batch])


# -- a sample to fit on ------------------------------------------------------------------------------------------------


def sample_rows(
    source: str | Path,
    n_rows: int = SAMPLED_ROWS,
    *,
    labels: Any = None,
    choices: Choices | None = None,
    random_state: int = 0,
    progress: Progress = no_progress,
) -> Predictions:
    """Random rows of a file of any size, with their labels, as :func:`calib.load` reads a file of these rows alone.

    The file is read once, in blocks. What the labels mean is decided by those of all rows.

    Parameters
    ----------
    source : a .npy file, a Parquet table, or a folder of Parquet tables that belong together.
    n_rows : how many rows to draw, without replacement. They are fewer where the file has fewer, and where they
        would take more memory than ``CALIB_DATA_MB``; a finding says how many were drawn.
    labels : their file, or an array of them, unless they are a column of the table.
    choices : how the file is read, as for :func:`calib.load`.
    random_state : seed of the draw.
    progress : ``progress("read", rows done, rows in all)``.

    Raises
    ------
    DataError
        If the file cannot be used, such as NaN in the rows drawn, labels of no class, or outputs and labels of
        different lengths; a row that is named is counted among those drawn.

    Examples
    --------
    >>> import tempfile
    >>> generator = np.random.default_rng(0)
    >>> file, labels = Path(tempfile.mkdtemp()) / "big.npy", generator.integers(0, 3, size=1000)
    >>> np.save(file, generator.normal(size=(1000, 3)))
    >>> data = sample_rows(file, 50, labels=labels)
    >>> data.logits.shape, data.labels.shape
    ((50, 3), (50,))
    """
    if not isinstance(n_rows, (int, np.integer)) or n_rows < 1:
        raise CalibrationError(f"The number of rows to draw must be 1 or more; got {n_rows!r}.")
    report, source = Report(choices or Choices()), Path(source)
    with findings_as_error(report):
        check_choices(report.choices)
        if report.choices.row_shift or report.choices.transposed:
            raise InvalidUpload(
                "not_in_blocks",
                "row_shift and transposed need all rows at once.",
                "Save the file that way, or fewer rows.",
            )
        parts = parts_of(source, report, separate_labels=labels is not None)
        total = sum(part.n_rows for part in parts)
        all_labels = _all_labels(labels, parts, total, source.name, report)
        most = max(1, MAX_BYTES // max(1, parts[0].row_bytes))
        drawn = _draw(total, min(int(n_rows), total, most), random_state)
        taken, start = [], 0
        for block in (block for part in parts for block in part.blocks()):
            within = drawn[slice(*np.searchsorted(drawn, [start, start + len(block)]))] - start
            taken.append(block[within] if isinstance(block, np.ndarray) else block.take(within))
            start += len(block)
            progress("read", start, total)
    data = _loaded(taken, None if labels is None else all_labels[drawn], report.choices)
    if len(drawn) < total:
        said = f"{len(drawn):,} of the {total:,} rows of {source.name} were drawn at random (seed {random_state})."
        data = replace(data, findings=(*data.findings, Finding("info", "sampled", said)))
    return replace(data, name=source.stem)


def fewer_rows(data: Predictions, n_rows: int | None = None, random_state: int = 0) -> tuple[Predictions, str]:
    """Random calibration rows to fit on, and a sentence that says so; all rows and "" where none are left out.

    Parameters
    ----------
    n_rows : how many rows at most; None takes 50,000 of more than 200,000 rows, and all of fewer.
    random_state : seed of the draw.
    """
    if n_rows is not None and (fault := number_fault(n_rows, True, 1, None)):
        raise CalibrationError(f"n_rows={n_rows!r} {fault}.")
    many = len(data) > MANY_ROWS
    n_drawn = n_rows if n_rows is not None else SAMPLED_ROWS if many else len(data)
    if n_drawn >= len(data):
        return data, ""
    said = f"{n_drawn:,} of the {len(data):,} calibration rows were drawn at random (seed {random_state}) to fit on."
    return data.take(_draw(len(data), n_drawn, random_state)), said


def _draw(n_rows: int, n_drawn: int, random_state: int) -> Ints:
    """Increasing numbers of different rows."""
    return np.sort(np.random.default_rng(random_state).choice(n_rows, n_drawn, replace=False, shuffle=False))


def _all_labels(labels: Any, parts: list[Part], n_rows: int, name: str, report: Report) -> Any:
    """The labels of all rows as they stand, with their meaning decided in the report: a sample may miss a class.

    None where a table has a column for each class, which needs no decision.
    """
    columns, chosen = parts[0].columns, report.choices.labels
    what = Path(labels).name if isinstance(labels, (str, Path)) else f"The labels of {name}"
    if labels is None:
        if not columns:
            raise InvalidUpload("no_labels", f"{name} holds outputs alone.", "Give the file of the labels.")
        if not isinstance(chosen, str):
            return None
        import pyarrow as pa

        read = (block for part in parts for block in part.blocks((chosen,)))
        labels = pa.concat_tables(read, promote_options="permissive")
    with ExitStack() as stack:
        source = {"labels": labels} if isinstance(labels, np.ndarray) else labels
        contents = open_source(source, Allowance(), report, stack)
        chosen = chosen or infer_label(contents)
        check_there(contents, chosen)
        raw = read_any(contents, chosen)
    check_rows(range(n_rows), len(raw) if raw.ndim else 0, name, what)  # type: ignore[arg-type]
    if report.choices.kind != "pairs":
        names = class_names(columns) if columns else None
        decode_labels(raw, max(parts[0].n_outputs, 2), names, what, report, may_miss=True)
    return raw


def _loaded(taken: list[Any], labels: Array | None, choices: Choices) -> Predictions:
    """The drawn rows as a data set; ``labels`` are theirs, where they do not lie in the table."""
    if isinstance(taken[0], np.ndarray):
        arrays = {"outputs": np.concatenate(taken), "labels": labels}
        return load(arrays, choices=replace(choices, outputs="outputs", labels="labels"))
    import pyarrow as pa

    table = pa.concat_tables(taken, promote_options="permissive")
    if labels is None:
        return load(table, choices=choices)
    return load(table, labels={"labels": labels}, choices=replace(choices, labels="labels"))


# -- predictions for all rows ------------------------------------------------------------------------------------------


def predict_file(
    calibrator: Calibrator | ExportedCalibrator,
    source: str | Path,
    target: str | Path,
    *,
    kind: Kind | None = None,
    dtype: str = "float64",
    choices: Choices | None = None,
    client: Any = None,
    progress: Progress = no_progress,
) -> int:
    """Write the calibrated probabilities of a file of outputs; returns how many rows these are.

    One block of rows is in memory at a time. The result appears under its name when it is complete.

    Parameters
    ----------
    calibrator : a fitted calibrator, or one that was loaded with :func:`calib.runtime.load`.
    source : a model's outputs as it writes them: .npy, Parquet, or a folder of Parquet files. Labels beside them are
        left alone, and columns that are called as the classes are taken by name.
    target : .npy or .parquet; of a folder the folder of the results, one file for each part, under its name.
    kind : what the outputs are. Of a calibrator that was just fitted these are logits unless said otherwise; for a
        loaded one it is only needed where it asks, see :func:`calib.export.seen.check_alike`.
    dtype : of the result, "float64" or "float32".
    choices : how the file is read, as for :func:`calib.load`.
    client : a ``distributed.Client``, on whose workers the parts of a folder are predicted. They must see both folders.
    progress : ``progress("calibrated", rows done, rows in all)``.

    Raises
    ------
    CalibrationError
        For outputs that the calibrator does not know, values that cannot be (with the rows of their block, and the
        number of the first row with NaN or infinity, from 1), or a disk without room. Parts that were completed before
        stay.
    DataError
        If the file cannot be read.
    """
    source, target = Path(source), Path(target)
    if isinstance(calibrator, Calibrator):
        calibrator = ExportedCalibrator(calibrator, kind or "logits")
    calibrator.check_kind(kind)
    if dtype not in DTYPES:
        raise CalibrationError(f"dtype is one of {', '.join(DTYPES)}; got {dtype!r}.")
    report = Report(choices or Choices())
    with findings_as_error(report):
        check_choices(report.choices)
        parts, targets = parts_of(source, report), [target]
        if target.resolve() == source.resolve():
            own = "folder" if source.is_dir() else "file"
            raise CalibrationError(f"The results need a {own} of their own, or they would overwrite the outputs.")
        if source.is_dir():
            target.mkdir(exist_ok=True)
            targets = [target / part.path.name for part in parts]
        jobs = [(calibrator, part, to, kind, dtype) for part, to in zip(parts, targets, strict=True)]
        done, total = 0, sum(part.n_rows for part in parts)
        if client is None:
            for job in jobs:
                done += _predict_part(*job, progress, done, total)
        else:
            for future in [client.submit(_on_a_worker, *job, pure=False) for job in jobs]:
                done += future.result()
                progress("calibrated", done, total)
    return done


def _predict_part(
    exported: ExportedCalibrator,
    part: Part,
    target: Path,
    kind: Kind | None,
    dtype: str,
    progress: Progress = no_progress,
    before: int = 0,
    total: int = 0,
) -> int:
    """Predict the rows of a file; ``before`` of ``total`` rows were predicted already."""
    # Of pairs, only the confidence that an answer is correct.
    first, names = (1, ("confidence",)) if exported.kind == "pairs" else (0, exported.class_names)
    done = 0
    with probabilities_file(target, part.n_rows, names, dtype) as write:
        for block in part.outputs():
            try:
                write(exported.calibrate(exported.in_class_order(block, part.columns), kind)[:, first:])
            except AmbiguousOutputs:
                raise
            except CalibrationError as error:
                rows = f"{part.path.name}, rows {done + 1:,} to {done + len(block):,} of {part.n_rows:,}"
                # Minus infinity may be the logarithm of a zero.
                good = block.reshape(len(block), -1) < np.inf if block.dtype.kind == "f" else np.ones((1, 1), bool)
                first_bad = done + int(good.all(axis=1).argmin()) + 1
                named = "" if good.all() else f" Row {first_bad:,} is the first."
                raise CalibrationError(f"{rows}: {error}{named}") from None
            kind = exported.kind  # the first block has shown what the outputs are
            done += len(block)
            progress("calibrated", before + done, total)
    return done


def _on_a_worker(*job: Any) -> int:
    try:
        return _predict_part(*job)
    except InvalidUpload as error:  # it does not travel between processes
        raise CalibrationError(str(error)) from None


@contextmanager
def probabilities_file(
    path: Path, n: int, class_names: tuple[str, ...], dtype: str
) -> Iterator[Callable[[Floats], Any]]:
    """A function that writes the next rows of (n, n_classes) probabilities; a single column is (n,) in a .npy file.

    They lie in ``.NAME.part`` until all are written, so that ``path`` is whole or not there. A Parquet file has a
    column for each class and a row group for each block.
    """
    suffix, n_classes = path.suffix.lower(), len(class_names)
    if suffix not in ENDINGS:
        raise CalibrationError(f"{path.name}: in blocks of rows only {' and '.join(ENDINGS)} are written.")
    needed, free = n * n_classes * np.dtype(dtype).itemsize, shutil.disk_usage(path.parent).free
    if needed > free:
        raise CalibrationError(
            f"{path.name} will take {needed / 1e6:,.0f} MB, but {free / 1e6:,.0f} MB are free where it is written; "
            "choose a larger disk."
        )
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("wb") as file:
            if suffix == ".npy":
                header = {"descr": np.dtype(dtype).str, "fortran_order": False}
                npy_format.write_array_header_1_0(file, {**header, "shape": (n, n_classes) if n_classes > 1 else (n,)})
                yield lambda probs: file.write(np.ascontiguousarray(probs, dtype).data)
            else:
                import pyarrow as pa
                import pyarrow.parquet as pq

                alike = len(set(class_names)) < n_classes
                names = [f"p_{k}" for k in range(n_classes)] if alike else class_names
                schema = pa.schema([(name, pa.from_numpy_dtype(np.dtype(dtype))) for name in names])
                # Dictionaries of probabilities would be as long as the column.
                with pq.ParquetWriter(file, schema, use_dictionary=False, write_statistics=False) as writer:
                    columns = lambda probs: [*np.ascontiguousarray(probs.T, dtype)]  # noqa: E731
                    yield lambda probs: writer.write_table(pa.table(columns(probs), schema=schema))
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
