"""Sizes are refused with numbers, before anything is read."""

from __future__ import annotations

import pytest

import calib
from calib.data import DataError, limits
from calib.data.checks.report import Rejected


def test_a_file_is_measured_in_the_unit_of_the_uploader(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MAX_UPLOAD", 2 * 2**20)
    limits.check_upload(2 * 2**20, "a.npz")
    with pytest.raises(Rejected, match=r"^a\.npz has 3 MB; at most 2 MB are read\."):
        limits.check_upload(3 * 2**20, "a.npz")
    large = tmp_path / "large.npy"
    with open(large, "wb") as file:
        file.truncate(3 * 2**20)  # no header: it is refused for its size alone
    with pytest.raises(DataError, match="at most 2 MB are read"):
        calib.load(large)


def test_what_is_booked_is_never_more_than_is_allowed():
    allowance = limits.Allowance(1000)
    allowance.take(600, "the logits")
    with pytest.raises(Rejected, match=r"would take 401 bytes of memory; at most 1,000 bytes .* 600 bytes are taken"):
        allowance.take(401, "the labels")
    allowance.take(400, "the labels")
    assert allowance.left == 0
