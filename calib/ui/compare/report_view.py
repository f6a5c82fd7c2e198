"""The button that hands the comparison over as one HTML file."""

from __future__ import annotations

from functools import partial

import pandas as pd

from calib.evaluation.compare import compare_evaluations
from calib.reporting import Report, ReportedMethod, Source, html
from calib.ui import downloads
from calib.ui.fits import ShownFit, resampled
from calib.ui.session import Session, session


def report_button(everything: list[ShownFit], key: str, table: pd.DataFrame | None = None) -> None:
    """Offer the report of all shown fits; it takes seconds, so it is built on request.

    Parameters
    ----------
    everything : the raw model first.
    key : of the button, unique in the app.
    table : the comparison where the page has it, so that no interval is computed twice.
    """
    now = session()
    downloads.on_request(
        "Report (HTML)",
        key,
        "report.html",
        partial(page_report, everything, now, table),
        of=tuple((fit.key, fit.title) for fit in everything),
        icon=":material/summarize:",
        help="One file to hand over: the verdict, all tables and figures, the data's hash, every setting, and how to "
        "make it again from a shell. It opens without a network.",
    )  # fmt: skip


def page_report(everything: list[ShownFit], now: Session, table: pd.DataFrame | None = None) -> str:
    """The report of these fits on the open split."""
    assert now.data is not None
    assert now.calibration is not None
    assert now.test is not None
    if table is None:
        evaluations = {fit.title: fit.evaluation for fit in everything}
        table = compare_evaluations(evaluations, everything[0].title, resampled=resampled(everything))
    methods = [
        ReportedMethod(
            fit.title, fit.method, fit.title, fit.style, fit.calibrator, fit.evaluation, fit.fit_seconds,
            fit.predict_seconds,
        )
        for fit in everything
    ]  # fmt: skip
    files = {role: name for role, (name, _) in now.upload.files.items()}
    source = Source(files, now.made, now.sample)
    return html(Report(now.data, now.calibration, now.test, now.part, now.seed, methods, table, source))
