"""Files larger than memory: a random sample of their rows to fit on, and predictions for all rows in blocks."""

from calib.apply.predict import predict_file
from calib.apply.sample import fewer_rows, sample_rows

__all__ = ["fewer_rows", "predict_file", "sample_rows"]
