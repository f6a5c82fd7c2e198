"""One small valid upload of each format, with features and a training set in the formats that hold them."""

from __future__ import annotations

import gzip
import io
from functools import cache

import numpy as np

Files = dict[str, tuple[str, bytes]]

ENDINGS = (".npz", ".npy", ".csv", ".tsv", ".csv.gz", ".parquet", ".h5", ".pkl", ".txt", ".xlsx", ".zip", "")


@cache
def originals() -> dict[str, Files]:
    """(name, bytes) by argument of :func:`calib.data.inspect`, for each format."""
    import h5py
    import pandas as pd

    generator = np.random.default_rng(11)
    logits = generator.normal(size=(300, 4)) * 2
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    features, train = generator.normal(size=(300, 3)), generator.normal(size=(40, 3))
    more = {"features": features, "train_features": train, "train_labels": np.arange(40) % 4}
    arrays = {"logits": logits, "labels": labels, **more}
    plain, packed, extra, hdf5, parquet = (io.BytesIO() for _ in range(5))
    np.savez(plain, allow_pickle=False, **arrays, class_names=list("abcd"))
    np.savez_compressed(packed, allow_pickle=False, logits=logits, labels=labels)
    np.savez(extra, allow_pickle=False, **more)
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
    whole = ("outputs.npz", packed.getvalue())
    return {
        "npz": {"source": ("outputs.npz", plain.getvalue())},
        "npz, packed": {"source": whole},
        "npy": {"source": ("logits.npy", npy(logits)), "labels": ("labels.npy", npy(labels))},
        "csv": {"source": ("outputs.csv", text)},
        "tsv": {"source": ("outputs.tsv", table.to_csv(index=False, sep="\t").encode())},
        "csv.gz": {"source": ("outputs.csv.gz", gzip.compress(text, mtime=0))},
        "parquet": {"source": ("outputs.parquet", parquet.getvalue())},
        "hdf5": {"source": ("outputs.h5", hdf5.getvalue())},
        "features, npz": {"features": ("more.npz", extra.getvalue()), "source": whole},
        "features, npy": {
            "features": ("features.npy", npy(features)),
            "train_features": ("train_features.npy", npy(train)),
            "train_labels": ("train_labels.npy", npy(np.arange(40) % 4)),
            "source": whole,
        },
    }


def npy(array: np.ndarray) -> bytes:
    """The bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()
