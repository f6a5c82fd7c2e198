"""HTML that cannot be broken from outside: every text is escaped unless it is markup made here.

How a report looks: on a wide screen and a narrow one, in light and dark, and on paper.
"""

from __future__ import annotations

import re
from html import escape

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""Controls and lone surrogates, which are no HTML, and marks that turn the direction of the text around them."""
_VOID = {"meta", "br", "col"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(content: object) -> Markup:
    """Anything as the text of an element or an attribute."""
    return content if isinstance(content, Markup) else Markup(escape(_UNPRINTABLE.sub("\ufffd", str(content))))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """One element.

    Parameters
    ----------
    name : of the element.
    *children : markup as it is, all else escaped; None is left out.
    **attributes : ``class_`` is written class, ``stroke_width`` stroke-width; None is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{together(*children)}</{name}>")


def together(*children: object) -> Markup:
    """Several pieces one after another."""
    return Markup("".join(text(child) for child in children if child is not None))


STYLESHEET = """
:root { color-scheme: light dark; --ink: #1f2430; --faint: #626a7a; --paper: #ffffff; --line: #e2e5eb; --soft: #f5f7fa;
  --accent: #0072b2; --mark: #b06a00; --mark-soft: #fdf3e1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaf0; --faint: #9aa3b5; --paper: #0e1117; --line: #2b303c; --soft: #171b24; --accent: #3f97ce;
    --mark: #e0a63c; --mark-soft: #2a2316; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 "Source Sans 3", "Source Sans Pro", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue",
    Arial, sans-serif; }
main { max-width: 1300px; margin: 0 auto; padding: 40px 32px 64px; }
header { border-bottom: 1px solid var(--line); padding-bottom: 18px; margin-bottom: 26px; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 30px; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 21px; margin: 52px 0 10px; padding-top: 14px; border-top: 1px solid var(--line); }
h3 { font-size: 16px; margin: 0 0 4px; }
.wide + h3, .meaning + h3 { margin-top: 20px; }
.wide + p { margin-top: 14px; }
.wide + .cards, p + .cards { margin-top: 14px; }
p { margin: 0 0 10px; max-width: 82ch; overflow-wrap: anywhere; }
ul { margin: 6px 0 10px; padding-left: 20px; max-width: 90ch; overflow-wrap: anywhere; }
li { margin: 3px 0; }
a { color: var(--accent); }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin-top: 14px; font-size: 14px; }
.faint, .meaning, .note, figcaption { color: var(--faint); }
.meaning, figcaption { font-size: 14px; }
.note { font-weight: 400; font-size: 13px; white-space: normal; min-width: 9em; }
.verdict { background: var(--soft); border-left: 4px solid var(--accent); border-radius: 4px; padding: 16px 20px 8px; }
.verdict p { font-size: 18px; line-height: 1.5; }
.simulated { background: var(--mark-soft); border-left: 4px solid var(--mark); border-radius: 4px; padding: 10px 16px;
  max-width: none; }
.badge { display: inline-block; background: var(--mark-soft); color: var(--mark); border-radius: 999px; font-size: 13px;
  font-weight: 600; padding: 2px 12px; margin-left: 10px; vertical-align: middle; letter-spacing: 0; }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 6px 22px 6px 0; border-bottom: 1px solid var(--line); }
thead th { color: var(--faint); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; }
td { white-space: nowrap; }
.best { font-weight: 600; }
.interval { color: var(--faint); font-size: 12.5px; font-weight: 400; white-space: nowrap; }
#overview .interval { display: block; }
#overview b { color: var(--accent); }
.facts th { color: var(--faint); font-weight: 400; min-width: 9em; }
.facts td { white-space: normal; overflow-wrap: anywhere; }
.row { display: flex; flex-wrap: wrap; gap: 18px 22px; margin: 12px 0; }
.beside { display: flex; flex-wrap: wrap; gap: 8px 40px; align-items: flex-start; }
.beside > .wide { flex: 1 1 520px; min-width: 0; }
.score { margin: 26px 0 38px; break-inside: avoid; }
.score th, .score td { padding-right: 16px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); gap: 18px; }
.card { background: var(--soft); border-radius: 8px; padding: 16px 18px; break-inside: avoid; min-width: 0; }
.card table { width: 100%; font-size: 13px; }
.card th { min-width: 0; }
.card ul { font-size: 13px; }
.swatch { vertical-align: -3px; margin-right: 7px; }
figure { margin: 0; break-inside: avoid; max-width: 100%; }
figcaption { padding-left: 46px; margin-top: -4px; }
.figure { display: block; max-width: 100%; height: auto; font-family: inherit; }
.figure .figure, .figure svg { max-width: none; }
code, pre { font: 13px/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
code { overflow-wrap: anywhere; }
pre { background: var(--soft); border-radius: 8px; padding: 14px 16px; white-space: pre-wrap; overflow-wrap: anywhere; }
footer { color: var(--faint); font-size: 13px; margin-top: 48px; border-top: 1px solid var(--line); padding-top: 12px; }
@media (max-width: 640px) {
  main { padding: 22px 16px 40px; }
  h1 { font-size: 24px; }
  .verdict p { font-size: 16px; }
  .facts th { min-width: 6em; }
  th, td { padding-right: 12px; }
  .wide tbody th { position: sticky; left: 0; background: var(--paper); max-width: 9.5em; overflow-wrap: anywhere; }
  .interval { display: block; }
}
@media print {
  @page { margin: 14mm; }
  :root { color-scheme: light; --ink: #000000; --faint: #4a5160; --paper: #ffffff; --line: #c9ced8; --soft: #f4f5f8;
    --accent: #0072b2; --mark: #8a5200; --mark-soft: #fdf3e1; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  nav, .screen { display: none; }
  h2 { break-after: avoid; margin-top: 26px; }
  h3 { break-after: avoid; }
  table { font-size: 8.5pt; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  th, td { padding-right: 10px; }
  .wide { overflow: visible; }
  thead th, td { white-space: normal; }
  .interval { display: block; font-size: 7pt; }
  #overview, #balance { font-size: 7pt; }
  #overview .interval, #balance .interval { font-size: 5.5pt; }
  #overview th, #overview td, #balance th, #balance td { padding-right: 4px; }
  .beside { display: block; }
  .cards { grid-template-columns: 1fr 1fr; }
  .verdict, .simulated, .card, pre { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
