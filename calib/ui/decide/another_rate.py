"""Another event rate, known or estimated from rows without labels, and the threshold that the costs ask for there."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from calib.decisions.outcomes import Costs
from calib.decisions.prior_shift import NewRate, cut_at_rate
from calib.decisions.rules import EventCut
from calib.diagnostics.risk_coverage import rates_of_rows
from calib.engine import Data
from calib.errors import CalibrationError
from calib.evaluation.evaluation import row_arrays
from calib.formatting import percent, plural
from calib.metrics.confidence import weighted_mean
from calib.ui.export import offer_decision, uploaded_rows
from calib.ui.fits import ShownFit, ready
from calib.ui.session import OpenSession
from calib.ui.text import literal, percents
from calib.ui.widgets import segments

SOURCES = {"known": "Known", "rows": "From rows without labels"}


def draw(session: OpenSession, fits: list[ShownFit], fit: ShownFit, costs: Costs) -> None:
    """The new rate, and the threshold of least expected cost at it."""
    name = literal(session.view.event_name)
    column = session.view.column or 0
    part = session.calibration
    old = weighted_mean(part.labels == column, part.confirmed_weights)
    source = segments("The new rate is", SOURCES, "known", "rate/source")
    found = None
    try:
        if source == "known":
            entered = st.number_input(
                f"New rate of {name}, in %",
                0.001,
                99.999,
                None,
                1.0,
                key="rate/event",
                persist_state="session",
                width=330,
                format="%g",
                placeholder=f"{100 * old:.3g} on the calibration rows",
            )
            new = None if entered is None else entered / 100
        else:
            found = estimated(session, fits[0])
            new = None if found is None else found.rate.value
            if found is not None:
                words_of_rate(found, name)
        if new is None:
            st.markdown(f"The rate of {name} is **{percent(old)}** on the calibration rows.")
            return
        cut = cut_at_rate(costs.cut, old, new)
    except CalibrationError as error:
        st.warning(str(error), icon=":material/warning:")
        return
    ends = [] if found is None else sorted(_cut(costs, old, end) for end in found.rate[1:])
    span = (
        f" ({percent(ends[0])} to {percent(ends[1])} over the interval of the rate)" if ends else ""
    )
    st.markdown(
        f"At a rate of **{percent(new)}** act where {fit.title} gives at least **{percent(cut)}**{span}. "
        f"It was fitted at a rate of {percent(old)}. At the new rate such a case has a probability of "
        f"{percent(costs.cut)}, the threshold of these costs."
    )
    st.caption(
        "It is assumed that the rate alone changed, and that cases with the event and without it look as before "
        "(Saerens et al. 2002)."
    )
    chosen = f"a miss is worth {costs.miss:g} false alarms, at a rate of {percent(new)}."
    offer_decision(session, fit, "rate", EventCut(cut=cut, column=column, chosen=chosen))


def estimated(session: OpenSession, raw: ShownFit) -> NewRate | None:
    """The rate of the rows of an upload, by a worker; None until there is one."""
    rows = uploaded_rows(
        session, raw, "rate", "New outputs of the same model; labels in the file are not used"
    )
    if rows is None:
        return None
    part = session.calibration
    arrays: dict[str, Any] = {"logits": part.logits, "labels": part.labels}
    arrays |= {name: array for name, array in row_arrays(part).items() if array is not None}
    data = Data(f"{part.sha256} for rates", arrays)
    key = ("rate of rows", rows[1])
    return ready(
        key,
        "the rate of the new rows",
        rates_of_rows,
        rows[0].logits,
        session.view.column,
        data=data,
    )


def words_of_rate(found: NewRate, name: str) -> None:
    """The estimate with its interval."""
    st.markdown(
        f"The rate of {name} among {plural(found.n_new, 'new row')} is **{percent(found.rate.value)}** "
        f"({percents(found.rate)}), estimated from the outputs alone."
    )


def _cut(costs: Costs, old: float, rate: float) -> float:
    return cut_at_rate(costs.cut, old, float(np.clip(rate, 1e-6, 1.0 - 1e-6)))
