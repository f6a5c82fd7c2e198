"""The data set: reading it, saying what was understood, splitting it."""

from calib.data.choices import ArrayInfo, Choices, Inspection
from calib.data.inspection import inspect, load
from calib.data.predictions import DataError, Finding, Predictions
from calib.data.unlabelled import read_features, read_outputs

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
