"""What a person should know about a finished GPcalib fit, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calib.calibrators.gpcalib import GPCalib


def fit_notes(fitted: GPCalib) -> list[str]:
    """Sentences about a fitted calibrator, most important first."""
    notes = [*_about_the_optimum(fitted), *_about_the_rows(fitted)]
    if fitted.device_note_:
        notes.append(fitted.device_note_)
    if fitted.monotone and fitted.prediction in ("delta", "mc"):
        notes.append(
            f"prediction={fitted.prediction!r} can change predicted classes even with monotone=True; "
            "choose draws or mean to keep them all."
        )
    return notes


def _about_the_optimum(fitted: GPCalib) -> list[str]:
    notes = []
    if fitted.collapsed_ and fitted.scale_ == 1.0:
        notes.append(
            "The kernel variance went to 0: the calibrator does nothing on this calibration set "
            f"(N = {fitted.n_rows_}). Use more calibration rows, or temperature scaling."
        )
    if not fitted.converged_:
        notes.append(
            f"The fit did not converge ({fitted.message_}); the objective is {fitted.objective_:.1f}. "
            f"{_what_to_do(fitted)}"
        )
    if fitted.scale_ != 1.0:
        notes.append(
            f"The logits are far from log-probabilities, so they were divided by {fitted.scale_:g} before the fit"
            f"{', which then changed nothing more' if fitted.collapsed_ else ''}. "
            "Check that they are the outputs just before the softmax."
        )
    return notes


def _what_to_do(fitted: GPCalib) -> str:
    if fitted.n_iter_ >= fitted.max_iter:
        return "Raise max_iter."
    if fitted.inputs == "probs":
        return "Choose inputs='logits', where small probabilities lie apart from each other, or check the labels."
    return "Check the labels, or use temperature scaling."


def _about_the_rows(fitted: GPCalib) -> list[str]:
    notes = []
    if fitted.n_rows_ < fitted.n_rows_given_:
        notes.append(
            f"Fitted on {fitted.n_rows_:,} of the {fitted.n_rows_given_:,} calibration rows, chosen at random: "
            "more would not move the latent function."
        )
    if fitted.n_parts_ > 1:
        notes.append(
            f"Fitted in {fitted.n_parts_} parts, {fitted.n_rows_:,} rows in all: each earlier part counts by its "
            "second-order summary, so the objective is that of all rows to a good approximation."
        )
    return notes
