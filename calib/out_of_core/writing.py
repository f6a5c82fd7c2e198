"""Probabilities written block by block, as .npy or as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.out_of_core.whole_file import check_space, whole_file

Write = Callable[[Floats], None]

ENDINGS = (".npy", ".parquet")
"""Formats that can be written from the first row to the last."""

DTYPES = ("float64", "float32")
"""Of what is written. float32 takes half the room and is right to 6e-8 of a probability down to 1e-38; from there on
ever fewer digits are left, and below 1e-45 none.
"""


@contextmanager
def probabilities_file(path: Path, n: int, class_names: tuple[str, ...], dtype: str = "float64") -> Iterator[Write]:
    """A function that writes the next rows of (n, n_classes) probabilities, as one of ``DTYPES``; the suffix says how.

    The file is there when the block is left without an error, after ``n`` rows.
    """
    n_classes = len(class_names)
    check_space(path, n * n_classes * np.dtype(dtype).itemsize)
    writer = _parquet if path.suffix.lower() == ".parquet" else _npy
    written = 0
    with writer(path, n, class_names, np.dtype(dtype)) as write:

        def counted(probs: Floats) -> None:
            nonlocal written
            write(probs)
            written += len(probs)

        yield counted
        if written != n:
            raise CalibrationError(
                f"{written:,} rows were read where the file announces {n:,}; it is damaged, or was changed meanwhile."
            )


@contextmanager
def _npy(path: Path, n: int, class_names: tuple[str, ...], dtype: np.dtype[Any]) -> Iterator[Write]:
    little = dtype.newbyteorder("<")
    with whole_file(path) as file:
        header = {"descr": little.str, "fortran_order": False, "shape": (n, len(class_names))}
        npy_format.write_array_header_1_0(file, header)
        yield lambda probs: file.write(np.ascontiguousarray(probs, dtype=little).data)  # type: ignore[misc]


@contextmanager
def _parquet(path: Path, n: int, class_names: tuple[str, ...], dtype: np.dtype[Any]) -> Iterator[Write]:
    """A column for each class and a row group for each block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = class_names if len(set(class_names)) == len(class_names) else [f"p_{k}" for k in range(len(class_names))]
    schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in names])
    with (
        whole_file(path) as file,
        # Dictionaries of probabilities are as long as the column, and are given up only after they were built.
        pq.ParquetWriter(file, schema, use_dictionary=False, write_statistics=False) as writer,
    ):
        yield lambda probs: writer.write_table(pa.table([*np.ascontiguousarray(probs.T, dtype)], schema=schema))
