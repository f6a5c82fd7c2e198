"""What ``compare --repeats`` and ``compare --sizes`` do: studies that fit many times."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calib.base import Calibrator, Callback
from calib.cli import text as cli_text
from calib.csv_cells import safe_table
from calib.evaluation import SCORES

if TYPE_CHECKING:
    import pandas as pd

    from calib.data import Predictions


def study_options(command: argparse.ArgumentParser) -> None:
    """Add the options of both studies."""
    command.add_argument("--repeats", type=_repeats, metavar="R",
                         help="compare on R random splits too, with calibration parts of the same size")  # fmt: skip
    command.add_argument("--sizes", action="store_true",
                         help="fit on ever more calibration rows too, and say how many labels are needed")  # fmt: skip


def study(
    given: argparse.Namespace,
    methods: Mapping[str, Calibrator],
    data: Predictions,
    calibration: Predictions,
    test: Predictions,
) -> None:
    """Run and print the studies that were asked for."""
    from calib.evaluation.learning_curve import size_curve
    from calib.evaluation.repeated_splits import repeated_splits
    from calib.evaluation.summary import summarise_splits
    from calib.evaluation.verdict import verdict

    if given.repeats:
        table = repeated_splits(
            methods, data, len(calibration), n_repeats=given.repeats, random_state=given.seed, callback=_progress()
        )
        summary = summarise_splits(table)
        print(f"\nOver {given.repeats} random splits into {len(calibration):,} and {len(test):,} rows:")
        print(cli_text.score_table(summary))
        print(f"\n{verdict(summary, judged=f'over {given.repeats} splits')}")
        _write(given.csv, "splits", table)
    if given.sizes:
        table = size_curve(methods, calibration, test, random_state=given.seed, callback=_progress())
        print(f"\nFitted on ever more of the {len(calibration):,} calibration rows:")
        print(sizes_table(table))
        _write(given.csv, "sizes", table)


def sizes_table(table: pd.DataFrame) -> str:
    """Scores by size, a method a line, and how many labels each needs."""
    from calib.evaluation.labels_needed import labels_needed

    sizes = sorted(table["size"].unique())
    lines, answers = [], []
    for key in table["score"].unique():
        rows = [[SCORES[key].title, *(f"{size:,}" for size in sizes)]]
        for _, method in table[table["score"] == key].groupby("method", sort=False):
            values = method.set_index("size")["value"]
            numbers = ("-" if values[size] != values[size] else f"{values[size]:.4f}" for size in sizes)
            rows.append([method["title"].iloc[0], *numbers])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines.append("")
    nll = table[(table["score"] == "NLL") & table["value"].notna()]
    for name in nll.loc[nll["size"] == sizes[-1], "method"].iloc[1:]:
        answers.append(labels_needed(table, name).sentence)
    notes = table.loc[(table["note"] != "") & (table["score"] == "NLL"), ["title", "size", "note"]]
    failed = [f"{title} on {size:,} rows: {note}" for title, size, note in notes.itertuples(index=False)]
    return "\n".join([*lines, *answers, *failed])


def _write(csv: Path | None, what: str, table: pd.DataFrame) -> None:
    if csv:
        path = csv.with_name(f"{csv.stem}-{what}{csv.suffix}")
        safe_table(table).to_csv(path, index=False)
        print(f"The numbers are in {path}.")


def _progress() -> Callback | None:
    if not sys.stderr.isatty():
        return None

    def show(step: int, total: int, value: float) -> None:
        end = "\r\033[K" if step == total else ""
        print(f"\r{step} of {total} fits\033[K{end}", end="", file=sys.stderr, flush=True)

    return show


def _repeats(text: str) -> int:
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of splits; give 2 or more")
    return int(text)
