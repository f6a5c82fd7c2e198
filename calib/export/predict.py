"""Calibrate a model's outputs with ``calibrator.npz``; this file needs Python and NumPy alone.

From Python::

    from predict import load
    probs = load("calibrator.npz").predict_proba(outputs)  # what the model writes, as it was uploaded -> (n, n_classes)

or from a shell, on a table or on arrays: ``python predict.py new.csv --out calibrated.csv``. The npz holds numbers and
text, of which nothing is run or unpickled. It says what to compute as a list of steps, whose words stand in ``STEPS``.
"""

import argparse
import csv
import io
import json
import re
import sys
from pathlib import Path

import numpy as np

FORMAT = 1
LARGEST = 2**30  # characters of a cell
MOST_STEPS = 80  # of a calibrator, those inside others counted; the longest export has 48
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
CODE_PAGES = ("cp1252", "cp1251", "cp932", "gb18030", "big5", "cp949")
PREFIXES = ("", "logit_", "logits_", "p_", "prob_", "score_")  # before the names of classes
ENDINGS = (".csv", ".jsonl", ".npz")


class Refused(ValueError):
    """A file or outputs that cannot be used; the message says why."""


def run(steps, x):
    """Apply a list of steps to x, (n, m) numbers; each takes the result of the one before it."""
    with np.errstate(all="ignore"):
        for step in steps:
            x = STEPS[step["step"]](
                x, **{name: value for name, value in step.items() if name != "step"}
            )
    return x


def softmax(x, among=None, kept=None):
    """Probabilities of each row; or ``kept`` columns are log-probabilities, and those ``among`` share the rest."""
    probs = np.exp(x if kept is not None else x - x.max(axis=1, keepdims=True))
    if kept is None:
        return probs / probs.sum(axis=1, keepdims=True)
    probs[:, among] = softmax(x[:, among]) * np.maximum(
        1.0 - probs[:, kept].sum(axis=1, keepdims=True), 0.0
    )
    return probs


def piecewise(x, breaks, origins, coefficients):
    """``sum_d coefficients[d, i] (x - origins[i])^d``, where i of the breaks are at or below x.

    Or each column has a map of its own: breaks (m, n), origins (m, n + 1), and coefficients (degree + 1, m, n + 1).
    """
    if breaks.ndim > 1:
        maps = zip(x.T, breaks, origins, coefficients.swapaxes(0, 1), strict=True)
        return np.stack([piecewise(*arguments) for arguments in maps], axis=1)
    i = np.searchsorted(breaks, x, side="right")
    along = x - origins[i]
    result = coefficients[-1][i]
    for row in coefficients[-2::-1]:
        result = result * along + row[i]
    return result


def log_odds(x):
    """Log-odds of each class against the rest, from logits without losing digits near 0 and 1."""
    top = np.arange(x.shape[1]) == x.argmax(axis=1)[:, None]
    below = np.where(top, -np.inf, x - x.max(axis=1, keepdims=True))
    rest = np.logaddexp.reduce(below, axis=1)[:, None]
    result = below - np.log1p(np.maximum(np.exp(rest) - np.exp(below), 0.0))
    return np.where(top, np.maximum(-rest, result.max(axis=1, keepdims=True)), result)


def one_vs_rest(x, steps):
    """Each class's log-odds against the rest through ``steps``; a row of zeros becomes the softmax of x."""
    probs = run(steps, log_odds(x))
    return np.where(probs.sum(axis=1, keepdims=True) < np.finfo(float).tiny, softmax(x), probs)


def ranks(x, weights):
    """Each row sorted, its gaps times ``weights``, its largest at 0; back in the order of the classes."""
    order = np.argsort(-x, axis=1, kind="stable")
    gaps = np.diff(np.take_along_axis(x, order, axis=1), axis=1) * weights
    result = np.zeros(x.shape)
    np.put_along_axis(result, order[:, 1:], np.cumsum(gaps, axis=1), axis=1)
    return result


