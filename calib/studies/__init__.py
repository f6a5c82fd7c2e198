"""Studies that fit many times: repeated splits of the data, and scores against the number of calibration rows."""

from calib.studies.labels_needed import LabelsNeeded, labels_needed
from calib.studies.repeated import repeated_splits
from calib.studies.size_curve import halved_sizes, size_curve
from calib.studies.summary import corrected_interval, summarise_splits

__all__ = [
    "LabelsNeeded",
    "corrected_interval",
    "halved_sizes",
    "labels_needed",
    "repeated_splits",
    "size_curve",
    "summarise_splits",
]
