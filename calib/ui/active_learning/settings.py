"""Settings of the Active learning page: its rows, and what the visitor chooses, by widgets made from a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any

import streamlit as st

from calib.active_learning import ARMS, CLASSIFIERS, Plan
from calib.active_learning.results import ENOUGH
from calib.data import Predictions
from calib.data.samples import SAMPLES
from calib.formatting import escape_markdown, plural
from calib.registry import METHODS
from calib.ui.data.upload import open_sample
from calib.ui.link import page_link
from calib.ui.session import OpenSession
from calib.ui.widgets import several

SAMPLE = "digits-forest"

DECLARED = {f.name: f.metadata for f in fields(Plan)}
PACKAGES = {"mondrian": "river"}
"""What a classifier needs beyond the packages of every installation."""
MOST_SHUFFLES = 20
PRETRAINING, BATCH = 500, 250
"""Of the paper; a smaller pool begins with 8 % and goes on by 4 %."""
STEPS = (1, 2, 2.5, 5)


@dataclass(frozen=True)
class Rows:
    """How many rows there are of each kind, and under which name their arrays are known.

    Attributes
    ----------
    n_pool, n_test : rows to ask about and rows that judge.
    n_classes : classes there are.
    trained : whether the pool is the training set; otherwise it is the calibration part of the split.
    data_key : the same for the same arrays in every session.
    """

    n_pool: int
    n_test: int
    n_classes: int
    trained: bool
    data_key: str

    @classmethod
    def from_session(cls, session: OpenSession) -> Rows:
        """Those of the open data, as :func:`calib.active_learning.pool_from_predictions` takes them."""
        data = session.data
        if data.train_features is not None and data.train_labels is not None:
            return cls(len(data.train_labels), len(data), data.n_classes, True, data.sha256)
        return cls(len(session.calibration), len(session.test), data.n_classes, False, session.split_key)

    @property
    def sentence(self) -> str:
        """Which rows are which."""
        pool = "the training set that came with the data" if self.trained else "the calibration part of the split"
        judge = "all rows of the data" if self.trained else "the test part"
        return (
            f"Pool: {plural(self.n_pool, 'row')}, {pool}. Judged on {plural(self.n_test, 'row')}, {judge}; "
            f"{plural(self.n_classes, 'class', 'classes')}. A classifier is trained here on their features, so the "
            "outputs of your own model take no part."
        )


def need_features(data: Predictions) -> bool:
    """Whether there is something to train on; otherwise say what is missing, with the buttons that get it."""
    if data.features is not None:
        return True
    left_out = next((finding for finding in data.findings if finding.left_out == "features"), None)
    if left_out is not None:
        st.warning(
            "Active learning trains a classifier while it asks for labels, and the features that came with these data "
            f"cannot be used: {escape_markdown(f'{left_out.reason} {left_out.action}')}"
        )
    else:
        st.info(
            "Active learning trains a classifier while it asks for labels, and these data hold no features to train "
            "on. Upload features beside the outputs, one entry per row; with train_features and train_labels too, the "
            "training set is the pool that labels are asked from."
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        page_link("app.py", "Open data with features", ":material/upload_file:")
        st.button(
            f"Open the sample {SAMPLES[SAMPLE].title}, which has them", key="active/sample", icon=":material/image:",
            on_click=open_sample, args=(SAMPLE,),
        )  # fmt: skip
    return False


@dataclass(frozen=True)
class Wanted:
    """What the visitor asks for.

    Attributes
    ----------
    settings : of :class:`~calib.active_learning.Plan`, by name.
    arms : in the order of ``ARMS``.
    n_shuffles : 1 or more.
    """

    settings: dict[str, Any]
    arms: list[str]
    n_shuffles: int

    @property
    def runs(self) -> list[tuple[str, int]]:
        """Arm and seed of each simulation: a shuffle of every arm, then the next, so that curves grow side by side."""
        return [(arm, seed) for seed in range(self.n_shuffles) for arm in self.arms]

    def settings_of(self, arm: str) -> dict[str, Any]:
        """The settings that an arm uses."""
        unused = {"tolerance"} if arm != "active" else set()
        if not ARMS[arm].calibrates:
            unused |= {"calibrator", "every", "calibrate_on"}
        if ARMS[arm].asks_any:
            unused |= {"uncertainty", "threshold", "first"}
        return {name: value for name, value in self.settings.items() if name not in unused}


def fitting_sizes(n_pool: int, n_classes: int) -> tuple[int, int]:
    """Rows to begin with and rows of a batch that suit a pool: the paper's, or for a small pool round shares of it."""
    pretraining = min(PRETRAINING, round_down(0.08 * n_pool))
    pretraining = min(max(pretraining, 2 * n_classes), max(1, n_pool // 2))
    return pretraining, min(BATCH, max(min(10, n_pool), round_down(0.04 * n_pool)))


def round_down(value: float) -> int:
    """The largest of 1, 2, 5, 10, 20, 25, 50, 100, ... that is not above the value; at least 1."""
    if value < 1:
        return 1
    scale = 10 ** math.floor(math.log10(value))
    return int(max(step * scale for step in STEPS if step * scale <= value and step * scale % 1 == 0))


def choose(rows: Rows) -> Wanted:
    """Draw all widgets; what is needed by everybody first, the rest folded away."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        settings = {
            "classifier": _option("classifier", installed(), {name: CLASSIFIERS[name].title for name in CLASSIFIERS}),
            "calibrator": _option(
                "calibrator", list(DECLARED["calibrator"]["choices"]), {name: METHODS[name].title for name in METHODS},
                begin="gpcalib",
            ),
        }  # fmt: skip
        n_shuffles = _number(
            "shuffles", "active/shuffles", ENOUGH, 1, MOST_SHUFFLES,
            f"Each shuffle of the pool is a run of every arm. Fewer than {ENOUGH} show little; the paper has 10.",
        )  # fmt: skip
    st.caption(_about(settings["classifier"], settings["calibrator"]))
    arms = _arms(settings["calibrator"])
    settings |= _sizes(rows)
    with st.expander("More settings"):
        settings |= _rest(arms)
    return Wanted(settings, arms, n_shuffles)


def installed() -> list[str]:
    """Names of the classifiers that can be trained here."""
    return [name for name in CLASSIFIERS if name not in PACKAGES or find_spec(PACKAGES[name]) is not None]


def _about(classifier: str, calibrator: str) -> str:
    missing = [
        f"{CLASSIFIERS[name].title}, the paper's, needs the package {package}, which is not installed here."
        for name, package in PACKAGES.items()
        if name not in installed()
    ]
    return " ".join([f"{CLASSIFIERS[classifier].title}: {CLASSIFIERS[classifier].summary}", *missing])


def _arms(calibrator: str) -> list[str]:
    able = {name: arm.title for name, arm in ARMS.items() if name != "active" or calibrator == "gpcalib"}
    chosen = several(able, "active/arms", "Arms to compare", aside=("random",)) or [next(iter(able))]
    words = [f"**{ARMS[name].title}**: {ARMS[name].summary}" for name in chosen]
    if "active" not in able:
        words.append(
            f"**{ARMS['active'].title}** is led by the uncertainty of a latent function, which only "
            f"{METHODS['gpcalib'].title} has."
        )
    st.caption(" ".join(words))
    return chosen


def _sizes(rows: Rows) -> dict[str, Any]:
    pretraining, batch = fitting_sizes(rows.n_pool, rows.n_classes)
    key = f"active/{rows.n_pool}/{rows.n_classes}"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        return {
            name: _number(name, f"{key}/{name}", begin, DECLARED[name]["low"] or 0, rows.n_pool, DECLARED[name]["help"])
            for name, begin in (("pretraining", pretraining), ("batch", batch), ("budget", None))
        }


def _rest(arms: list[str]) -> dict[str, Any]:
    calibrates = any(ARMS[name].calibrates for name in arms)
    rest: dict[str, Any] = {}
    columns = st.columns(3)
    with columns[0]:
        rest["uncertainty"] = _declared("uncertainty")
        rest["threshold"] = _declared("threshold")
    with columns[1]:
        rest["every"] = _declared("every", disabled=not calibrates)
        rest["tolerance"] = _declared("tolerance", disabled="active" not in arms)
    with columns[2]:
        rest["first"] = _declared("first")
        rest["calibrate_on"] = _declared("calibrate_on", disabled=not calibrates)
    return rest


def _declared(name: str, **looks: Any) -> Any:
    declared = DECLARED[name]
    begin: Any = next(f.default for f in fields(Plan) if f.name == name)
    if declared["choices"] is not None:
        options = list(declared["choices"])
        return _option(name, options, {option: option.replace("_", " ") for option in options}, begin=begin, **looks)
    return _number(name, f"active/{name}", begin, declared["low"], declared["high"], declared["help"], **looks)


def _option(name: str, options: list[str], titles: dict[str, str], begin: str | None = None, **looks: Any) -> str:
    return st.selectbox(
        name.replace("_", " ").capitalize(), options, index=options.index(begin) if begin else 0,
        format_func=titles.__getitem__, key=f"active/{name}", help=DECLARED[name]["help"], persist_state="session",
        **looks,
    )  # fmt: skip


def _number(name: str, key: str, begin: Any, low: Any, high: Any, help: str, **looks: Any) -> Any:
    kind = float if isinstance(begin, float) else int
    return st.number_input(
        name.capitalize(), value=begin, min_value=kind(low), max_value=None if high is None else kind(high),
        step=0.05 if kind is float else 1, format="%.2f" if kind is float else "%d",
        placeholder="no end" if begin is None else None, key=key, help=help, persist_state="session", **looks,
    )  # fmt: skip
