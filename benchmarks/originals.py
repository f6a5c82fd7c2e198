"""One small valid upload of each format, with features and a training set in the formats that hold them."""

from __future__ import annotations

import gzip
import io
import json
from functools import cache
from typing import Any

import numpy as np

Files = dict[str, tuple[str, bytes]]

ENDINGS = (".npz", ".npy", ".csv", ".tsv", ".csv.gz", ".parquet", ".h5", ".pkl", ".txt", ".xlsx", ".zip", "",
           ".json", ".jsonl", ".jsonl.gz", ".arrow", ".feather")  # fmt: skip


@cache
def originals() -> dict[str, Files]:
    """(name, bytes) by argument of :func:`calib.data.inspect`, for each format."""
    import h5py
    import pandas as pd
    import pyarrow as pa

    generator = np.random.default_rng(11)
    logits = generator.normal(size=(300, 4)) * 2
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    features, train = generator.normal(size=(300, 3)), generator.normal(size=(40, 3))
    more = {"features": features, "train_features": train, "train_labels": np.arange(40) % 4}
    arrays = {"logits": logits, "labels": labels, **more}
    plain, packed, hdf5, parquet = (io.BytesIO() for _ in range(4))
    np.savez(plain, allow_pickle=False, **arrays, class_names=list("abcd"))
    np.savez_compressed(packed, allow_pickle=False, logits=logits, labels=labels)
    with h5py.File(hdf5, "w") as file:
        file.create_dataset("logits", data=logits, chunks=(50, 4), compression="gzip", shuffle=True)
        file["class_names"] = list("abcd")
        for name in ("labels", "features", "train_features", "train_labels"):
            file[name] = arrays[name]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    table = pd.DataFrame(probs, columns=[f"p_{name}" for name in "abcd"])
    table["label"] = np.array(list("abcd"))[labels]
    table["feature_0"], table["feature_1"] = features[:, 0], features[:, 1]
    table.to_parquet(parquet, index=False)
    text = table.to_csv(index=False).encode()
    lines = table.to_json(orient="records", lines=True).encode()
    by_class = [
        {"probs": dict(zip("abcd", p, strict=True)), "label": "abcd"[k]}
        for p, k in zip(probs, labels, strict=True)
    ]
    scored = [
        [{"label": name, "score": p} for name, p in zip("abcd", row, strict=True)] for row in probs
    ]
    arrow = pa.Table.from_pandas(table)
    return {
        "npz": {"source": ("outputs.npz", plain.getvalue())},
        "npz, packed": {"source": ("outputs.npz", packed.getvalue())},
        "npy": {"source": ("logits.npy", npy(logits)), "labels": ("labels.npy", npy(labels))},
        "csv": {"source": ("outputs.csv", text)},
        "tsv": {"source": ("outputs.tsv", table.to_csv(index=False, sep="\t").encode())},
        "csv.gz": {"source": ("outputs.csv.gz", gzip.compress(text, mtime=0))},
        "parquet": {"source": ("outputs.parquet", parquet.getvalue())},
        "hdf5": {"source": ("outputs.h5", hdf5.getvalue())},
        "csv, decimal comma": {"source": ("outputs.csv", written(table))},
        "xlsx": {"source": ("outputs.xlsx", workbook(table))},
        "jsonl": {"source": ("outputs.jsonl", lines)},
        "jsonl.gz": {"source": ("outputs.jsonl.gz", gzip.compress(lines, mtime=0))},
        "json": {"source": ("outputs.json", json.dumps(by_class, indent=1).encode())},
        "json, scored labels": {
            "source": ("pipeline.json", json.dumps(scored).encode()),
            "labels": ("labels.json", json.dumps(table["label"].tolist()).encode()),
        },
        "json, harness": {"source": ("samples.jsonl", harness(np.log(probs) - 9, labels))},
        "arrow": {"source": ("outputs.arrow", ipc(arrow, pa.ipc.new_file, "zstd"))},
        "arrow stream": {"source": ("outputs.arrow", ipc(arrow, pa.ipc.new_stream, "lz4"))},
    }


def npy(array: np.ndarray) -> bytes:
    """The bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def written(table: Any) -> bytes:
    """A text table with semicolons, decimal commas, percent signs and lines above its header."""
    shares = table.filter(like="p_").map(lambda p: f"{100 * p:.9f} %".replace(".", ","))
    return (
        b"# outputs of June\n# 300 rows\n"
        + table.assign(**shares).to_csv(index=False, sep=";", decimal=",").encode()
    )


def workbook(table: Any) -> bytes:
    """A sheet with the table, beside one with notes."""
    import openpyxl

    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [table.columns, *table.itertuples(index=False)]:
        book.active.append(list(row))
    book.create_sheet("Notes").append(["outputs of June"])
    book.save(out)
    return out.getvalue()


def harness(logits: np.ndarray, labels: np.ndarray) -> bytes:
    """Samples as lm-evaluation-harness logs them, with its log-likelihoods as text."""
    samples = (
        {
            "doc_id": i,
            "doc": {"choices": list("abcd")},
            "target": str(k),
            "filtered_resps": [[str(v), "False"] for v in row],
        }
        for i, (row, k) in enumerate(zip(logits, labels, strict=True))
    )
    return "".join(json.dumps(sample) + "\n" for sample in samples).encode()


def ipc(table: Any, writer: Any, compression: str) -> bytes:
    """The bytes of an Arrow file or stream."""
    import pyarrow as pa

    out = io.BytesIO()
    with writer(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as made:
        made.write_table(table, max_chunksize=128)
    return out.getvalue()
