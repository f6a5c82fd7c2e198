"""The notebooks run from start to end, and every result that ends a cell shows itself."""

from __future__ import annotations

import ast
import json
from html import escape
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import calib
from tests.conftest import ROOT
from tests.reporting.conftest import Reading

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SHOWN = {
    "sklearn_classifier": ["ReliabilityDisplay", "ReliabilityDisplay", "BetaCalibration", "Report", "float"],
    "network_logits": [
        "Predictions", "ReliabilityCurve", "Comparison", "TemperatureScaling", "ReliabilityCurve", "float", "OpenApp",
    ],
    "language_model_answers": ["Predictions", "ReliabilityCurve", "Comparison", "dict", "Report"],
}  # fmt: skip
"""Types of what ends the cells of each notebook."""


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [
        cell
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == kind
    ]


def run(path: Path) -> tuple[list[tuple[Any, str]], dict[str, Any]]:
    """What the cells show, as a kernel would: a last line that is an expression, with its HTML; and all names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in cells(path, "code"):
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), path.name, "exec"), names)
        value = (
            eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            if last is not None
            else None
        )
        if value is not None:
            html = value._repr_html_() if hasattr(value, "_repr_html_") else None
            shown.append((value, html or escape(repr(value))))
    return shown, names


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_start_to_end(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown, names = run(path)
    assert [type(value).__name__ for value, _ in shown] == SHOWN[path.stem]
    for value, html in shown:
        if isinstance(
            value, float
        ):  # the exported calibrator's numbers beside those of the fitted one
            assert value < 1e-9
        elif not isinstance(value, dict):
            assert html and len(Reading(html).text) > 10
    if path.stem == "network_logits":
        assert names["found"].recommendation.method != "identity"
        with pytest.raises(OSError):  # stopped by the last cell
            urlopen(names["app"].url)
    if path.stem == "language_model_answers":
        answered, handed_over = shown[3][0].values()
        assert (
            answered + handed_over == len(names["judged"])
            and answered == names["scores"].n_answered
        )
    if path.stem == "sklearn_classifier":
        assert names["search"].best_params_["method"] in calib.METHODS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_clean_and_says_what_to_install_first(path):
    code = cells(path, "code")
    assert all(
        cell["outputs"] == [] and cell["execution_count"] is None and not cell["metadata"]
        for cell in code
    )
    assert code[0]["source"][0].startswith('# %pip install "calib-studio[app]"')
    assert {path.stem for path in NOTEBOOKS} == set(SHOWN)
