"""Figures: a small frozen dataclass in, a plotly figure out. No statistics here, layout only."""

from calib.plots.annotations import figure_data
from calib.plots.style import alt_text, method_style

__all__ = ["alt_text", "figure_data", "method_style"]
