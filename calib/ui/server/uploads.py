"""Uploaded files: in the temporary folder once a page has them, and gone when none shows them any more.

Streamlit keeps the bytes of every upload in memory for as long as a session lives, whether or not anything reads them.
Here the page writes them to a file without a name, and hands Streamlit an empty one in their place.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile, UploadedFileRec

from calib.data.findings import MAX_UPLOAD, megabytes
from calib.ui.server.guard import takes_uploads
from calib.ui.server.memory import MOST_OF_ONE, admit
from calib.ui.session import find_visitor

T = TypeVar("T")

LARGEST = max(1, MAX_UPLOAD // 2**20)
"""Of one file, in Streamlit's unit; an uploader that is given it says so and refuses what is larger by itself."""
LEAST = 16_000_000
"""Bytes that a file counts at least: it takes one of the files that a process may have open."""
HELD = "upload/held"
"""The visitor's files by Streamlit's name, in Streamlit's session state; None for one that found no room."""


class StoredUpload(io.BufferedReader):
    """An uploaded file on disk, to be read; it has no name there and is gone with this object.

    Attributes
    ----------
    file_id : tells it from every other upload.
    filename : as the visitor's browser called it.
    size : its bytes.
    key : of the widget that shows it.
    result : what a page keeps of what it read, as long as the file is there.
    """

    def __init__(self, descriptor: int, file: UploadedFile, key: str):
        super().__init__(io.FileIO(descriptor, "rb"))
        self.file_id = file.file_id
        self.filename = file.name
        self.size = file.size
        self.key = key
        self.result: Any = None

    def __del__(self) -> None:
        self.close()

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Keep what ``build`` makes of the file, if the visitor has room for it.

        Raises
        ------
        DataError
            If with it the visitor would hold too much.
        """
        if self.result is None or self.result[0] != key:
            self.result = None
            result = key, build()
            admit(find_visitor(), all_results(), result)
            self.result = result
        value: T = self.result[1]
        return value


def uploaders(
    label: str, key: str, help: str | None = None, several: bool = True
) -> list[StoredUpload]:
    """A place for files of at most :data:`LARGEST` MB, and those that were put there, each at its beginning."""
    if not takes_uploads(st.context.headers.get("Host", "")):
        st.info(
            "This server reads files of its own machine alone: its system cannot isolate the process that reads them."
        )
        return []
    value = st.file_uploader(
        label, key=key, help=help, accept_multiple_files=several, max_upload_size=LARGEST
    )
    uploads: dict[str, StoredUpload | None] = st.session_state.setdefault(HELD, {})
    current = _files(value)
    for file in current:
        if file.file_id not in uploads:
            uploads[file.file_id] = _stored(
                file, key, sum(max(other.size, LEAST) for other in uploads.values() if other)
            )
    present = [uploads[file.file_id] for file in current]
    if None in present:
        st.error(
            f"There is no room for this file: your uploaded files may take {megabytes(MOST_OF_ONE)} together (each at "
            f"least {megabytes(LEAST)}), or the server's disk is full. Remove files that you no longer need, or try "
            "again in some minutes.",
            icon=":material/error:",
        )
    if _files(st.session_state[key], DeletedFile):
        st.error(
            "A file waited for more than a minute for this page and was dropped. Remove it and upload it again."
        )
    stored = [file for file in present if file is not None]
    for upload in stored:
        upload.seek(0)
    return stored


def uploader(label: str, key: str, help: str | None = None) -> StoredUpload | None:
    """The same for one file."""
    return next(iter(uploaders(label, key, help, several=False)), None)


def all_results() -> list[Any]:
    """Results that pages keep of what they read of the visitor's files."""
    return [
        stored.result for stored in st.session_state.get(HELD, {}).values() if stored is not None
    ]


def forget_unshown() -> None:
    """Drop the visitor's files whose uploader is empty or on a page that was left; called on every run."""
    uploads: dict[str, StoredUpload | None] = st.session_state.get(HELD, {})
    for file_id, stored in list(uploads.items()):
        if stored is not None and file_id not in [
            file.file_id for file in _files(st.session_state.get(stored.key))
        ]:
            del uploads[file_id]


def _files(value: Any, kind: type = UploadedFile) -> list[Any]:
    """The files among the value of an uploader."""
    return [
        file for file in (value if isinstance(value, list) else [value]) if isinstance(file, kind)
    ]


def _stored(file: UploadedFile, key: str, used: int) -> StoredUpload | None:
    """Take a file out of Streamlit's memory to disk; None where there is no room beside so many bytes."""
    try:
        if used + max(file.size, LEAST) > MOST_OF_ONE:
            return None
        with tempfile.TemporaryFile() as copy:
            copy.write(file.getbuffer())
            copy.flush()
            return StoredUpload(os.dup(copy.fileno()), file, key)
    except OSError:
        return None
    finally:
        context: Any = get_script_run_ctx()
        empty = UploadedFileRec(file.file_id, file.name, file.type, b"")
        context.uploaded_file_mgr.add_file(context.session_id, empty)
        for other in _files(st.session_state.get(key)):  # of which pages are given copies
            if other.file_id == file.file_id:
                other.truncate(0)
