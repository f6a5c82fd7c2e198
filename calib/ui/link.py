"""The visitor's links: open data are stored under one as they change, and restored where it is opened again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn

import streamlit as st

from calib.base import extras_for
from calib.data import Choices, DataError, Predictions
from calib.data.findings import shortened
from calib.data.options import explicit_options
from calib.data.samples import load_sample
from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import made_of, rule_from_state, rule_state
from calib.engine import FitSpec
from calib.errors import CalibrationError
from calib.evaluation.studies import SPLITS
from calib.export.decisions import check_decisions
from calib.formatting import plural
from calib.isolation.logs import trace
from calib.records import without_arrays
from calib.registry import calibrator
from calib.store.contents import (
    Entry,
    get_data,
    link_name,
    new_link,
    plain_findings,
    put_data,
    put_job,
)
from calib.store.index import NotKept, describe_error, server_store
from calib.ui import fits
from calib.ui.server.memory import admit
from calib.ui.session import (
    EXPORTED,
    FROM_THE_TOP,
    NOUN,
    REJECTED,
    SESSION,
    VIEWPOINT,
    Carried,
    OpenSession,
    Reading,
    find_session,
)
from calib.ui.text import add_notice, literal

LINKS, PRIVATE = "calib_links", "calib_private"
ARRIVED = "calib_arrived"
"""Flag of the link in the address: it is looked at once for a page that is opened anew."""
PARAMETER = "w"
SETTINGS = ("fit/methods", VIEWPOINT)
"""Widgets whose choices come back too."""
COHORT = "cohort"
"""The columns and the name of the cohort, among the settings."""
USED = 600.0
"""Seconds after which a link is stored once more, so that it counts as used."""


@dataclass(eq=False)
class Link:
    """The link of one data set; other data get another, so that a link that was passed on shows no more.

    Attributes
    ----------
    token : the secret in the address.
    name : under which the server knows it.
    entry : what it leads to.
    stored : what this tab has stored under it, or found there first.
    used : when that was, by the monotonic clock.
    trouble : why not all of it is stored; empty where it is.
    """

    token: str
    name: str
    entry: Entry
    stored: Entry | None = None
    used: float = 0.0
    trouble: str = ""


def links() -> dict[str, Link]:
    """Links of this tab by the hash of the data that were opened in it; the last is that of the open data."""
    by_hash: dict[str, Link] = st.session_state.setdefault(LINKS, {})
    return by_hash


def _names() -> set[str]:
    """Of these links, and of those that were open before in this tab."""
    return {name for link in links().values() for name in (link.name, *link.entry.earlier)}


def find_link() -> Link | None:
    """The link of the open data, or None where nothing is kept."""
    return (
        list(links().values())[-1]
        if links() and server_store() is not None and not private()
        else None
    )


def arrive() -> None:
    """On the first run of a page opened anew, bring back what the link in its address leads to.

    Later, where the browser's Back or Forward leads to data that were open before in this tab, open them again.
    """
    token = st.query_params.get(PARAMETER)
    arrived = st.session_state.get(ARRIVED, SESSION in st.session_state)
    st.session_state[ARRIVED] = True
    link = find_link()
    back = link is not None and token is not None and link_name(token) in _names() - {link.name}
    if token is not None and (back or not arrived):
        with st.spinner("Bringing back what was open…"):
            trouble = _follow(token)
        if trouble:
            add_notice(trouble)
        elif arrived:
            st.session_state[FROM_THE_TOP] = True


def _follow(token: str) -> str:
    """Open what a token leads to; else why not, in sentences."""
    try:
        return _bring_back(token)
    except DataError as error:  # no room now
        return str(error)
    except OSError as error:
        why = describe_error(error)
        return f"What is kept cannot be read now: {why}. Your link is as good as before: open it again later."
    except Exception as error:  # nothing that lies on the disk may keep a page from opening
        logging.getLogger("calib").error("a link could not be followed\n%s", trace(error))
        return "What is kept under this link could not be brought back. Upload your files again."


def _bring_back(token: str) -> str:
    """Open what a token leads to; else why it leads nowhere."""
    store = server_store()
    if store is None:
        return "This server keeps nothing on disk, so no link brings data back. Upload your files again."
    name = link_name(token)
    entry = store.get_link(name, Entry)
    data = None
    if entry is not None:
        data = load_sample(entry.sample) if entry.sample else get_data(store, entry.data)
    if entry is None or data is None:
        return (
            "Nothing is kept under this link: it was deleted, damaged, unused for long, removed to make room, or "
            "private mode was chosen. Upload your files again."
        )
    session = session_of(entry, data)
    admit(session)
    if (before := find_session()) is not None:
        _leave(before)
    session.viewpoint = entry.settings.get(VIEWPOINT, session.viewpoint)
    st.session_state[SESSION] = session
    st.toast(f"Brought back from your link: {literal(session.data.name)}, as you left it.")
    for key in SETTINGS:
        if key in entry.settings:
            st.session_state[key] = entry.settings[key]
    links().pop(session.data.sha256, None)
    links()[session.data.sha256] = Link(token, name, entry, entry)
    return ""


def open_data(opened: OpenSession) -> None:
    """Replace what the visitor has open.

    Data that are or were open in this tab have their split, fits, studies and decisions again. Fits and studies on
    others are stopped.
    """
    before = find_session()
    data = opened.data
    others = before is not None and before.data.sha256 != data.sha256
    st.session_state.pop(REJECTED, None)
    st.session_state[FROM_THE_TOP] = True
    if before is not None and others:
        classes = "" if data.kind == "pairs" else f", {plural(data.n_classes, 'class', 'classes')}"
        add_notice(f"Now open: {shortened(data.name)}, {plural(len(data), 'row')}{classes}.")
        _leave(before)
    elif before is not None:
        opened.go_on_from(before)
    st.session_state[SESSION] = opened
    if others and (link := links().get(data.sha256)) is not None:
        entry = link.entry
        opened.visitor = (
            entry.visitor
        )  # or what was done before would be another's, and stay when that is deleted
        opened.split(entry.part, entry.seed, entry.most)
        _take_in(opened, entry)
        add_notice("These data were open before, and are as you left them.")


def _leave(session: OpenSession) -> None:
    """Stop what runs on data that make way for others, and keep in mind what they had."""
    fits.stop(session, "other data were opened")
    _keep(session)


def remember() -> None:
    """Store what changed since the last run, and keep the link in the address."""
    session = find_session()
    if session is None or not session.data.sha256:
        return
    _keep(session)
    link = find_link()
    if link is not None and st.query_params.get(PARAMETER) != link.token:
        st.query_params[PARAMETER] = (
            link.token
        )  # links to other pages carry it; an address typed in does not


def _keep(session: OpenSession) -> None:
    """Store what a link is to lead to, unless it is stored."""
    link = _noted(session)
    store = server_store()
    if store is None or private():
        return
    try:
        stored = store.get_link(link.name, Entry)
        if stored is not None:  # perhaps another tab or server has added something
            _take_in(session, stored, link.stored)
            _noted(session)
        if stored is None or link.entry != link.stored or time.monotonic() - link.used >= USED:
            store.put_link(link.name, link.entry, link.entry.keys())
            link.stored, link.used = link.entry, time.monotonic()
        put_data(store, session.data)
        for job in fits.queue().snapshot(link.entry.keys()):
            if job.state == "done":
                put_job(store, job)
        link.trouble = ""
    except Exception as error:
        if not isinstance(error, NotKept):
            logging.getLogger("calib").error("something could not be stored\n%s", trace(error))
        link.trouble = describe_error(error)


def _noted(session: OpenSession) -> Link:
    """The link of the open data, now the last of the tab, with what it is to lead to."""
    link = links().pop(session.data.sha256, None) or Link(*new_link(), Entry(session.visitor))
    link.entry = entry_of(session, (_names() | {*link.entry.earlier}) - {link.name})
    links()[session.data.sha256] = link
    return link


def delete_links() -> None:
    """Delete from the disk what the links of this tab lead to, all or nothing; the data stay open. Raises OSError."""
    store = server_store()
    if store is not None and links():
        store.delete(_names())
    fresh = {
        key: Link(*new_link(), replace(link.entry, earlier=())) for key, link in links().items()
    }
    st.session_state[LINKS] = fresh  # what was deleted is never written again under its link
    if PARAMETER in st.query_params:
        del st.query_params[PARAMETER]


def page_link(path: str, label: str, icon: str | None = None, **looks: Any) -> None:
    """A link to another page that leads to what is open, so that the browser's Back needs one press for each page."""
    st.page_link(path, label=label, icon=icon, query_params=parameters(), **looks)


