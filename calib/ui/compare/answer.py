"""What to take, in words, and the report to hand over."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.evaluation import SCORES
from calib.evaluation.claims import Claims
from calib.evaluation.compare import compare_evaluations
from calib.evaluation.recommendation import Recommendation, recommend
from calib.formatting import escape_markdown, listed, number, plural
from calib.plots.overview import Unit
from calib.reporting import DataSummary, ReportedMethod, Source, html_of_fits
from calib.ui.building import FileTask, on_request
from calib.ui.fits import ShownFit, jobs, ready, resampled
from calib.ui.session import OpenSession, current_session, keep
from calib.ui.text import literal

RELEVANT = "compare/relevant"
"""Smallest relevant differences that the visitor changed, by score, among what the session has picked."""
_NAMED = 4
"""So many methods that tie are named; more are counted."""


def unit_of(score: str) -> Unit:
    """In what differences of a score are told: nats, points of a share, or plain numbers."""
    if score == "NLL" or score.startswith("log "):
        return Unit("nats", 1.0)
    return Unit("points", 100.0) if SCORES[score].high == 1.0 else Unit("", 1.0)


def relevant_differences(session: OpenSession) -> dict[str, float]:
    """Those that the visitor changed."""
    return session.picked.setdefault(RELEVANT, {})


def claims_of(fits: Sequence[ShownFit]) -> Claims:
    """What the differences of these fits allow to be claimed, by their titles; the raw model is the first."""
    relevant = relevant_differences(current_session())
    return keep(("claims", *_named(fits)), lambda: Claims(resampled(fits), relevant=relevant))


def _named(fits: Sequence[ShownFit]) -> tuple[Hashable, ...]:
    """What a comparison depends on besides the rows."""
    relevant = relevant_differences(current_session())
    return (*((fit.key, fit.title) for fit in fits), *sorted(relevant.items()))


def answer_of(fits: Sequence[ShownFit]) -> Recommendation | None:
    """What to take; None where no method has a score to decide by."""
    return keep(("answer", *_named(fits)), lambda: recommendation_of(claims_of(fits), fits))


def recommendation_of(claims: Claims, fits: Sequence[ShownFit]) -> Recommendation | None:
    """What to take, by the NLL; by the ECE where no calibrator has an NLL."""
    return recommend(claims, {fit.title: fit.calibrator for fit in fits})


def finding(answer: Recommendation) -> str:
    """The recommendation in Markdown: what to take, what it gains, who ties; and what changes no predicted class."""
    if answer.too_few:
        return (
            f"**These rows cannot rank methods:** {answer.too_few}. {literal(answer.best)} has the "
            f"{'lowest' if SCORES[answer.score].better == 'lower' else 'highest'} {answer.score} so far."
        )
    return " ".join(filter(None, [_choice(answer), _keeper(answer.keeper), _without(answer)]))


def _choice(answer: Recommendation) -> str:
    name, score = literal(answer.method), SCORES[answer.score].title
    if answer.method == answer.baseline:
        if answer.best == answer.method:
            return f"**Keep the raw model.** No calibrator lowers its {score}{_doubt(answer)}."
        return (
            f"**Keep the raw model.** Its {score} is equivalent to the best one, that of {literal(answer.best)}, "
            f"within {_amount(answer, answer.relevant)}, and nothing is simpler."
        )
    gain = f"**{_amount(answer, answer.gain.value)}** (95 %: {_interval(answer)})"
    if answer.word == "undecided":
        rows = "" if math.isnan(answer.rows_needed) else f"; about {answer.rows_needed:,.0f} test rows would decide"
        return (
            f"**Take {name} with caution.** Whether it lowers the {score} of the raw model is undecided: gain {gain}"
            f"{rows}."
        )
    start = f"**Take {name}" + ("**, though the raw model would do." if answer.word == "equivalent" else ".**")
    return f"{start} It lowers the {score} of the raw model by {gain}{_ties(answer)}{_doubt(answer)}."


def _ties(answer: Recommendation) -> str:
    if answer.ties:
        return f" and ties with {_names(answer.ties)}, of which none is simpler"
    return "" if answer.undecided or answer.n_candidates < 2 else " and is better than every other method here"


def _doubt(answer: Recommendation) -> str:
    """Whom it is not shown to be better than; the raw model is spoken of before."""
    names = [name for name in answer.undecided if name != answer.baseline]
    return f"; against {_names(names)} it is undecided" if names else ""


def _names(names: Sequence[str]) -> str:
    shown = [literal(name) for name in names[:_NAMED]]
    return listed([*shown, *([plural(len(names) - _NAMED, "other")] if len(names) > _NAMED else [])])


def _keeper(keeper: Recommendation | None) -> str:
    if keeper is None:
        return ""
    if keeper.method == keeper.baseline:
        return "If no predicted class may change: **the raw model**."
    verb = {"better": "lower", "equivalent": "lower, a tie with the raw model"}.get(keeper.word, "lower, undecided")
    return (
        f"If no predicted class may change: **{literal(keeper.method)}** ({_amount(keeper, keeper.gain.value)} {verb})."
    )


def _without(answer: Recommendation) -> str:
    if not answer.without:
        return ""
    gives, it = ("gives", "it") if len(answer.without) == 1 else ("give", "them")
    return f"{_names(answer.without)} {gives} a confidence only: compare {it} by ECE."


def _amount(answer: Recommendation, value: float) -> str:
    unit = unit_of(answer.score)
    return f"{number(value * unit.scale)} {unit.name}".replace("-", "−").strip()


def _interval(answer: Recommendation) -> str:
    scale = unit_of(answer.score).scale
    return f"{number(answer.gain.low * scale)} to {number(answer.gain.high * scale)}".replace("-", "−")


def unfinished() -> None:
    """Fits that are not among those shown: how many still run, and which failed and why."""
    current = jobs()
    active = [job for job in current if job.active]
    if active:
        st.caption(f":material/progress_activity: {len(active)} of {plural(len(current), 'fit')} still to come.")
    why: dict[str, list[str]] = {}
    for job in current:
        if not job.active and job.calibrator is None:
            why.setdefault(job.message, []).append(literal(job.spec.title))
    for message, titles in why.items():
        st.caption(f":material/error: Not here: **{listed(titles)}**. {escape_markdown(message)}")


def comparison_table(fits: Sequence[ShownFit]) -> pd.DataFrame:
    """The tidy comparison of all shown fits, computed once."""
    compare = partial(
        compare_evaluations, baseline=fits[0].title, resampled=resampled(fits),
        relevant=relevant_differences(current_session()),
    )  # fmt: skip
    evaluations = {fit.title: fit.evaluation for fit in fits}
    return ready(("comparison", *_named(fits)), f"the scores of {plural(len(fits), 'method')}", compare, evaluations)


def report_button(session: OpenSession, fits: list[ShownFit], key: str) -> None:
    """Offer the report of all shown fits; it takes seconds, so it is built on request.

    Parameters
    ----------
    fits : the raw model first.
    key : of the button, unique in the app.
    """
    about = {"part": session.part, "seed": session.seed, "relevant": dict(relevant_differences(session))}
    task = FileTask(html_of_fits, partial(reported, session, fits), arguments=(about,))
    on_request(
        "Report (HTML)", key, "report.html", task,
        of=(session.view.key, *_named(fits)), icon=":material/summarize:",
        help="One file to hand over: the verdict, all tables and figures, the data's hash, every setting, and how to "
        "make it again from a shell. It opens without a network.",
    )  # fmt: skip


def reported(session: OpenSession, fits: list[ShownFit]) -> dict[str, Any]:
    """What the report of these fits is made of; see :func:`calib.reporting.html_of_fits`."""
    claims = Claims(resampled(fits), relevant=relevant_differences(session))
    files = {role: name for role, (name, _) in session.reading.upload.files.items()}
    return {
        "summary": DataSummary.from_parts(session.data, session.calibration, session.test),
        "methods": [
            ReportedMethod.from_fitted(
                fit.title, fit.method, fit.title, fit.style, fit.calibrator, fit.evaluation, fit.fit_seconds,
                fit.predict_seconds,
            )
            for fit in fits
        ],
        "resampled": resampled(fits),
        "source": Source(files, session.reading.choices, session.sample),
        "recommendation": recommendation_of(claims, fits),
    }  # fmt: skip
