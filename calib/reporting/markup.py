"""HTML that cannot be broken from outside: every text is escaped unless it is markup made here."""

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
