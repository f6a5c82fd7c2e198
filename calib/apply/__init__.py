"""Files larger than memory: a random sample of their rows to fit on, and predictions for all rows in blocks.

A parameter that is fitted to n rows costs about 1/(2n) nats, so 50,000 rows are as good as all of them. The files are
.npy arrays, Parquet tables, or folders of Parquet tables; a block of about 16 MB is in memory at a time.
"""

from calib.apply.predict import predict_file
from calib.apply.sample import fewer_rows, sample_rows

__all__ = ["fewer_rows", "predict_file", "sample_rows"]
