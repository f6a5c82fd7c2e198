"""Calibrate a model's outputs with ``calibrator.npz``; this file needs Python and NumPy alone.

From Python::

    from predict import load
    calibrator = load("calibrator.npz")
    probs = calibrator.calibrate(outputs)      # what the model writes, as it was uploaded -> (n, n_classes)

or from a shell, on a table or on arrays: ``python predict.py new.csv --out calibrated.csv``. The npz holds numbers and
text, of which nothing is run or unpickled. It says what to compute as a list of steps, whose words stand in ``STEPS``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np

FORMAT = 1
LARGEST = 2**30  # bytes that a calibrator may unpack to
TINY = np.finfo(np.float64).tiny
ONE_COLUMN = ("binary_log_odds", "binary_probability", "pairs")  # kinds of outputs that are a single column


class Refused(ValueError):
    """A file or outputs that cannot be used; the message says why."""


# -- the steps: each takes x, (n, m) numbers, and gives numbers with as many rows -------------------------------------


def run(steps, x):
    """What a list of steps makes of x; each takes what the one before it gave."""
    with np.errstate(all="ignore"):
        for step in steps:
            options = dict(step)
            x = STEPS[options.pop("step")](x, **options)
    return x


def log_softmax(x):
    """Log-probabilities of each row."""
    below = x - x.max(axis=1, keepdims=True)
    return below - np.log(np.exp(below).sum(axis=1, keepdims=True))


def softmax(x, among=None, kept=None):
    """Probabilities of each row; or ``kept`` columns are log-probabilities, and those ``among`` share the rest."""
    if kept is not None:
        probs = np.exp(x)
        probs[:, among] = softmax(x[:, among]) * np.maximum(1.0 - probs[:, kept].sum(axis=1, keepdims=True), 0.0)
        return probs
    odds = np.exp(x - x.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def piecewise(x, breaks, origins, coefficients, sizes=None):
    """``sum_d coefficients[d, i] (x - origins[i])^d``, where i of the breaks are at or below x.

    With ``sizes``, each column's number of breaks, every column has a map of its own, one behind the other.
    """
    if sizes is not None:
        result, start = np.empty(x.shape), 0
        for k, size in enumerate(sizes):
            here, own = slice(start, start + size), slice(start + k, start + size + k + 1)
            result[:, k] = piecewise(x[:, k], breaks[here], origins[own], coefficients[:, own])
            start += size
        return result
    i = np.searchsorted(breaks, x, side="right")
    along, result = x - origins[i], coefficients[-1][i]
    for row in coefficients[-2::-1]:
        result = result * along + row[i]
    return result


def mix(x, weights, parts):
    """Weighted sum of what several lists of steps make of x."""
    return sum(weight * run(steps, x) for weight, steps in zip(weights, parts, strict=True))


def columns(x, of, parts):
    """Columns from several lists of steps: those with the numbers ``of[i]`` from ``parts[i]``."""
    result = np.empty(x.shape)
    for which, steps in zip(of, parts, strict=True):
        result[:, which] = run(steps, x)[:, which]
    return result


def log_odds(x):
    """Log-odds of each class against the rest, from logits without losing digits near 0 and 1."""
    top = np.arange(len(x)), x.argmax(axis=1)
    below = x - x[top][:, None]
    below[top] = -np.inf
    rest = np.logaddexp.reduce(below, axis=1)
    result = below - np.log1p(np.maximum(np.exp(rest)[:, None] - np.exp(below), 0.0))
    result[top] = np.maximum(-rest, result.max(axis=1))
    return result


def one_vs_rest(x, steps, normalised=True):
    """Each class's log-odds against the rest through ``steps``; a row of zeros becomes the softmax of x."""
    probs = run(steps, log_odds(x))
    total = probs.sum(axis=1, keepdims=True)
    empty = total < TINY
    probs = np.where(empty, softmax(x), probs)
    return probs / np.where(empty, 1.0, total) if normalised else probs


