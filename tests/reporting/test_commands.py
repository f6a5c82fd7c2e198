from __future__ import annotations

import shlex
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import calib
from calib.cli import main
from calib.cli.arguments import method_with_parameters
from calib.data import Choices
from calib.data.samples import load_sample
from calib.evaluation import Evaluation
from calib.evaluation.compare import compare_evaluations
from calib.plots.style import method_style
from calib.registry import calibrator, title_of
from calib.reporting import Report, ReportedMethod, Source, commands, method_option
from tests.reporting.conftest import make_report


@pytest.mark.parametrize("name", calib.METHODS)
def test_every_parameter_comes_back_from_the_command_line(name):
    for field in fields(calib.METHODS[name].cls):
        values = field.metadata["choices"] or [field.metadata["low"], field.metadata["high"], field.default]
        values = [True, False] if isinstance(field.default, bool) else [value for value in values if value is not None]
        for value in values:
            made = calib.METHODS[name].cls(**{field.name: value})
            again, params = method_with_parameters(method_option(name, made, seed=0))
            assert again == name
            assert calibrator(again, **params).get_params() == made.get_params()


def test_a_seed_is_left_out_where_it_is_the_command_s_own():
    made = calibrator("isotonic", random_state=3)
    assert method_option("isotonic", made, seed=3) == "isotonic"
    assert method_option("isotonic", made, seed=0) == "isotonic:random_state=3"
    assert method_option("isotonic", calibrator("isotonic"), seed=3) == "isotonic:random_state=0"


def test_names_from_outside_are_one_word_for_the_shell():
    report = make_report(n=100)
    words = shlex.split(commands(report)[-1].replace("\\\n", ""))
    assert words[:4] == ["python", "-m", "calib", "compare"]
    assert words[4] == report.source.files["source"]
    assert words[words.index("--read") + 1] == f"labels={report.source.choices.labels}"
    dashed = make_report(n=100, source=Source({"source": "-x.npz", "labels": "my labels.csv"}))
    words = shlex.split(commands(dashed)[-1].replace("\\\n", ""))
    assert words[4:7] == ["./-x.npz", "--labels", "my labels.csv"]


def test_the_commands_give_the_same_numbers(tmp_path, monkeypatch, overconfident):
    """Files apart, choices by hand, another seed and split, parameters and a seed of a method's own."""
    logits, labels = overconfident
    monkeypatch.chdir(tmp_path)
    np.savez("my outputs.npz", scores=logits, other=logits[:, ::-1])
    np.save("my labels.npy", labels + 1)
    choices = Choices(outputs="scores", kind="logits", one_based=True)
    data = calib.load("my outputs.npz", labels="my labels.npy", choices=choices)
    calibration, test = data.split(0.35, random_state=7)
    methods = []
    for name, params in (
        ("identity", {}),
        ("temperature", {"random_state": 7}),
        ("isotonic", {"share_classes": False}),
        ("bayes_iso", {"n_maps": 300, "random_state": 5}),
    ):
        made = calibrator(name, **params).fit(calibration.logits, calibration.labels)
        evaluation = Evaluation.from_calibrator(made, test.logits, test.labels)
        title = title_of(made, name)
        methods.append(ReportedMethod(title, name, title, method_style(name), made, evaluation))
    table = compare_evaluations({m.key: m.evaluation for m in methods}, baseline=methods[0].key)
    source = Source({"source": "my outputs.npz", "labels": "my labels.npy"}, choices)
    report = Report(data, calibration, test, 0.35, 7, methods, table, source)
    (line,) = commands(report)
    words = shlex.split(line.replace("\\\n", ""))
    assert words[:3] == ["python", "-m", "calib"]
    assert main(words[3:]) == 0
    again = pd.read_csv("comparison.csv")
    assert len(again) == len(table)
    numbers = ["value", "low", "high", "difference", "difference_low", "to_best", "to_best_high"]
    np.testing.assert_allclose(again[numbers].to_numpy(float), table[numbers].to_numpy(float), rtol=1e-9, atol=1e-12)
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_a_sample_is_found_in_the_repository_or_made():
    report = make_report(n=100, source=Source(sample="digits-cnn"))
    assert commands(report)[0].startswith("python -m calib compare sample_data/digits-cnn.npz ")
    made, compared = commands(make_report(n=100, source=Source(sample="simulated-1000")))
    assert compared.startswith("python -m calib compare simulated-1000.npz ")
    assert shlex.split(made)[:2] == ["python", "-c"]


def test_a_sample_that_is_made_is_the_same_one(tmp_path, monkeypatch):
    made = commands(make_report(n=100, source=Source(sample="simulated-1000")))[0]
    monkeypatch.chdir(tmp_path)
    exec(shlex.split(made)[2], {})
    assert calib.load("simulated-1000.npz").sha256 == load_sample("simulated-1000").sha256
