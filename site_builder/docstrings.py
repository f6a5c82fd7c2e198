"""Docstrings as the site shows them: griffe calls :class:`Docstrings` while mkdocstrings reads the code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:(class|func|mod|data)|meth|attr):`~?([\w.]+)`")
_LITERAL = re.compile(r"::$", re.MULTILINE)
_TYPED = re.compile(r"^(\*{0,2}\w+(?:, \w+)* : )(.+?)(, default .+|, optional)?$", re.MULTILINE)
_BETWEEN = re.compile(r", (?![^(]*\))")


def markdown(text: str) -> str:
    """Sphinx's roles and ``::`` as Markdown."""

    def shown(role: re.Match[str]) -> str:
        kept = 1 if role[1] else 2  # a method or an attribute with its class
        return f"`{'.'.join(role[2].split('.')[-kept:])}`"

    return _LITERAL.sub(":", _ROLE.sub(shown, text))


def alternatives(text: str) -> str:
    """Types such as ``{"a", "b"} or None`` with "or" alone, because griffe shows what it reads as a tuple or a set."""

    def joined(item: re.Match[str]) -> str:
        return f"{item[1]}{_BETWEEN.sub(' or ', re.sub('[{}]', '', item[2]))}{item[3] or ''}"

    return _TYPED.sub(joined, text)


class Docstrings(griffe.Extension):
    """Rewrite every docstring of the package before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute once the package is read."""
        if obj.docstring:
            obj.docstring.value = markdown(alternatives(obj.docstring.value))
