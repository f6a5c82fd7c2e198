"""The HTML report: one file with the verdict, scores, figures, settings and the command that reproduces it."""

from calib.errors import missing_package

try:
    from calib.reporting.contents import (
        Report,
        ReportedMethod,
        Source,
        command,
        method_option,
        report_from_comparison,
        report_from_parts,
    )
    from calib.reporting.make import html, html_of_fits
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing_package(error), name=error.name) from error

__all__ = [
    "Report",
    "ReportedMethod",
    "Source",
    "command",
    "html",
    "html_of_fits",
    "method_option",
    "report_from_comparison",
    "report_from_parts",
]
