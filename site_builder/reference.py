"""The Python reference: every public name of the packages that people call, from its docstring."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import signature
from types import FunctionType, ModuleType
from typing import Any

from site_builder.docstrings import markdown

PACKAGES = (
    "calib",
    "calib.calibrators",
    "calib.metrics",
    "calib.decisions",
    "calib.export",
    "calib.export.runtime",
    "calib.sklearn",
    "calib.active_learning",
    "calib.apply",
    "calib.evaluation.studies",
    *(f"calib.diagnostics.{name}" for name in ("group_panels", "new_rows", "sequential_tests")),
)


def menu() -> list[dict[str, str]]:
    """Entries of the menu."""
    return [{name: f"api/{name}.md"} for name in PACKAGES]


def pages() -> dict[str, str]:
    """Text by path: the directives that mkdocstrings replaces."""
    return {f"api/{name}.md": _page(name) for name in PACKAGES}


def public_names(name: str) -> dict[str, Any]:
    """What is public in a package, by name; other packages have pages of their own."""
    package = import_module(name)
    found = {public: getattr(package, public) for public in package.__all__}
    return {public: each for public, each in found.items() if not isinstance(each, ModuleType)}


def result_classes(name: str) -> dict[str, type]:
    """Classes of calib that functions of a package return, by their place: documented there, and made by them alone."""
    found = {}
    for function in public_names(name).values():
        if isinstance(function, FunctionType):
            returned = str(signature(function).return_annotation)
            for word in re.findall(r"\w+", returned):
                result = getattr(import_module(function.__module__), word, None)
                if isinstance(result, type) and result.__module__.startswith("calib."):
                    found[f"{result.__module__}.{result.__qualname__}"] = result
    public = [each for package in PACKAGES for each in public_names(package).values()]
    return {place: result for place, result in found.items() if result not in public}


def _page(name: str) -> str:
    said = markdown(import_module(name).__doc__ or "")
    places = [*(_place(name, each) for each in public_names(name)), *result_classes(name)]
    return "\n\n".join([f"# {name}", said, *(f"::: {place}" for place in places)])


def _place(package: str, name: str) -> str:
    """Where a public name is documented: what is imported when it is first used stands in a module of its own."""
    if (package, name) == ("calib", "calibrator"):  # a stub for type checkers
        return "calib.registry.calibrator"
    if package == "calib.calibrators":
        return f"{getattr(import_module(package), name).__module__}.{name}"
    return f"{package}.{name}"
