"""Findings of an audit: what each check concludes, and all of them with the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from calib.errors import Finding as Noticed
from calib.formatting import Displayed, aligned, for_terminal, points, points_between
from calib.metrics.bootstrap import Interval

if TYPE_CHECKING:
    import pandas as pd

Severity = Literal["problem", "caution", "fine", "untested"]
SEVERITIES: tuple[Severity, ...] = ("problem", "caution", "fine", "untested")
"""From the worst on."""
MARKS: dict[Severity, str] = {"problem": "✗", "caution": "!", "fine": "✓", "untested": "–"}


JUDGED = {
    "labels_inverted": "labels",
    "labels_shuffled": "labels",
    "repeated_rows": "labels",
    "few_rows": "rows",
}
"""Codes of findings of the reading, by the check that says the same."""


@dataclass(frozen=True)
class GroupFinding:
    """A group of rows, or a period, that differs from the other rows.

    Attributes
    ----------
    name : of the group, a pair of groups, or the period.
    rows : number of rows.
    predicted, observed : mean probability and the rate at which it came true.
    gap : ``predicted - observed``, positive where predictions are too high, with its joint 95 % interval.
    severity : "problem", "caution" or "fine".
    columns : names of the columns that the group comes from.
    events : number of its rows in which it came true.
    """

    name: str
    rows: int
    predicted: float
    observed: float
    gap: Interval
    severity: Severity
    columns: tuple[str, ...] = ()
    events: int = 0


@dataclass(frozen=True)
class Finding:
    """The conclusion of one check.

    Attributes
    ----------
    check : name of the check.
    severity : "problem", "caution", "fine" or "untested".
    sentence : plain text, with the reason where it is "untested".
    estimate : the number it rests on with its 95 % interval; None where there is no single one.
    page : title of the page that shows more.
    figure : the number in a few characters, for a tile.
    groups : groups or periods that are off, the clearest first.
    """

    check: str
    severity: Severity
    sentence: str
    estimate: Interval | None = None
    page: str = "Data"
    figure: str = ""
    groups: tuple[GroupFinding, ...] = ()


@dataclass(frozen=True, repr=False)
class Audit(Displayed):
    """Findings of all checks, the worst first; it prints as a list and shows itself in notebooks.

    Attributes
    ----------
    verdict : str
        The conclusion in one or two sentences.
    findings : tuple of Finding
        One for each check, the worst first and otherwise in the order in which an expert asks.
    methods : tuple of str
        Calibrators by which the remedy begins, by registry name; empty where none helps or is needed.
    column : str
        Column of the groups by which "by_group" corrects; empty for other remedies.

    Examples
    --------
    >>> import calib
    >>> audit = calib.audit(calib.load_sample("digits-cnn"))
    >>> audit.methods
    ('temperature', 'ensemble_temperature')
    >>> print(audit.findings[0].sentence)
    Overconfident: mean confidence 97.1\xa0%, accuracy 93.3\xa0%, +3.8 points (95\xa0%: +2.7 to +4.9).
    """

    verdict: str
    findings: tuple[Finding, ...]
    methods: tuple[str, ...] = ()
    column: str = ""

    def of(self, check: str) -> Finding:
        """Return the finding of a check.

        Parameters
        ----------
        check : str
            Its name, such as "level".

        Returns
        -------
        Finding
            What it concludes.
        """
        return next(finding for finding in self.findings if finding.check == check)

    def beyond(self, noticed: Iterable[Noticed]) -> list[Noticed]:
        """Return the findings of the reading that no check repeats.

        Parameters
        ----------
        noticed : iterable of Finding
            Of the data, as ``Predictions.findings``.

        Returns
        -------
        list of Finding
            In the same order.
        """
        loud = {
            finding.check for finding in self.findings if finding.severity in ("problem", "caution")
        }
        return [finding for finding in noticed if JUDGED.get(finding.code) not in loud]

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a table.

        Returns
        -------
        pandas.DataFrame
            One row for each check, with ``severity``, ``sentence``, ``value``, ``low``, ``high`` and ``page``.
        """
        import pandas as pd

        none = Interval(float("nan"), float("nan"), float("nan"))
        rows = [
            {
                "check": finding.check,
                "severity": finding.severity,
                "sentence": finding.sentence,
                **(finding.estimate or none)._asdict(),
                "page": finding.page,
            }
            for finding in self.findings
        ]
        return pd.DataFrame(rows).set_index("check")

    def __repr__(self) -> str:
        lines = [self.verdict, ""]
        for finding in self.findings:
            lines.append(f"{finding.severity:8}  {finding.check:8}  {finding.sentence}")
            lines += [
                f"          {line}"
                for line in aligned([_cells(group) for group in finding.groups[:4]])
            ]
        return for_terminal("\n".join(lines))


def _cells(group: GroupFinding) -> list[str]:
    ends = points_between(group.gap.low, group.gap.high)
    return ["", group.name, f"{points(group.gap.value)} points ({ends})", f"{group.rows:,} rows"]
