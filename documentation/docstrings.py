"""Docstrings as the site shows them: griffe calls :class:`Docstrings` while mkdocstrings reads the code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:(class|func|mod|data)|meth|attr):`~?([\w.]+)`")
_LITERAL = re.compile(r"::$", re.MULTILINE)


def markdown(text: str) -> str:
    """Sphinx's roles and ``::`` as Markdown."""

    def shown(role: re.Match[str]) -> str:
        kept = 1 if role[1] else 2  # a method or an attribute with its class
        return f"`{'.'.join(role[2].split('.')[-kept:])}`"

    return _LITERAL.sub(":", _ROLE.sub(shown, text))


class Docstrings(griffe.Extension):
    """Rewrite every docstring of the package before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute once the package is read."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
