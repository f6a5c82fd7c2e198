"""Names from an upload, or recorded in an exported calibrator, are text on every page: no markup, links or pictures."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.data.event import Event
from calib.data.predictions import Predictions
from calib.data.roles import ColumnRole
from calib.engine import Engine
from calib.export import writer
from calib.ui.session import OpenSession
from calib.ui.text import literal
from tests.conftest import ROOT, npz_bytes, simulate, two_scores
from tests.ui.conftest import PAGES, fit, open_page, upload_file
from tests.ui.rendered import RAW, dangers, texts

NAMES = (
    "![a](//e.vil/p)",
    "<a href='//e.vil'>b [b](//e.vil)",
    "=cmd :red[r] $d$",
    "www.e.vil :material/home:",
)
FILE = "![f](https:e.vil) www.e.vil"


def everything(n: int, n_classes: int) -> Predictions:
    """Data with all that a page can show, every name of which is hostile."""
    logits, labels = simulate(n, n_classes)
    generator = np.random.default_rng(0)
    few = NAMES[:n_classes]
    about = {
        "groups": np.array(NAMES)[np.arange(n) % 4],
        "clusters": np.array([f"{NAMES[0]} {i // 3}" for i in range(n)]),
        "weights": generator.random(n),
        "roles": tuple(
            ColumnRole(f"{name} {role}", role, f"because of {name}")
            for name, role in zip(NAMES, ("outcome", "outputs", "group", "cluster"), strict=True)
        ),
    }
    if n_classes == 2:
        about["event"] = Event(1, NAMES[1], f"as {NAMES[0]} said")
    else:
        points = generator.normal(size=(4, 3))
        about |= {
            "features": points[labels] + generator.normal(size=(n, 3)),
            "train_labels": np.arange(60) % 4,
        }
        about["train_features"] = points[about["train_labels"]] + generator.normal(size=(60, 3))
    return Predictions(
        logits, labels, few, name=FILE, sha256=f"names that are scripts {n_classes}", **about
    )


@pytest.fixture(scope="module")
def hostile(queue: Engine) -> OpenSession:
    return fit(queue, OpenSession.from_data(everything(400, 4)), "temperature", "isotonic")


@pytest.mark.parametrize("page", PAGES)
def test_names_are_text_on_every_page(hostile: OpenSession, page: str) -> None:
    app = open_page(page, hostile)
    assert not app.exception and not app.error
    assert dangers(app) == []


def csv(header: list[str], *columns: list[object]) -> bytes:
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([",".join(header), *rows]).encode()


def shares(n: int, seed: int) -> list[object]:
    return np.round(np.random.default_rng(seed).beta(1, 3, n), 4).tolist()


def unclear() -> bytes:
    """Two scores of which either may be meant."""
    header = f"customer {NAMES[0]},age,score_a {NAMES[1]},score_b {NAMES[1]},churned {NAMES[2]}"
    _, _, rows = two_scores().replace(b"C0", f"{NAMES[3]} ".encode()).partition(b"\n")
    return header.encode() + b"\n" + rows


def in_words() -> bytes:
    words = [NAMES[0], NAMES[2], "likely", "unlikely"] * 20
    return csv(["confidence", "correct"], words, [i % 2 for i in range(80)])


def several_models(n: int = 200) -> bytes:
    happened = [int(p < q) for p, q in zip(shares(n, 3), shares(n, 1), strict=True)]
    return csv(["default", "pd", "model"], happened, shares(n, 1), [NAMES[i % 2] for i in range(n)])


def mismatched() -> bytes:
    logits, labels = simulate(50)
    return npz_bytes(**{NAMES[0]: logits, NAMES[1]: labels[:40], "www.e.vil $d$": logits[:7]})


UPLOADS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "readings to choose from": (f"{FILE}.csv", unclear),
    "confidences in words": (f"{FILE}.csv", in_words),
    "several models": (f"{FILE}.csv", several_models),
    "arrays that do not fit": (f"{FILE}.npz", mismatched),
}


@pytest.mark.parametrize("what", UPLOADS)
def test_an_upload_is_told_in_text(what: str) -> None:
    name, content = UPLOADS[what]
    app = upload_file(name, content())
    assert not app.exception
    assert any("vil" in text for _, text in texts(app))  # it is spoken of
    assert dangers(app) == []
    if what == "several models":
        assert dangers(app.button(key="tasks/open").click().run()) == []


@pytest.fixture(scope="module")
def record() -> list[tuple[str, bytes, str]]:
    """An exported calibrator whose record was written by somebody else."""
    logits, labels = simulate()
    said = {
        "class_names": NAMES,
        "data_name": FILE,
        "exported_on": "$d$ www.e.vil",
        "event": NAMES[0],
    }
    arrays = writer.to_bytes("npz", calib.calibrator("temperature").fit(logits, labels), said)
    return [("calibrator.npz", arrays, "application/octet-stream")]


def test_a_record_and_the_findings_of_new_rows_are_told_in_text(record) -> None:
    app = (
        open_page("pages/11_Monitoring.py")
        .file_uploader(key="monitoring/files")
        .set_value(record)
        .run()
    )
    assert not app.exception and dangers(app) == []
    logits, labels = simulate()
    other = npz_bytes(logits=logits, labels=np.array([*NAMES[:3], "[z](//e.vil)"])[labels])
    app = app.file_uploader(key="monitoring/new-data").upload(f"{FILE}.npz", other).run()
    assert any("z" in text and "vil" in text for _, text in texts(app))
    assert dangers(app) == []


def noted(text: str) -> AppTest:
    def page(text: str) -> None:
        from calib.ui.text import add_notice, show_pending_notices

        add_notice(text)
        add_notice(text, "warning")
        show_pending_notices()

    return AppTest.from_function(page, kwargs={"text": text}, default_timeout=300).run()


def test_notices_and_refusals_are_text() -> None:
    app = noted(" ".join(NAMES))
    assert len(app.info) == len(app.warning) == 1
    assert dangers(app) == []


@pytest.mark.parametrize("name", [*NAMES, FILE])
def test_a_name_is_dangerous_as_it_stands_and_not_as_a_literal(name: str) -> None:
    assert RAW.search(f"of {name} only")
    assert RAW.search(f"of {literal(name)} only") is None


def test_every_table_is_drawn_safely_and_every_file_is_offered_in_one_way() -> None:
    """Streamlit forgets a file that it builds on a click after two runs of any visitor."""
    drawn = [
        (path.name, line.strip())
        for path in [
            *(ROOT / "calib" / "ui").rglob("*.py"),
            *(ROOT / "pages").glob("*.py"),
            ROOT / "app.py",
        ]
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\.(dataframe|table|data_editor|download_button)\(", line)
    ]
    assert [name for name, _ in drawn] == ["widgets.py"] * 3, drawn
