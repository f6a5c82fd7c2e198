"""Where a package is missing, one sentence says which and how to install it; never a traceback."""

import sys
from importlib.abc import MetaPathFinder

import numpy as np
import pytest

import calib
from calib.cli import main
from calib.errors import missing_package


@pytest.fixture
def without(monkeypatch):
    """Make packages as absent as if they had never been installed."""

    def hide(*packages):
        class Absent(MetaPathFinder):
            def find_spec(self, fullname, path=None, target=None):
                if fullname.partition(".")[0] in packages:
                    raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)

        for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])

    return hide


def test_a_fit(without, overconfident):
    without("scipy", "sklearn")
    method = calib.calibrator("temperature")
    with pytest.raises(calib.CalibrationError, match=r'scipy.* pip install "calib\[fit\]"'):
        method.fit(*overconfident)
    assert not method.fitted


@pytest.mark.parametrize(("module", "name"), [("pyarrow", "a.csv"), ("h5py", "a.h5")])
def test_a_table(without, tmp_path, module, name):
    without(module)
    content = b"\x89HDF\r\n\x1a\n" if module == "h5py" else b"p_0,p_1,label\n.1,.9,1\n.2,.8,1\n"
    with pytest.raises(calib.DataError, match=rf'{module}.*pip install "calib\[fit\]"') as raised:
        calib.load((name, content))
    assert raised.value.findings[0].code == "missing_package"


def test_a_split(without, tmp_path, overconfident):
    logits, labels = overconfident
    np.savez(tmp_path / "a.npz", logits=logits, labels=labels)
    data = calib.load(tmp_path / "a.npz")
    without("sklearn")
    with pytest.raises(calib.DataError, match="scikit-learn"):
        data.split(0.5)


def test_a_comparison_in_a_shell(without, tmp_path, overconfident, capsys):
    logits, labels = overconfident
    np.savez(tmp_path / "a.npz", logits=logits, labels=labels)
    without("pandas")
    assert main(["compare", str(tmp_path / "a.npz"), "--methods", "temperature"]) == 1
    assert capsys.readouterr().err == 'error: This needs pandas, which is not installed: pip install "calib[fit]".\n'


@pytest.mark.parametrize(
    ("module", "extra"),
    [("tensorflow.python", "gp"), ("gpflow", "gp"), ("river.forest", "active"), ("scipy.special", "fit")],
)
def test_the_extra_that_brings_it(module, extra):
    assert f'"calib[{extra}]"' in missing_package(ModuleNotFoundError("No module", name=module))


def test_a_module_of_our_own_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError):
        missing_package(ModuleNotFoundError("No module named 'calib.nothing'", name="calib.nothing"))
