"""Count what becomes of the tables: ``python -m tests.data.corpus``."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from tests.data.corpus import SETS, tables
from tests.data.corpus.judge import Outcome, judge

OUTCOMES = get_args(Outcome)

print(f"{'':18}{'tables':>8}" + "".join(f"{outcome:>15}" for outcome in OUTCOMES))
for name, sets in (("the eight sets", SETS[:-1]), ("the forty", SETS[-1:])):
    found = [judge(table) for which in sets for table in tables(which)]
    for verdict in ("readable", "ask", "refuse"):
        counts = Counter(each.outcome for each in found if each.table.verdict == verdict)
        title = f"{name}, {verdict}"
        print(
            f"{title:26}{sum(counts.values()):>6}"
            + "".join(f"{counts[outcome]:>15}" for outcome in OUTCOMES)
        )
