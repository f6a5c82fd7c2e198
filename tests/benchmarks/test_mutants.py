"""Mutants pass a parser's first checks: checksums, lengths and packing are right where something else is not."""

from __future__ import annotations

import io
import re
from random import Random

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.mutants import arrow, bases, hdf5, parquet, texts
from benchmarks.mutants.uploads import FORMS, upload

SEALED = {name for name in hdf5.STRUCTURES if name not in (b"TREE", b"SNOD", b"HEAP", b"GCOL")}


def test_the_hash_is_that_of_the_format():
    # The values that Jenkins' own test of hashlittle gives.
    lengths = np.array([30])
    assert hdf5.lookup3(b"Four score and seven years ago", lengths)[0] == 0x17770551
    both = hdf5.lookup3(b"Four score and seven years ago", np.array([13, 30]))
    assert both[0] == hdf5.lookup3(b"Four score an", np.array([13]))[0] and both[1] == 0x17770551


@pytest.mark.parametrize("name", ["growing both ways, latest", "texts, latest", "groups, latest", "many, latest"])
def test_every_structure_with_a_checksum_is_sealed(name):
    content = bases.hdf5_files()[name]
    signed = {match.start() for match in re.finditer(b"|".join(SEALED), content)}
    assert {seal.start for seal in hdf5.layout_of(content).seals} == signed | {0}


def test_what_changes_is_sealed_anew():
    content = bases.hdf5_files()["plain, latest"]
    renamed = content.replace(b"logits", b"legits")
    with pytest.raises(KeyError, match="checksum"):
        h5py.File(io.BytesIO(renamed), "r")["legits"]
    out = bytearray(renamed)
    hdf5.seal_all(out, hdf5.layout_of(content))
    with h5py.File(io.BytesIO(out), "r") as file:
        np.testing.assert_array_equal(file["legits"], bases.arrays()["logits"])


@pytest.mark.parametrize("name", ["types, latest", "texts, earliest", "growing both ways, latest"])
def test_a_mutant_of_hdf5_has_right_checksums(name):
    content = bases.hdf5_files()[name]
    layout = hdf5.layout_of(content)
    for seed in range(6):
        out = hdf5.damaged(content, Random(seed))
        assert len(out) == len(content)
        right = [int.from_bytes(out[s.at : s.at + 4], "little") == hdf5.checksum(out, s) for s in layout.seals]
        assert all(right)


@pytest.mark.parametrize("name", bases.PARQUET)
def test_a_footer_is_read_and_written(name):
    content = bases.parquet_files()[name]
    start = parquet.footer_start(content)
    assert parquet.written(parquet.Reader(content, start).read()) == content[start:-8]


@pytest.mark.parametrize("codec", bases.CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_page_is_unpacked_changed_and_packed(codec, version, monkeypatch):
    """The last byte of a page of eight-byte numbers is the sign of the last one."""
    content = bases.parquet_file(
        bases.columns("p_0")(), compression=codec, data_page_version=version, use_dictionary=False
    )
    (page,) = parquet.pages_of(content)
    random = Random(0)
    monkeypatch.setattr(random, "choice", lambda options: 1)
    monkeypatch.setattr(random, "random", lambda: 0.9)
    monkeypatch.setattr(random, "randrange", lambda n: n - 1)
    monkeypatch.setattr(parquet, "other_number", lambda old, *_: old ^ 128)
    footer, body = parquet.Reader(content, parquet.footer_start(content)).read(), content[page.body : page.end]
    header = parquet.Reader(content, page.start).read()
    values = parquet.other_values(body, header, page.codec, random)
    new = parquet.written(header) + values
    parquet.move(footer, page.start, len(new) - (page.end - page.start))
    out = content[: page.start] + new + content[page.end : parquet.footer_start(content)]
    read = pq.read_table(io.BytesIO(parquet.with_footer(out, footer)))["p_0"].to_numpy()
    whole = bases.table()["p_0"].to_numpy()
    np.testing.assert_array_equal(read, [*whole[:-1], -whole[-1]])


def test_every_number_of_a_message_is_found():
    content = bases.arrow_files()["stream, plain, None"]
    fields, bodies = arrow.layout_of(content)
    assert len(bodies) == 3  # a dictionary and two batches
    rows = (bases.ROWS // 2).to_bytes(8, "little")
    assert sum(content[at : at + 8] == rows for at, width in fields if width == 8) >= 2 * bases.table().num_columns


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_equal_numbers_give_equal_uploads(number):
    made = upload(number, seed=3)
    assert made == upload(number, seed=3) != upload(number, seed=4)
    assert made.form == FORMS[number]


def test_half_are_hdf5_and_parquet():
    assert sum(form in ("hdf5", "parquet") for form in FORMS) == len(FORMS) / 2


def test_texts_are_bounded():
    for grammar in (texts.csv_text, texts.json_text):
        assert all(len(grammar(Random(seed))) <= texts.LARGEST for seed in range(40))