def go_to(path: str) -> NoReturn:
    """Leave for another page, as a click on a link to it would."""
    st.switch_page(path, query_params=parameters())


def parameters() -> dict[str, str]:
    """The query parameters that a link to another page needs."""
    link = find_link()
    return {} if link is None else {PARAMETER: link.token}


def private() -> bool:
    """Return whether the visitor asked that nothing be written."""
    return bool(st.session_state.get(PRIVATE))


def entry_of(session: OpenSession, earlier: Iterable[str] = ()) -> Entry:
    """Entry of the link of a session."""
    studies = {kind: spec for kind, spec in session.studies.items() if kind == SPLITS}
    return Entry(
        visitor=session.visitor,
        data="" if session.sample else session.data.sha256,
        sample=session.sample,
        name=session.data.name,
        findings=plain_findings(session.data.findings),
        choices=without_arrays(explicit_options(session.reading.choices)),
        part=session.part,
        seed=session.seed,
        most=session.most,
        fits={spec.key: spec for spec in session.all_specs if isinstance(spec, FitSpec)},
        studies={
            kind: (spec.arguments, spec.data_key, spec.title) for kind, spec in studies.items()
        },
        decisions={
            key: (
                rule_state(carried.decision),
                carried.sets and without_arrays(asdict(carried.sets)),
            )
            for key, carried in session.carried.items()
        },
        settings=_settings(session),
        earlier=tuple(sorted(earlier)),
    )


