"""Calibrators fitted on, and applied to, files that are larger than memory."""

from calib.streaming.apply import apply_streaming
from calib.streaming.fit import fit_streaming
from calib.streaming.opening import can_stream, open_rows

__all__ = ["apply_streaming", "can_stream", "fit_streaming", "open_rows"]
