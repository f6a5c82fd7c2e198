"""Files larger than memory: a random sample of their rows to fit on, and predictions for all rows in blocks.

A parameter that is fitted to n rows costs about 1/(2n) nats, of 50,000 rows 1e-5: nothing for a few of them, and 1e-3
for a hundred. The files are .npy arrays, Parquet tables, or folders of Parquet tables; a few blocks of about 16 MB are
in memory at a time.
"""

from calib.apply.predict import predict_file
from calib.apply.sample import sample_rows

__all__ = ["predict_file", "sample_rows"]
