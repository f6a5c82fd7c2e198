"""Nothing that came from outside is parsed in the process that serves pages, whichever way it comes in."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Iterator

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

import calib
from calib import records
from calib.export import writer
from calib.ui.session import SESSION, OpenSession
from tests.conftest import npz_bytes, simulate
from tests.ui.conftest import open_page, upload_file

PARSERS = [
    *((pyarrow.csv, name) for name in ("open_csv", "read_csv", "CSVStreamingReader")),
    *((pyarrow.ipc, name) for name in ("open_file", "open_stream", "RecordBatchFileReader")),
    *((pyarrow.parquet, name) for name in ("ParquetFile", "read_table", "read_metadata")),
    *((pd, name) for name in ("read_csv", "read_excel", "read_parquet", "read_json")),
    *((np, name) for name in ("load", "loadtxt", "genfromtxt")),
    *(
        (np.lib.format, name)
        for name in ("read_array", "read_magic", "read_array_header_1_0", "read_array_header_2_0")
    ),
    *((csv, name) for name in ("reader", "DictReader", "Sniffer")),
    *((h5py, "File"), (openpyxl, "load_workbook"), (zipfile, "is_zipfile")),
]


class Parsed(BaseException):
    """A file was parsed here; no page takes this for an error of its own."""


def reads_a_record() -> bool:
    """Whether a reader's answer or what is stored is being read, as a record of the type that is expected."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code is records.read.__code__:
            return True
        frame = frame.f_back
    return False


@pytest.fixture
def no_parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every parser of this process fails the test."""

    def guarded(call):
        def parse(*arguments, **options):
            if not reads_a_record():
                raise Parsed
            return call(*arguments, **options)

        return parse

    for module, name in PARSERS:
        monkeypatch.setattr(module, name, guarded(getattr(module, name)))
    opened = zipfile.ZipFile.__init__

    def open_zip(self, file, mode="r", *arguments, **options):
        # Python looks for packages in zip files.
        if mode == "r" and not isinstance(file, str) and not reads_a_record():
            raise Parsed
        opened(self, file, mode, *arguments, **options)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", open_zip)
    yield


LOGITS, LABELS = simulate(60, 3)


def written(write) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def hdf5(buffer: io.BytesIO) -> None:
    with h5py.File(buffer, "w") as file:
        file["logits"], file["labels"] = LOGITS, LABELS


TABLE = pd.DataFrame(LOGITS, columns=["logit_0", "logit_1", "logit_2"]).assign(label=LABELS)
UPLOADS = {
    "mine.npz": npz_bytes(logits=LOGITS, labels=LABELS),
    "mine.h5": written(hdf5),
    "mine.csv": TABLE.to_csv(index=False).encode(),
    "mine.parquet": written(TABLE.to_parquet),
    "mine.xlsx": written(lambda file: TABLE.to_excel(file, index=False)),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name.endswith(("xlsx", "parquet")) else ())
        for name in UPLOADS
    ],
)
def test_the_data_page(name, no_parser):
    app = upload_file(name, UPLOADS[name])
    assert not app.exception
    np.testing.assert_allclose(app.session_state[SESSION].data.logits, LOGITS)


def test_outputs_to_which_a_calibrator_is_applied(with_fits: OpenSession, request):
    app = open_page("pages/5_Export.py", with_fits)
    content = npz_bytes(logits=5.0 * np.eye(7, with_fits.data.n_classes))
    request.getfixturevalue("no_parser")
    app.segmented_control(key="export/of").set_value("an upload").run()
    app = app.file_uploader(key="export/upload").upload("new.npz", content).run()
    assert not app.exception
    assert any("7 rows" in caption.value for caption in app.caption)


def test_a_calibrator_and_new_rows(request):
    bundle = writer.to_bytes("zip", calib.calibrator("temperature").fit(LOGITS, LABELS), {})
    request.getfixturevalue("no_parser")
    app = open_page("pages/11_Monitoring.py")
    app.file_uploader(key="monitoring/files").upload("calibrator.zip", bundle).run()
    app.file_uploader(key="monitoring/new-data").upload("new.npz", UPLOADS["mine.npz"]).run()
    assert not app.exception and not app.error
    assert any("60" in element.value for element in (*app.markdown, *app.caption))
