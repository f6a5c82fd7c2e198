"""Fits on, and predictions for, files larger than memory."""

from calib.out_of_core.apply import apply_streaming
from calib.out_of_core.fit import fit_streaming
from calib.out_of_core.reading import can_stream, open_rows

__all__ = ["apply_streaming", "can_stream", "fit_streaming", "open_rows"]
