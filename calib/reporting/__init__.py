"""The HTML report: one file with the verdict, scores, figures, settings and the command that reproduces it."""

from calib.evaluation.score_table import verdict_paragraphs
from calib.reporting.contents import Report, ReportedMethod, Source, commands, method_option
from calib.reporting.page import html

__all__ = ["Report", "ReportedMethod", "Source", "commands", "html", "method_option", "verdict_paragraphs"]
