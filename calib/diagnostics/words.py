"""Whether a calibrator still holds, in words that claim no more than the intervals allow."""

from __future__ import annotations

from calib.diagnostics.shift import CLAIMS, Recheck
from calib.metrics.bootstrap import Interval

FEW = 10
"""With fewer rows, now or before, the bootstrap knows too little for any claim."""

_CHANGES = {"NLL": "NLL", "accuracy": "accuracy", "ECE": "ECE", "signed gap": "confidence minus accuracy"}
_IN_POINTS = ("accuracy", "signed gap")

NOT_FRESH = (
    "These are the data that the calibrator was fitted on, so its scores are better than on rows it has not seen; "
    "give rows collected since then."
)
"""Said where the hashes of the data are equal."""


def verdict(found: Recheck, subject: str) -> list[str]:
    """Sentences, most important first: is it right now, what changed, does it still help, did its confidences move.

    ``subject`` is the calibrator's title.
    """
    if found.n < FEW:
        return [f"{found.n:,} fresh rows are too few to say whether {subject} is still right; {FEW} are the least."]
    sentences = [_now(found, subject), _changed(found), _gain(found), _drift(found)]
    return [sentence for sentence in sentences if sentence]


def off(found: Recheck) -> bool:
    """Whether the fresh rows show, beyond chance, that the confidence cannot be taken at its word."""
    gap, ece = found.scores["signed gap"].joint_now, found.scores["ECE"].joint_now
    return found.n >= FEW and (_beyond(gap) or ece.low > 0)


def _now(found: Recheck, subject: str) -> str:
    gap, ece = found.scores["signed gap"].joint_now, found.scores["ECE"].joint_now
    facts = f"it says {_percent(found.confidence)} and is right {_percent(found.accuracy)} of the time"
    if _beyond(gap):
        word = "overconfident" if gap.value > 0 else "underconfident"
        near, far = sorted((abs(gap.low), abs(gap.high)))
        return (
            f"{subject} is **{word} by {100 * abs(gap.value):.1f} points** on the fresh rows "
            f"({100 * near:.1f} to {100 * far:.1f}): {facts}."
        )
    if ece.low > 0:
        return (
            f"{subject} is **off on the fresh rows**: on average {facts}, but at single confidences it is not right: "
            f"ECE {ece.value:.3f} ({ece.low:.3f} to {ece.high:.3f})."
        )
    return (
        f"**Nothing shows that {subject} is off**: {facts}. {found.n:,} rows leave room for a gap of "
        f"{100 * gap.low:+.1f} to {100 * gap.high:+.1f} points."
    )


def _changed(found: Recheck) -> str:
    known = {key: score.joint_change for key, score in found.scores.items() if key in _CHANGES and score.joint_change}
    if not known or (found.n_before is not None and found.n_before < FEW):
        return ""
    moved = {key: change for key, change in known.items() if _beyond(change)}
    if not moved:
        said = ", ".join(f"{_CHANGES[key]} {_change(key, change)}" for key, change in known.items())
        return f"No change since it was judged is beyond chance: {said}."
    said = _listed(
        [
            f"{_CHANGES[key]} {'rose' if change.value > 0 else 'fell'} by {_change(key, change).lstrip('+-')}"
            for key, change in moved.items()
        ]
    )
    rest = [name for key, name in _CHANGES.items() if key in known and key not in moved]
    other = f"; the change of {_listed(rest)} could be chance" if rest else ""
    return f"Since it was judged, {said}{other}."


def _gain(found: Recheck) -> str:
    gain = found.gain
    if gain is None:
        return ""
    near, far = sorted((abs(gain.low), abs(gain.high)))
    size = f"by {abs(gain.value):.2g} ({near:.2g} to {far:.2g})"
    if not _beyond(gain):
        return "On the fresh rows its NLL cannot be told from the raw model's."
    if gain.value < 0:
        return f"It still helps: its NLL is below the raw model's {size}."
    return f"The raw model alone would now do better: its NLL is lower {size}."


def _drift(found: Recheck) -> str:
    if found.drift is None:
        return ""
    distance, chance = found.drift
    if chance < (1 - found.level) / CLAIMS:
        return (
            f"Its confidences have moved: at some confidence the share of rows below it differs by "
            f"{100 * distance:.1f} points from before, more than chance explains."
        )
    return "Its confidences are spread as before, as far as these rows can tell."


def _change(key: str, change: Interval) -> str:
    if key in _IN_POINTS:
        return f"{100 * change.value:+.1f} points ({100 * change.low:+.1f} to {100 * change.high:+.1f})"
    return f"{change.value:+.2g} ({change.low:+.2g} to {change.high:+.2g})"


def _beyond(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
