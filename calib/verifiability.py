"""Whether a calibration error can be believed: against the number of bins, and against the number of rows."""

from __future__ import annotations

from dataclasses import dataclass

from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ErrorByBins:
    """Top-label ECE against the number of evaluation bins (Patel et al. 2020, figure 1a).

    A method that says few distinct numbers has one ECE once each number has a bin of its own; a continuous one
    has another for every number of bins.

    Attributes
    ----------
    n_bins : (n_points,) increasing numbers of bins.
    ece : method -> (n_points,) calibration error.
    binning : the evaluation scheme.
    """

    n_bins: Ints
    ece: dict[str, Floats]
    binning: str


@dataclass(frozen=True, eq=False)
class ErrorByRows:
    """Top-label ECE against the number of evaluation rows, by bootstrap (Patel et al. 2020, figure 1b).

    Attributes
    ----------
    n_rows : (n_points,) increasing sizes of the resamples.
    ece, low, high : method -> (n_points,) mean over the resamples, and their central interval.
    n_bins, binning : of the evaluation.
    level : coverage of the interval.
    """

    n_rows: Ints
    ece: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    n_bins: int
    binning: str
    level: float


@dataclass(frozen=True, eq=False)
class ErrorByScheme:
    """Top-label and class-wise ECE of each method under every evaluation scheme (Patel et al. 2020, table S3).

    Attributes
    ----------
    schemes : names of the evaluation schemes.
    top_label, classwise : method -> (n_schemes,) calibration error; class-wise above 1/K alone.
    n_bins : of the evaluation.
    """

    schemes: tuple[str, ...]
    top_label: dict[str, Floats]
    classwise: dict[str, Floats]
    n_bins: int