def top(x, steps):
    """The log-odds of the predicted class through ``steps``; the others share the rest in proportion, none above it."""
    best = np.arange(len(x)), x.argmax(axis=1)
    held = np.zeros(x.shape, dtype=bool)
    held[best] = True
    odds = x[best] - np.logaddexp.reduce(np.where(held, -np.inf, x), axis=1)
    most = np.clip(run(steps, odds[:, None]), 1.0 / x.shape[1], 1.0)
    for _ in range(x.shape[1]):  # classes that would get more than the predicted one are held at its confidence
        free = np.where(held, -1e300, x)
        shares = np.where(held, 0.0, softmax(free))
        left = np.maximum(1.0 - most * held.sum(axis=1, keepdims=True), 0.0)
        probs = np.where(held, most, left * shares)
        over = probs > most * (1 + 1e-12)
        if not over.any():
            break
        held |= over
    tied = x == x[best][:, None]  # equally large logits get equal probabilities
    return np.where(tied, probs.mean(axis=1, keepdims=True, where=tied), probs)


def ranks(x, weights):
    """Each row sorted, its gaps times ``weights``, its largest at 0; back in the order of the classes."""
    order = np.argsort(-x, axis=1, kind="stable")
    ranked, result = np.take_along_axis(x, order, axis=1), np.zeros(x.shape)
    ranked[:, 1:] = np.cumsum(np.diff(ranked, axis=1) * weights, axis=1)
    ranked[:, 0] = 0.0
    np.put_along_axis(result, order, ranked, axis=1)
    return result


