"""The report from the pages says what the pages say."""

from __future__ import annotations

import re
import shlex
import threading

import pandas as pd
import pytest

from calib.cli import main
from calib.formatting import number, signed
from calib.ui.compare import view as compare_view
from calib.ui.compare.report_view import page_report
from calib.ui.session import SESSION, Session
from tests.reporting.conftest import Reading
from tests.ui.conftest import open_page


@pytest.fixture
def shown(with_fits: Session, monkeypatch: pytest.MonkeyPatch):
    """The fits and the table as the Compare page has them when it has drawn itself."""
    seen = {}
    drawn = compare_view.score_table

    def remember(table, everything):
        seen.update(table=table, everything=everything)
        drawn(table, everything)

    monkeypatch.setattr(compare_view, "score_table", remember)
    app = open_page("pages/5_Compare.py", with_fits)
    assert not app.exception
    return seen["table"], seen["everything"], app.session_state[SESSION], app


def reported(*arguments) -> Reading:
    """What a click downloads: it is built in a thread without a session."""
    made = []
    thread = threading.Thread(target=lambda: made.append(page_report(*arguments)))
    thread.start()
    thread.join()
    return Reading(made[0])


def test_its_numbers_are_the_pages_and_its_command_gives_them_again(shown, tmp_path, monkeypatch):
    table, everything, session, app = shown
    reading = reported(everything, session, table)
    for key in table["score"].unique():
        rows = table[table["score"] == key].to_dict("records")
        cells = reading.tables[f"score-{key.replace(' ', '-')}"][1:]
        assert len(cells) == len(rows) == 4
        for row, written in zip(rows, cells, strict=True):
            assert written[0] == row["title"]
            assert written[1].startswith(number(row["value"]))
            assert f"[{number(row['low'])}, {number(row['high'])}]" in written[1]
            assert written[2] == "reference" or written[2].startswith(signed(row["difference"]))
    verdict = compare_view.verdict_of(table)
    assert all(part in reading.text for part in verdict.split("\n\n"))
    assert any(verdict in shown.value for shown in app.markdown)
    words = shlex.split(reading.command())
    folder = str(open_page.__globals__["ROOT"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(f"{folder}/sample_data")
    assert main(words[3:]) == 0
    again = pd.read_csv("comparison.csv")
    assert list(again["value"].round(9)) == pytest.approx(list(table["value"]), abs=1e-5)


@pytest.mark.parametrize("page", ["pages/5_Compare.py", "pages/6_Export.py"])
def test_the_pages_offer_it(page, with_fits):
    app = open_page(page, with_fits)
    assert not app.exception
    assert any("Report" in button.label for button in app.button)


def test_a_report_without_the_table_computes_the_same_one(shown):
    table, everything, session, _ = shown
    with_table, without = reported(everything, session, table), reported(everything, session, None)
    assert with_table.tables["overview"] == without.tables["overview"]
    assert re.search(r"--seed \d+", without.text)
