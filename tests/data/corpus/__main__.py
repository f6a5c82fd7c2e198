"""``python -m tests.data.corpus first``: what calib makes of the corpus, and each failure with header, rows and truth.

Options: ``--only NAME`` for tables whose name contains this, ``--all`` to show those that pass too, ``--seed N``, and
``--with-roles`` to give the roles of the truth.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from calib.data import DataError
from tests.data.corpus import SEEDS, tables
from tests.data.corpus.judge import Judgement, failures, judge, judge_models

ORDER = ("right", "partly", "misread", "asked", "asked without", "refused", "crashed")


def outcome_table(judgements: list[Judgement]) -> str:
    """Counts by verdict and outcome."""
    counts = Counter((judgement.table.verdict, judgement.outcome) for judgement in judgements)
    lines = [f"{'':10}" + "".join(f"{outcome:>15}" for outcome in (*ORDER, "passed", "tables"))]
    for verdict in ("readable", "ask", "refuse"):
        own = [judgement for judgement in judgements if judgement.table.verdict == verdict]
        passed = sum(judgement.passed for judgement in own)
        row = [*(counts[verdict, outcome] for outcome in ORDER), passed, len(own)]
        lines.append(f"{verdict:10}" + "".join(f"{count:>15}" for count in row))
    return "\n".join(lines)


def decoded(content: bytes) -> str:
    """The text of a table in whichever encoding the corpus wrote it."""
    for encoding in ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValueError("this is no text of the corpus")


def shown(judgement: Judgement, n_lines: int = 6) -> str:
    """One table: header, first rows, truth, what was read."""
    table, truth = judgement.table, judgement.table.truth
    if table.filename.endswith((".parquet", ".xlsx")):
        lines = [f"({table.filename}, {len(table.content)} bytes)"]
    else:
        lines = decoded(table.content).splitlines()[:n_lines]
    parts = [
        f"== {table.name} ({table.filename}): {table.verdict}, but {judgement.outcome}",
        *(f"   | {line[:200]}" for line in lines),
        f"   truth: {truth.kind}, scale {truth.scale}, event {truth.event}, {truth.roles}",
    ]
    if truth.probs is not None:
        parts.append(f"   truth: {truth.probs.shape}, first {np.round(truth.probs[:2], 4).tolist()} {truth.labels[:2]}")
    if len(truth.readings) > 1:
        parts.append(f"   acceptable: {truth.readings}")
    return "\n".join([*parts, f"   read: {judgement.said[:600]}"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.data.corpus", description=__doc__)
    parser.add_argument("which", choices=sorted(SEEDS))
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--with-roles", action="store_true")
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    chosen = [table for table in tables(arguments.which, arguments.seed) if arguments.only in table.name]
    judgements = [judge(table, arguments.with_roles) for table in chosen]
    for judgement in judgements if arguments.all else failures(judgements):
        print(shown(judgement), end="\n\n")
    print(outcome_table(judgements))
    several = [table for table in chosen if table.truth.models]
    try:
        wrong = {table.name: said for table in several if (said := judge_models(table))}
    except (AttributeError, DataError) as error:
        print(f"load_models: {error}")
    else:
        print(f"load_models: {len(several) - len(wrong)} of {len(several)} right", *wrong.items(), sep="\n  ")


if __name__ == "__main__":
    main()
