"""How fast the calibrators are and what they score, each beside a plain reference or the papers' own numbers.

Importing this package holds the numeric libraries to one thread before any of them loads.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
