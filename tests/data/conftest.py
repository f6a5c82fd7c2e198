"""Writers of upload files, one small data set that all of them carry, and what tests ask of an inspection."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib.data import Choices, DataError, Finding, Inspection, Predictions, inspect, load


def cases(names: str, rows: Iterable[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Parametrise by the rows of a table, whose first column names the case."""
    return pytest.mark.parametrize(names, [pytest.param(*row[1:], id=row[0]) for row in rows])


def the(found: Inspection | Predictions, code: str) -> Finding:
    """The one finding of this code."""
    (finding,) = [finding for finding in found.findings if finding.code == code]
    return finding


def check_refused(path: Path, code: str, fragment: str, choices: Choices | None = None) -> None:
    """The upload has one error, of this code, which says this and what to do."""
    found = inspect(path, choices=choices)
    assert found.predictions is None
    assert [finding.level for finding in found.findings].count("error") == 1
    error = found.findings[0]
    assert (error.level, error.code) == ("error", code), error
    assert fragment in error.message, error
    assert error.action
    assert str(path.parent) not in error.message, (
        "a person needs the name of the file, not a server's path"
    )
    with pytest.raises(DataError) as raised:
        load(path, choices=choices)
    assert raised.value.findings[0] == error


def check_repeatable(path: Path) -> None:
    """The inferred options, given back, read the same data."""
    found = inspect(path)
    again = inspect(path, choices=found.choices)
    assert found.predictions is not None and again.predictions is not None
    assert again.predictions.sha256 == found.predictions.sha256


def simulated(n: int = 300, n_classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Logits whose classes are about equally frequent, with labels drawn from their softmax."""
    generator = np.random.default_rng(7)
    logits = generator.normal(size=(n, n_classes)) * 2.5
    return logits, np.argmax(logits + generator.gumbel(size=(n, n_classes)), axis=1)


def csv_bytes(delimiter: str = ",", **columns: Iterable[Any]) -> bytes:
    """A text table with these columns."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def parquet_bytes(table: Any, **options: Any) -> bytes:
    """An Arrow table as a Parquet file."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


@dataclass
class Make:
    """Files in a temporary folder, each method giving a path, and the arrays to put in."""

    folder: Path
    logits: np.ndarray
    labels: np.ndarray

    @property
    def probs(self) -> np.ndarray:
        unnormalised = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        return unnormalised / unnormalised.sum(axis=1, keepdims=True)

    @property
    def binary(self) -> np.ndarray:
        return (self.labels > 1).astype(np.int64)

    def file(self, name: str, content: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def npz(self, name: str = "outputs.npz", **arrays: Any) -> Path:
        np.savez(self.folder / name, **arrays)
        return self.folder / name

    def both(self, logits: Any = None, labels: Any = None, **more: Any) -> Path:
        """An npz with logits and labels, either of them replaced."""
        logits = self.logits if logits is None else logits
        return self.npz(logits=logits, labels=self.labels if labels is None else labels, **more)

    def npy(self, array: Any, name: str = "logits.npy") -> Path:
        np.save(self.folder / name, array)
        return self.folder / name

    def zip(self, name: str, **members: bytes) -> Path:
        with zipfile.ZipFile(self.folder / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(member.replace("__", "/"), content)
        return self.folder / name

    def frame(self, **columns: Any) -> Any:
        """A table with the labels and p_0 .. p_3, and further or other columns."""
        import pandas as pd

        table = {
            "label": self.labels,
            **{f"p_{k}": self.probs[:, k] for k in range(self.probs.shape[1])},
        }
        return pd.DataFrame({**table, **columns})

    def csv(
        self, frame: Any = None, name: str = "outputs.csv", encoding: str = "utf-8", **options: Any
    ) -> Path:
        frame = self.frame() if frame is None else frame
        return self.file(name, frame.to_csv(**{"index": False, **options}).encode(encoding))

    def lines(self) -> list[str]:
        """The lines of the plain csv."""
        return self.frame().to_csv(index=False).splitlines()

    def parquet(self, frame: Any = None, name: str = "outputs.parquet") -> Path:
        (self.frame() if frame is None else frame).to_parquet(self.folder / name, index=False)
        return self.folder / name

    def h5(self, name: str = "outputs.h5", **arrays: Any) -> Path:
        import h5py

        with h5py.File(self.folder / name, "w") as file:
            for key, value in arrays.items():
                file[key.replace("__", "/")] = value
        return self.folder / name

    def cut(self, path: Path, keep: float) -> Path:
        """The first part of a file, as a broken download leaves it."""
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep)])
        return path

    def header(self, shape: tuple[int, ...], descr: str = "<f8", body: bytes = b"") -> bytes:
        """A .npy file that announces any shape."""
        buffer = io.BytesIO()
        text = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, text)
        return buffer.getvalue() + body


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return Make(tmp_path, *simulated())