def _settings(session: OpenSession) -> dict[str, Any]:
    """Choices on the pages, and the cohort."""
    settings = {key: st.session_state[key] for key in SETTINGS if key in st.session_state}
    if NOUN in session.picked:
        settings[NOUN] = session.picked[NOUN]
    if session.cohort is not None:
        settings[COHORT] = [[*session.cohort.columns], session.cohort.name]
    return settings


def session_of(entry: Entry, data: Predictions) -> OpenSession:
    """The session of an entry with its data."""
    choices = Choices(**entry.choices)
    if not entry.sample:
        data = replace(data, name=entry.name, findings=entry.findings)
    elif choices.event or choices.weight_kind:  # of an upload these are stored with the data
        data = data.decided(
            choices.event if choices.event in data.class_names else None, choices.weight_kind
        )
    about: dict[str, Any] = {
        "sample": entry.sample,
        "visitor": entry.visitor,
        "reading": Reading(choices=choices),
    }
    session = OpenSession.from_data(data, entry.part, entry.seed, entry.most, **about)
    if NOUN in entry.settings:
        session.picked[NOUN] = entry.settings[NOUN]
    if COHORT in entry.settings:
        session.show_cohort(*entry.settings[COHORT])
    _take_in(session, entry)
    return session


def _take_in(session: OpenSession, entry: Entry, stored: Entry | None = None) -> None:
    """Count the fits, studies and decisions of an entry, but for those known, among those of a session of its data."""
    stored = stored or Entry("")
    for key, spec in entry.fits.items():
        if key not in stored.fits:
            with suppress(CalibrationError):  # a fit that this version cannot do is left out
                extras_for(calibrator(spec.method, **spec.params), session.data)
                session.specs_of_splits.setdefault(spec.data_key, {}).setdefault(key, spec)
    for kind, study in entry.specs_of_studies().items():
        if kind not in stored.studies and study.data_key == session.data.sha256:
            session.studies.setdefault(kind, study)
    for key, (rule, sets) in entry.decisions.items():
        if key in session.specs and key not in session.carried and key not in stored.decisions:
            with suppress(CalibrationError):  # what this version cannot decide for the fit
                carried = Carried(
                    rule_from_state(rule), None if sets is None else made_of(PredictionSets, sets)
                )
                of = session.specs[key]
                data = session.data
                probabilities = calibrator(of.method, **of.params).gives_probabilities
                check_decisions(
                    None, carried.decision, carried.sets, data.n_classes, data.kind, probabilities
                )
                session.carried[key] = carried
                session.picked[EXPORTED] = key  # the page Export shows the one that decides
