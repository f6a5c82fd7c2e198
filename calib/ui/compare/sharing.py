"""One-vs-rest methods with a map that all classes share, beside the same methods with a map for each class."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.base import Calibrator
from calib.calibrators.one_vs_rest import SHARING, with_other_sharing
from calib.formatting import number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS, title_of
from calib.ui.fits import ShownFit, cancel, jobs, remove, submit
from calib.ui.session import OpenSession, keep
from calib.ui.text import mean_nll

COUNTERPARTS = "compare/counterparts"
"""Keys of the fits that were asked for here and not on the Fit page, in Streamlit's session state."""


def can_be_shared(fits: Sequence[ShownFit]) -> bool:
    """Whether any of the fits has a counterpart with the other sharing."""
    return any(_counterpart(fit) is not None for fit in fits)


def shared_maps(session: OpenSession, fits: list[ShownFit]) -> None:
    """The counterparts on request, and what sharing does."""
    _toggle(session, fits)
    _words(fits)


def _toggle(session: OpenSession, fits: list[ShownFit]) -> None:
    """Offer to fit the counterparts of all one-vs-rest fits: class-wise of shared ones, and the other way round.

    Turned off again, those that were asked for here leave the pages. Of two classes there is but one map to share.
    """
    asked: list[str] = st.session_state.setdefault(COUNTERPARTS, [])
    ours = [key for key in asked if key in session.specs]
    able = {fit.title: fit for fit in fits if fit.key not in ours and _counterpart(fit) is not None}
    if not able:
        return
    if session.data.n_classes == 2:
        st.caption("Shared and class-wise maps are the same here: two classes need one map alone.")
        return
    wanted = st.toggle(
        "Shared and class-wise maps",
        key="compare/sharing",
        persist_state="session",
        help=f"Fits each one-vs-rest method both ways. {SHARING} Sharing is for few rows per class (their table 3).",
    )
    if not wanted and ours:
        for key in ours:
            cancel(key)
            remove(key)
        asked.clear()
        st.rerun()
    if not wanted:
        return
    there, missing = {spec.title for spec in session.specs.values()}, False
    for fit in able.values():
        other = _counterpart(fit)
        if other is not None and _title(fit, other) not in there:
            before, missing = set(session.specs), True
            submit(fit.method, other.get_params())
            asked.extend(key for key in session.specs if key not in before)
    if missing:
        st.rerun()  # the menu, which follows fits, was drawn before these
    active = sum(job.active for job in jobs() if job.key in ours)
    if active:
        st.caption(f"{plural(active, 'counterpart')} being fitted.")


def _words(fits: list[ShownFit]) -> None:
    """What sharing does to accuracy and NLL, one line for each method that is there both ways."""
    by_title = {fit.title: fit for fit in fits}
    lines = []
    for fit in fits:
        other = _counterpart(fit)
        apart = by_title.get(_title(fit, other)) if other is not None else None
        if apart is not None and fit.calibrator.get_params()["share_classes"]:
            lines.append(f"- **{fit.title}** against {apart.title}: {_difference(fit, apart)}.")
    if lines:
        st.markdown("\n".join(lines))


def _difference(fit: ShownFit, other: ShownFit) -> str:
    """Differences of accuracy and NLL in words, and whether they are significant; paired over the test rows."""
    differences = keep(("sharing", fit.key, other.key), lambda: fit.scores.differences(other.scores))
    accuracy, nll = differences["accuracy"], differences["NLL"]
    right, right_other = (float(each.evaluation.correct.mean()) for each in (fit, other))
    loss, loss_other = (mean_nll(each.evaluation) for each in (fit, other))
    return (
        f"accuracy {_amount(accuracy, f'{100 * abs(accuracy.value):.1f} points')} "
        f"({percent(right)} against {percent(right_other)}), "
        f"NLL {_amount(nll, number(abs(nll.value)))} "
        f"({number(loss)} against {number(loss_other)})"
    )


def _amount(difference: Interval, amount: str) -> str:
    if difference.value == 0:
        return "the same"
    chance = " (no significant difference)" if difference.low <= 0 <= difference.high else ""
    return f"{amount} {'higher' if difference.value > 0 else 'lower'}{chance}"


def _counterpart(fit: ShownFit) -> Calibrator | None:
    """The same method with the other sharing; None where there is nothing to share, or it would take long."""
    return with_other_sharing(fit.calibrator) if METHODS[fit.method].fast else None


def _title(fit: ShownFit, other: Calibrator) -> str:
    return title_of(other, fit.method, fit.calibrator.n_classes_)
