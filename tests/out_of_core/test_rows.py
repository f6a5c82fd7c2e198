"""Rows on disk are those of the array, however they lie there."""

import numpy as np
import pytest

from calib.data import DataError
from calib.out_of_core import open_rows
from calib.out_of_core.rows import ArrayRows, Subset
from tests.out_of_core.conftest import write

FILES = ("plain.npy", "fortran.npy", "table.parquet")


@pytest.fixture
def block_rows():
    return 7


@pytest.fixture
def outputs(rng):
    return rng.normal(size=(50, 4)).astype(np.float32)


def read(rows):
    starts, blocks = zip(*rows.blocks(), strict=True)
    assert [*np.cumsum([0, *map(len, blocks)])][:-1] == [*starts]
    return np.concatenate(blocks)


@pytest.mark.parametrize("name", FILES)
def test_blocks_make_up_the_array(tmp_path, outputs, few_rows, name):
    with open_rows(write(tmp_path / name, outputs)) as rows:
        assert rows.shape == (50, 4)
        assert rows.dtype == np.float32
        assert len([*rows.blocks()]) >= 8
        np.testing.assert_array_equal(read(rows), outputs)
        np.testing.assert_array_equal(read(rows), outputs)  # as often as is asked for


@pytest.mark.parametrize("name", FILES)
def test_rows_are_picked_by_number(tmp_path, outputs, few_rows, name):
    chosen = np.array([0, 6, 7, 33, 49])
    with open_rows(write(tmp_path / name, outputs)) as rows:
        np.testing.assert_array_equal(rows.take(chosen), outputs[chosen])
        part = Subset(rows, chosen)
        np.testing.assert_array_equal(read(part), outputs[chosen])
        np.testing.assert_array_equal(part.take(np.array([1, 4])), outputs[[6, 49]])


@pytest.mark.parametrize(
    ("dtype", "read_as"), [("<f2", "f4"), (">f4", "f4"), (">f8", "f8"), ("u1", "f4"), ("i8", "f8"), ("?", "f4")]
)
def test_numbers_of_any_type_are_floats(tmp_path, few_rows, dtype, read_as):
    array = np.arange(40).reshape(20, 2).astype(dtype)
    with open_rows(write(tmp_path / "plain.npy", array)) as rows:
        assert read(rows).dtype == read_as
        np.testing.assert_array_equal(read(rows), array.astype(read_as))


def test_a_memory_map_and_a_single_column(tmp_path, few_rows, outputs):
    np.testing.assert_array_equal(read(ArrayRows(outputs)), outputs)
    with open_rows(write(tmp_path / "column.npy", outputs[:, 0])) as rows:
        np.testing.assert_array_equal(read(rows), outputs[:, 0])


def test_a_file_that_cannot_be_read_says_so(tmp_path, outputs):
    path = write(tmp_path / "plain.npy", outputs)
    whole = path.read_bytes()
    cases = {
        "cut.npy": (whole[:-9], "but only"),
        "text.csv": (b"a,b\n1,2\n", "row by row"),
        "objects.npy": (b"", "empty"),
    }
    for name, (content, said) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=said), open_rows(tmp_path / name):
            pass
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="never"), open_rows(tmp_path / "pickled.npy"):
        pass
    with pytest.raises(DataError, match="cannot be opened"), open_rows(tmp_path / "absent.npy"):
        pass


def test_a_file_that_is_cut_while_it_is_read_says_so(tmp_path, outputs, few_rows):
    path = write(tmp_path / "plain.npy", np.tile(outputs, (2000, 1)))
    with pytest.raises(DataError, match="cut off or damaged"), open_rows(path) as rows:
        for start, _ in rows.blocks():
            if start == 0:
                with path.open("r+b") as file:
                    file.truncate(10_000)
