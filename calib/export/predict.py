"""Calibrate a model's outputs with ``calibrator.npz``; this file needs Python and NumPy alone.

From Python::

    from predict import load
    calibrator = load("calibrator.npz")
    probs = calibrator.calibrate(outputs)      # what the model writes, as it was uploaded -> (n, n_classes)

or from a shell, on a table or on arrays: ``python predict.py new.csv --out calibrated.csv``. The npz holds numbers and
text, of which nothing is run or unpickled. It says what to compute as a list of steps, whose words stand in ``STEPS``.
"""

import argparse
import codecs
import csv
import io
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

FORMAT = 1
LARGEST = 2**30  # bytes that a calibrator may unpack to
TINY = float(np.finfo(np.float64).tiny)
ONE_COLUMN = ("binary_log_odds", "binary_probability", "pairs")  # kinds of outputs that are a single column


class Refused(ValueError):
    """A file or outputs that cannot be used; the message says why."""


# -- the steps: each takes x, (n, m) numbers, and gives numbers with as many rows -------------------------------------


def run(steps, x):
    """What a list of steps makes of x; each takes what the one before it gave."""
    with np.errstate(all="ignore"):
        for step in steps:
            x = STEPS[step["step"]](x, **{name: value for name, value in step.items() if name != "step"})
    return x


def log_softmax(x):
    """Log-probabilities of each row."""
    below = x - x.max(axis=1, keepdims=True)
    return below - np.log(np.exp(below).sum(axis=1, keepdims=True))


def softmax(x, among=None, kept=None):
    """Probabilities of each row; or ``kept`` columns are log-probabilities, and those ``among`` share the rest."""
    probs = np.exp(x if kept is not None else x - x.max(axis=1, keepdims=True))
    if kept is None:
        return probs / probs.sum(axis=1, keepdims=True)
    probs[:, among] = softmax(x[:, among]) * np.maximum(1.0 - probs[:, kept].sum(axis=1, keepdims=True), 0.0)
    return probs


def piecewise(x, breaks, origins, coefficients, sizes=None):
    """``sum_d coefficients[d, i] (x - origins[i])^d``, where i of the breaks are at or below x.

    With ``sizes``, each column's number of breaks, every column has a map of its own, one behind the other.
    """
    if sizes is not None:
        ends = np.cumsum(sizes)
        own = [np.split(each, ends[:-1] + np.arange(1, len(ends)), -1) for each in (origins, coefficients)]
        maps = zip(x.T, np.split(breaks, ends[:-1]), *own, strict=True)
        return np.stack([piecewise(*each) for each in maps], axis=1)
    i = np.searchsorted(breaks, x, side="right")
    along, result = x - origins[i], coefficients[-1][i]
    for row in coefficients[-2::-1]:
        result = result * along + row[i]
    return result


def mix(x, weights, parts):
    """Sum of what several lists of steps make of x, each times a weight, or times a weight for each column."""
    return sum(weight * run(steps, x) for weight, steps in zip(weights, parts, strict=True))


def log_odds(x):
    """Log-odds of each class against the rest, from logits without losing digits near 0 and 1."""
    top = np.arange(x.shape[1]) == x.argmax(axis=1)[:, None]
    below = np.where(top, -np.inf, x - x.max(axis=1, keepdims=True))
    rest = np.logaddexp.reduce(below, axis=1)[:, None]
    result = below - np.log1p(np.maximum(np.exp(rest) - np.exp(below), 0.0))
    return np.where(top, np.maximum(-rest, result.max(axis=1, keepdims=True)), result)


def one_vs_rest(x, steps, normalised=True):
    """Each class's log-odds against the rest through ``steps``; a row of zeros becomes the softmax of x."""
    probs = run(steps, log_odds(x))
    probs = np.where(probs.sum(axis=1, keepdims=True) < TINY, softmax(x), probs)
    return probs / probs.sum(axis=1, keepdims=True) if normalised else probs


def top(x, steps):
    """The log-odds of the predicted class through ``steps``; the others share the rest in proportion, none above it."""
    held = np.arange(x.shape[1]) == x.argmax(axis=1)[:, None]
    odds = x[held] - np.logaddexp.reduce(np.where(held, -np.inf, x), axis=1)
    most = np.clip(run(steps, odds[:, None]), 1.0 / x.shape[1], 1.0)
    while True:  # classes that would get more than the predicted one are held at its confidence
        left = np.maximum(1.0 - most * held.sum(axis=1, keepdims=True), 0.0)
        probs = np.where(held, most, left * softmax(np.where(held, -1e300, x)))
        over = probs > most * (1 + 1e-12)
        if not over.any():
            break
        held |= over
    tied = x == x.max(axis=1, keepdims=True)  # equally large logits get equal probabilities
    return np.where(tied, probs.mean(axis=1, keepdims=True, where=tied), probs)


