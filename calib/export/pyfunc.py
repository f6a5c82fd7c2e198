"""The entry of an exported MLflow model (``pyfunc``); needs NumPy alone.

MLflow imports this module from the model's folder ``code`` and calls :func:`_load_pyfunc` with its folder ``data``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.export import runtime
from calib.numerics import Floats


class CalibratedOutputs:
    """Calibrated probabilities of a model's outputs, as ``mlflow.pyfunc`` asks for them.

    Parameters
    ----------
    calibrator : the exported calibrator.
    """

    def __init__(self, calibrator: runtime.ExportedCalibrator):
        self.calibrator = calibrator

    def predict(self, model_input: Any, params: Any = None) -> Floats:
        """Probabilities (n, n_classes), of pairs the confidence (n,).

        Parameters
        ----------
        model_input : outputs as they were uploaded: an array, a list, or a table, whose columns are taken by the names
            of the classes where it has them all, also with the same words before or behind each, and else in their
            order.
        params : not used; MLflow passes it.

        Raises
        ------
        CalibrationError
            If the outputs cannot be of the calibrator's kind, or look like another.
        """
        names = list(self.calibrator.class_names)
        columns = [str(name) for name in getattr(model_input, "columns", ())]
        if columns and set(names) <= set(columns):
            model_input = model_input.iloc[:, [columns.index(name) for name in names]]
        if np.asarray(model_input).dtype.kind == "O":
            raise CalibrationError(f"The outputs must be numbers, in the columns {', '.join(names)} or in their order.")
        predict = self.calibrator.confidence if self.calibrator.kind == "pairs" else self.calibrator.calibrate
        return predict(model_input)


def _load_pyfunc(path: str) -> CalibratedOutputs:
    return CalibratedOutputs(runtime.load(Path(path) / "calibrator.npz"))
