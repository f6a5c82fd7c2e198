"""Check the reference's docstrings by those of numpydoc's rules that pyproject.toml names."""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import FunctionType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, get_validation_checks, validate

from calib.base import Calibrator
from site_builder.reference import PACKAGES, public_names, result_classes


class Documented(Validator):
    """A docstring; that of a class may have its parameters under Attributes, or declare them with their help."""

    def __init__(self, obj_name: Any) -> None:
        super().__init__(get_doc_object(obj_name, config={"show_class_members": False}))

    def _doc_parameters(self, sections: list[str]) -> dict[str, Any]:
        found = super()._doc_parameters(sections)
        if inspect.isclass(self.obj) and issubclass(self.obj, Calibrator):
            declared = {f.name: (f.type, [f.metadata["help"]]) for f in fields(self.obj)}
            return {name: found.get(name, about) for name, about in declared.items()}
        return found or (
            super()._doc_parameters(["Attributes"]) if inspect.isclass(self.obj) else {}
        )


def documented(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    """A function; or a class with what it defines, but for what a base documents: methods, properties and its call."""
    if isinstance(found, type | FunctionType):
        yield name, found
    for key, member in vars(found).items() if isinstance(found, type) else ():
        public = key == "__call__" or not key.startswith("_")
        own = public and not any(key in vars(base) for base in found.__mro__[1:])
        if own and isinstance(member, FunctionType | classmethod | staticmethod | property):
            yield f"{name}.{key}", getattr(found, key)


def faults(checks: set[str]) -> Iterator[str]:
    """Faults by numpydoc's codes; an example (EX01) is required of public names, and of nothing within them."""
    for package in PACKAGES:
        public = public_names(package)
        for name, documentee in {**public, **result_classes(package)}.items():
            for path, member in documented(name, documentee):
                required = checks if path in public else checks - {"EX01"}
                errors = validate(member, Documented)["errors"]
                yield from (
                    f"{package}.{path}: {code} {message}"
                    for code, message in errors
                    if code in required
                )


if __name__ == "__main__":
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "numpydoc_validation"
    ]
    checks = get_validation_checks({*settings["checks"]})
    sys.exit("\n".join(faults(checks)) or 0)
