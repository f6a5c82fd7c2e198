"""A comparison as one HTML file that needs nothing but itself.

Figures are SVG: sharp on paper, a few hundred kilobytes in place of the 4.5 MB of a script that draws them, and there
wherever scripts are not, as in mail and previews. So the file's own policy can forbid scripts and every request, and a
class name that is HTML would do nothing even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib

from calib.evaluation import SCORES
from calib.formatting import plural, safe_table
from calib.reporting import sections as facts
from calib.reporting.contents import Report, commands, verdict_paragraphs
from calib.reporting.markup import STYLESHEET, Markup, element, together

_LEVEL = (
    "All intervals are 95 % bootstrap intervals over test rows, in brackets. A calibration error is biased upwards by "
    "noise, so its interval reaches further down than up. Differences are paired: both methods are judged on the same "
    "resampled rows, so that they may be told apart although their own intervals overlap. Against the best, intervals "
    "hold for all pairs of methods together, because the best is chosen by looking. ★ best value; ✓ better and ✗ worse "
    "than the raw model beyond what chance explains, by such joint intervals."
)
_AGAIN = (
    "In a POSIX shell, in the folder of the files, with calib and the packages below installed. The same versions give "
    "the same numbers; seconds differ."
)


def html(report: Report) -> str:
    """The report as one HTML document."""
    styles = {method.key: method.style for method in report.methods}
    keys = [key for key in SCORES if key in set(report.table["score"])]
    main = [key for key in keys if key in facts.MAIN]
    more = [key for key in keys if key not in facts.MAIN]
    paragraphs = verdict_paragraphs(report.table)
    sections = (
        ("verdict", "Verdict", element("div", *(element("p", part) for part in paragraphs), class_="verdict")),
        ("data-section", "Data", facts.data_section(report)),
        ("scores", "Methods and scores", together(facts.overview(report.table), element("p", _LEVEL, class_="meaning"),
                                                  _download(report))),
        ("reliability", "Reliability", facts.reliability(report.methods)),
        ("each", "Each score", together(*(facts.score_section(report.table, key, styles) for key in main))),
        ("balance-section", "Over- and underconfidence", facts.over_and_under(report.methods)),
        ("further", "Further scores", together(*(facts.score_section(report.table, key, styles) for key in more))),
        ("methods", "Methods", facts.methods_section(report.methods)),
        ("again", "Make it again", together(
            element("p", _AGAIN), *(element("pre", element("code", line)) for line in commands(report)),
            facts.version_table())),
    )  # fmt: skip
    name = report.data.name
    body = element(
        "main",
        _header(report, [(anchor, title) for anchor, title, _ in sections]),
        *(element("section", element("h2", title), content, id=anchor) for anchor, title, content in sections),
        element("footer", f"Made by calib on {report.made:%Y-%m-%d at %H:%M} UTC. This file asks nothing of the "
                "network and holds no script."),
    )  # fmt: skip
    return f'<!doctype html>\n<html lang="en">\n{_head(f"Calibration of {name}")}\n<body>\n{body}\n</body>\n</html>\n'


def _head(title: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(STYLESHEET.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(STYLESHEET)),
    )


def _header(report: Report, links: list[tuple[str, str]]) -> Markup:
    data = report.data
    badge = element("span", "simulated data", class_="badge") if facts.is_simulated(report) else None
    n_methods = len(report.methods) - 1
    return element(
        "header",
        element("h1", "Calibration of ", element("bdi", data.name), badge),
        element(
            "div",
            f"{plural(len(data), 'row')}, {plural(data.n_classes, 'class', 'classes')}; "
            f"{plural(n_methods, 'calibrator')} fitted on {len(report.calibration):,} rows and compared with the raw "
            f"model on {len(report.test):,} others.",
            class_="faint",
        ),
        element("nav", *(element("a", title, href=f"#{anchor}") for anchor, title in links)),
    )


def _download(report: Report) -> Markup:
    """All numbers in full, inside the file."""
    packed = base64.b64encode(safe_table(report.table).to_csv(index=False).encode()).decode()
    link = element("a", "All scores, intervals and differences in full, as CSV", download="comparison.csv",
                   href=f"data:text/csv;base64,{packed}")  # fmt: skip
    return element("p", link, class_="screen")
