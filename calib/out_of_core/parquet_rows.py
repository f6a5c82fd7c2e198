"""Rows of a Parquet table, unpacked a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from calib.data.formats.base import reading
from calib.data.formats.table import common_dtype, numbers
from calib.data.limits import check_count
from calib.out_of_core.rows import Block, Rows

BUFFER = 2**16
"""Bytes of a column that are read ahead; all columns are open at once."""


class ParquetRows(Rows):
    """Columns of numbers side by side; missing cells become NaN, which the check of the values then names."""

    def __init__(self, path: Path, file: BinaryIO, columns: tuple[str, ...]):
        import pyarrow.parquet as pq

        with reading(path.name):
            # A whole row group at once may be the whole file, so pages are read as they are needed.
            self._parquet = pq.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER)
            schema, n_rows = self._parquet.schema_arrow, self._parquet.metadata.num_rows
            check_count(self._parquet.metadata.num_columns, "columns", path.name)
            dtype = common_dtype([schema.field(name).type for name in columns])
        super().__init__(path.name, (n_rows, len(columns)), dtype)
        self.columns = columns

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        import pyarrow as pa

        start = 0
        batches = self._parquet.iter_batches(self.block_rows, columns=list(self.columns), use_threads=False)
        while True:
            with reading(self.name):
                batch = next(batches, None)
                if batch is None:
                    break
                block = np.empty((batch.num_rows, len(self.columns)), self.dtype)
                for j, name in enumerate(self.columns):
                    column = pa.chunked_array([batch.column(name)])
                    block[:, j] = numbers(column, f"Column {name} of {self.name}", False)
            yield start, block
            start += len(block)
