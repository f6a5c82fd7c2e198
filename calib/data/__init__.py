"""From files to ``Predictions``: readers of formats, roles of columns, checks with findings, the split, the samples."""

from calib.data.event import Event
from calib.data.loading import Inspection, inspect, load
from calib.data.options import Choices, LoadOptions
from calib.data.predictions import Predictions
from calib.data.read.base import ArrayInfo
from calib.data.roles import ColumnRole, TableReading
from calib.data.unlabelled import UnlabelledRows, read_rows
from calib.errors import AmbiguousTable, DataError, Finding

__all__ = [
    "AmbiguousTable",
    "ArrayInfo",
    "Choices",
    "ColumnRole",
    "DataError",
    "Event",
    "Finding",
    "Inspection",
    "LoadOptions",
    "Predictions",
    "TableReading",
    "UnlabelledRows",
    "inspect",
    "load",
    "read_rows",
]
