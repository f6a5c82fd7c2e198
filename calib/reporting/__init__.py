"""A comparison to hand over: one HTML file with the verdict, figures, tables, settings and how to make it again."""

from calib.reporting.contents import Report, ReportedMethod, Source, commands, method_option, verdict_paragraphs
from calib.reporting.page import html

__all__ = ["Report", "ReportedMethod", "Source", "commands", "html", "method_option", "verdict_paragraphs"]
