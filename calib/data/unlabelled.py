"""Outputs without labels, from a file of any format: what a fitted calibrator is applied to."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from calib.data.check_choices import check_choices
from calib.data.choices import Choices
from calib.data.findings.report import Rejected, Report
from calib.data.formats.contents import missing_packages
from calib.data.formats.opening import Source, open_source
from calib.data.guess_arrays import guess_arrays
from calib.data.guess_columns import guess_columns, label_column
from calib.data.limits import Allowance
from calib.data.predictions import DataError
from calib.data.shape import as_floats
from calib.data.upload import check_there, read_any, said
from calib.numerics import Floats


def read_outputs(source: Source, choices: Choices | None = None) -> Floats:
    """A model's outputs as they stand in a file; labels may be there and are left alone.

    Parameters
    ----------
    source : path, or (file name, bytes or binary file).
    choices : as for :func:`calib.data.inspect`; usually the outputs' name at most.

    Returns
    -------
    (n, k) floats, for :meth:`calib.runtime.ExportedCalibrator.to_logits` to make canonical and check.

    Raises
    ------
    DataError
        If the file cannot be read or holds no outputs.
    """
    report = Report(choices or Choices())
    try:
        check_choices(report.choices)
        with missing_packages(), ExitStack() as stack:
            contents = open_source(source, Allowance(), report, stack)
            report.decide(**contents.format_choices)
            # As if the labels had a file of their own: nothing in this one need be labels.
            if contents.tabular:
                labels = report.choices.labels or label_column(contents, report.choices.outputs)
                report.choices = guess_columns(contents, replace(report.choices, labels=labels), True)
            else:
                report.choices = guess_arrays(contents, report.choices, True)
            outputs = report.choices.outputs
            check_there(contents, outputs)
            values = read_any(contents, outputs)
            if values.ndim == 0:
                raise Rejected("shape_0d", f"{said(contents, outputs)} is a single value.", "Save one row per input.")
            return as_floats(values.reshape(len(values), -1) if values.ndim == 1 else values, said(contents, outputs))
    except Rejected as rejected:
        report.add(rejected.finding)
        raise DataError(list(report.findings)) from None