def draws(x, growth, low, spacing, order, of_probabilities=False):
    """Mean over functions a of the softmax of x + a(t), where t is x or its softmax.

    ``growth`` (n_nodes, n_draws) is exp(a) at nodes that begin at ``low``; between these it is a polynomial of the
    ``order`` 1 or 3 through the nearest.
    """
    at = np.clip(((softmax(x) if of_probabilities else x) - low) / spacing, 0.0, len(growth) - 1.0)
    first = np.clip(at.astype(int) - order // 2, 0, len(growth) - 1 - order)
    near = range(order + 1)
    weights = [np.prod([(at - first - j) / (i - j) for j in near if j != i], axis=0) for i in near]
    factor = sum(weights[i][..., None] * growth[first + i] for i in near)
    odds = np.exp(x - x.max(axis=1, keepdims=True))[..., None] * factor
    return (odds / odds.sum(axis=1, keepdims=True)).mean(axis=2)


STEPS = {
    "affine": lambda x, scale=1.0, offset=0.0: x * scale + offset,
    "matrix": lambda x, matrix, offset=0.0: x @ matrix.T + offset,
    "mix": lambda x, weights, parts: sum(
        w * run(steps, x) for w, steps in zip(weights, parts, strict=True)
    ),
    "log": lambda x: np.log(np.maximum(x, 0.0)),  # -inf of 0, and of what rounding took below it
    "cut": lambda x, depth: np.maximum(x, x.max(axis=1, keepdims=True) - depth),
    "finite": lambda x, low: np.where(x == -np.inf, low, x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),
    "log_sigmoid": lambda x: -np.logaddexp(0.0, -x),
    "log_softmax": lambda x: x - np.logaddexp.reduce(x, axis=1)[:, None],
    "normalise": lambda x: x / x.sum(axis=1, keepdims=True),
    **{f.__name__: f for f in (softmax, piecewise, one_vs_rest, ranks, draws)},
}


def departed(probs, by, groups):
    """Probabilities with the departure of each row's group from the shared map; an unknown group has none."""
    number = {name: j for j, name in enumerate(by["names"])}
    code = np.array([number.get(str(group), -1) for group in groups], dtype=int)
    inside = np.flatnonzero(code >= 0)
    moved = np.log(np.maximum(probs[inside], np.finfo(float).tiny))
    probs[inside] = softmax(moved * by["slopes"][code[inside], None] + by["offsets"][code[inside]])
    return probs


def probabilities(steps, logits, promises=(), by=None, groups=None):
    """Apply the steps of a calibrator to logits, (n, m), in blocks of rows, and then the departures of their groups."""
    probs = np.empty(logits.shape)
    size = max(1, 20_000 // logits.shape[1])
    try:
        for start in range(0, len(logits), size):
            probs[start : start + size] = run(steps, logits[start : start + size])
        if by and groups is not None:
            probs = departed(probs, by, groups)
    except Exception as error:
        raise Refused(
            f"The calibrator cannot be computed ({type(error).__name__}); export it again."
        ) from error
    off = np.abs(probs.sum(axis=1) - 1.0) if "rows sum to one" in promises else 0.0
    if not ((probs >= 0) & (probs <= 1 + 1e-9)).all() or np.any(off > 1e-6):
        raise Refused(
            "The calibrator gives no probabilities: its file was damaged or changed; export it again."
        )
    return probs


class Calibrator:
    """Calibrator of a calibrator.npz: ``record`` has all of it by name. Outputs are taken as they were uploaded."""

    def __init__(self, arrays):
        """Of the arrays in the file: the record, which is JSON, names the others by ``$array`` in their places."""
        text = arrays.pop("record").tobytes()
        plain = json.dumps(json.loads(text), ensure_ascii=False)
        plain.encode()  # fails for half of a two-part character
        if (count := plain.count('"step": ')) > MOST_STEPS:
            raise Refused(
                f"The calibrator has {count:,} steps, and no export over {MOST_STEPS}; export it again."
            )
        self.record = json.loads(
            text, object_hook=lambda x: arrays.pop(x["$array"]) if "$array" in x else x
        )
        if self.record["format"] != FORMAT or arrays:
            raise Refused(
                f"The file is not of format {FORMAT}, or holds arrays it does not name; export it again."
            )
        row = np.full((1, min(self.record["n_outputs"], len(self.record["class_names"]))), 0.5)
        group = [*self.record["groups"]["names"], ""][:1] if self.record["groups"] else None
        self.answer(
            np.clip(row, *self.record["range"]), self.record["kind"], group
        )  # refuses what cannot be computed

    def predict_proba(self, outputs, kind=None, groups=None):
        """Calibrated probabilities (n, n_classes); of answers with one confidence each (n, 2), wrong and correct.

        A calibrator with a map by group takes the ``groups`` of the rows, (n,).

        Outputs that look like another kind than the calibrator takes are refused, unless ``kind`` says what they are.
        """
        return self._probabilities(self.logits(outputs, kind), groups)

    def predict(self, outputs, kind=None, groups=None):
        """Most probable class of each row, (n,), as labels were given to the fit."""
        numbers = self._part("predicted", outputs, kind, groups)
        return np.array(self.record["classes"])[numbers] if self.record["classes"] else numbers

    def decide(self, outputs, kind=None, groups=None):
        """Action of each row by the file's rule, (n,): ``record["actions"]`` names them, -1 abstains."""
        return self._part("actions", outputs, kind, groups)

    def prediction_sets(self, outputs, kind=None, groups=None):
        """Membership of each class in the set of each row, (n, n_classes)."""
        return self._part("sets", outputs, kind, groups)

    def _probabilities(self, logits, groups):
        by = self.record["groups"]
        if by and np.shape(groups) != (len(logits),):
            raise Refused(
                f"The calibrator has a map by group: it needs the group of each of {len(logits):,} rows."
            )
        return probabilities(self.record["steps"], logits, self.record["promises"], by, groups)

    def _part(self, name, outputs, kind, groups):
        parts = self.answer(outputs, kind, groups)
        if name not in parts:
            raise Refused(f"The file holds no {name}; export it with them.")
        return parts[name]

    def answer(self, outputs, kind=None, groups=None):
        """Predictions, decisions and sets for outputs, as arrays by name.

        ``probabilities`` and the number of the ``predicted`` class, or ``confidence``. By the file's rule ``actions``,
        which ``record["actions"]`` names; -1 abstains. By its prediction ``sets`` whether each class is in one.
        """
        rule = self.record["decision"]
        sets = self.record["sets"]
        logits = self.logits(outputs, kind)
        probs = self._probabilities(logits, groups)
        largest = probs.max(axis=1)
        predicted = np.where(probs == largest[:, None], logits, -np.inf).argmax(axis=1)
        results = {"probabilities": probs, "predicted": predicted}
        if self.record["kind"] == "pairs":  # "predicted" is that the answer is given
            largest = probs[:, 1]
            predicted = 1
            results = {"confidence": largest}
        if rule and rule["rule"] == "cut":
            results["actions"] = (probs[:, rule["column"]] >= rule["cut"] - 1e-12).astype(int)
        elif rule:
            results["actions"] = np.where(largest >= rule["threshold"] - 1e-12, predicted, -1)
        if sets:
            shares = probs / probs.sum(axis=1, keepdims=True)
            best = np.arange(probs.shape[1]) == probs.argmax(axis=1)[:, None]
            results["sets"] = (1.0 - shares <= sets["quantiles"] + 1e-15) | (
                best & (not sets["allow_empty"])
            )
        return results

    def logits(self, outputs, kind=None):
        """Outputs as (n, n_columns) logits, on which the steps begin."""
        expected, (low, high) = self.record["kind"], self.record["range"]
        if hasattr(outputs, "iloc"):  # a DataFrame
            outputs = outputs.iloc[:, places(self.record, [*map(str, outputs.columns)])]
        x = np.asarray(outputs)
        width = self.record["n_outputs"]
        x = x.reshape(-1, 1) if x.ndim == width == 1 else x
        if (
            x.dtype.kind not in "fiub"
            or x.ndim != 2
            or x.shape[1] != width
            or kind not in (None, expected)
        ):
            raise Refused(
                f"The calibrator takes {expected}, (n, {width}) numbers; got {kind or x.dtype}, shape {x.shape}."
            )
        x = x.astype(np.float64)
        good = ((x >= low) & (x <= high)).all(axis=1)
        if not good.all():
            ends = f"{round(low, 2) + 0.0:g} to {round(high, 2):g}"
            beyond = "infinite numbers" if -low == high else f"numbers outside {ends}"
            raise Refused(
                f"{(~good).sum():,} of {len(x):,} rows (first: {good.argmin() + 1:,}) hold NaN or {beyond}; "
                f"the calibrator takes {expected}."
            )
        sums = np.abs(x.sum(axis=1) - 1) < 1e-3  # telling where numbers are few
        few = x.size < 10 and (width < 2 or not sums.all() or (x == np.round(x)).all())
        inside = 0.0 if few else ((x >= 0) & (x <= 1)).all(axis=1).mean()
        if kind is None and inside > self.record["in_unit"] + 0.5:  # of those fitted on so many do
            raise Refused(
                f"{inside:.0%} of rows look like probabilities; if they are {expected}, say so by kind={expected!r}."
            )
        return run(self.record["to_logits"], x)


def load(file):
    """The calibrator in an npz, given by its path or as an open binary file; damaged and forged ones are refused."""
    try:
        content = io.BytesIO(Path(file).read_bytes()) if isinstance(file, str | Path) else file
        with np.load(content, allow_pickle=False) as npz:  # each member has a checksum
            return Calibrator(dict(npz))
    except (Refused, OSError):
        raise
    except Exception as error:
        raise Refused(
            f"This is no calibrator, or a damaged one ({type(error).__name__}); export it again."
        ) from error


def load_tasks(folder=None):
    """Calibrators of a bundle of several tasks, by task; ``folder`` has the unzipped files, else this script's own."""
    folder = Path(folder or Path(__file__).parent)
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    return {name: load(folder / task["file"]) for name, task in tasks.items()}


def places(record, names):
    """Find the outputs among the columns of a table, in the calibrator's order: by their own names or the classes'."""
    classes = record["class_names"][-record["n_outputs"] :]
    families = [record["columns"], *([prefix + name for name in classes] for prefix in PREFIXES)]
    complete = [family for family in families if all(names.count(name) == 1 for name in family)]
    if complete and (complete[0] == record["columns"] or len(complete) == 1):
        return [names.index(name) for name in complete[0]]
    missing = next(name for name in record["columns"] if names.count(name) != 1)
    raise Refused(
        f"The table has no single column {missing!r}; name those of the outputs with --columns."
    )


def read_outputs(record, path):
    """The outputs in a file, the names of its columns, and its rows; those of arrays are numbered."""
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        outputs = read_array(record, path)
        return outputs, ["row"], [[i + 1] for i in range(len(outputs))]
    content = path.read_bytes()
    if b"\0" in content and not content.startswith(UTF_16):
        raise Refused(f"{path.name} is no text; save it as CSV.")
    if ending in (".json", ".jsonl", ".ndjson"):
        names, rows = read_json(path, decoded(record, content))
    else:
        names, rows = read_csv(path, decoded(record, content))
    return numbers(cells_of_outputs(record, names, rows)), names, rows


def read_array(record, path):
    """The array of a .npy; of an .npz the one that --columns names or whose shape is that of outputs."""
    file = np.load(path, allow_pickle=False)
    if isinstance(file, np.ndarray):
        return file
    arrays = dict(file)
    shapes = [(record["n_outputs"],)] + [()] * (record["n_outputs"] == 1)
    fitting = [name for name in record["columns"] if name in arrays]
    fitting = fitting or [name for name, x in arrays.items() if x.ndim and x.shape[1:] in shapes]
    if len(fitting) != 1:
        raise Refused(
            f"{path.name} holds {', '.join(arrays)}; name the array of the outputs with --columns."
        )
    return arrays[fitting[0]]


def decoded(record, content):
    """Text in UTF-16, UTF-8, or the code page that has the columns' names; beside ASCII names bytes pass unread."""
    pages = [] if all(map(str.isascii, record["columns"])) else CODE_PAGES
    for encoding in ["utf-16" if content.startswith(UTF_16) else "utf-8-sig", *pages]:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding.startswith("utf") or all(name in text for name in record["columns"]):
            return text
    return content.decode("utf-8-sig", errors="surrogateescape")


def read_json(path, text):
    """Names and rows of JSON lines or of a list of records."""
    lines = [] if text.lstrip().startswith("[") else text.splitlines()
    records = [json.loads(line) for line in lines if line.strip()] or json.loads(text)
    if not records or not all(isinstance(record, dict) for record in records):
        raise Refused(f"{path.name} holds no records, such as one object a line.")
    names = [*dict.fromkeys(name for record in records for name in record)]
    return names, [[record.get(name) for name in names] for record in records]


def read_csv(path, text):
    """Names and rows of a text table."""
    csv.field_size_limit(LARGEST)
    mark = max(",;\t|", key=text.lstrip().partition("\n")[0].count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    names, *rows = [row for row in table if row] or [[]]
    if not rows or any(len(row) != len(names) for row in rows):
        raise Refused(f"{path.name} holds no table: a line of names, then rows with as many cells.")
    return [name.strip() for name in names], rows


def cells_of_outputs(record, names, rows):
    """Cells of the columns of the outputs, or the lists of one column."""
    shape = (record["n_outputs"],)
    lists = [k for k in range(len(names)) if all(np.shape(row[k]) == shape for row in rows)]
    lists = [k for k in lists if names[k] in record["columns"]] or lists
    if len(lists) == 1:
        return [row[lists[0]] for row in rows]
    columns = places(record, names)
    return [[row[k] for k in columns] for row in rows]


def numbers(cells):
    """Cells as float64, also with decimal commas or in percent; empty ones are NaN."""
    array = np.array(cells, dtype=object)
    if not any(isinstance(cell, str) for cell in array.flat):
        return array.astype(np.float64)
    text = np.char.strip(np.where(array == None, "", array).astype(str))  # noqa: E711  # of each cell
    commas = [cell for cell in text.flat if "," in cell]
    thousands = all(re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+", cell) for cell in commas)
    if commas and not thousands and not (np.char.find(text, ".") >= 0).any():
        text = np.char.replace(text, ",", ".")
    whole = 100 if np.char.endswith(text, "%").all() else 1
    text = np.char.rstrip(text, "% ") if whole > 1 else text
    return np.where(text == "", "nan", text).astype(np.float64) / whole


def as_columns(record, results):
    """Write predictions for rows as the columns of a table, by name."""
    names = record["class_names"]
    table = dict[str, object]()
    for name, array in results.items():
        if name == "probabilities":
            table |= {
                f"calibrated_{label}": column for label, column in zip(names, array.T, strict=True)
            }
        elif name == "actions":
            table["action"] = [record["actions"][str(action)] for action in array]
        elif name == "sets":
            table["set"] = ["; ".join(names[k] for k in np.flatnonzero(row)) for row in array]
        elif name == "predicted":
            table[name] = [names[k] for k in array]
        else:
            table[f"calibrated_{name}"] = array
    return table


def write_table(file, names, rows, table):
    """A csv of rows as they were read and columns behind them, in which no spreadsheet finds a formula."""
    lines = [[*names, *(name + "_" * (name in names) for name in table)]]
    lines += [
        [*row, *added] for row, added in zip(rows, zip(*table.values(), strict=True), strict=True)
    ]
    csv.writer(file, lineterminator="\n").writerows(map(inert, line) for line in lines)


def inert(cell):
    """A cell that no spreadsheet takes for a formula, also not behind a byte order mark or a semicolon in it."""
    is_text = isinstance(cell, str) and not re.fullmatch(r"\s*[-+]?[\d.,]+([eE][-+]?\d+)?\s*", cell)
    return re.sub(r"(^|;)(?=[\s\ufeff\"']*[=+\-@\t\r])", r"\1'", cell) if is_text else cell


def write_lines(file, names, rows, table):
    """The same as :func:`write_table` as JSON lines."""
    names = [*names, *(name + "_" * (name in names) for name in table)]
    columns = [np.asarray(column).tolist() for column in table.values()]
    for row, added in zip(rows, zip(*columns, strict=True), strict=True):
        line = dict(zip(names, [*row, *added], strict=True))
        file.write(json.dumps(line, ensure_ascii=False, default=np.ndarray.tolist) + "\n")


def main(arguments=None):
    """Run the command on a table or an array."""
    parser = argparse.ArgumentParser(description="Calibrate outputs of a model.")
    parser.add_argument(
        "outputs",
        type=Path,
        help="the table as it was uploaded, whose other columns stay, or arrays: .csv, .jsonl, .npy, .npz",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default="calibrated.csv",
        help=f"{', '.join(ENDINGS)}: what to write",
    )
    parser.add_argument(
        "--columns",
        help="names of the outputs' columns, in the order of the classes: a,b,c; of an .npz that of the array",
    )
    parser.add_argument("--groups", help="name of the column of groups, for a map by group")
    parser.add_argument("--kind", help="what the outputs are, where they look like something else")
    parser.add_argument(
        "--calibrator", type=Path, default=Path(__file__).with_name("calibrator.npz")
    )
    options = parser.parse_args(arguments)
    if options.out.suffix.lower() not in ENDINGS:
        parser.error(f"--out ends in one of {', '.join(ENDINGS)}; got {options.out.name!r}")
    try:
        calibrator = load(options.calibrator)
        if options.columns:
            calibrator.record["columns"] = options.columns.split(",")
        outputs, names, rows = read_outputs(calibrator.record, options.outputs)
        groups = None
        if by := calibrator.record["groups"]:
            column = options.groups or by["column"]
            if column not in names:
                raise Refused("The calibrator has a map by group: name its column with --groups.")
            groups = [row[names.index(column)] for row in rows]
        results = calibrator.answer(outputs, options.kind, groups)
        if options.out.suffix.lower() == ".npz":
            np.savez(options.out, **results)
            return
        write = write_table if options.out.suffix.lower() == ".csv" else write_lines
        text = io.StringIO(
            newline=""
        )  # whole before the file is opened, which may be the one that was read
        write(text, names, rows, as_columns(calibrator.record, results))
        options.out.write_bytes(text.getvalue().encode("utf-8", errors="surrogateescape"))
    except (
        Exception
    ) as error:  # one line for a missing file, one that says nonsense, and a name that is none
        sys.exit(re.sub(r"[^ -~]", "?", f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main()
