"""How often a comparison claims what is not so, score by score: coverage, false claims and power, simulated.

``python -m benchmarks.claims`` draws test sets of methods whose scores are known: four that are alike but for noise of
their own, four that are calibrated and differ in sharpness, and four of which three are better than the raw model by a
known number of nats. Finished parts are kept in a folder, so that it can be stopped and goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, markdown
from benchmarks.populations import population, truth_of
from calib.evaluation import SCORES
from calib.evaluation.claims import CLAIMING, Claims
from calib.evaluation.score_registry import Scored, scored_on
from calib.metrics.bootstrap import Interval, wilson_interval
from calib.numerics import Floats

ROWS, CLASSES = (300, 1000, 10_000), (2, 10, 100)


@dataclass(frozen=True)
class Cell:
    """What is drawn how often: a design at a size.

    Attributes
    ----------
    design : a key of ``benchmarks.populations.DESIGNS``.
    n, n_classes : size of each test set.
    parts : of ``DRAWS`` test sets each.
    """

    design: str
    n: int
    n_classes: int
    parts: int

    @property
    def file(self) -> str:
        """Beginning of the names of its parts."""
        return f"{self.design}-{self.n}-{self.n_classes}".replace(" ", "")


DRAWS = 50
CELLS = (
    *(Cell(design, n, k, 10) for design in ("alike", "sharper") for n in ROWS for k in CLASSES),
    *(Cell("0.01 nats", n, k, 2) for n in ROWS for k in CLASSES),
    *(Cell(design, 10_000, 10, 2) for design in ("0.003 nats", "0.03 nats")),
    *(Cell("overconfident", 1000, k, 6) for k in CLASSES),
    Cell("14 alike", 1000, 10, 4),
)


@dataclass
class Tally:
    """Counts of test sets, of one score or of all that claim.

    Attributes
    ----------
    draws : test sets.
    missed : those in which the joint intervals of this score alone miss the true difference of any compared pair.
    false_alone : those in which these intervals make a false claim.
    false : those in which the intervals of the comparison, joint over all scores that claim, do.
    shown, differing : pairs said to differ in the true direction, and pairs that differ by more than is relevant.
    """

    draws: int = 0
    missed: int = 0
    false_alone: int = 0
    false: int = 0
    shown: int = 0
    differing: int = 0

    def add(self, other: Mapping[str, int]) -> None:
        """Add the counts of other test sets."""
        for name, count in other.items():
            setattr(self, name, getattr(self, name) + count)


def measure(truth: Mapping[str, Floats], scored: Mapping[int, Scored]) -> dict[str, dict[str, int]]:
    """Counts of one test set by score, and under "" those of all scores that claim, together."""
    together = Claims({str(number): one for number, one in scored.items()})
    found = {"": {"draws": 1, "false": 0}}
    for key, true in truth.items():
        alone = Claims(together.scored, scores=(key,))
        counts = Tally(draws=1)
        for one, other in combinations(scored, 2):
            difference, relevant = float(true[one] - true[other]), together.relevant[key]
            own, joint = (
                claims.between(str(one), str(other), key).interval for claims in (alone, together)
            )
            if math.isnan(
                own.value
            ):  # a pair without the raw model, by another score than the one that decides
                continue
            counts.missed |= not own.low <= difference <= own.high
            counts.false_alone |= is_false(own, difference, relevant)
            counts.false |= is_false(joint, difference, relevant)
            counts.differing += abs(difference) > relevant
            counts.shown += (
                abs(difference) > relevant
                and joint.low * joint.high > 0
                and joint.value * difference > 0
            )
        found[key] = {name: int(count) for name, count in vars(counts).items()}
        if SCORES[key].claims:
            found[""]["false"] |= found[key]["false"]
    return found


def overstatement(truth: Mapping[str, Floats], scored: Mapping[int, Scored]) -> float:
    """By how much the NLL's gain of the best method over the raw one is too large."""
    claims = Claims({str(number): one for number, one in scored.items()})
    best = claims.best("NLL", claims.names[1:]) or ""
    return (
        claims.scored["0"].values["NLL"]
        - claims.scored[best].values["NLL"]
        + float(truth["NLL"][int(best)])
    )


def is_false(claimed: Interval, truth: float, relevant: float) -> bool:
    """Whether an interval claims a difference that is not there, or denies a relevant one."""
    if -relevant <= claimed.low and claimed.high <= relevant:
        return abs(truth) > relevant
    return not claimed.low <= 0 <= claimed.high and claimed.value * truth <= 0


def part(cell: Cell, number: int, draws: int = DRAWS) -> dict[str, Any]:
    """The counts of one part of a cell, its own random numbers, and the seconds it took."""
    start = time.process_time()
    pool = population(cell.design, cell.n_classes)
    tallies: dict[str, Tally] = {}
    overstated = []
    for draw in range(draws):
        generator = np.random.default_rng(
            [number, draw, cell.n, cell.n_classes, *cell.design.encode()]
        )
        methods = pool.draw(cell.n, generator)
        scored = {place: scored_on(one) for place, one in enumerate(methods)}
        truth = truth_of(cell.design, cell.n_classes, tuple(scored[0].scores))
        for key, counts in measure(truth, scored).items():
            tallies.setdefault(key, Tally()).add(counts)
        overstated.append(overstatement(truth, scored))
    return {
        "tallies": {key: vars(tally) for key, tally in tallies.items()},
        "overstated": overstated,
        "seconds": time.process_time() - start,
    }


