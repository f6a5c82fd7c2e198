"""The checklist of TRIPOD+AI: its items, what of them a report of a risk model tells, and what its authors must add.

Collins, Moons, Dhiman et al., TRIPOD+AI statement, BMJ 2024;385:e078378. A report guideline says what a study must tell
its readers; much of that only its authors know, and the report says so, item by item.
"""

from __future__ import annotations

from calib.formatting import listed
from calib.reporting.contents import Report

CHECKLIST = {
    "1": "Title", "2": "Abstract",
    "3a": "Background", "3b": "Background", "3c": "Background", "4": "Objectives",
    "5a": "Data", "5b": "Data",
    "6a": "Participants", "6b": "Participants", "6c": "Participants",
    "7": "Data preparation",
    "8a": "Outcome", "8b": "Outcome", "8c": "Outcome",
    "9a": "Predictors", "9b": "Predictors", "9c": "Predictors",
    "10": "Sample size", "11": "Missing data",
    **{f"12{letter}": "Analytical methods" for letter in "abcdefg"},
    "13": "Class imbalance", "14": "Fairness", "15": "Model output", "16": "Training versus evaluation",
    "17": "Ethical approval",
    "18a": "Funding", "18b": "Conflicts of interest", "18c": "Protocol", "18d": "Registration", "18e": "Data sharing",
    "18f": "Code sharing",
    "19": "Patient and public involvement",
    "20a": "Participants", "20b": "Participants", "20c": "Participants",
    "21": "Model development", "22": "Model specification",
    "23a": "Model performance", "23b": "Model performance", "24": "Model updating",
    "25": "Interpretation", "26": "Limitations",
    **{f"27{letter}": "Usability of the model in the context of current care" for letter in "abc"},
}  # fmt: skip
"""Numbers and topics of the 52 items and subitems, as published."""
TO_ADD = {
    "5a": "where the rows come from, why these, and whom they stand for",
    "5b": "when people entered the study and how long they were followed",
    "7": "what was done with the data before this file was written",
    "8a": "how and when the outcome was assessed, by whom, and its time horizon",
    "10": "how the size of the study was arrived at",
    "11": "what was missing in the predictors, and how the model was given them",
    "12a": "", "12d": "whether performance differs among clusters", "12e": "", "12f": "",
    "12g": "how the model itself computes its risk",
    "15": "whether anything is decided by the risk, and by which threshold",
    "18f": "where the code of the model itself is",
    "20a": "who was not included before this file was written, and the follow-up time",
    "20b": "dates, predictors and treatments, and how they differ among groups",
    "21": "", "23a": "", "24": "",
}  # fmt: skip
"""What the authors must add to an item of which the report tells a part; "" where it tells all that there is."""


def filled_items(report: Report, timed: bool, grouped: bool) -> list[str]:
    """Numbers of the items of which this report tells something, in the order of the checklist."""
    clustered = report.methods[0].evaluation.n_clusters is not None
    absent = [
        *([] if timed else ["5b"]), *([] if clustered else ["12d"]), *([] if grouped else ["20b"]),
        *([] if len(report.methods) > 1 else ["12f", "24"]),
    ]  # fmt: skip
    return [item for item in CHECKLIST if item in TO_ADD and item not in absent]


def by_authors(filled: list[str]) -> str:
    """All other items with their topics, in one line: 3a, 3b and 3c Background."""
    topics: dict[str, list[str]] = {}
    for item, topic in CHECKLIST.items():
        if item not in filled:
            topics.setdefault(f"{item.rstrip('abcdefg')} {topic}", []).append(item)
    return "; ".join(f"{listed(items)} {key.split(' ', 1)[1]}" for key, items in topics.items())
