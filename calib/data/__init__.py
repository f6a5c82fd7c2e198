"""The data set: reading it, saying what was understood, splitting it."""

from calib.data.interpret.unlabelled import read_features, read_outputs
from calib.data.load import inspect, load
from calib.data.options import ArrayInfo, Choices, Inspection
from calib.data.predictions import DataError, Finding, Predictions

__all__ = [
    "ArrayInfo",
    "Choices",
    "DataError",
    "Finding",
    "Inspection",
    "Predictions",
    "inspect",
    "load",
    "read_features",
    "read_outputs",
]
