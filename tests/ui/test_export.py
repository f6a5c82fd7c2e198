"""What is offered to take holds what it says, and is there however often the page was drawn since."""

from __future__ import annotations

import io

import numpy as np
from streamlit.testing.v1 import AppTest

import calib
from calib.data.samples import load_sample
from calib.engine import Engine
from calib.numerics import softmax
from calib.ui.session import OpenSession
from tests.conftest import npz_bytes
from tests.ui.conftest import fit, open_page, said, unfold


def test_the_bundle_is_one_click_away_and_the_recommended_calibrator_chosen(
    with_fits: OpenSession,
) -> None:
    app = open_page("pages/5_Export.py", with_fits)
    assert next(iter(urls(app))) == "Bundle with model card"
    first = next(
        each.value for each in app.markdown if "Take" in each.value or "Keep" in each.value
    )
    (chosen,) = app.selectbox
    assert chosen.value in with_fits.specs
    assert with_fits.specs[chosen.value].title in first
    assert any("Report" in button.label for button in app.button)
    assert {"Pickle", "Arrays (npz)"} <= set(urls(app))
    shown = " ".join(each.value for each in app.markdown)
    assert "the fitted object, for Python code that uses calib" in shown


def test_a_pytorch_module_is_built_by_a_worker_and_sql_is_of_two_classes(
    with_fits: OpenSession,
) -> None:
    app = unfold(open_page("pages/5_Export.py", with_fits), "export/languages")
    assert "PyTorch module" in urls(app) and not app.exception  # in one click: small ones are there
    assert "class Calibrator(torch.nn.Module)" in str(with_fits.built["export/calibrator.py"][1])
    assert not any(each.key == "export/calibrator.sql/build" for each in app.button), (
        "there are more than two classes"
    )
    assert app.button(key="export/calibrator.sql/none").disabled
    said = f"{with_fits.data.n_classes} classes"
    assert any("of two classes" in each.value and said in each.value for each in app.caption)


def test_probabilities_in_the_place_of_logits_are_asked_about_on_the_page(
    with_fits: OpenSession,
) -> None:
    app = open_page("pages/5_Export.py", with_fits)
    app.segmented_control(key="export/of").set_value("an upload").run()
    file = npz_bytes(outputs=softmax(with_fits.data.logits))
    app = app.file_uploader(key="export/upload").upload("new.npz", file).run()
    assert not app.exception
    assert any("like probabilities" in each.value for each in app.warning)
    assert not any(each.endswith("csv") for each in urls(app))
    app.button(key="export/sure").click().run()
    assert not app.exception and not app.warning
    assert any(
        each.endswith("csv") for each in [*urls(app), *(button.label for button in app.button)]
    )


def test_an_upload_for_a_map_by_group_brings_the_column_of_groups(queue: Engine) -> None:
    session = OpenSession.from_data(load_sample("simulated-loans"))
    column, groups = next(iter(session.data.group_columns().items()))
    fit(queue, session, ("by_group", {"column": column}))
    app = open_page("pages/5_Export.py", session)
    app.segmented_control(key="export/of").set_value("an upload").run()
    label = app.file_uploader(key="export/upload").label
    assert f"with the column {column} of groups" in label
    probs = session.data.probs[:5, 1]
    names = [*groups[:4].tolist(), "elsewhere"]
    lines = [f"{p},{name}" for p, name in zip(probs.tolist(), names, strict=True)]
    table = "\n".join([f"pd,{column}", *lines]).encode()
    app = app.file_uploader(key="export/upload").upload("new.csv", table).run()
    assert not app.exception and not app.error
    assert "1 row of 5 in groups that the fit did not have (elsewhere)" in said(app)
    _, content = session.built["export/npz"]
    found = np.load(io.BytesIO(content))["probabilities"]
    fitted = calib.calibrator("by_group", column=column).fit(session.calibration)
    expected = fitted.predict_proba(probs, groups=names)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert fitted.spread_
    bare = "\n".join(["pd", *map(str, probs.tolist())]).encode()
    app = app.file_uploader(key="export/upload").upload("bare.csv", bare).run()
    assert f"has no array or column '{column}'" in str([each.value for each in app.error])


def urls(app: AppTest) -> dict[str, str]:
    """Where the browser gets each file from; empty for one that were built when it is clicked."""
    return {button.proto.label: button.proto.url for button in app.get("download_button")}


def test_a_file_that_was_offered_is_there_runs_later(with_fits: OpenSession) -> None:
    app = open_page("pages/2_Compare.py", with_fits)
    assert not app.exception
    first = urls(app)
    assert first
    assert all(first.values())
    built = dict(with_fits.built)
    assert built
    for _ in range(3):
        app.run()
    assert urls(app) == first
    assert all(with_fits.built[key] is file for key, file in built.items())
