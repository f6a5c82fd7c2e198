"""A command as a shell would give it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib.cli import main


def run(*arguments: object) -> int:
    """The exit status of a command."""
    return main([str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path, overconfident: tuple[np.ndarray, np.ndarray]) -> Path:
    """Overconfident logits of four classes with their labels."""
    path = tmp_path / "outputs.npz"
    np.savez(path, logits=overconfident[0], labels=overconfident[1])
    return path
