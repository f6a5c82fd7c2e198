"""The HTML report: one file with the verdict, scores, figures, settings and the command that reproduces it."""

from calib.reporting.contents import Report, ReportedMethod, Source, commands, method_option
from calib.reporting.page import html, html_of_fits

__all__ = ["Report", "ReportedMethod", "Source", "commands", "html", "html_of_fits", "method_option"]