def draws(x, growth, low, spacing, order, of_probabilities=False):
    """Mean over functions a of the softmax of x + a(t), where t is x or its softmax.

    ``growth`` (n_nodes, n_draws) is exp(a) at nodes that begin at ``low``; between these it is a polynomial of the
    ``order`` 1 or 3 through the nearest.
    """
    at = np.clip(((softmax(x) if of_probabilities else x) - low) / spacing, 0.0, len(growth) - 1.0)
    first, near = np.clip(at.astype(int) - order // 2, 0, len(growth) - 1 - order), range(order + 1)
    weights = [np.prod([(at - first - j) / (i - j) for j in near if j != i], axis=0) for i in near]
    odds = np.exp(x - x.max(axis=1, keepdims=True))[..., None]
    odds = odds * sum(weights[i][..., None] * growth[first + i] for i in near)
    return (odds / odds.sum(axis=1, keepdims=True)).mean(axis=2)


STEPS = {
    "affine": lambda x, scale=1.0, offset=0.0: x * scale + offset,
    "matrix": lambda x, matrix, offset=0.0: x @ matrix.T + offset,
    "log": lambda x: np.log(np.maximum(x, 0.0)),  # -inf of 0, and of what rounding took below it
    "finite": lambda x, low: np.where(x == -np.inf, low, x),
    "log_sigmoid": lambda x: -np.logaddexp(0.0, -x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),
    "normalise": lambda x: x / x.sum(axis=1, keepdims=True),
    **{f.__name__: f for f in (log_softmax, softmax, piecewise, mix, columns, one_vs_rest, top, ranks, draws)},
}


def probabilities(steps, logits):
    """What the steps of a calibrator make of logits, (n, m), in blocks of rows."""
    probs, size = np.empty(logits.shape), max(1, 20_000 // logits.shape[1])
    try:
        for start in range(0, len(logits), size):
            probs[start : start + size] = run(steps, logits[start : start + size])
    except Exception as error:
        raise Refused(f"The calibrator cannot be computed ({type(error).__name__}); export it again.") from error
    if not ((probs >= 0) & (probs <= 1 + 1e-9)).all():
        raise Refused("The calibrator gives no probabilities: its file was damaged or changed; export it again.")
    return probs


# -- a calibrator -----------------------------------------------------------------------------------------------------


class Calibrator:
    """What a calibrator.npz holds: ``record`` has all of it by name. Outputs are given as they were uploaded."""

    def __init__(self, record):
        self.record = record
        rows = np.zeros((5, record["n_columns"]))
        rows[1:, 0] = 1.0, -3.0, 40.0, -1e6
        sums = probabilities(record["steps"], rows).sum(axis=1)  # steps that give no probabilities are refused here
        if "rows sum to one" in record["promises"] and np.abs(sums - 1.0).max() > 1e-6:
            raise Refused("The calibrator's rows do not sum to one, as its method's do; export it again.")

    def calibrate(self, outputs, kind=None):
        """Calibrated probabilities (n, n_classes); of answers with one confidence each the calibrated ones, (n,).

        Of the top k of very many classes outputs are (n, k + 1), the last column the log-sum of the other logits.
        Outputs that look like another kind than the calibrator takes are refused, unless ``kind`` says what they are.
        """
        probs = probabilities(self.record["steps"], self.logits(outputs, kind))
        return probs[:, 1] if self.record["kind"] == "pairs" else probs

    def predict(self, outputs, kind=None):
        """Number of the most probable class of each row; of equal ones that with the larger output."""
        logits = self.logits(outputs, kind)
        probs = probabilities(self.record["steps"], logits)
        return np.where(probs == probs.max(axis=1, keepdims=True), logits, -np.inf).argmax(axis=1)

    def decide(self, outputs, kind=None):
        """Number of each row's action by the file's own rule; -1 hands a row over. ``record["actions"]`` has names."""
        rule, probs = self._held("decision"), probabilities(self.record["steps"], self.logits(outputs, kind))
        if rule["rule"] == "cut":
            return (probs[:, rule["column"]] >= rule["cut"]).astype(int)
        if rule["rule"] == "costs":
            costs = probs / probs.sum(axis=1, keepdims=True) @ rule["costs"]
            return np.where(costs.min(axis=1) > rule.get("hand_over", np.inf), -1, costs.argmin(axis=1))
        pairs = self.record["kind"] == "pairs"
        confidence = probs[:, 1] if pairs else probs.max(axis=1)
        return np.where(confidence >= rule["threshold"], 1 if pairs else self.predict(outputs, kind), -1)

    def prediction_sets(self, outputs, kind=None):
        """Which classes are in the set of each row, (n, n_classes) booleans: those that are not too improbable."""
        sets, probs = self._held("sets"), probabilities(self.record["steps"], self.logits(outputs, kind))
        if sets["score"] != "lac":
            raise Refused("Sets of APS and RAPS, which are drawn at random, need calib: load the pickle.")
        inside = 1.0 - probs / probs.sum(axis=1, keepdims=True) <= sets["quantiles"] + 1e-15
        if not sets["allow_empty"]:
            inside[np.arange(len(probs)), probs.argmax(axis=1)] = True
        return inside

    def logits(self, outputs, kind=None):
        """Outputs as (n, n_columns) logits, on which the steps begin."""
        own, (low, high) = self.record["kind"], self.record["range"]
        if hasattr(outputs, "iloc"):  # a DataFrame
            outputs = outputs.iloc[:, places(self.record, [*map(str, outputs.columns)])]
        x, width = np.asarray(outputs), 1 if own in ONE_COLUMN else self.record["n_columns"]
        x = x[:, None] if x.ndim == 1 and width == 1 else x
        if x.dtype.kind not in "fiub" or x.ndim != 2 or x.shape[1] != width or kind not in (None, own):
            got = f"{x.dtype} of shape {x.shape}" if kind in (None, own) else kind
            raise Refused(f"The calibrator takes {own}, (n, {width}) numbers; got {got}.")
        x = x.astype(np.float64)
        good = ((x >= low) & (x <= high)).all(axis=1)
        if not good.all():
            raise Refused(f"{(~good).sum():,} of {len(x):,} rows hold NaN, or numbers that are no {own} of this scale.")
        plain = run(self.record["to_plain"], x)
        look, off = self.record["look"], np.abs(plain.sum(axis=1) - 1.0)
        if kind is None and width > 1 and len(x) > 1:
            if look == own == "probabilities" and (off > 0.05).mean() > 0.5:
                raise Refused(f"In {(off > 0.05).sum():,} of {len(x):,} rows probabilities do not sum to one.")
            if own == "logits" and look != "probabilities" and off.max() < 1e-3 and plain.min() >= 0:
                raise Refused(
                    "All rows sum to one, like probabilities; give logits, or say by --kind logits that they are."
                )
        return run(self.record["to_logits"], plain)

    def _held(self, what):
        if self.record[what] is None:
            raise Refused(f"This calibrator's file holds no {what}; export it with {what}=.")
        return self.record[what]


# -- files ------------------------------------------------------------------------------------------------------------


def load(file):
    """The calibrator in an npz, given by its path or as an open binary file; damaged and forged ones are refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST:
                raise Refused("The file unpacks to more than 1 GB, which no calibrator does.")
        if hasattr(file, "seek"):
            file.seek(0)
        with np.load(file, allow_pickle=False) as npz:
            return from_arrays({name: npz[name] for name in npz.files})
    except (Refused, OSError):
        raise
    except Exception as error:
        raise Refused(f"This is no calibrator, or a damaged one ({type(error).__name__}); export it again.") from error


def _load_pyfunc(folder):
    """A model for ``mlflow.pyfunc``; its ``predict`` gives the calibrated probabilities."""
    calibrator = load(Path(folder) / "calibrator.npz")
    calibrator.predict = lambda model_input, params=None: calibrator.calibrate(model_input)
    return calibrator


def from_arrays(arrays):
    """A calibrator from the arrays of its file, which are changed."""
    text, seal = arrays.pop("record").tobytes(), arrays.pop("sha256").tobytes()
    if digest(text, arrays) != seal:
        raise Refused("The calibrator's checksum does not match: the file was damaged or changed; export it again.")
    record = json.loads(text.decode())
    json.dumps(record, ensure_ascii=False).encode()  # fails for half a two-part character, which nothing can show
    if record["format"] != FORMAT:
        raise Refused(f"The calibrator has format {record['format']}, and this predict.py reads {FORMAT}.")
    made = _with_arrays(record, arrays)
    if arrays:
        raise Refused(f"The calibrator's file holds {len(arrays):,} arrays that it does not name; it was changed.")
    return Calibrator(made)


def digest(text, arrays):
    """SHA-256 of a record and its arrays."""
    found = hashlib.sha256(text)
    for name, array in sorted(arrays.items()):
        found.update(f"\0{name} {array.dtype.str} {array.shape}\0".encode() + array.tobytes())
    return found.digest()


def _with_arrays(value, arrays):
    if isinstance(value, list):
        return [_with_arrays(each, arrays) for each in value]
    if isinstance(value, dict):
        return (
            arrays.pop(value["$array"]) if "$array" in value else {k: _with_arrays(v, arrays) for k, v in value.items()}
        )
    return value


def places(record, names):
    """Which columns of a table are the outputs, in the calibrator's order, by their names."""
    classes = record["class_names"]
    found = [name.split(classes[0], 1) for name in names if classes[0] and classes[0] in name]
    for wanted in ([*record["columns"]], *([start + name + end for name in classes] for start, end in found)):
        if wanted and all(names.count(name) == 1 for name in wanted):
            return [names.index(name) for name in wanted]
    raise Refused(
        f"None of the columns {', '.join(names)[:500]} are known outputs; name these with --columns (calib: --key)."
    )


def read_table(path):
    """Names of the columns and rows of a csv: utf-8 or latin-1; commas, semicolons, tabs or bars between the cells."""
    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    first = text.partition("\n")[0]
    longest = csv.field_size_limit(LARGEST)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t|", key=first.count))
        rows = [row for row in lines if row]
    finally:
        csv.field_size_limit(longest)
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise Refused(f"{Path(path).name} holds no table: a line of names, then rows with as many cells.")
    return rows[0], rows[1:]


def numbers(rows, which):
    """The numbers in some columns of a table, also with decimal commas."""
    try:
        return np.array([[float(row[i] if "." in row[i] else row[i].replace(",", ".")) for i in which] for row in rows])
    except ValueError as error:
        raise Refused(f"The columns of the outputs hold a cell that is no number: {str(error)[:200]}.") from None


def inert(cell):
    """A cell that no spreadsheet takes for a formula, also not behind a byte order mark or a semicolon in it."""
    if not isinstance(cell, str) or re.fullmatch(r"\s*[-+]?[\d.,]+([eE][-+]?\d+)?\s*", cell):
        return cell
    return re.sub(r"(^|;)(?=[\s\ufeff\"']*[=+\-@\t\r])", r"\1'", cell)


def read_outputs(calibrator, path, named):
    """The outputs in a file, with the names of columns and the rows where it is a table."""
    if path.suffix.lower() == ".csv":
        names, rows = read_table(path)
        which = [names.index(name) for name in named.split(",")] if named else places(calibrator.record, names)
        return numbers(rows, which), names, rows
    arrays = np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npy":
        return arrays, *numbered(len(arrays))
    if "values" in arrays and "rest" in arrays:  # the top k of very many classes
        outputs = np.column_stack([arrays["values"], arrays["rest"]])
    else:
        floats = [name for name in arrays.files if arrays[name].dtype.kind == "f"]
        if not named and len(floats) != 1:
            raise Refused(f"{path.name} holds {', '.join(arrays.files)}; name the outputs with --columns.")
        outputs = arrays[named or floats[0]]
    return outputs, *numbered(len(outputs))


def numbered(n):
    """The columns of a table whose rows have nothing but their numbers."""
    return ["row"], [[str(i)] for i in range(1, n + 1)]


def answers(calibrator, outputs, kind=None):
    """What the calibrator says of outputs, by name, as columns of a table and as arrays."""
    known, probs, predicted = calibrator.record, calibrator.calibrate(outputs, kind), calibrator.predict(outputs, kind)
    names, pairs = known["class_names"], known["kind"] == "pairs"
    if known["kind"] == "topk":
        names = [*map(str, range(1, known["n_columns"])), "rest"]
    arrays = {"confidence": probs} if pairs else {"probabilities": probs, "predicted": predicted}
    table = dict(arrays) if pairs else {f"p_{name}": probs[:, k] for k, name in enumerate(names)}
    if not pairs:
        table["predicted"] = [names[k] for k in predicted]
    if known["decision"] is not None:
        arrays["actions"] = calibrator.decide(outputs, kind)
        table["action"] = [known["actions"][str(action)] for action in arrays["actions"]]
    if known["sets"] is not None and known["sets"]["score"] == "lac":
        arrays["sets"] = calibrator.prediction_sets(outputs, kind)
        table["set"] = ["; ".join(names[k] for k in np.flatnonzero(row)) for row in arrays["sets"]]
    return arrays, table


def main(arguments=None):
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(description="Calibrate outputs of a model: a .csv, .npy or .npz.")
    parser.add_argument("outputs", type=Path, help="the table as it was uploaded: other columns are passed through")
    parser.add_argument("--out", type=Path, default="calibrated.csv", help=".csv or .npz to write")
    parser.add_argument("--columns", help="names of the outputs' columns, with commas between; or of the array")
    parser.add_argument("--kind", help="what the outputs are, where they look like something else")
    parser.add_argument("--calibrator", type=Path, default=Path(__file__).with_name("calibrator.npz"))
    given = parser.parse_args(arguments)
    try:
        calibrator = load(given.calibrator)
        outputs, names, rows = read_outputs(calibrator, given.outputs, given.columns)
        arrays, table = answers(calibrator, outputs, given.kind)
        if given.out.suffix.lower() == ".npz":
            np.savez(given.out, **arrays)
        else:
            more = [name + "_" * (name in names) for name in table]
            with given.out.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(map(inert, [*names, *more]))
                writer.writerows(
                    map(inert, [*row, *own]) for row, own in zip(rows, zip(*table.values(), strict=True), strict=True)
                )
    except (Refused, OSError, ValueError, KeyError) as error:
        print(re.sub(r"[^ -~]", "?", f"{type(error).__name__}: {error}"), file=sys.stderr)
        return 1
    print(re.sub(r"[^ -~]", "?", f"Wrote {len(rows):,} rows to {given.out}."))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
