"""The two ways in which a fit or a prediction ends without a result."""

from __future__ import annotations


class CalibrationError(ValueError):
    """A fit or a prediction that cannot be done, said in one sentence a person can act on."""


class FitCancelled(Exception):
    """Raised by a callback to stop a fit."""
