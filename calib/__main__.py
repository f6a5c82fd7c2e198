"""``python -m calib``: the library from a shell."""

import os

# Before NumPy is loaded: on these matrix sizes more BLAS threads are slower.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from calib.cli import main  # noqa: E402


def run() -> int:
    """The command ``calib``; returns the exit status."""
    return main()


if __name__ == "__main__":
    raise SystemExit(run())