def run(folder: Path, cells: Sequence[Cell] = CELLS, draws: int = DRAWS) -> None:
    """Make the parts that are not there yet, the first of all cells first."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(max(cell.parts for cell in cells)):
        for cell in (cell for cell in cells if number < cell.parts):
            path = folder / f"{cell.file}-{number}.json"
            if not path.exists():
                path.write_text(json.dumps(part(cell, number, draws)))


Made = Mapping[Cell, tuple[dict[str, Tally], list[Any]]]
"""Counts of a cell by score, and its parts."""


def collected(folder: Path, cells: Iterable[Cell]) -> Made:
    """Counts of all finished parts of each cell that has some."""
    made = {}
    for cell in cells:
        parts = [
            json.loads(path.read_text()) for path in sorted(folder.glob(f"{cell.file}-*.json"))
        ]
        if parts:
            made[cell] = (
                added(
                    [{key: Tally(**one) for key, one in part["tallies"].items()} for part in parts]
                ),
                parts,
            )
    return made


def added(several: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """The sums of counts by score."""
    total: dict[str, Tally] = {}
    for tallies in several:
        for key, tally in tallies.items():
            total.setdefault(key, Tally()).add(vars(tally))
    return total


def tables(folder: Path) -> Iterator[str]:
    """The tables, from the parts that are there."""
    made = collected(folder, CELLS)
    keys = ("", *CLAIMING)
    titles = ["all that claim", *(SCORES[key].title for key in CLAIMING)]
    rows = [[*_size(cell), *_false_claims(tallies, keys)] for cell, (tallies, _) in made.items()]
    designs = dict.fromkeys(cell.design for cell in made)
    pooled = {
        design: [tallies for cell, (tallies, _) in made.items() if cell.design == design]
        for design in designs
    }
    rows += [
        [f"all of {design}", "", "", *_false_claims(added(each), keys)]
        for design, each in pooled.items()
        if len(each) > 1
    ]
    yield markdown(["% of test sets with a false claim", "N", "K", "test sets", *titles], rows)

    rows = []
    for cell, (tallies, parts) in made.items():
        seen = 1e4 * np.mean([gain for part in parts for gain in part["overstated"]])
        claimed = [_claimed(tallies.get(key, Tally())) for key in CLAIMING[:3]]
        rows.append([*_size(cell), *claimed, f"{seen:.1f}"])
    said = [f"{SCORES[key].title} claimed, %" for key in CLAIMING[:3]]
    yield markdown(["true differences", "N", "K", *said, "gain too large, 1e-4 nats"], rows)

    rows = []
    for key, score in SCORES.items():
        cells = [_covered(tallies[key]) if key in tallies else "–" for tallies, _ in made.values()]
        if set(cells) - {"–"}:
            rows.append([score.title, "yes" if score.claims else "no", *cells])
    yield markdown(
        [
            "all covered / false claim, %",
            "claims",
            *(f"{c.design}, {c.n:,}, {c.n_classes}" for c in made),
        ],
        rows,
    )


def _size(cell: Cell) -> list[Any]:
    return [cell.design, f"{cell.n:,}", cell.n_classes]


def _false_claims(tallies: Mapping[str, Tally], keys: Iterable[str]) -> list[Any]:
    """Number of test sets, and shares with a false claim: of the comparison, and of a silent score if it spoke."""
    found = {key: tallies.get(key, Tally()) for key in keys}
    silent = [key for key in found if key and not SCORES[key].claims]
    shares = [
        _share(one.false_alone if key in silent else one.false, one.draws)
        for key, one in found.items()
    ]
    return [tallies[""].draws, *shares]


def _share(count: int, of: int) -> str:
    """A share in percent with its upper 95 % limit (Wilson's)."""
    return (
        f"{100 * count / of:.1f} (≤ {100 * float(wilson_interval(count, of, 0.9)[1]):.1f})"
        if of
        else "–"
    )


def _claimed(tally: Tally) -> str:
    return f"{100 * tally.shown / tally.differing:.0f}" if tally.differing else "–"


def _covered(tally: Tally) -> str:
    return f"{100 * (1 - tally.missed / tally.draws):.0f} / {100 * tally.false_alone / tally.draws:.0f}"


def main() -> None:
    """Make what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--parts", type=Path, default=Path("claims-parts"), help="folder of the finished parts"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two test sets a cell, to see that everything works"
    )
    parser.add_argument("--print", action="store_true", help="only print what is there")
    given = parser.parse_args()
    if not given.print:
        cells = [Cell(cell.design, min(cell.n, 300), cell.n_classes, 1) for cell in CELLS]
        run(given.parts, cells, 2) if given.quick else run(given.parts)
    print(machine())
    for one in tables(given.parts):
        print(f"\n{one}")


if __name__ == "__main__":
    main()
