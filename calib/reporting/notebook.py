"""Comparisons and reports in notebooks: the verdict and the scores, in the ink of the notebook."""

from __future__ import annotations

from calib.auditing.compare import Comparison
from calib.auditing.findings import Audit
from calib.base import Calibrator
from calib.evaluation.compare import BASELINE
from calib.evaluation.comparison_table import verdict_paragraphs
from calib.evaluation.describe import Recommendation
from calib.registry import METHODS
from calib.reporting.contents import Report
from calib.reporting.parts import environment, findings_table, score_table


def html_of(result: Audit | Calibrator | Recommendation | Comparison | Report) -> str:
    """Format a result as HTML in which every text is escaped."""
    table, title = None, repr(result)
    if isinstance(result, Audit):
        title, said = result.verdict, []
        table = findings_table(result)
    elif isinstance(result, Calibrator):
        said = result.notes() if result.fitted else []
    elif isinstance(result, Recommendation):
        said = result.sentences(lambda name: METHODS[name].title if name in METHODS else name)
    else:
        view = result.view if isinstance(result, Report) else result.evaluations[BASELINE].view
        said = verdict_paragraphs(result.table, result.recommendation)
        said += result.groups if isinstance(result, Comparison) else ()
        table = score_table(result.table, view, id="")
    return environment().get_template("notebook.html").render(title=title, said=said, table=table)
