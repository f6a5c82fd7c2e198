"""Types of command-line arguments: each checks what was given before the work starts.

Choices on the command line: ``--read NAME=VALUE`` as a field of Choices.
"""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from calib.data import Choices
from calib.data.checks.report import InvalidUpload
from calib.data.load import check_choices


def assignment(given: str) -> tuple[str, Any]:
    """``n_inducing=20`` as a name and a number, truth value, None or word."""
    name, equals, value = given.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {given!r}")
    word = value.capitalize() if value.lower() in ("true", "false", "none") else value
    try:
        return name.strip(), ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return name.strip(), value


def method_with_parameters(given: str) -> tuple[str, dict[str, Any]]:
    """``isotonic:share_classes=False,normalize=False`` as a method's name and its parameters."""
    name, _, parameters = given.partition(":")
    return name.strip(), dict(assignment(part) for part in parameters.split(",") if part)


def target(*endings: str) -> Callable[[str], Path]:
    """A type of files to write, which looks before the work starts whether they can be written."""

    def checked(given: str) -> Path:
        path = Path(given)
        if endings and path.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"{path.name!r} does not end in {' or '.join(endings)}")
        if not path.parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise argparse.ArgumentTypeError(f"{str(path)!r} cannot be written")
        return path

    return checked


def part(given: str) -> float | int | str:
    """A part of the rows: a fraction below 1, a count, or ``all``."""
    if given == "all":
        return given
    try:
        number = float(given) if "." in given else int(given)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a fraction, a count or 'all', got {given!r}") from None
    if number <= 0 or (isinstance(number, float) and number >= 1):
        raise argparse.ArgumentTypeError(f"a fraction lies between 0 and 1, a count is at least 1; got {given}")
    return number


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
    except InvalidUpload as invalid:
        raise argparse.ArgumentTypeError(str(invalid)) from None
    return name, value


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
