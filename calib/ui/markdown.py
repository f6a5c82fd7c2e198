"""Names from files, as plain text within Markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>$#~:|!+.\-])")
_AUTOLINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
JOINER = "\u2060"
"""Takes no room; it keeps apart what Markdown would turn into a link, which no backslash prevents."""


def literal(name: str, longest: int = 40) -> str:
    """A name that was not written here: shortened, on one line, and read as nothing more than text.

    An empty or blank one is called "(empty)", so that no sentence has a hole.
    """
    short = name if len(name) <= longest else name[: longest - 1] + "…"
    words = " ".join(short.split())
    return _SPECIAL.sub(r"\\\1", _AUTOLINK.sub(JOINER, words)) if words else "(empty)"
