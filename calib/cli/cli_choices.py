"""Choices on the command line: ``--read NAME=VALUE`` as a field of Choices, and a finding's fix written that way."""

from __future__ import annotations

import argparse
import ast
import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from calib.data import Choices
from calib.data.check_choices import check_choices
from calib.data.checks.report import Rejected

_TYPES = {field.name: str(field.type) for field in fields(Choices)}
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def parse_choice(given: str) -> tuple[str, Any]:
    """Name and value; several names stand with commas between, or as a Python list where a name has a comma.

    Raises
    ------
    argparse.ArgumentTypeError
        If there is no such field, or the value cannot be meant.
    """
    name, equals, text = given.partition("=")
    name = name.strip()
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {given!r}")
    if name not in _TYPES:
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(_TYPES)}")
    value = _value(text, _TYPES[name])
    try:
        check_choices(Choices(**{name: value}))
    except Rejected as rejected:
        raise argparse.ArgumentTypeError(str(rejected)) from None
    return name, value


def written(fix: Mapping[str, object]) -> str:
    """The options that make these choices, ready for a shell."""
    return " ".join(f"--read {shlex.quote(f'{name}={_written(value)}')}" for name, value in fix.items())


def _value(text: str, kind: str) -> Any:
    if kind.startswith(("str", "Kind")):
        return text
    if kind.startswith("bool"):
        return _TRUTH.get(text.lower(), text)
    if kind.startswith(("int", "float")):
        return _literal(text)
    listed = _literal(text) if text.startswith(("[", "(")) else text
    if isinstance(listed, (list, tuple)):
        return tuple(listed)
    if kind.startswith("Columns") and "," not in text:
        return text
    names = tuple(name.strip() for name in text.split(","))
    numbers = tuple(_literal(name) for name in names)
    return numbers if "int" in kind and all(type(number) is int for number in numbers) else names


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _written(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    texts = [str(item) for item in value]
    plain = not any("," in text or text != text.strip() or text.startswith(("[", "(")) for text in texts)
    return ",".join(texts) if plain else repr(list(value))
