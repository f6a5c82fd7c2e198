"""From bytes to a table or to arrays, with the field's own libraries.

An upload is read by a process that is thrown away (:mod:`calib.isolation`), which bounds what the bytes may do. Here
stands only what no library knows: nothing is unpickled, and nothing outside the file is followed.

- ``files``: recognises a file by its first bytes and opens it with one of the following.
- ``arrays``: HDF5, and arrays in memory, as :class:`~calib.data.read.base.Arrays`.
- ``table``: :class:`~calib.data.read.table.Table`, columns of numbers and text. It is made by ``columns`` from
  Parquet, Arrow and data frames, by ``text`` from csv and sheets, and by ``records`` from JSON and logs.
- ``numerals`` says how numbers are written, ``top_k`` reads the largest logits of very many classes as pairs.
- ``base``: what all of them share, and NumPy's own files, npz and npy.
"""
