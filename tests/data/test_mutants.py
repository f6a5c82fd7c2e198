"""Hostile uploads: a seeded handful of the benchmark's mutants, and one file for each thing that mutants brought up."""

from __future__ import annotations

import time
import unicodedata

import numpy as np
import pytest

from benchmarks.hostile_uploads import met
from benchmarks.mutations import mutant
from benchmarks.originals import originals
from calib.data import inspect

SECONDS = 5.0


@pytest.mark.parametrize("form", originals())
def test_originals_are_read(form):
    data = inspect(**originals()[form]).predictions
    assert data is not None and len(data) == 300 and data.n_classes == 4
    holds_features = form.startswith("features") or form in ("npz", "hdf5")
    assert (data.train_features is not None) == holds_features


@pytest.mark.parametrize("number", range(60))
def test_a_mutant_is_read_or_refused_in_words(number):
    made = mutant(number, seed=7)
    started = time.perf_counter()
    outcome, problem = met(made)
    assert outcome in ("read", "refused") and not problem, (made.form, made.damage, problem)
    assert time.perf_counter() - started < SECONDS


def test_equal_seeds_give_equal_mutants():
    assert mutant(3, seed=1) == mutant(3, seed=1) != mutant(3, seed=2)


@pytest.mark.parametrize(
    "name",
    [
        "x" * 10_000 + ".npz",
        "y." + "x" * 10_000,
        "a\n\r\t\x1b[31m.npz",
        "\u202egnp.npz",
        "\ud800.npz",
        "a\0.npz",
        "",
        "..",
    ],
    ids=["long", "long ending", "control", "turned", "surrogate", "zero", "none", "parent"],
)
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04", b"x,y\n1,2\n", b"{}"], ids=repr)
def test_any_name_fits_in_a_line(name, content):
    for finding in inspect((name, content)).findings:
        assert len(finding.message) < 500 and seen(finding.message)


def test_a_long_name_keeps_its_ending():
    (finding,) = inspect(("x" * 10_000 + ".parquet", b"")).findings
    assert finding.message.startswith("xxx") and "….parquet is empty" in finding.message


def test_bytes_of_the_file_in_a_librarys_reason_do_not_reach_the_terminal():
    name, content = originals()["parquet"]["source"]
    error = inspect((name, content + b"\x1b[2J")).findings[0]
    assert error.code == "damaged" and seen(error.message)


def test_names_of_arrays_are_shown_in_one_line(make):
    found = inspect(make.both(**{"features\x1b[2J\u202e": np.ones((300, 2)) * np.arange(300)[:, None]}))
    assert found.predictions is not None
    assert all(seen(finding.message) for finding in found.findings)
    assert all(seen(finding.message) for finding in inspect(make.npz("o.npz", **{"a\x1b[2J": np.ones(3)})).findings)


def seen(text):
    """Whether a text is one line that nothing in it turns or hides."""
    return not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(c) for c in text}
