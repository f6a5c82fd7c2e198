"""Calibrators as PyTorch modules: run by torch where it is installed, and read as source everywhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

import calib
from benchmarks.exports import fits, simulated
from calib.export.provenance import exported
from calib.export.torch_module import torch_source
from calib.export.writer import save


def module_of(source):
    """The module that a source defines, run as a file would be."""
    spaces = {}
    exec(compile(source, "calibrator.py", "exec"), spaces)
    return spaces["Calibrator"]()


@pytest.fixture(scope="module")
def fitted():
    return calib.calibrator("isotonic", share_classes=False).fit(*simulated(300, 3))


def test_the_source_imports_torch_and_the_standard_library_alone(fitted):
    for given in (
        exported(fitted),
        exported(calib.calibrator("temperature").fit(*simulated(50, 3))),
    ):
        source = torch_source(given)
        names = {
            alias.name
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert names <= {"torch", "base64", "zlib"}
        assert not [
            node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)
        ]
    assert "zlib" not in names, "one number needs no packed array"
    assert len(source.splitlines()) < 40


def test_hostile_class_names_stay_text(fitted):
    names = ['"""\nraise SystemExit(9)\n"""', "back\\", "x" * 500]
    source = torch_source(exported(fitted, {"class_names": names}))
    run = subprocess.run(
        [sys.executable, "-c", f"import ast; ast.parse({source!r})"],
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node)
    ]


@pytest.mark.engines
@pytest.mark.parametrize(
    "method", ["temperature", "beta", "spline", "isotonic", "vector", "gpcalib", "order_preserving"]
)
def test_gradients_are_those_of_the_map(method):
    import torch

    _, _, given, _ = next(fits(4, [method], n=200))
    rows = np.random.default_rng(5).normal(size=(20, 4))
    outputs = torch.tensor(rows, requires_grad=True)
    module_of(torch_source(given))(outputs)[:, 1].sum().backward()
    step = 1e-6
    for k in range(4):
        ahead, behind = (
            given.calibrator.predict_proba(rows + sign * step * np.eye(4)[k])[:, 1]
            for sign in (1, -1)
        )
        np.testing.assert_allclose(
            outputs.grad.numpy()[:, k], (ahead - behind) / (2 * step), atol=1e-6
        )


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")  # newer versions of torch call scripting deprecated
@pytest.mark.parametrize("method", ["isotonic", "gpcalib", "order_preserving", "auto"])
def test_modules_are_exported_and_scripted_and_take_what_a_network_gives(method, tmp_path):
    import torch

    _, _, given, rows = next(fits(3, [method], n=200))
    place = spec_from_file_location("exported_calibrator", save(given, tmp_path / "calibrator.py"))
    file = module_from_spec(place)
    place.loader.exec_module(file)
    module, outputs = file.Calibrator(), torch.tensor(rows[:500])
    with torch.no_grad():
        probs = module(outputs)
        torch.testing.assert_close(torch.jit.script(file.Calibrator())(outputs), probs)
        program = torch.export.export(
            module, (outputs[:5],), dynamic_shapes=({0: torch.export.Dim("rows")},)
        )
        torch.testing.assert_close(program.module()(outputs), probs, rtol=0, atol=1e-12)
        single = torch.tensor(simulated(100, 3, seed=3)[0].astype(np.float32))
        torch.testing.assert_close(module(single), module(single.double()), rtol=0, atol=1e-9)
        outputs[1, 0], outputs[2, 1] = torch.nan, torch.inf
        assert torch.isnan(module(outputs[:4])).all(dim=1).tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        module(outputs[:, :2])
