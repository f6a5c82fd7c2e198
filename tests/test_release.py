"""Workflows, the action and the packages: what they name is there, and the action's step does what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from streamlit import config

import calib
from calib.cli.gate import gate
from calib.settings import SETTINGS
from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_what_is_there_and_may_do_little(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job or "needs" in job for job in workflow["jobs"].values())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = "\n".join(step.get("run", "") for step in steps)
    assert set(re.findall(r"make PYTHON=python ([\w-]+)", commands)) <= targets
    assert all((ROOT / name).exists() for name in re.findall(r"sh (tests/\S+)", commands))


def test_every_python_that_is_promised_is_tested() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    classifiers = [
        line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line
    ]
    assert workflow["jobs"]["linux"]["strategy"]["matrix"]["python"] == classifiers


def test_all_files_of_a_release_name_this_version() -> None:
    places = {
        "CITATION.cff": f"\nversion: {calib.__version__}\n",
        ".zenodo.json": f'"version": "{calib.__version__}"',
        "packaging/conda/recipe.yaml": f'version: "{calib.__version__}"',
        "packaging/space/Dockerfile": f"calib-studio[app]=={calib.__version__}",
        "CHANGELOG.md": f"\n## {calib.__version__}",
    }
    missing = [path for path, text in places.items() if text not in (ROOT / path).read_text()]
    assert not missing
    assert json.loads((ROOT / ".zenodo.json").read_text())["license"] == PROJECT["license"]


def test_the_recipe_needs_what_fitting_needs() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    needs = {re.sub(r"\s", "", line) for line in recipe["requirements"]["run"]} - {"python>=3.11"}
    wheel = map(Requirement, PROJECT["optional-dependencies"]["fit"])
    assert needs == {f"{need.name}{need.specifier}" for need in wheel}


def test_the_demo_sets_what_is_read() -> None:
    text = (ROOT / "packaging" / "space" / "Dockerfile").read_text()
    known = set(SETTINGS) | {option.env_var for option in config.get_config_options().values()}
    assert set(re.findall(r"\b(?:CALIB|STREAMLIT)_[A-Z_]+(?==)", text)) <= known
    assert "CALIB_WORKSPACE=off" in text and "CALIB_TRUST_NETWORK=" not in text


def test_each_input_of_the_action_is_an_option_of_the_gate() -> None:
    options = {name.replace("_", "-") for name in gate.__signature__.parameters}
    assert set(ACTION["inputs"]) - {"python-version"} <= options
    assert all(each.get("description") for each in (ACTION["inputs"] | ACTION["outputs"]).values())
    passed = ACTION["runs"]["steps"][-1]["env"].values()
    used = {
        re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1]
        for value in passed
        if "inputs" in value
    }
    assert used == set(ACTION["inputs"]) - {"python-version"}


@pytest.mark.parametrize(
    ("options", "status", "verdict"),
    [
        ({"MAX_ECE": "0.2", "MIN_ACCURACY": "0.5"}, 0, "passes"),
        ({"MAX_ECE": "0.001"}, 3, "fails"),
        ({"CHOICES": "kind=nothing", "MAX_ECE": "0.2"}, 2, "error"),
    ],
)
def test_the_step_of_the_action_ends_as_its_gate(options, status, verdict, tmp_path) -> None:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "FILE": str(ROOT / "sample_data" / "digits-cnn.npz"),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    done = subprocess.run(
        ["bash", ROOT / ".github" / "gate.sh"],
        env=environment | options,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    assert f"verdict={verdict}\n" in (tmp_path / "output").read_text()
    assert (tmp_path / "summary.md").exists() is (verdict != "error")
