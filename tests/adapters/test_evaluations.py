"""Metrics of Inspect and lm-evaluation-harness are the scores of the library.

Where the packages are not installed, stubs have the parts of their documented interfaces that the adapters use.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import calib


@dataclass
class Score:
    """Score of Inspect: a value beside metadata."""

    value: Any
    metadata: dict[str, Any] | None = None


@dataclass
class SampleScore:
    """Score of Inspect with the metadata of its sample."""

    score: Score
    sample_metadata: dict[str, Any] | None = field(default=None)


def adapter(name: str, package: str, monkeypatch, **stubs: dict[str, Any]) -> ModuleType:
    """Import an adapter with its package, or with stubs of the package's modules."""
    if find_spec(package) is None:
        for module, contents in stubs.items():
            full = module.replace("__", ".")
            stub = ModuleType(full)
            vars(stub).update(contents)
            monkeypatch.setitem(sys.modules, full, stub)
    monkeypatch.delitem(sys.modules, f"calib.adapters.{name}", raising=False)
    return importlib.import_module(f"calib.adapters.{name}")


@pytest.fixture
def inspect_ai(monkeypatch):
    scorer = {
        "Metric": object,
        "SampleScore": SampleScore,
        "Value": object,
        "metric": lambda function: function,
        "value_to_float": lambda: lambda value: {"C": 1.0, "I": 0.0}.get(value, value),
    }
    stubs = {"inspect_ai": {}, "inspect_ai__scorer": scorer}
    return adapter("inspect_ai", "inspect_ai", monkeypatch, **stubs)


@pytest.fixture
def lm_eval(monkeypatch):
    registry = {"register_aggregation": lambda name: lambda function: function}
    stubs = {"lm_eval": {}, "lm_eval__api": {}, "lm_eval__api__registry": registry}
    return adapter("lm_eval", "lm_eval", monkeypatch, **stubs)


@pytest.mark.filterwarnings("default")
def test_a_metric_of_inspect_has_the_scores_with_their_intervals(inspect_ai):
    package = sys.modules["inspect_ai.scorer"]
    make = getattr(package, "Score", Score)
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 200).round(3)
    correct = rng.random(200) < confidence**2
    scores = []
    for i, (p, right) in enumerate(zip(confidence.tolist(), correct.tolist(), strict=True)):
        of_score, of_sample = ({"confidence": p}, None) if i % 2 else (None, {"confidence": p})
        score = make(value="C" if right else "I", metadata=of_score)
        scores.append(package.SampleScore(score=score, sample_metadata=of_sample))
    scores.append(package.SampleScore(score=make(value="I"), sample_metadata=None))
    values = inspect_ai.calibration()(scores)
    table = calib.scores(confidence, correct, kind="pairs")
    for name in ("ECE", "NLL", "signed gap"):
        assert values[name] == pytest.approx(table.loc[name, "value"])
        assert values[f"{name}_low"] == pytest.approx(table.loc[name, "low"])
        assert values[f"{name}_high"] == pytest.approx(table.loc[name, "high"])


@pytest.mark.filterwarnings("default")
def test_aggregations_of_the_harness_are_scores_over_all_questions(lm_eval):
    rng = np.random.default_rng(1)
    probs = [rng.dirichlet(np.ones(k)) for k in rng.integers(2, 6, 300)]  # of two to five choices
    right = [int(rng.integers(len(own))) for own in probs]
    confidence = np.array([own.max() for own in probs])
    correct = np.array([own.argmax() == k for own, k in zip(probs, right, strict=True)])
    items = list(zip(right, [own.tolist() for own in probs], strict=True))
    assert lm_eval.ece(items) == calib.ece(confidence=confidence, correct=correct)
    assert lm_eval.gap(items) == pytest.approx(confidence.mean() - correct.mean())
