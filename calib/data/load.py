"""The door: from a file to Predictions, with every guess and every finding on the table."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from calib.data.check_choices import check_choices
from calib.data.checks.report import Rejected, Report
from calib.data.formats.base import Contents, missing_packages
from calib.data.formats.detect import Source, open_source
from calib.data.interpret.feature_files import open_files, read_files, set_aside
from calib.data.interpret.parts import read_given_parts, read_named_parts
from calib.data.interpret.pipeline import understand
from calib.data.limits import Allowance
from calib.data.options import ArrayInfo, Choices, Inspection
from calib.data.predictions import DataError, Predictions


def inspect(
    source: Source,
    *,
    labels: Source | None = None,
    test: Source | None = None,
    test_labels: Source | None = None,
    features: Source | None = None,
    train_features: Source | None = None,
    train_labels: Source | None = None,
    choices: Choices | None = None,
) -> Inspection:
    """Read an upload and say what was understood; bad content gives findings, never an exception.

    Parameters
    ----------
    source : the model's outputs, with the labels unless these have their own file.
    labels : a separate file with the labels of ``source``.
    test, test_labels : a second file with the test set; ``source`` is then the calibration set.
    features, train_features, train_labels : files with the features of all rows (calibration, then test) and with the
        training set, where ``source`` does not hold them; one file may hold all three.
    choices : what was decided by hand; everything else is guessed.
    """
    report = Report(choices or Choices())
    arrays: tuple[ArrayInfo, ...] = ()
    predictions = None
    try:
        check_choices(report.choices)
        # What overflows or is no number is found and said; NumPy's warnings about it would only fill the log.
        with missing_packages(), np.errstate(all="ignore"), ExitStack() as stack:
            allowance = Allowance()
            files: list[Contents | None] = []
            for given in (source, labels, test, test_labels):
                contents = None if given is None else open_source(given, allowance, report, stack)
                files.append(contents)
                if contents is not None:
                    arrays += tuple(replace(array, file=contents.name) for array in contents.arrays)
            given_features = {"features": features, "train_features": train_features, "train_labels": train_labels}
            feature_files = open_files(given_features, allowance, report, stack)
            for contents in feature_files.values():
                arrays += tuple(replace(array, file=contents.name) for array in contents.arrays)
            first, first_labels, second, second_labels = files
            assert first is not None
            report.decide(**first.format_choices)
            made = set_aside(feature_files, first, report)
            if second is None:
                upload = read_named_parts(first, first_labels, report)
            else:
                upload = read_given_parts(first, first_labels, second, second_labels, report)
            read_files(upload, feature_files, made, report)
            del files, feature_files, first, first_labels, second, second_labels, contents
            predictions = understand(upload, PurePath(arrays[0].file).stem, report)
    except Rejected as rejected:
        report.add(rejected.finding)
    return Inspection(arrays, report.choices, report.findings, predictions)


def load(
    source: Source,
    *,
    labels: Source | None = None,
    test: Source | None = None,
    test_labels: Source | None = None,
    features: Source | None = None,
    train_features: Source | None = None,
    train_labels: Source | None = None,
    choices: Choices | None = None,
    **quick_choices: Any,
) -> Predictions:
    """Read a data set; the one-line form of :func:`inspect`.

    Parameters
    ----------
    source, labels, test, test_labels, features, train_features, train_labels, choices : as for :func:`inspect`.
    **quick_choices : single fields of :class:`Choices`, such as ``kind="logits"``; the names of arrays that have files
        of their own go into ``choices``.

    Raises
    ------
    DataError
        If the upload cannot be used; its ``findings`` say why and what to do.
    """
    chosen = replace(choices or Choices(), **quick_choices)
    inspection = inspect(
        source,
        labels=labels,
        test=test,
        test_labels=test_labels,
        features=features,
        train_features=train_features,
        train_labels=train_labels,
        choices=chosen,
    )
    if inspection.predictions is None:
        raise DataError(list(inspection.findings))
    return inspection.predictions
