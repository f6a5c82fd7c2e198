"""The doors through which bytes from others come in, each held to its rules: what a fuzzer opens with anything.

One input is the content of a file and, in its last bytes, the door, the file's name and up to six choices made by hand.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import calib
from benchmarks.mutations import NAMES, Mutant
from benchmarks.originals import ENDINGS, originals
from calib.canonical import KINDS
from calib.data import Choices, DataError, Inspection, Predictions, inspect, load, read_features, read_outputs
from calib.data.options import WEIGHT_KINDS
from calib.decisions import AnswerAbove
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import rule_from_state, rule_state
from calib.diagnostics.shift_data import read_uploaded
from calib.engine import FitSpec
from calib.errors import CalibrationError
from calib.export import runtime
from calib.export.npz import to_npz
from calib.records import arrays_of, flatten, npz_of, parse, unflatten
from calib.store.arrays import Damaged
from calib.store.contents import Decided, Entry, Study, link_name

SECONDS, BYTES = 5.0, 2**30
"""Processor time that one input may take, and memory it may hold above an idle process."""

TAIL = 8
"""Bytes at the end of an input: the door, the name, six choices."""

TABLE = ("p_a", "p_b", "p_c", "p_d")
CHOSEN: dict[str, tuple[Any, ...]] = {
    "outputs": ("logits", "labels", "p_a", "nope", "", TABLE, TABLE[::-1], TABLE[:1], ()),
    "labels": ("labels", "label", "logits", "p_b", ""),
    "test_outputs": ("logits", ""),
    "test_labels": ("labels", ""),
    "split": ("labels", "label", "feature_0", ""),
    "groups": ("labels", "label", "logits", ("label", "split"), ""),
    "clusters": ("label", "labels", "logits", ""),
    "weights": ("feature_0", "label", "logits", ""),
    "times": ("feature_0", "label", "logits", ""),
    "predicted": ("label", "labels", ""),
    "ignore": (("label",), ("labels", "nope"), ()),
    "features": ("features", "logits", "class_names", ("feature_0", "feature_1"), ""),
    "train_features": ("train_features", "logits", "class_names", ""),
    "train_labels": ("train_labels", "labels", "logits", ""),
    "kind": tuple(KINDS),
    "weight_kind": tuple(WEIGHT_KINDS),
    "event": ("1", "p_a", "b", ""),
    "verbal": (("a=0.9", "b=.1"), ("a=2",), ("=",), ()),
    "class_names": (("a",), tuple("abcd"), tuple("aaaa"), ("=1+1", "<b>", "\x1b[2J", "x" * 10_000)),
    "label_values": ((0, 1, 2, 3), tuple("abcd"), (5,), (), (10**30, -1, 0, 1)),
    "drop_bad_rows": (True, False),
    "scale": ("percent", "counts", "odds", "log2", "int8", "plain", "nope", 500, 1e-300, -1.0, float("inf")),
    "standardise": (True, False),
    "floor": (0.1, 1e-300, -1.0, float("nan")),
    "delimiter": (";", "\t", " ", "::", "\n", '"', ""),
    "encoding": ("utf-8", "latin-1", "utf-16", "utf-7", "idna", "zip", "nope"),
    "decimal": (".", ",", "xx"),
    "header": (True, False),
    "sheet": ("Sheet", "nope"),
    "ids": ("label", "id", ""),
    "n_classes": (4, 100_000, 1, 10**12),
}
PICKS = [None, *((field, value) for field, values in CHOSEN.items() for value in values)]
"""What a byte of the tail can choose; mostly nothing."""

SHOWN_NAMES = [*(f"upload{ending}" for ending in ENDINGS), *(name.format("upload.npz") for name in NAMES)]


class Broken(Exception):
    """A rule that an input broke, in one line; ``place`` tells findings apart."""

    def __init__(self, place: str, what: str):
        super().__init__(what)
        self.place = place


def packed(content: bytes, door: str, name: str = "upload", choices: tuple[int, ...] = ()) -> bytes:
    """An input of the fuzzer."""
    at = SHOWN_NAMES.index(name) if name in SHOWN_NAMES else len(ENDINGS) - 1
    return content + bytes([list(DOORS).index(door), at, *choices, *[0] * (TAIL - 2 - len(choices))])


def unpacked(data: bytes) -> tuple[str, str, bytes, Choices]:
    """Door, file name, content and choices of an input."""
    tail = data[-TAIL:].rjust(TAIL, b"\0")
    picked = dict(filter(None, (PICKS[byte] if byte < len(PICKS) else None for byte in tail[2:])))
    door = list(DOORS)[tail[0] % len(DOORS)]
    return door, SHOWN_NAMES[tail[1] % len(SHOWN_NAMES)], data[:-TAIL], Choices(**picked)


def open_one(data: bytes, idle_bytes: int) -> None:
    """Open one input and hold it to the rules.

    Raises
    ------
    Broken
        If anything but the declared errors came out, or it took too long or too much memory.
    """
    door, name, content, choices = unpacked(data)
    started = time.process_time()
    try:
        DOORS[door](name, content, choices)
    except Broken:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        raise Broken(f"{door}: {place}", f"{place}: {str(error)[:200]!r}") from error
    seconds = time.process_time() - started
    if seconds > SECONDS:
        raise Broken(f"{door}: time", f"{seconds:.1f} s")
    if (held := peak_bytes() - idle_bytes) > BYTES:
        raise Broken(f"{door}: memory", f"{held / 1e6:,.0f} MB above idle")


def peak_bytes() -> int:
    """The most memory this process has held (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def read(role: str) -> Callable[[str, bytes, Choices], None]:
    """The Data page's door, with the file in one role and whole files in the others."""

    def door(name: str, content: bytes, choices: Choices) -> None:
        files = {role: (name, content)} if role == "source" else {"source": WHOLE, role: (name, content)}
        found = inspect(**files, choices=choices)
        if problem := wrong(found):
            raise Broken(f"{role}: {problem[:40]}", problem)
        if found.predictions is not None and len(found.predictions) > 4:
            in_words(lambda: found.predictions.split(0.5))

    return door


def wrong(found: Inspection) -> str:
    """What reading a file should not have given, if anything is."""
    if not found.predictions and not any(finding.level == "error" for finding in found.findings):
        return "neither data nor an error"
    return wrong_words(found.findings) or (wrong_data(found.predictions) if found.predictions else "")


def wrong_words(findings: tuple) -> str:
    """What is wrong with the findings' sentences, if anything is."""
    for finding in findings:
        if not finding.message.strip() or (finding.level == "error" and not finding.action.strip()):
            return f"{finding.code} says nothing"
        if len(finding.message) > 2000 or any(ord(c) < 32 and c != "\n" for c in finding.message):
            return f"{finding.code}: {len(finding.message):,} characters, or control characters"
    return ""


def wrong_data(data: Predictions) -> str:
    """The promise of Predictions that is broken, if one is."""
    if not np.isfinite(data.logits).all() or data.logits.shape != (len(data), data.n_classes):
        return "logits that are not finite, or of another shape"
    if data.labels.min() < 0 or data.labels.max() >= data.n_classes or len(data.class_names) != data.n_classes:
        return "labels beyond the classes"
    for array in (data.features, data.train_features):
        if array is not None and not np.isfinite(array).all():
            return "features that are not finite"
    return ""


def met(made: Mutant) -> tuple[str, str]:
    """``read`` or ``refused`` after every door that takes it, and what the readers should not have done."""
    choices = Choices(drop_bad_rows=True) if made.drop else None
    source = made.files["source"]
    aside = {role: file for role, file in made.files.items() if role != "source"}
    found = inspect(source, choices=choices, **aside)
    in_words(lambda: load(source, choices=choices, **aside))
    in_words(lambda: read_outputs(source))
    in_words(lambda: read_features(aside.get("features", source)))
    return "read" if found.predictions else "refused", wrong(found)


def in_words(opened: Callable[[], Any]) -> None:
    """Let the declared error pass, if it says something."""
    try:
        opened()
    except (DataError, CalibrationError, Damaged) as error:
        if not str(error).strip():
            raise Broken("silent", f"{type(error).__name__} without words") from None


def record(name: str, content: bytes, choices: Choices) -> None:
    """A calibrator's record, beside the arrays of a whole one."""
    sealed = exported() | {"record": np.frombuffer(content, np.uint8)}
    in_words(lambda: runtime.from_arrays(sealed))
    in_words(lambda: read_uploaded(("c.npz", io.BytesIO(npz_of(sealed)))))


def arrays(name: str, content: bytes, choices: Choices) -> None:
    """A calibrator's npz."""
    in_words(lambda: read_uploaded(("c.npz", io.BytesIO(content))))


def link(name: str, content: bytes, choices: Choices) -> None:
    """What a link says, and the entry that it leads to."""
    token = content.decode("utf-8", "replace")
    if (found := link_name(token)) is not None and len(found) != 64:
        raise Broken("link: id", repr(found))
    with suppress(ValueError):
        entry: Entry = unflatten(parse(token), {}, Entry)
        entry.keys()
        for decided in entry.decisions.values():
            in_words(partial(rule_from_state, decided.decision))
            in_words(partial(PredictionSets.from_state, decided.sets))


@cache
def exported() -> dict[str, np.ndarray]:
    """The arrays in the file of a fitted calibrator."""
    data = load(*originals()["npz"].values())
    made = calib.calibrator("isotonic").fit(data.logits, data.labels)
    return arrays_of(to_npz(runtime.ExportedCalibrator(made)))


WHOLE = originals()["npz, packed"]["source"]
ROLES = ("source", "labels", "test", "features", "train_features", "train_labels")
DOORS: dict[str, Callable[[str, bytes, Choices], None]] = {
    **{role: read(role) for role in ROLES},
    "load": lambda name, content, choices: in_words(lambda: load((name, content), choices=choices)),
    "outputs alone": lambda name, content, choices: in_words(lambda: read_outputs((name, content), choices)),
    "features alone": lambda name, content, choices: in_words(lambda: read_features((name, content), choices)),
    "record": record,
    "record's arrays": arrays,
    "link": link,
}


def seeds() -> dict[str, bytes]:
    """One input for each file of the originals in each role that it can have, and for each of the other doors."""
    found: dict[str, bytes] = {}
    for form, files in originals().items():
        for role, (name, content) in files.items():
            roles = ("source", "load", "outputs alone", "labels", "test") if role == "source" else (role,)
            for door in (*roles, "features alone") if "features" in form else roles:
                shown = f"upload{''.join(Path(name).suffixes)}"
                found[f"{form} as {door} {role}"] = packed(content, door, shown)
    record, content = exported()["record"].tobytes(), npz_of(exported())
    spec = FitSpec("isotonic", {"normalize": True}, "d", "Isotonic")
    study = Study(([["Isotonic", "isotonic", {}]], 100, 10, 0), "d", "Repeat on 10 splits")
    decided = Decided(rule_state(AnswerAbove(threshold=0.9)))
    about = {"name": "n", "choices": {"kind": "logits"}, "part": 0.5, "decisions": {spec.key: decided}}
    entry = json.dumps(flatten(Entry("v", "d" * 64, fits=(spec,), studies={"splits": study}, **about))[0]).encode()
    return found | {
        "record": packed(record, "record"),
        "record's arrays": packed(content, "record's arrays"),
        "link": packed(hashlib.sha256(b"").hexdigest()[:43].encode(), "link"),
        "entry": packed(entry, "link"),
    }
