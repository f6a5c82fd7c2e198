"""The packages beyond NumPy, and what to say where one is not installed."""

from __future__ import annotations

GP = frozenset(
    {
        "gpflow",
        "keras",
        "pkg_resources",
        "setuptools",
        "tensorflow",
        "tensorflow_probability",
        "tf_keras",
        "check_shapes",
    }
)
"""Modules that come with the extra ``gp``."""

CLUSTER = frozenset({"dask", "distributed"})
"""Modules that come with the extra ``cluster``; all others come with ``fit``."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "pkg_resources": "setuptools"}


def missing_package(error: ModuleNotFoundError) -> str:
    """One sentence: which package is missing and how to install it.

    Raises
    ------
    ModuleNotFoundError
        The error itself, if it is calib's own module that is missing: no installing helps then.
    """
    module = (error.name or "").partition(".")[0]
    if module in ("", "calib"):
        raise error
    extra = "gp" if module in GP else "cluster" if module in CLUSTER else "fit"
    return f'This needs {DISTRIBUTIONS.get(module, module)}, which is not installed: pip install "calib[{extra}]".'
