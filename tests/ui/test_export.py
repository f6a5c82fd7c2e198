"""What is offered to take holds what it says, and is there however often the page was drawn since.

The report from the pages says what the pages say.
"""

from __future__ import annotations

import ast
import io
import re
import shlex
import threading

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from calib.cli import main
from calib.evaluation import Evaluation
from calib.formatting import number, signed
from calib.jobs import FitQueue
from calib.plots.style import method_style
from calib.registry import calibrator
from calib.ui import widgets
from calib.ui.compare import view as compare_view
from calib.ui.compare.view import page_report
from calib.ui.export.view import Rows, _csv, _npz
from calib.ui.fits import ShownFit
from calib.ui.session import SESSION, OpenSession
from tests.conftest import ROOT, simulate
from tests.reporting.conftest import Reading
from tests.ui.conftest import fit, open_page


def fitted() -> tuple[ShownFit, np.ndarray, np.ndarray]:
    logits, labels = simulate(n=50)
    made = calibrator("temperature").fit(logits, labels)
    evaluation = Evaluation.from_calibrator(made, logits, labels)
    return (
        ShownFit("k", "temperature", "Temperature", method_style("temperature"), made, evaluation, 0, 0),
        logits,
        labels,
    )


def test_csv_holds_probabilities_and_labels() -> None:
    one, logits, labels = fitted()
    names = ("a", "b,c", "d", "e")
    table = pd.read_csv(io.StringIO(_csv(one, Rows(logits, labels), names)))
    assert list(table.columns) == ["p_a", "p_b,c", "p_d", "p_e", "label"]
    np.testing.assert_allclose(table.iloc[:, :4], one.calibrator.predict_proba(logits), rtol=1e-12)
    np.testing.assert_array_equal(table["label"], labels)


def test_npz_holds_labels_only_where_there_are_any() -> None:
    one, logits, labels = fitted()
    with np.load(io.BytesIO(_npz(one, Rows(logits)))) as arrays:
        assert arrays.files == ["probabilities"]
        np.testing.assert_array_equal(arrays["probabilities"], one.calibrator.predict_proba(logits))
    with np.load(io.BytesIO(_npz(one, Rows(logits, labels)))) as arrays:
        np.testing.assert_array_equal(arrays["labels"], labels)


def urls(app: AppTest) -> dict[str, str]:
    """Where the browser gets each file from; empty for one that were built when it is clicked."""
    return {button.proto.label: button.proto.url for button in app.get("download_button")}


@pytest.mark.parametrize(
    "path",
    [
        "pages/5_Compare.py",
        pytest.param("pages/3_Over_underconfidence.py", marks=pytest.mark.long),
        pytest.param("pages/6_Export.py", marks=pytest.mark.long),
    ],
)
def test_a_file_that_was_offered_is_there_runs_later(with_fits: OpenSession, path: str) -> None:
    app = open_page(path, with_fits)
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


def report(app: AppTest) -> list[str]:
    return [label for label in urls(app) if "report.html" in label]


def test_what_takes_seconds_is_built_on_request_and_stays_until_the_fits_change(with_fits: OpenSession) -> None:
    app = open_page("pages/5_Compare.py", with_fits)
    assert not report(app)
    app.button(key="compare/report/build").click().run()
    assert not app.exception
    (label,) = report(app)
    url = urls(app)[label]
    _, content = with_fits.built["compare/report"]
    for _ in range(3):
        app.run()
    assert urls(app)[label] == url
    assert with_fits.built["compare/report"][1] is content
    with_fits.specs.popitem()
    app.run()
    assert not report(app)
    assert app.button(key="compare/report/build").label == "Report (HTML)"


def test_only_one_large_file_is_kept(with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets, "LARGE", 1000)

    def body() -> None:
        from calib.ui import widgets

        for name in "ab":
            widgets.on_request(name, name, f"{name}.bin", lambda: b"x" * 2000, of=0)

    app = AppTest.from_function(body, default_timeout=300)
    app.session_state[SESSION] = with_sample
    app.run()
    app.button(key="a/build").click().run()
    assert list(urls(app)) == ["Save a.bin, 2.0 kB"]
    app.button(key="b/build").click().run()
    assert list(with_sample.built) == ["b"]
    app.run()
    assert list(urls(app)) == ["Save b.bin, 2.0 kB"]


def test_files_are_offered_in_one_way_only() -> None:
    """Streamlit forgets a file that it builds on a click after two runs of any visitor."""
    for path in [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "calib" / "ui").rglob("*.py")]:
        names = {node.attr for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)}
        assert "download_button" not in names or path.name == "widgets.py", path


@pytest.fixture
def shown(queue: FitQueue, with_sample: OpenSession, monkeypatch: pytest.MonkeyPatch):
    """The fits and the table as the Compare page has them when it has drawn itself."""
    seen = {}
    drawn = compare_view.score_table

    def remember(table, fits):
        seen.update(table=table, fits=fits)
        drawn(table, fits)

    monkeypatch.setattr(compare_view, "score_table", remember)
    app = open_page("pages/5_Compare.py", fit(queue, with_sample, "temperature", "isotonic"))
    assert not app.exception
    return seen["table"], seen["fits"], app.session_state[SESSION], app


def reported(*arguments) -> Reading:
    """What a click downloads: it is built in a thread without a session."""
    made = []
    thread = threading.Thread(target=lambda: made.append(page_report(*arguments)))
    thread.start()
    thread.join()
    return Reading(made[0])


@pytest.mark.long
def test_its_numbers_are_the_pages_and_its_command_gives_them_again(shown, tmp_path, monkeypatch):
    table, fits, session, app = shown
    reading = reported(session, fits, table)
    for key in table["score"].unique():
        rows = table[table["score"] == key].to_dict("records")
        cells = reading.tables[f"score-{key.replace(' ', '-')}"][1:]
        assert len(cells) == len(rows) == 3
        for row, written in zip(rows, cells, strict=True):
            assert written[0] == row["title"]
            assert written[1].startswith(number(row["value"]))
            assert f"[{number(row['low'])}, {number(row['high'])}]" in written[1]
            assert written[2] == "reference" or written[2].startswith(signed(row["difference"]))
    verdict = compare_view.verdict_of(table)
    assert all(part in reading.text for part in verdict.split("\n\n"))
    assert any(verdict in shown.value for shown in app.markdown)
    words = shlex.split(reading.command())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    assert main(words[3:]) == 0
    again = pd.read_csv("comparison.csv")
    assert list(again["value"].round(9)) == pytest.approx(list(table["value"]), abs=1e-5)


def test_the_export_page_offers_it_too(with_fits):
    app = open_page("pages/6_Export.py", with_fits)
    assert not app.exception
    assert any("Report" in button.label for button in app.button)


@pytest.mark.long
def test_a_report_without_the_table_computes_the_same_one(shown):
    table, fits, session, _ = shown
    with_table, without = reported(session, fits, table), reported(session, fits, None)
    assert with_table.tables["overview"] == without.tables["overview"]
    assert re.search(r"--seed \d+", without.text)
