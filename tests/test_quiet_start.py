"""What a library's C code logs while it is loaded is held back; everything else still reaches the terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

NOISY = r"""
import os, sys
os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n")
os.write(2, b"I0000 00:00:1795304918.971753   13672 cudart_stub.cc:31] Could not find cuda drivers\n")
os.write(2, b"E0000 00:00:1795304925.800425   13672 cuda_platform.cc:52] failed call to cuInit\n")
print("something of our own", file=sys.stderr)
{end}
"""


@pytest.mark.parametrize("end", ["answer = 42", "raise ImportError('broken install')"])
def test_only_the_chatter_is_held_back(tmp_path, end):
    (tmp_path / "noisy").mkdir()
    (tmp_path / "noisy" / "__init__.py").write_text(NOISY.format(end=end))
    program = "from calib.quiet_start import quiet_start\nquiet_start('noisy')\nimport noisy\nprint(noisy.answer)"
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert "something of our own" in done.stderr
    assert "absl" not in done.stderr and "cuda" not in done.stderr
    if "answer" in end:
        assert (done.returncode, done.stdout.strip()) == (0, "42")
    else:
        assert done.returncode == 1 and "ImportError: broken install" in done.stderr
