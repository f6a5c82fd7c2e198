"""The door: from a file to Predictions, with every guess and every finding on the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from calib.data.choices import Choices, Inspection
from calib.data.predictions import DataError, Predictions

Source = str | Path | tuple[str, bytes] | tuple[str, BinaryIO]
"""A path, or what an upload gives: its file name with its bytes or an open binary file."""


def inspect(
    source: Source,
    *,
    labels: Source | None = None,
    test: Source | None = None,
    test_labels: Source | None = None,
    choices: Choices | None = None,
) -> Inspection:
    """Read an upload and say what was understood; bad content gives findings, never an exception.

    Parameters
    ----------
    source : the model's outputs, with the labels unless these have their own file.
    labels : a separate file with the labels of ``source``.
    test, test_labels : a second file with the test set; ``source`` is then the calibration set.
    choices : what was decided by hand; everything else is guessed.
    """
    raise NotImplementedError


def load(
    source: Source,
    *,
    labels: Source | None = None,
    test: Source | None = None,
    test_labels: Source | None = None,
    choices: Choices | None = None,
    **quick_choices: Any,
) -> Predictions:
    """Read a data set; the one-line form of :func:`inspect`.

    Parameters
    ----------
    source, labels, test, test_labels, choices : as for :func:`inspect`.
    **quick_choices : single fields of :class:`Choices`, such as ``kind="logits"``.

    Raises
    ------
    DataError
        If the upload cannot be used; its ``findings`` say why and what to do.
    """
    chosen = replace(choices or Choices(), **quick_choices)
    inspection = inspect(source, labels=labels, test=test, test_labels=test_labels, choices=chosen)
    if inspection.predictions is None:
        raise DataError(list(inspection.findings))
    return inspection.predictions
