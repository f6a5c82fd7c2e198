"""The HTML report: one file with the verdict, scores, figures, settings and the command that reproduces it."""

from calib.evaluation.comparison_table import verdict_paragraphs
from calib.reporting.contents import DataSummary, Report, ReportedMethod, Rows, Source, commands, method_option
from calib.reporting.page import html, html_of_fits

__all__ = [
    "DataSummary",
    "Report",
    "ReportedMethod",
    "Rows",
    "Source",
    "commands",
    "html",
    "html_of_fits",
    "method_option",
    "verdict_paragraphs",
]
