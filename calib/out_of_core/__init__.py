"""Fits on, and predictions for, files larger than memory."""

from calib.out_of_core.apply import apply_out_of_core
from calib.out_of_core.fit import fit_out_of_core
from calib.out_of_core.reading import can_read_rows, open_rows

__all__ = ["apply_out_of_core", "can_read_rows", "fit_out_of_core", "open_rows"]
