"""``fit --stream``: a calibrator fitted to outputs that are larger than memory."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from calib import cli_text as text
from calib import export
from calib.base import Calibrator
from calib.data import Choices, Predictions
from calib.data.limits import MAX_BYTES, megabytes
from calib.data.split import split_rows
from calib.numerics import Ints
from calib.registry import METHODS, registry_name
from calib.runtime import ExportedCalibrator
from calib.streaming import can_stream
from calib.streaming.fit import check_method, fit_stored
from calib.streaming.labelled import Labelled, open_labelled
from calib.streaming.stopping import stopped_in_words

MOST_TEST_ROWS = 20_000
"""Rows that are scored before and after: plenty for the intervals, and little beside the rows fitted on."""


def stream_option(command: argparse.ArgumentParser) -> None:
    """Let a fit be asked to stream."""
    command.add_argument("--stream", action="store_true",
                         help="read .npy or Parquet in blocks, for files larger than memory and methods that learn "
                         "from blocks of rows; by itself where a file is too large")  # fmt: skip


def is_streamed(given: argparse.Namespace) -> bool:
    """Whether a fit was asked to stream, or its file is too large for anything else, which is then said."""
    if given.stream:
        return True
    size = given.file.stat().st_size if can_stream(given.file) else 0
    if size > MAX_BYTES:
        print(
            f"note: {given.file.name} has {megabytes(size)}, more than the {megabytes(MAX_BYTES)} that are read at "
            "once, so the fit reads it in blocks (--stream).",
            file=sys.stderr,
        )
    return size > MAX_BYTES


def fit_streamed(given: argparse.Namespace, start: Calibrator | ExportedCalibrator) -> int:
    """Fit, score on rows that were held back, and save; returns the exit status."""
    if isinstance(start, ExportedCalibrator) or given.test:
        given.error("a fit by --stream starts anew, from one file; leave out --continue and --test")
    assert isinstance(start, Calibrator)  # argparse has left otherwise
    calibrator = check_method(start)
    show = text.row_progress()
    with (
        stopped_in_words(f"{given.out.name} was not written"),
        open_labelled(given.file, given.labels, Choices(**dict(given.read)), show) as found,
    ):
        noticed = [finding for finding in found.findings if finding.level == "warning"]
        if noticed:
            print(text.findings(noticed), file=sys.stderr)
        calibration, rows = _split(given, found)
        data = found.data if calibration is None else found.data.part(calibration)
        test = found.predictions(rows) if len(rows) else None
        fit_stored(calibrator, data, text.progress(), show)
    scores = text.before_and_after(calibrator, test) if test is not None else {}
    _save(given, found, calibrator, len(data), scores)
    print(f"{METHODS[registry_name(calibrator) or ''].title} fitted on {len(data):,} rows, read in blocks.")
    print("\n".join(f"note: {note}" for note in calibrator.notes()), end="\n" if calibrator.notes() else "")
    if test is not None:
        print(text.score_lines(scores, len(test)))
    print(f"Saved to {given.out}.")
    return 0


def _split(given: argparse.Namespace, found: Labelled) -> tuple[Ints | None, Ints]:
    """Numbers of the rows to fit on, None for all, and of those to test on: a random part of all others."""
    if given.calibration == "all":
        return None, np.empty(0, dtype=np.int64)
    calibration, test = split_rows(found.data.labels, given.calibration, None, given.seed)
    most = max(1, min(MOST_TEST_ROWS, MAX_BYTES // (8 * found.data.n_classes)))
    if len(test) > most:
        test = np.sort(np.random.default_rng(given.seed).choice(test, most, replace=False))
    return calibration, test


def _save(given: argparse.Namespace, found: Labelled, calibrator: Calibrator, n_rows: int, scores: object) -> None:
    nothing = Predictions(
        np.empty((0, found.data.n_classes)),
        found.data.labels[:0],
        found.class_names,
        found.data.kind,
        found.data.floor,
        name=found.name,
    )
    known = {name: value for name, value in export.describe(nothing).items() if name != "data_sha256"}
    export.save(calibrator, given.out, **known, n_rows=n_rows, scores=scores)