def ranks(x, weights):
    """Each row sorted, its gaps times ``weights``, its largest at 0; back in the order of the classes."""
    order = np.argsort(-x, axis=1, kind="stable")
    gaps, result = np.diff(np.take_along_axis(x, order, axis=1), axis=1) * weights, np.zeros(x.shape)
    np.put_along_axis(result, order[:, 1:], np.cumsum(gaps, axis=1), axis=1)
    return result


def draws(x, growth, low, spacing, order, of_probabilities=False):
    """Mean over functions a of the softmax of x + a(t), where t is x or its softmax.

    ``growth`` (n_nodes, n_draws) is exp(a) at nodes that begin at ``low``; between these it is a polynomial of the
    ``order`` 1 or 3 through the nearest.
    """
    at = np.clip(((softmax(x) if of_probabilities else x) - low) / spacing, 0.0, len(growth) - 1.0)
    first, near = np.clip(at.astype(int) - order // 2, 0, len(growth) - 1 - order), range(order + 1)
    weights = [np.prod([(at - first - j) / (i - j) for j in near if j != i], axis=0) for i in near]
    factor = sum(weights[i][..., None] * growth[first + i] for i in near)
    odds = np.exp(x - x.max(axis=1, keepdims=True))[..., None] * factor
    return (odds / odds.sum(axis=1, keepdims=True)).mean(axis=2)


STEPS = {
    "affine": lambda x, scale=1.0, offset=0.0: x * scale + offset,
    "matrix": lambda x, matrix, offset=0.0: x @ matrix.T + offset,
    "log": lambda x: np.log(np.maximum(x, 0.0)),  # -inf of 0, and of what rounding took below it
    "finite": lambda x, low: np.where(x == -np.inf, low, x),
    "log_sigmoid": lambda x: -np.logaddexp(0.0, -x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),
    "normalise": lambda x: x / x.sum(axis=1, keepdims=True),
    **{f.__name__: f for f in (log_softmax, softmax, piecewise, mix, one_vs_rest, top, ranks, draws)},
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

        Of the top k of very many classes outputs are the arrays ``values``, ``indices`` and ``rest`` by name, such as a
        loaded npz, and the last of the k + 1 probabilities is that of all other classes together. Outputs that look
        like another kind than the calibrator takes are refused, unless ``kind`` says what they are.
        """
        return next(iter(self.answer(outputs, kind).values()))

    def answer(self, outputs, kind=None):
        """All that the calibrator says of outputs, as arrays by name.

        ``probabilities`` and the number of the ``predicted`` class, or ``confidence``. Where the file holds a rule, the
        ``actions``, which ``record["actions"]`` names and of which -1 hands a row over. Where it holds prediction
        ``sets``, whether each class is in that of the row.
        Of the top k of very many classes also ``indices``; only these classes are predicted.
        """
        rule, sets, indices = self.record["decision"], self.record["sets"], None
        if self.record["kind"] == "topk":
            outputs, indices = self.top_k(outputs)
        logits = self.logits(outputs, kind)
        probs = probabilities(self.record["steps"], logits)
        named = probs if indices is None else probs[:, : indices.shape[1]]
        largest, shares = named.max(axis=1), probs / probs.sum(axis=1, keepdims=True)
        predicted = np.where(named == largest[:, None], logits[:, : named.shape[1]], -np.inf).argmax(axis=1)
        said = {"probabilities": probs, "predicted": predicted}
        if indices is not None:
            predicted = indices[np.arange(len(indices)), predicted]
            said |= {"predicted": predicted, "indices": indices}
        if self.record["kind"] == "pairs":  # "predicted" is that the answer is given
            largest, predicted = probs[:, 1], 1
            said = {"confidence": largest}
        if rule and rule["rule"] == "cut":
            said["actions"] = (probs[:, rule["column"]] >= rule["cut"]).astype(int)
        elif rule and rule["rule"] == "costs":
            costs = shares @ rule["costs"]
            said["actions"] = np.where(costs.min(axis=1) > rule.get("hand_over", np.inf), -1, costs.argmin(axis=1))
        elif rule:
            said["actions"] = np.where(largest >= rule["threshold"], predicted, -1)
        if sets:
            best = np.arange(probs.shape[1]) == probs.argmax(axis=1)[:, None]
            said["sets"] = (1.0 - shares <= sets["quantiles"] + 1e-15) | (best & (not sets["allow_empty"]))
        return said

    def top_k(self, outputs):
        """The arrays of the top k of very many classes as (n, n_columns) numbers, and the classes (n, k)."""
        n_columns, n_classes = self.record["n_columns"], len(self.record["class_names"])
        k = n_columns - (n_columns < n_classes)  # one column is of all other classes, where there are any
        wanted = ["values", "indices", "rest"][: 2 + n_columns - k]
        if not isinstance(outputs, Mapping) or not {*wanted} <= {*outputs}:
            raise Refused(f"The calibrator takes the top {k} of {n_classes:,} classes: arrays {', '.join(wanted)}.")
        values, indices, *rest = (np.asarray(outputs[name]) for name in wanted)
        inside = indices.dtype.kind in "iu" and ((indices >= 0) & (indices < n_classes)).all()
        if not inside or indices.shape != (len(values), k):
            raise Refused(f"indices must be classes from 0 to {n_classes - 1:,}, of shape ({len(values):,}, {k}).")
        return np.column_stack([values, *rest]), indices

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
        bad = (~((x >= low) & (x <= high)).all(axis=1)).sum()
        if bad:
            raise Refused(f"{bad:,} of {len(x):,} rows hold NaN, or numbers that are no {own} of this scale.")
        plain = run(self.record["to_plain"], x)
        why = doubt(x, plain, own, self.record["seen"]) if kind is None else ""
        if why:
            raise Refused(f"The calibrator takes {own}, but {why}; if they are {own}, say so by kind= (--kind {own}).")
        return run(self.record["to_logits"], plain)


def doubt(outputs, plain, kind, seen):
    """Why outputs, and the same on the plain scale, are probably of another kind than those seen; "" for no doubt."""
    n, look = len(plain), (seen or {}).get("look")
    if not n:
        return ""
    inside = outputs.min() >= 0 and outputs.max() <= 1
    off = np.abs((np.exp(plain) if kind == "log_probabilities" else plain).sum(axis=1) - 1.0)
    if kind == look and (off > 0.05).mean() > 0.5:
        return f"in {(off > 0.05).sum():,} of {n:,} rows the probabilities do not sum to one, as in all that it knows"
    if kind == "logits" and look != "probabilities" and inside and off.max() < 1e-3 and (seen or n > 1):
        return f"in all {n:,} rows the values sum to one, like probabilities; give the logits, before the softmax"
    if kind in ONE_COLUMN and seen and inside and ((seen["in_unit"] + 1) / (seen["rows"] + 2)) ** n < 1e-5:
        known = f"of the {seen['rows']:,} rows that it knows {seen['in_unit']:,} do"
        return f"all {n:,} rows lie between 0 and 1, like probabilities, and {known}"
    return ""


# -- files ------------------------------------------------------------------------------------------------------------


def load(file):
    """The calibrator in an npz, given by its path or as an open binary file; damaged and forged ones are refused."""
    try:
        content = io.BytesIO(Path(file).read_bytes()) if isinstance(file, str | Path) else file
        with np.load(content, allow_pickle=False) as npz:  # each member has a checksum
            if sum(member.file_size for member in npz.zip.infolist()) > LARGEST:
                raise Refused("The file unpacks to more than 1 GB, which no calibrator does.")
            return from_arrays(dict(npz))
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
    """A calibrator from the arrays of its file: the record, which is JSON, and what it names by ``$array``."""
    text = arrays.pop("record").tobytes()
    json.dumps(json.loads(text), ensure_ascii=False).encode()  # fails for half of a two-part character
    record = json.loads(text, object_hook=lambda each: arrays.pop(each["$array"]) if "$array" in each else each)
    if record["format"] != FORMAT:
        raise Refused(f"The calibrator has format {record['format']}, and this predict.py reads {FORMAT}.")
    if arrays:
        raise Refused(f"The calibrator's file holds {len(arrays):,} arrays that it does not name; it was changed.")
    return Calibrator(record)


def places(record, names):
    """Which columns of a table are the outputs, in the calibrator's order, by their names."""
    classes = record["class_names"]
    found = [name.split(classes[0], 1) for name in names if classes[0] and classes[0] in name]
    for wanted in ([*record["columns"]], *([start + name + end for name in classes] for start, end in found)):
        if wanted and all(names.count(name) == 1 for name in wanted):
            return [names.index(name) for name in wanted]
    raise Refused(
        f"None of the columns {', '.join(names)[:500]} are outputs; name these with --columns (calib: --key)."
    )


def read_outputs(record, path, named=None):
    """The outputs in a file, the names of its columns, and its rows; those of arrays have nothing but numbers.

    A csv is utf-8, utf-16 or latin-1, with commas, semicolons, tabs or bars between the cells, and maybe decimal commas
    where none separates cells. Which columns are the outputs, or which array of an npz is, may be ``named``.
    """
    if path.suffix.lower() != ".csv":
        outputs = np.load(path, allow_pickle=False)
        if path.suffix.lower() == ".npz" and {"values", "indices"} <= {*outputs}:  # the top k of very many classes
            return dict(outputs), ["row"], [[str(i + 1)] for i in range(len(outputs["values"]))]
        if path.suffix.lower() == ".npz":
            floats = [named] if named else [name for name in outputs if outputs[name].dtype.kind == "f"]
            if len(floats) != 1:
                raise Refused(f"{path.name} holds {', '.join(outputs)}; name the outputs with --columns.")
            outputs = outputs[floats[0]]
        return outputs, ["row"], [[str(i + 1)] for i in range(len(outputs))]
    content, limit = path.read_bytes(), csv.field_size_limit(LARGEST)
    try:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    mark = max(",;\t|", key=text.lstrip("\r\n").partition("\n")[0].count)
    names, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row] or [[]]
    csv.field_size_limit(limit)
    if not rows or any(len(row) != len(names) for row in rows):
        raise Refused(f"{path.name} holds no table: a line of names, then rows with as many cells.")
    names = [name.strip() for name in names]
    which = [names.index(name) for name in named.split(",")] if named else places(record, names)
    cells = [[row[i] for i in which] for row in rows]
    commas = [cell for row in cells for cell in row if "," in cell]
    if commas and (mark == "," or any("." in cell for row in cells for cell in row)):
        raise Refused(
            f"The outputs hold {commas[0][:40]!r}, whose comma may be a decimal sign or stand between thousands; write "
            "numbers with a decimal point and nothing between thousands."
        )
    try:
        return np.array([[cell.replace(",", ".") for cell in row] for row in cells]).astype(np.float64), names, rows
    except ValueError as error:
        raise Refused(f"The columns of the outputs hold a cell that is no number: {str(error)[:200]}.") from None


def as_columns(record, said):
    """What a calibrator says of rows as the columns of a table, by name."""
    names, table = record["class_names"], dict[str, object]()
    of_columns = [*range(1, said["indices"].shape[1] + 1), "rest"] if "indices" in said else names
    for name, array in said.items():
        if name == "probabilities":
            table |= {f"p_{each}": column for each, column in zip(of_columns, array.T, strict=False)}
        elif name == "indices":
            table |= {f"class_{j}": [names[k] for k in column] for j, column in enumerate(array.T, 1)}
        elif name == "actions":
            table["action"] = [record["actions"][str(action)] for action in array]
        elif name == "sets":
            table["set"] = ["; ".join(names[k] for k in np.flatnonzero(row)) for row in array]
        else:
            table[name] = [names[k] for k in array] if name == "predicted" else array
    return table


def inert(cell):
    """A cell that no spreadsheet takes for a formula, also not behind a byte order mark or a semicolon in it."""
    if not isinstance(cell, str) or re.fullmatch(r"\s*[-+]?[\d.,]+([eE][-+]?\d+)?\s*", cell):
        return cell
    return re.sub(r"(^|;)(?=[\s\ufeff\"']*[=+\-@\t\r])", r"\1'", cell)


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
        outputs, names, rows = read_outputs(calibrator.record, given.outputs, given.columns)
        said = calibrator.answer(outputs, given.kind)
        if given.out.suffix.lower() == ".npz":
            np.savez(given.out, **said)
        else:
            table = as_columns(calibrator.record, said)
            lines = [[*names, *(name + "_" * (name in names) for name in table)]]
            lines += [[*row, *own] for row, own in zip(rows, zip(*table.values(), strict=True), strict=True)]
            with given.out.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(map(inert, line) for line in lines)
    except Exception as error:  # one line for a missing file, one that says nonsense, and a name that is none
        sys.exit(re.sub(r"[^ -~]", "?", f"{type(error).__name__}: {error}"))
    print(re.sub(r"[^ -~]", "?", f"Wrote {len(rows):,} rows to {given.out}."))


if __name__ == "__main__":
    main()
