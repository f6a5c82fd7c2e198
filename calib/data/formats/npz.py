"""Archives of NumPy arrays; sizes are checked in the directory and in each header before any array is read."""

from __future__ import annotations

from typing import BinaryIO

from calib.data.checks.report import Rejected
from calib.data.formats import numpy
from calib.data.formats.base import Array, Contents, reading
from calib.data.formats.zipped import COMPRESSIONS, open_zip
from calib.data.limits import Allowance, check_count


class NpzContents(Contents):
    """The .npy members of a zip archive."""

    def __init__(self, name: str, file: BinaryIO, allowance: Allowance):
        with reading(name):
            self._archive = open_zip(file)
        members = [m for m in self._archive.infolist() if m.filename.endswith(".npy")]
        check_count(len(members), "arrays", name)
        self._members = {member.filename.removesuffix(".npy"): member for member in members}
        self._headers = {}
        for key, member in self._members.items():
            what = f"{key} in {name}"
            if member.compress_type not in COMPRESSIONS or member.flag_bits & 0x1:
                raise Rejected(
                    "compression",
                    f"{what} is encrypted or packed in a way NumPy does not write.",
                    "Save it with numpy.savez_compressed.",
                )
            with reading(what), self._archive.open(member) as stream:
                self._headers[key] = header = numpy.read_header(stream, what)  # type: ignore[arg-type]
                # zipfile hands out file_size bytes at most, so the directory bounds what is unpacked.
                numpy.check_length(header, member.file_size - header.size, what)
        super().__init__(name, tuple(numpy.info(key, header) for key, header in self._headers.items()), allowance)

    def read(self, name: str) -> Array:
        """See the base class."""
        member, header, what = self._members[name], self._headers[name], f"{name} in {self.name}"
        with reading(what), self._archive.open(member) as stream:
            stream.read(header.size)
            return numpy.read_body(stream, header, what, self.allowance)  # type: ignore[arg-type]
