"""What ``compare --report`` writes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calib.base import Calibrator
from calib.data import Choices, Predictions
from calib.data.samples import FOLDER, SAMPLES
from calib.plots.style import method_style
from calib.registry import registry_name
from calib.reporting import Report, ReportedMethod, Source, html

if TYPE_CHECKING:
    import pandas as pd

    from calib.evaluation.compare import MethodEvaluations


def write_report(
    given: argparse.Namespace,
    files: Mapping[str, Path | None],
    data: Predictions,
    parts: tuple[Predictions, Predictions],
    methods: Mapping[str, Calibrator],
    found: MethodEvaluations,
    table: pd.DataFrame,
) -> None:
    """Write the report of a finished comparison to ``given.report``.

    Parameters
    ----------
    given : the command's arguments.
    files : those beside the first one, by role.
    data, parts : all rows; calibration and test rows.
    methods : by their names in ``found`` and ``table``, the raw model among them.
    """
    titles = dict(zip(table["method"], table["title"], strict=True))
    reported: list[ReportedMethod] = []
    for key, evaluation in found.evaluations.items():
        name = registry_name(methods[key]) or key
        style = method_style(name, sum(other.name == name for other in reported))
        reported.append(
            ReportedMethod(key, name, titles[key], style, methods[key], evaluation, *found.seconds[key])
        )  # fmt: skip
    named = {"source": given.file, **files}
    source = Source(
        {role: str(path) for role, path in named.items() if path is not None},
        Choices(**dict(given.read)),
        given.file.stem if _is_sample(given.file) else None,
    )
    report = Report(data, *parts, given.calibration, given.seed, reported, table, source)
    given.report.write_text(html(report), encoding="utf-8")
    print(f"The report is in {given.report}.")


def _is_sample(path: Path) -> bool:
    return path.resolve().parent.name == FOLDER and path.stem in SAMPLES
