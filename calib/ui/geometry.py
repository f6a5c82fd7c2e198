"""Parts of the Geometry page: success by separation, and one input among the training data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.calibrators.geometric import MAPS
from calib.diagnostics.separation import (
    EXACT,
    WAYS,
    ExplainedInput,
    Measured,
    RightShare,
    SeparationStudy,
    Sides,
    explain_input,
    study_separations,
)
from calib.engine import Data
from calib.formatting import listed, number, percent, plural
from calib.metrics.bootstrap import Interval
from calib.plots.geometry import success_curve, zone_chart
from calib.plots.style import method_style
from calib.registry import METHODS
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready
from calib.ui.progress import fit_here
from calib.ui.session import OpenSession
from calib.ui.text import literal, percents
from calib.ui.widgets import draw_table, segments


def finding(sides: Sides) -> str:
    """Describe the accuracy of inputs well inside their class, and the worth of dangerous ones."""
    inside, rest = sides.inside, sides.dangerous
    if sides.threshold <= 0:
        return _mostly_dangerous(sides)
    opening = (
        f"**Of the {inside.rows:,} inputs well inside their predicted class {percent(inside.rate.value)} are right** "
        f"({_interval(inside.rate)}), against {percent(sides.everyone.rate.value)} of all "
        f"{plural(sides.everyone.rows, 'test row')}. Well inside is a separation of {number(sides.threshold)} or more."
    )
    if not rest.rows:
        return f"{opening} None of them is dangerous: each is nearer to its predicted class than to all others."
    verb, owner = ("is", "it") if rest.rows == 1 else ("are", "these")
    text = (
        f"{opening} {rest.rows:,} of {sides.everyone.rows:,} {verb} **dangerous**, nearer to another class, and "
        f"{_right(rest, owner)} ({_interval(rest.rate)})"
    )
    return f"{text}{_overlap(inside, rest)}."


def _mostly_dangerous(sides: Sides) -> str:
    """The finding where the median separation is not positive: most inputs lie nearer to another class."""
    safe, rest = sides.safe, sides.dangerous
    many = f"{rest.rows:,} of {plural(sides.everyone.rows, 'test row')}"
    opening = f"**{many} {'is' if rest.rows == 1 else 'are'} dangerous**: nearer to another class than to the predicted"
    opening = (
        f"{opening} one. {percent(rest.rate.value)} of these are right ({_interval(rest.rate)})"
    )
    if not safe.rows:
        return f"{opening}."
    of_safe = f"{percent(safe.rate.value)} of the safe ones ({_interval(safe.rate)})"
    return f"{opening}, against {of_safe}{_overlap(safe, rest)}."


def _overlap(share: RightShare, other: RightShare) -> str:
    overlap = share.rate.low <= other.rate.high and other.rate.low <= share.rate.high
    return "; the two intervals overlap" if overlap else ""


def _right(share: RightShare, owner: str) -> str:
    if share.rows == 1:
        return f"{owner} is {'right' if share.right else 'wrong'}"
    return f"{percent(share.rate.value)} of {owner} are right"


def _interval(rate: Interval) -> str:
    return f"95\u00a0%: {percents(rate)}"


def describe_rows(measured: Measured, learned: Measured, n_train: int) -> str:
    """On what it is judged, and what was left out of large data."""
    text = (
        f"Judged on {plural(len(measured.rows), 'test row')} against {plural(n_train, 'training row')}; both maps are "
        f"learned from {plural(len(learned.rows), 'calibration row')} alone."
    )
    cut = [
        f"{len(part.rows):,} of {part.n:,} {name} rows"
        for name, part in (("test", measured), ("calibration", learned))
        if len(part.rows) < part.n
    ]
    if cut:
        text += f" All rows would take longer than a page should: this is a random draw of {' and '.join(cut)}."
    infinite = int(np.count_nonzero(~np.isfinite(measured.separation)))
    if infinite:
        text += (
            f" {plural(infinite, 'test row')} {'has' if infinite == 1 else 'have'} no finite separation, because the "
            "training set lacks the predicted class or holds no other."
        )
    return text


def row_sentence(
    row: ExplainedInput, class_names: tuple[str, ...], isotonic: float, sigmoid: float, kind: str
) -> str:
    """Describe one test row; ``kind`` names the separation that the maps look at."""
    predicted = literal(class_names[row.predicted])
    label = literal(class_names[row.label])
    verdict = "rightly" if row.predicted == row.label else f"wrongly (its label is {label})"
    why = row.why
    text = f"**Test row {row.number:,}** is predicted as **{predicted}**, {verdict}, "
    text += f"with a confidence of {percent(row.confidence)} by the model. "
    if why.same_row is None:
        return f"{text}No training input has this class, so its separation is −∞."
    if why.other_row is None:
        return f"{text}No training input has another class, so its separation is +∞."
    side, closer = ("safe", "nearer") if why.safe else ("dangerous", "no nearer")
    return (
        f"{text}The nearest training input of that class is {number(why.same)} away, the nearest of another "
        f"{number(why.other)}: it is **{side}**. Fast separation {_minus(why.fast)}, exact {_minus(why.exact)}: every "
        f"input less than {number(abs(why.exact))} away is {closer} to the predicted class than to all others. At a "
        f"{kind} of {_minus(row.separation)}, predictions are right {percent(isotonic)} of the time by the isotonic map"
        f" and {percent(sigmoid)} by the sigmoid."
    )


def _minus(value: float) -> str:
    return "−" + number(-value) if value < 0 else number(value)


KINDS = {"l2": "fast, L2", "l1": "fast, L1", "linf": "fast, L∞", EXACT: "exact, L2"}
STYLES = {
    "isotonic": replace(method_style("isotonic"), dash="solid"),
    "sigmoid": replace(method_style("platt"), dash="dash"),
}
"""Of the maps: the colours of the methods that use them elsewhere."""
TABLE_PIXELS = 178
"""Four of the rows, and the names of the columns."""
SHOWN_WIDTH = 130
MOST_NUMBERS = 8

HOW_TO_READ = (
    "Across is the separation: how far an input lies inside its predicted class among the training data, negative "
    "(shaded) where another class is nearer. Up is the accuracy there. Dots are test rows in bins of equal mass, "
    "with 95\u00a0% Wilson intervals. Lines are the two maps of geometric calibration, learned from calibration "
    "rows. A good map passes through the dots; where it is flat, separation adds no information. Beneath: right "
    "predictions upwards, wrong ones downwards, on one square-root scale. Fast separation is half the difference of "
    "two distances; exact separation looks at all pairs of training inputs of the predicted and of other classes. "
    "Both give the radius of a zone and have the same sign; fast is never the larger in size."
)

HOW_TO_READ_ZONE = (
    "The input is the cross; dots and diamonds are training inputs around it, the large ones decide its exact "
    "separation. Each lies at its true distance from the input, in its direction along the two principal axes. "
    "Inside the filled circle every input is nearer to the predicted class if the zone is safe, to another if it is "
    "dangerous. The dashed circle is the zone of fast separation. Distances between other pairs of points are not true."
)


def choose_kind() -> str:
    """Choose the separation that the page is about."""
    return segments("Separation", KINDS, "l2", "geometry/kind", wrap=True)


def axis_title(kind: str) -> str:
    """The separation as an axis calls it."""
    return f"separation ({KINDS[kind]})"


def study_of(session: OpenSession, kind: str) -> SeparationStudy:
    """Separations of both parts, and what follows from them."""
    what = "the separations of the test rows"
    return ready(("geometry", kind), what, study_separations, kind, data=_arrays(session))


def _arrays(session: OpenSession) -> Data:
    """Arrays for the workers."""
    calibration, test = session.calibration, session.test
    arrays = {
        "features": test.features,
        "logits": test.logits,
        "labels": test.labels,
        "calibration_features": calibration.features,
        "calibration_logits": calibration.logits,
        "calibration_labels": calibration.labels,
        "train_features": test.train_features,
        "train_labels": test.train_labels,
    }
    return Data(f"{session.split_key} separations", arrays)


def success(study: SeparationStudy, kind: str) -> None:
    """Success rate against separation, with both maps."""

    def build() -> go.Figure:
        maps = [(name, STYLES[name], study.map_at(name, study.grid)) for name in MAPS]
        return success_curve(study.rates, study.histogram, study.grid, maps, axis_title(kind))

    widgets.show_cached(("geometry success", kind), build, "success-by-separation", HOW_TO_READ)


def offer_fit(fits: list[ShownFit]) -> None:
    """Say that separation is a calibrator too, where it is not fitted yet."""
    if all(fit.method != "geometric" for fit in fits):
        title = METHODS["geometric"].title
        fit_here("geometric", f"{title} turns this into a calibrator, to be compared and exported.")


def show_input(
    session: OpenSession, study: SeparationStudy, kind: str, fits: list[ShownFit]
) -> None:
    """Say why a test row has its separation, and show it beside the training inputs that decide it."""
    chosen = choose_row(session, study, kind)
    if chosen is None:
        return
    key = ("geometry row", chosen, kind)
    what = f"what decides the separation of row {chosen:,}"
    row = ready(key, what, explain_input, chosen, kind, data=_arrays(session))
    at = np.array([row.separation])
    names = session.data.class_names
    isotonic, logistic = (float(study.map_at(name, at)[0]) for name in ("isotonic", "sigmoid"))
    st.markdown(row_sentence(row, names, isotonic, logistic, axis_title(kind)))
    fitted = [
        (fit.title, float(fit.evaluation.confidence[chosen]))
        for fit in fits
        if fit.method == "geometric"
    ]
    if fitted:
        confidences = listed([f"{title} {percent(confidence)}" for title, confidence in fitted])
        st.markdown(f"Confidence of the fitted calibrators in this prediction: {confidences}.")
    roles = deciding_rows(row)
    if np.isfinite(row.why.exact):
        _show_zone(session, row, kind)
    if roles:
        _show_features(session, row, roles)


def _show_zone(session: OpenSession, row: ExplainedInput, kind: str) -> None:
    """Zone of the input among the training inputs around it."""
    train_labels = session.test.train_labels
    assert train_labels is not None
    labels = train_labels[row.around.rows]
    names = [str(session.data.class_names[label]) for label in labels]
    key = ("geometry zone", row.number, kind)
    widgets.show_cached(
        key, lambda: zone_chart(row.why, row.around, names), "zone", HOW_TO_READ_ZONE
    )


def choose_row(session: OpenSession, study: SeparationStudy, kind: str) -> int | None:
    """Let the visitor choose a test row: the first of an order, or one from its table."""
    way = segments("Choose an input", WAYS, WAYS[0], "geometry/way", wrap=True)
    places = study.listed[way]
    if not len(places):
        st.caption(
            f"There is none: no test row looked at is {'safe and wrong' if 'safe' in way else 'wrong'}."
        )
        return None
    names = np.array(session.data.class_names)
    rows = study.test.rows[places]
    predicted = study.predicted[places]
    labels = study.labels[places]
    table = pd.DataFrame(
        {
            "test row": rows,
            "predicted": names[predicted],
            "label": names[labels],
            "confidence": study.confidence[places],
            "separation": study.test.separation[places],
            "right": predicted == labels,
        }
    )
    event = draw_table(
        table,
        height=TABLE_PIXELS,
        key=f"geometry/table/{kind}/{way}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            name: st.column_config.NumberColumn(format="%.3f")
            for name in ("confidence", "separation")
        },
    )
    chosen = event.selection.rows
    return int(rows[chosen[0]] if chosen and chosen[0] < len(rows) else rows[0])


def deciding_rows(row: ExplainedInput) -> dict[int, str]:
    """Training rows that decide, with what each is; one that is nearest and decides is named once."""
    why = row.why
    roles: dict[int, str] = {}
    named = (
        (why.same_row, "nearest of the predicted class"), (why.other_row, "nearest of another class"),
        (why.deciding_same_row, "decides, predicted class"), (why.deciding_other_row, "decides, another class"),
    )  # fmt: skip
    for place, role in named:
        if place is not None:
            roles[place] = f"{roles[place]}, decides" if place in roles else role
    return roles


def _show_features(session: OpenSession, row: ExplainedInput, roles: dict[int, str]) -> None:
    """The input and the training inputs that decide, as images, or as the numbers in which they differ most."""
    features = session.test.features
    train = session.test.train_features
    labels = session.test.train_labels
    assert features is not None and train is not None and labels is not None
    both = np.concatenate([features[[row.number]], train[list(roles)]])
    names = [str(session.data.class_names[labels[place]]) for place in roles]
    captions = [f"{role}, {number(row.away[place])} away" for place, role in roles.items()]
    if features.ndim in (3, 4) and features.shape[3:] in ((), (1,), (3,)):
        texts = [("the input", "the input")]
        texts += [
            (f"{literal(name)} · {role}", f"{role}, of the class {name}")
            for name, role in zip(names, captions, strict=True)
        ]
        with st.container(horizontal=True, gap="medium"):
            for tile, (caption, alt) in zip(tiles(both), texts, strict=True):
                st.image(tile, caption=caption, width=SHOWN_WIDTH, alt=f"Image of {alt}")
        return
    flat = both.reshape(len(both), -1).astype(np.float64)
    most = np.argsort(-np.ptp(flat, axis=0), kind="stable")[:MOST_NUMBERS]
    table = pd.DataFrame(flat[:, most], columns=[f"number {i}" for i in most])
    table.insert(0, "input", ["the input", *captions])
    draw_table(table, height="content")
    if flat.shape[1] > len(most):
        st.caption(
            f"The {len(most)} of {flat.shape[1]:,} numbers in which these inputs differ most."
        )


def tiles(images: np.ndarray) -> list[np.ndarray]:
    """Images (n, H, W[, C]) one by one, on one scale of brightness and about ``SHOWN_WIDTH`` pixels wide."""
    step = -(-max(images.shape[1:3]) // SHOWN_WIDTH)
    images = images[:, ::step, ::step].astype(np.float64)
    low = float(images.min())
    high = float(images.max())
    shades = np.rint(255 * ((images - low) / ((high - low) or 1.0))).astype(np.uint8)
    pixel = max(1, SHOWN_WIDTH // images.shape[2])
    return [
        np.atleast_2d(image.squeeze()).repeat(pixel, axis=0).repeat(pixel, axis=1)
        for image in shades
    ]
