"""Docstrings as the site shows them: griffe calls :class:`Docstrings` while mkdocstrings reads the code.

The project writes ``name : what it is``, where numpydoc expects a type. griffe would take the first line for a type and
show the rest torn from it. The whole is the description here, and the type comes from the signature.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

import griffe

_ROLE = re.compile(r":(?:(class|func|mod|data)|meth|attr):`~?([\w.]+)`")
_LITERAL = re.compile(r"::$", re.MULTILINE)
_HEAD = re.compile(r"^-{3,}\s*$")
_NAMED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")
_TYPE = re.compile(r"^[\w.]+(?:\[.*\])?(?: or None)?$")
_DESCRIBED = ("Parameters", "Other Parameters", "Attributes")
_GIVEN = ("Returns", "Yields")


def markdown(text: str) -> str:
    """Sphinx's roles and ``::`` as Markdown."""

    def shown(role: re.Match[str]) -> str:
        kept = 1 if role[1] else 2  # a method or an attribute with its class
        return f"`{'.'.join(role[2].split('.')[-kept:])}`"

    return _LITERAL.sub(":", _ROLE.sub(shown, text))


def described(text: str) -> str:
    """A docstring whose items are a name, or a type that is returned, and below it the whole description.

    Parameters
    ----------
    text : a docstring without the indentation of its code.
    """
    lines: list[str] = []
    section = ""
    source = text.splitlines()
    for i, line in enumerate(source):
        if i + 1 < len(source) and line.strip() and _HEAD.match(source[i + 1]):
            section = line.strip()
        elif not line.strip() or line.startswith(" ") or _HEAD.match(line):
            pass
        elif section in _DESCRIBED and (named := _NAMED.match(line)):
            below = list(takewhile(lambda other: other.startswith(" "), source[i + 1 :]))
            # Names that share a description have defaults of their own.
            *others, last = named[1].split(", ")
            lines += [part for name in others for part in (name, f"    {named[2]}", *below)]
            lines += [last, f"    {named[2]}"]
            continue
        elif section in _GIVEN and not _TYPE.match(line):
            lines += [":", f"    {line}"]  # griffe then takes the annotation of what is returned
            continue
        lines.append(line)
    return "\n".join(lines)


class Docstrings(griffe.Extension):
    """Rewrite every docstring of the package before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute once the package is read."""
        if obj.docstring:
            obj.docstring.value = markdown(described(obj.docstring.value))
