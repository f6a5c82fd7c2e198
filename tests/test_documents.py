"""What the documents tell people to run does run."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from calib.metrics import nll
from calib.numerics import softmax
from tests.conftest import simulate

ROOT = Path(__file__).resolve().parents[1]


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)


def test_the_contribution_guide_teaches_a_calibrator_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("taught")
    monkeypatch.setitem(sys.modules, "taught", module)  # dataclasses look their module up
    exec(compile(python_blocks("CONTRIBUTING.md")[0], "CONTRIBUTING.md", "exec"), module.__dict__)
    logits, labels = simulate(n=4000, n_classes=3, scale=1.0)
    biased = logits + np.array([1.0, 0.0, -1.0])
    steps: list[int] = []
    taught = module.BiasCorrection().fit(biased, labels, callback=lambda step, total, value: steps.append(step))
    assert nll(taught.predict_proba(biased), labels) < nll(softmax(biased), labels) - 0.1
    assert steps == list(range(1, 51))


def test_the_readme_library_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "sample_data" / "digits-cnn.npz", tmp_path / "outputs.npz")
    monkeypatch.chdir(tmp_path)
    example, use = python_blocks("README.md")
    # Another method in place of gpcalib keeps TensorFlow out of this test; everything else runs as printed.
    names: dict[str, object] = {}
    exec(compile(example.replace('"gpcalib", random_state=0', '"isotonic"'), "README.md", "exec"), names)
    data, calibrator = names["data"], names["calibrator"]
    used: dict[str, object] = {"outputs": data.logits}
    exec(compile(use, "README.md", "exec"), used)
    np.testing.assert_array_equal(used["probs"], calibrator.predict_proba(data.logits))


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "sample_data/README.md", "docs/running.md"]
)
def test_links_and_pictures_lead_somewhere(document: str) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", (ROOT / document).read_text(encoding="utf-8"))
    missing = [target for target in targets if not ((ROOT / document).parent / target).exists()]
    assert not missing
