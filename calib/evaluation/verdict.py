"""The comparison in words, claiming no more than the intervals allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.evaluation import SCORES
from calib.formatting import number

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE_ONLY = "gives a confidence only"
"""The note of scores that need the probabilities of all classes, for methods that do not give them."""
NOTHING = 1e-9
"""Differences below this are rounding, whatever their interval."""


def best_methods(table: pd.DataFrame, score: str) -> frozenset[str]:
    """Names of the methods that share the best value of one score, which tables mark.

    Nothing is best where all are equal, where less of the score is not better in itself, or where the rows hold too few
    wrong or right predictions to rank by.

    Parameters
    ----------
    table : as from :func:`calib.compare` or :func:`calib.evaluation.repeated_splits.summarise_splits`.
    score : a key of ``calib.evaluation.SCORES``.
    """
    rows = table[(table["score"] == score) & table["value"].notna()]
    better = rows["better"].iloc[0] if len(rows) else "neither"
    if better == "neither":
        return frozenset()
    best = rows["value"].min() if better == "lower" else rows["value"].max()
    shared = (rows["value"] - best).abs() < NOTHING
    if shared.all() or ("too_few" in rows and rows.loc[shared, "too_few"].fillna("").ne("").any()):
        return frozenset()
    return frozenset(rows.loc[shared, "method"])


def verdict(table: pd.DataFrame, score: str = "NLL", judged: str = "on this test set") -> str:
    """Which method is best on one score, which cannot be told from it, and whether it beats the raw model.

    Parameters
    ----------
    table : as from :func:`calib.compare`; its first method is the raw model.
    score : a key of ``calib.evaluation.SCORES``.
    judged : on what the methods were, as the end of a sentence.

    Returns
    -------
    str
        One to five sentences.
    """
    rows = table[(table["score"] == score) & table["value"].notna()].fillna({"too_few": ""})
    name = SCORES[score].title
    if not len(rows):
        return f"No method has a value of {name} here."
    records: list[dict[str, Any]] = [dict(zip(rows.columns, row, strict=True)) for row in rows.itertuples(index=False)]
    sentences = [_verdict(records, table["method"].iloc[0], score, name, judged), _without(table, score, name)]
    return " ".join(filter(None, sentences))


def _verdict(records: list[dict[str, Any]], baseline: str, score: str, name: str, judged: str) -> str:
    """On the methods that have the score."""
    if len(records) == 1:
        only = records[0]
        return f"{only['title']} has {_a(name)} {name} of {number(only['value'])}; there is nothing to compare it with."
    if SCORES[score].better == "neither":
        low, high = min(records, key=_value), max(records, key=_value)
        return (
            f"{name} runs from {number(low['value'])} ({low['title']}) to {number(high['value'])} ({high['title']}); "
            "less of it is not better in itself."
        )
    best = next(row for row in records if row["to_best"] == 0 and row["value"] == _best_value(records))
    raw = next((row for row in records if row["method"] == baseline), None)
    if best.get("too_few"):
        return f"{_leading(best, name)}, but {best['too_few']}: these rows cannot rank methods."
    sentences = [_leader(best, raw, name)]
    others = [row for row in records if row is not best and row is not raw]
    near = [row["title"] for row in others if _could_be_chance(row)]
    behind = [row["title"] for row in others if not _could_be_chance(row)]
    if near:
        sentences.append(f"{_list(near)} cannot be told from it {judged}.")
    if behind:
        sentences.append(f"{_list(behind)} {'is' if len(behind) == 1 else 'are'} behind by more than chance explains.")
    if raw is not None and raw is not best and _could_be_chance(raw):
        # The best may owe it to a few rows that others do without.
        shown = [row["title"] for row in others if row.get("beyond_chance") == "better"]
        if shown:
            verb = "is" if len(shown) == 1 else "are"
            sentences.append(f"{_list(shown)} {verb} better than {raw['title']} by more than chance explains.")
    return " ".join(sentences)


def _without(table: pd.DataFrame, score: str, name: str) -> str:
    """The methods that have no such score, since they give a confidence only."""
    titles = list(table.loc[(table["score"] == score) & (table["note"] == CONFIDENCE_ONLY), "title"])
    if not titles:
        return ""
    one = len(titles) == 1
    return (
        f"{_list(titles)} {'gives' if one else 'give'} a confidence only and so {'has' if one else 'have'} no {name}; "
        "compare by a calibration error."
    )


def _leader(best: dict[str, Any], raw: dict[str, Any] | None, name: str) -> str:
    if raw is best:
        return f"No method improves on {_leading(best, name, ', which')}."
    start = _leading(best, name)
    if raw is None:
        return f"{start}."
    low, high = sorted(abs(raw[side]) for side in ("to_best_low", "to_best_high"))
    if _could_be_chance(raw):
        return f"{start}, but its distance from {raw['title']} ({number(raw['value'])}) could be chance."
    return (
        f"{start}, better than {raw['title']} ({number(raw['value'])}) by {number(abs(raw['to_best']))} "
        f"(interval {number(low)} to {number(high)})."
    )


def _leading(best: dict[str, Any], name: str, joint: str = "") -> str:
    word = "lowest" if best["better"] == "lower" else "highest"
    return f"{best['title']}{joint} has the {word} {name}, {number(best['value'])}"


def _could_be_chance(row: dict[str, Any]) -> bool:
    return row["to_best_low"] <= 0 <= row["to_best_high"]


def _best_value(records: list[dict[str, Any]]) -> float:
    return (min if records[0]["better"] == "lower" else max)(map(_value, records))


def _value(row: dict[str, Any]) -> float:
    return row["value"]


def _a(name: str) -> str:
    """The article before a spoken name: an NLL, an ECE, an MCE, a Brier score."""
    return "an" if name.startswith(("NLL", "ECE", "MCE", "A", "O", "U")) else "a"


def _list(titles: list[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
