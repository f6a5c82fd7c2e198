"""Open data in place of others, record the session for its link, and restore it with its fits and studies."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from calib.data import Choices, Predictions
from calib.data.checks.report import shortened
from calib.data.samples import load_sample
from calib.engine import FitSpec, Job, TaskSpec
from calib.errors import CalibrationError
from calib.evaluation.studies import STUDIES, pool_arrays
from calib.export.decisions import check_decisions
from calib.formatting import listed, plural
from calib.records import without_arrays
from calib.registry import calibrator, extras_for
from calib.store import Damaged, Decided, Entry, Keeper, Study, in_words, keeper, plain_findings
from calib.ui import fits
from calib.ui.fits import GONE
from calib.ui.server.memory import admit
from calib.ui.session import (
    EXPORTED,
    FROM_THE_TOP,
    REJECTED,
    SESSION,
    Carried,
    OpenSession,
    Reading,
    find_session,
)
from calib.ui.text import add_notice

INTERRUPTED = "Interrupted: the app stopped before this was finished."
DAMAGED = "Done before, but its stored result was damaged on disk."
EARLIER = "calib_earlier"


def entry_of(session: OpenSession, jobs: dict[str, Job]) -> Entry:
    """The entry of a session, without settings.

    Parameters
    ----------
    jobs : where its fits and studies stand, by key; progress is left out, lest every step be written.
    """
    return Entry(
        visitor=session.visitor,
        data="" if session.sample else session.data.sha256,
        sample=session.sample,
        name=session.data.name,
        findings=plain_findings(session.data.findings),
        choices=without_arrays(session.reading.choices.given()),
        part=session.part,
        seed=session.seed,
        most=session.most,
        fits=tuple(specs_of(session).values()),
        studies={kind: Study(spec.arguments, spec.data_key, spec.title) for kind, spec in studies_of(session).items()},
        ended={key: (job.state, job.message) for key, job in jobs.items() if not job.active},
        decisions={key: Decided.from_rules(held.decision, held.sets) for key, held in session.carried.items()},
    )


def specs_of(session: OpenSession) -> dict[str, FitSpec]:
    """The fits of a session on all splits, by key."""
    return {key: spec for specs in session.specs_of_splits.values() for key, spec in specs.items()}


def studies_of(session: OpenSession) -> dict[str, TaskSpec]:
    """The studies of a session that are kept, by kind: those that give a table."""
    return {kind: spec for kind, spec in session.studies.items() if kind in STUDIES}


def keys_of(session: OpenSession) -> list[str]:
    """The keys of all fits and studies that are kept."""
    return [*specs_of(session), *(spec.key for spec in studies_of(session).values())]


def counted(session: OpenSession) -> list[str]:
    """How many fits, studies and decisions of the open split are there, in words."""
    counts = [("fit", "fits", len(session.specs)), ("study", "studies", len(studies_of(session)))]
    counts += [("decision", "decisions", len(session.carried))]
    return [plural(count, one, many) for one, many, count in counts if count]


def reopen(store: Keeper | None, entry: Entry) -> tuple[OpenSession | None, str]:
    """Open what an entry names; the session, or None, and a sentence on what was found.

    Raises
    ------
    Damaged
        If its data are not as they were stored.
    OSError
        If the disk does not give them now.
    DataError
        If they are larger than a visitor may hold.
    """
    data = load_sample(entry.sample) if entry.sample else None if store is None else store.data(entry.data)
    if data is None:
        return None, (
            f"The data of this link ({shortened(entry.name)}) are no longer there: they were not yet saved when the "
            "app stopped, or were removed to make room. Upload your files again."
        )
    session, before = _session(entry, data), find_session()
    admit(session)
    if before is not None:
        _leave(before)
    st.session_state[SESSION] = session
    unfinished = _bring_back(store, entry, session)
    fits.queue().warm_up()
    too = f" with {listed(counted(session))}" if counted(session) else ""
    sentences = [f"Brought back from your link: {shortened(entry.name)}{too}."]
    interrupted = [spec.title for spec in unfinished if isinstance(spec, FitSpec)]
    if interrupted:
        sentences.append(f"Not finished: {listed(interrupted)}; try again on the page Fit.")
    if cut_short := len(unfinished) - len(interrupted):
        sentences.append(f"Not finished: {plural(cut_short, 'study', 'studies')}; try again on the page Compare.")
    return session, " ".join(sentences)


def _session(entry: Entry, data: Predictions) -> OpenSession:
    choices = Choices(**entry.choices)
    if not entry.sample:
        data = replace(data, name=entry.name, findings=entry.findings)
    elif choices.event or choices.weight_kind:  # of an upload these are stored with the data
        data = data.decided(choices.event if choices.event in data.class_names else None, choices.weight_kind)
    about: dict[str, Any] = {"sample": entry.sample, "visitor": entry.visitor, "reading": Reading(choices=choices)}
    session = OpenSession.from_data(data, entry.part, entry.seed, entry.most, **about)
    _take_in(session, entry)
    return session


def _take_in(session: OpenSession, entry: Entry) -> None:
    """Count the fits of an entry, and what their files decide, among those of a session with the same data open."""
    for spec in entry.fits:
        with suppress(CalibrationError):  # a fit that this version cannot do is left out
            extras_for(calibrator(spec.method, **spec.params), session.data)
            session.specs_of_splits.setdefault(spec.data_key, {})[spec.key] = spec
    for key, decided in entry.decisions.items():
        if (of := session.specs.get(key)) is not None:
            with suppress(CalibrationError):
                decision, sets = decided.rules()
                probabilities = calibrator(of.method, **of.params).gives_probabilities
                check_decisions(None, decision, sets, session.data.n_classes, session.data.kind, probabilities)
                session.carried[key] = Carried(decision, sets)
                session.picked[EXPORTED] = key  # the page Export shows the one that decides


def _bring_back(store: Keeper | None, entry: Entry, session: OpenSession) -> list[FitSpec | TaskSpec]:
    """Bring back fits and studies as far as they are stored; those of the open split that were never finished."""
    unfinished: list[FitSpec | TaskSpec] = []
    for spec in list(session.specs.values()):
        job = _as_it_stood(store, entry, spec)
        fits.bring_back(job, spec, session)
        unfinished += [spec] if job.message in (INTERRUPTED, GONE, DAMAGED) else []
    for kind, study in entry.studies.items():
        if kind in STUDIES and study.data_key == session.data.sha256:
            task = session.studies[kind] = study.spec(kind)
            job, data = _as_it_stood(store, entry, task, kind), session.data
            fits.queue().adopt(job, data.logits, data.labels, pool_arrays(data), owner=session.visitor)
            unfinished += [task] if job.message in (INTERRUPTED, GONE, DAMAGED) else []
    for split, specs in session.specs_of_splits.items():
        for key, spec in list(specs.items()) if specs is not session.specs else ():
            job = _as_it_stood(store, entry, spec)
            if job.state == "failed":  # leaving the split ended what was not finished
                del specs[key]
                continue
            fits.queue().adopt(job, owner=session.visitor)
            if job.judgement is not None:
                session.evaluated_of_splits.setdefault(split, {})[key] = job.judgement
    return unfinished


def _as_it_stood(store: Keeper | None, entry: Entry, spec: FitSpec | TaskSpec, kind: str = "") -> Job:
    """The job of a fit or study that is finished, runs on or ended otherwise; failed where it can be tried again."""
    if here := fits.queue().snapshot([spec.key]):
        return here[0]
    state, message = entry.ended.get(spec.key, ("", INTERRUPTED))
    if state not in ("failed", "cancelled"):
        try:
            if store is not None and (stored := store.finished(spec, kind)) is not None:
                return stored
            message = GONE if state == "done" else INTERRUPTED
        except Damaged:
            message = DAMAGED
    return Job(spec.key, spec, state="failed", message=message)


def remember(entry: Entry) -> None:
    """Keep in mind what was open before in this tab."""
    st.session_state.setdefault(EARLIER, {})[_content(entry)] = entry


def forget_earlier() -> None:
    """Drop the fits and studies on data that were open before in this tab, unless others want them."""
    for entry in st.session_state.get(EARLIER, {}).values():
        keys = [spec.key for spec in entry.fits]
        keys += [study.spec(kind).key for kind, study in entry.studies.items() if kind in STUDIES]
        for key in keys:
            fits.queue().forget(key, owner=entry.visitor)


def _leave(session: OpenSession) -> None:
    """Stop what runs on data that make way for others, and keep in mind that they were open."""
    fits.stop(session, "other data were opened")
    jobs = fits.queue().snapshot(keys_of(session), owner=session.visitor)
    remember(entry_of(session, {job.key: job for job in jobs}))


def open_data(opened: OpenSession) -> None:
    """Replace what the visitor has open.

    The same data opened once more go on as they are. Fits and studies on others are stopped; those that were finished
    come back with these data.
    """
    before = find_session()
    st.session_state.pop(REJECTED, None)
    st.session_state[FROM_THE_TOP] = True
    if before is not None and before.data.sha256 == opened.data.sha256:
        _go_on(before, opened)
        return
    if before is not None:
        data = opened.data
        classes = "" if data.kind == "pairs" else f", {plural(data.n_classes, 'class', 'classes')}"
        add_notice(f"Now open: {shortened(data.name)}, {plural(len(data), 'row')}{classes}.")
        _leave(before)
    st.session_state[SESSION] = opened
    _open_again(opened)


def _go_on(before: OpenSession, opened: OpenSession) -> None:
    opened.visitor = before.visitor
    opened.split(before.part, before.seed, before.most)
    opened.specs_of_splits, opened.evaluated_of_splits = before.specs_of_splits, before.evaluated_of_splits
    if opened.split_key == before.split_key:
        opened.studies, opened.carried = before.studies, before.carried
    st.session_state[SESSION] = opened


def _open_again(opened: OpenSession) -> None:
    entry = st.session_state.get(EARLIER, {}).get(_content(entry_of(opened, {})))
    if entry is None or not (entry.fits or entry.studies):
        return
    opened.visitor = entry.visitor  # or what was done before would be another's, and stay when this one's is deleted
    opened.split(entry.part, entry.seed, entry.most)
    _take_in(opened, entry)
    try:
        _bring_back(keeper(), entry, opened)
    except OSError as error:
        add_notice(f"Not all that was done with these data could be read: {in_words(error)}.")
    if back := counted(opened):
        add_notice(f"These data were open before: {listed([*back, 'their split'])} are back.")


def _content(entry: Entry) -> str:
    """Names the data of an entry; of a sample, also what was decided about it."""
    return entry.data or f"{entry.sample} {entry.choices.get('event')} {entry.choices.get('weight_kind')}"
