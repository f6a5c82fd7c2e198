"""Open data in place of others, record the session in the workspace, and restore it with its fits and studies."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from calib.data import Choices, Finding, Predictions
from calib.data.checks.report import shortened
from calib.data.samples import load_sample
from calib.diagnostics.judgement import Judgement
from calib.errors import CalibrationError
from calib.evaluation.studies import STUDIES, pool_arrays
from calib.export.decisions import check_decisions
from calib.formatting import listed, plural
from calib.engine import FitSpec, Job, TaskSpec
from calib.records import flatten
from calib.registry import calibrator, extras_for
from calib.ui import fits
from calib.ui.server.memory import admit
from calib.ui.server.shares import visitor_address
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
from calib.workspace import Damaged, Entry, Keeper, KeptDecision, KeptSpec, KeptStudy, Unreadable, keeper
from calib.workspace.links import plain_findings

INTERRUPTED = "Interrupted: the app stopped before this was finished."
GONE = "Done before, but its result was removed to make room."
DAMAGED = "Done before, but its stored result was damaged on disk."
EARLIER = "calib_earlier"


def entry_of(
    session: OpenSession,
    jobs: dict[str, Job],
    settings: dict[str, Any] | None = None,
    earlier: tuple[str, ...] = (),
    owner: str = "",
) -> Entry:
    """The entry of a session.

    Parameters
    ----------
    jobs : where its fits and studies stand, by key.
    settings, earlier, owner : as in :class:`Entry`.
    """
    return Entry(
        visitor=session.visitor,
        data="" if session.sample else session.data.sha256,
        sample=session.sample,
        name=session.data.name,
        findings=plain_findings(session.data.findings),
        choices=flatten(session.reading.choices.given())[0],
        part=session.part,
        seed=session.seed,
        most=session.most,
        split_key=session.split_key,
        specs=tuple(KeptSpec.from_spec(spec, jobs.get(key)) for key, spec in specs_of(session).items()),
        settings=settings or {},
        earlier=earlier,
        owner=owner,
        studies=tuple(
            KeptStudy.from_spec(kind, spec, jobs.get(spec.key)) for kind, spec in studies_of(session).items()
        ),
        decisions=tuple(
            kept
            for key, held in session.carried.items()
            if (kept := KeptDecision.from_rules(key, held.decision, held.sets)) is not None
        ),
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


def reopen(store: Keeper, entry: Entry) -> tuple[OpenSession | None, str]:
    """Open what an entry names; the session, or None, and a sentence on what was found."""
    data = load_sample(entry.sample) if entry.sample else store.data(entry)
    if data is None:
        return None, (
            f"The data of this link ({shortened(entry.name)}) are no longer there: they were not yet saved when the "
            "app stopped, or were removed to make room. Upload your files again."
        )
    session, before = _session(entry, data), find_session()
    admit(session, visitor_address(), leaving=before)
    if before is not None:
        fits.stop(before, "other data were opened")
    st.session_state[SESSION] = session
    interrupted, cut_short = bring_back_fits(store, entry, session), bring_back_studies(store, entry, session)
    fits.queue().warm_up()
    too = f" with {listed(counted(session))}" if counted(session) else ""
    sentences = [f"Brought back from your link: {shortened(entry.name)}{too}."]
    if interrupted:
        sentences.append(f"Not finished: {listed(interrupted)}; try again on the page Fit.")
    if cut_short:
        sentences.append(f"Not finished: {plural(cut_short, 'study', 'studies')}; try again on the page Compare.")
    return session, " ".join(sentences)


def counted(session: OpenSession) -> list[str]:
    """How many fits, studies and decisions of the open split are there, in words."""
    counts = [("fit", "fits", len(session.specs)), ("study", "studies", len(studies_of(session)))]
    counts += [("decision", "decisions", len(session.carried))]
    return [plural(count, one, many) for one, many, count in counts if count]


def _session(entry: Entry, data: Predictions) -> OpenSession:
    if not entry.sample:
        findings = tuple(
            Finding(level, code, reason, action, left_out=left_out)  # type: ignore[arg-type]
            for level, code, reason, action, left_out in entry.findings
        )
        data = replace(data, name=entry.name, findings=findings)
    try:
        choices = Choices(**entry.choices)
    except TypeError:  # of another version
        choices = Choices()
    if entry.sample and (choices.event or choices.weight_kind):  # of an upload these are stored with the data
        data = data.decided(choices.event if choices.event in data.class_names else None, choices.weight_kind)
    session = OpenSession.from_data(
        data,
        entry.part,
        entry.seed,
        entry.most,
        sample=entry.sample,
        reading=Reading(choices=choices),
        visitor=entry.visitor,
    )
    take_in(session, entry)
    return session


def take_in(session: OpenSession, entry: Entry) -> None:
    """Count the fits of an entry, and what their files decide, among those of a session with the same data open."""
    for kept in entry.specs:
        spec = kept.spec()
        if spec.key == kept.key and _possible(
            spec, session.data
        ):  # else its method has other parameters in this version
            session.specs_of_splits.setdefault(spec.data_key, {})[spec.key] = spec
    for decided in entry.decisions:
        if (of := session.specs.get(decided.key)) is not None:
            with suppress(CalibrationError):  # of another version
                decision, sets = decided.rules()
                probabilities = calibrator(of.method, **of.params).gives_probabilities
                check_decisions(None, decision, sets, session.data.n_classes, session.data.kind, probabilities)
                session.carried[decided.key] = Carried(decision, sets)
                session.picked[EXPORTED] = decided.key  # the page Export shows the one that decides


def bring_back_fits(store: Keeper | None, entry: Entry, session: OpenSession) -> list[str]:
    """Bring back the fits of the open session as far as they are kept; titles of those that were never finished."""
    interrupted = [spec.title for spec in session.specs.values() if not _bring_back_fit(store, entry, spec, session)]
    for split, specs in session.specs_of_splits.items():
        if specs is not session.specs:
            _bring_back_others(store, entry, specs, session.evaluated_of_splits.setdefault(split, {}))
    return interrupted


def _possible(spec: FitSpec, data: Predictions) -> bool:
    try:
        extras_for(calibrator(spec.method, **spec.params), data)
    except CalibrationError:
        return False
    return True


def _bring_back_fit(store: Keeper | None, entry: Entry, spec: FitSpec, session: OpenSession) -> bool:
    kept = next(kept for kept in entry.specs if kept.key == spec.key)
    job, ended = _as_it_stood(store, entry, kept, spec)
    fits.bring_back(job, spec, session)
    return ended


def bring_back_studies(store: Keeper | None, entry: Entry, session: OpenSession) -> int:
    """Bring back the studies of the open split as far as they are kept; how many were never finished."""
    unfinished = 0
    for kept in entry.studies:
        spec = kept.spec()
        if spec is None or spec.data_key != session.data.sha256:
            continue
        job, ended = _as_it_stood(store, entry, kept, spec)
        fits.queue().adopt(
            job, session.data.logits, session.data.labels, pool_arrays(session.data), owner=session.visitor
        )
        session.studies[kept.kind] = spec
        unfinished += not ended
    return unfinished


def _as_it_stood(
    store: Keeper | None, entry: Entry, kept: KeptSpec | KeptStudy, spec: FitSpec | TaskSpec
) -> tuple[Job, bool]:
    """A job that is finished, runs on, or had ended otherwise, and True; or, and False, one that is offered anew."""
    if here := fits.queue().snapshot([spec.key]):
        return here[0], True
    if kept.state in ("failed", "cancelled"):
        return Job(spec.key, spec, state="failed", message=kept.message), True
    try:
        job, message = _stored(store, entry, spec), GONE if kept.state == "done" else INTERRUPTED
    except Unreadable:
        raise
    except Damaged:
        job, message = None, DAMAGED
    return (job, True) if job is not None else (Job(spec.key, spec, state="failed", message=message), False)


def _stored(store: Keeper | None, entry: Entry, spec: FitSpec | TaskSpec) -> Job | None:
    if store is None:
        return None
    return store.fit(entry, spec) if isinstance(spec, FitSpec) else store.study(entry, spec)


def _bring_back_others(
    store: Keeper | None, entry: Entry, specs: dict[str, FitSpec], judged: dict[str, Judgement]
) -> None:
    """Finished fits of a split that is not open, with their judgements; leaving it cancelled all others."""
    for key, spec in list(specs.items()):
        here = fits.queue().snapshot([key])
        try:
            job = here[0] if here else _stored(store, entry, spec)
        except Unreadable:
            raise
        except Damaged:
            job = None
        if job is None:
            specs.pop(key)
        else:
            fits.queue().adopt(job, owner=entry.visitor)
            if job.judgement is not None:
                judged[key] = job.judgement


def remember(entries: Iterable[Entry]) -> None:
    """Keep in mind what was open before in this tab."""
    known: dict[str, Entry] = st.session_state.setdefault(EARLIER, {})
    known.update({_content(entry): entry for entry in entries})


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
        fits.stop(before, "other data were opened")
        jobs = fits.queue().snapshot(keys_of(before), owner=before.visitor)
        remember([entry_of(before, {job.key: job for job in jobs})])
    st.session_state[SESSION] = opened
    _bring_back(opened)


def _go_on(before: OpenSession, opened: OpenSession) -> None:
    opened.visitor = before.visitor
    opened.split(before.part, before.seed, before.most)
    opened.specs_of_splits, opened.evaluated_of_splits = before.specs_of_splits, before.evaluated_of_splits
    if opened.split_key == before.split_key:
        opened.studies, opened.carried = before.studies, before.carried
    st.session_state[SESSION] = opened


def _bring_back(opened: OpenSession) -> None:
    entry = st.session_state.get(EARLIER, {}).get(_content(entry_of(opened, {})))
    if entry is None or not (entry.specs or entry.studies):
        return
    opened.split(entry.part, entry.seed, entry.most)
    take_in(opened, entry)
    bring_back_fits(keeper(), entry, opened)
    bring_back_studies(keeper(), entry, opened)
    if back := counted(opened):
        add_notice(f"These data were open before: {listed([*back, 'their split'])} are back.")


def _content(entry: Entry) -> str:
    """Names the data of an entry; of a sample, also what was decided about it."""
    return entry.data or f"{entry.sample} {entry.choices.get('event')} {entry.choices.get('weight_kind')}"
