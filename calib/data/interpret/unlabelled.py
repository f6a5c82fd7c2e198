"""Outputs and features without labels, from a file of any format, for a fitted calibrator to be applied to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from calib.data.checks.report import InvalidUpload, Report, listed
from calib.data.formats.base import Allowance, Contents
from calib.data.formats.detect import open_source
from calib.data.interpret.columns import infer_arrays, infer_features
from calib.data.interpret.features import Features, as_features
from calib.data.interpret.reading import as_floats, check_there, display_name, read_any
from calib.data.interpret.tables import infer_columns
from calib.data.load import check_choices, findings_as_error
from calib.data.options import Choices, Source
from calib.numerics import Floats


def read_outputs(source: Source, choices: Choices | None = None) -> Floats:
    """A model's outputs as they stand in a file; labels may be there and are left alone.

    Parameters
    ----------
    source : path, or (file name, bytes or binary file).
    choices : as for :func:`calib.data.inspect`; usually the outputs' name at most.

    Returns
    -------
    (n, k) floats, for :meth:`calib.export.runtime.ExportedCalibrator.to_logits` to make canonical and check.

    Raises
    ------
    DataError
        If the file cannot be read or holds no outputs.
    """
    with _open_contents(source, choices) as (contents, report):
        _infer_roles(contents, report)
        outputs = report.choices.outputs
        check_there(contents, outputs)
        values = read_any(contents, outputs)
        if values.ndim == 0:
            raise InvalidUpload(
                "shape_0d", f"{display_name(contents, outputs)} is a single value.", "Save one row per input."
            )
        return as_floats(
            values.reshape(len(values), -1) if values.ndim == 1 else values, display_name(contents, outputs)
        )


def read_features(source: Source, choices: Choices | None = None, *, beside_outputs: bool = True) -> Features:
    """The inputs of the rows as they stand in a file, for methods that predict from them.

    Parameters
    ----------
    source, choices : as for :func:`read_outputs`.
    beside_outputs : whether the file also holds the model's outputs; otherwise it was given for the features.

    Returns
    -------
    (n, d) numbers or images, for :meth:`calib.export.runtime.ExportedCalibrator.to_features` to prepare.

    Raises
    ------
    DataError
        If the file cannot be read or holds no features.
    """
    with _open_contents(source, choices) as (contents, report):
        if beside_outputs:
            _infer_roles(contents, report)
        name = report.choices.features or (None if beside_outputs else infer_features(contents, "features"))
        if not name:
            raise InvalidUpload(
                "no_features",
                f"{contents.name} holds {listed(contents.names)}; none looks like the inputs of the rows.",
                "Save them as features beside the outputs, or name the array.",
            )
        check_there(contents, name)
        found = as_features(read_any(contents, name), display_name(contents, name), report)
        if found is None:
            raise InvalidUpload("no_features", report.findings[-1].reason, report.findings[-1].action)
        return found


@contextmanager
def _open_contents(source: Source, choices: Choices | None) -> Iterator[tuple[Contents, Report]]:
    """The contents of a file; what is wrong becomes a DataError."""
    report = Report(choices or Choices())
    with findings_as_error(report), np.errstate(all="ignore"), ExitStack() as stack:
        check_choices(report.choices)
        contents = open_source(source, Allowance(), report, stack)
        report.decide(**contents.format_choices)
        yield contents, report


def _infer_roles(contents: Contents, report: Report) -> None:
    """Infer the role of every array; the file need not hold labels."""
    if contents.tabular:
        infer_columns(contents, report, True)
    else:
        report.choices = infer_arrays(contents, report.choices, True)
