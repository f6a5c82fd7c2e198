"""Every one-vs-rest method with shared and with class-wise maps, side by side on the Compare page."""

from __future__ import annotations

import streamlit as st

from calib.calibrators.one_vs_rest import with_other_sharing
from calib.evaluation import paired_differences
from calib.formatting import number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.registry import METHODS, title_of
from calib.ui import fits
from calib.ui.fits import ShownFit
from calib.ui.session import keep, session
from calib.ui.text import mean_nll

COUNTERPARTS = "compare/counterparts"
"""Keys of the fits that were asked for here and not on the Fit page, in Streamlit's session state."""


def sharing_toggle(everything: list[ShownFit]) -> None:
    """Offer to fit the counterparts of all one-vs-rest fits: class-wise of shared ones, and the other way round.

    Turned off again, those that were asked for here leave the pages. Of two classes there is but one map to share.
    """
    now = session()
    asked: list[str] = st.session_state.setdefault(COUNTERPARTS, [])
    ours = [key for key in asked if key in now.specs]
    able = {fit.title: fit for fit in everything if fit.key not in ours and _counterpart(fit) is not None}
    if now.data is None or not able:
        return
    if now.data.n_classes == 2:
        st.caption("Shared and class-wise maps are the same here: two classes need one map alone.")
        return
    wanted = st.toggle(
        "Shared (sCW) and class-wise (CW) maps",
        key="compare/sharing",
        persist_state="session",
        help="Fits each one-vs-rest method both ways: one map for the pooled pairs of all classes, and one for each "
        "class. Pooling is for few rows per class (I-Max, Patel et al. 2020, table 3).",
    )
    if not wanted and ours:
        for key in ours:
            fits.cancel(key)
            fits.remove(key)
        asked.clear()
        st.rerun()
    if not wanted:
        return
    missing = [fit for fit in able.values() if _counterpart(fit) not in {spec.title for spec in now.specs.values()}]
    for fit in missing:
        _submit(fit, asked)
    if missing:
        st.rerun()  # the menu, which follows fits, was drawn before these
    active = sum(job.active for job in fits.jobs() if job.key in ours)
    if active:
        st.caption(f"{plural(active, 'counterpart')} being fitted; the menu says when the results can be shown.")


def sharing_words(everything: list[ShownFit]) -> None:
    """What sharing does to accuracy and NLL, one line for each method that is there both ways."""
    by_title = {fit.title: fit for fit in everything}
    lines = []
    for fit in everything:
        apart = by_title.get(_counterpart(fit) or "")
        if apart is not None and fit.calibrator.get_params()["share_classes"]:
            lines.append(f"- **{fit.title}** against {apart.title}: {_difference(fit, apart)}.")
    if lines:
        st.markdown("\n".join(lines))


def _difference(fit: ShownFit, other: ShownFit) -> str:
    """Differences of accuracy and NLL in words, and whether chance explains them; paired over the test rows."""
    found = keep(("sharing", fit.key, other.key), lambda: paired_differences(fit.evaluation, other.evaluation))
    accuracy, nll = found["accuracy"], found["NLL"]
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
    chance = ", which chance could explain" if difference.low <= 0 <= difference.high else ""
    return f"{amount} {'higher' if difference.value > 0 else 'lower'}{chance}"


def _counterpart(fit: ShownFit) -> str | None:
    """Title of the same method with the other sharing; None where there is nothing to share, or it would take long."""
    other = with_other_sharing(fit.calibrator) if METHODS[fit.method].fast else None
    return None if other is None else title_of(other, fit.method)


def _submit(fit: ShownFit, asked: list[str]) -> None:
    other = with_other_sharing(fit.calibrator)
    assert other is not None
    before = set(session().specs)
    fits.submit(fit.method, other.get_params())
    asked.extend(key for key in session().specs if key not in before)
