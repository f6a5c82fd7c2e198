"""Features on the Data page: beside the outputs or in files of their own, shown, and brought to one scale."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib.data.samples import SAMPLES
from calib.ui.session import SESSION, Session
from tests.conftest import simulate
from tests.ui.conftest import open_page
from tests.ui.test_uploads import npz


@pytest.fixture
def outputs() -> dict[str, np.ndarray]:
    logits, labels = simulate(n=300, n_classes=4)
    return {"logits": logits, "labels": labels}


def inputs(scale: float = 1.0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {
        "features": generator.normal(size=(300, 6)) * [scale, 1, 1, 1, 1, 1],
        "train_features": generator.normal(size=(40, 6)) * [scale, 1, 1, 1, 1, 1],
        "train_labels": np.arange(40) % 4,
    }


def upload(app: AppTest, **files: bytes) -> AppTest:
    """Upload files by role; all but the first before it, since that one starts the reading."""
    uploaders = {uploader.key: uploader for uploader in app.file_uploader}
    for role, content in files.items():
        uploaders[f"upload/{role}"].upload(f"{role}.npz", content)
    return app.run()


def text(app: AppTest) -> str:
    return " ".join(str(element.value) for element in (*app.markdown, *app.caption, *app.warning))


def test_a_sample_with_images_shows_them(with_sample: Session) -> None:
    app = open_page("app.py", with_sample)
    assert not app.exception
    assert "an image of 8 × 8 pixels with values from 0 to 1" in text(app)
    assert "The training set has 250 rows, 10 of 10 classes among them." in text(app)
    assert len(app.get("image")) == 1


def test_cards_say_which_samples_carry_features() -> None:
    app = open_page("app.py")
    said = [caption.value for caption in app.caption if "With features" in caption.value]
    assert len(said) == sum(bool(sample.features) for sample in SAMPLES.values()) == 4


def test_numbers_are_described_without_a_picture(outputs: dict[str, np.ndarray]) -> None:
    app = upload(open_page("app.py"), main=npz(**outputs, **inputs()))
    assert not app.error and not app.exception
    assert "Each row carries 6 numbers" in text(app)
    assert not app.get("image")


def test_features_come_in_files_of_their_own(outputs: dict[str, np.ndarray]) -> None:
    given = inputs()
    app = upload(
        open_page("app.py"),
        main=npz(**outputs),
        features=npz(x=given["features"]),
        train_features=npz(x=given["train_features"]),
        train_labels=npz(y=given["train_labels"]),
    )
    assert not app.error and not app.exception
    data = app.session_state[SESSION].data
    for role, array in given.items():
        np.testing.assert_array_equal(getattr(data, role), array)


def test_features_of_other_scales_are_standardised_in_one_click(outputs: dict[str, np.ndarray]) -> None:
    given = inputs(scale=5000.0)
    app = upload(open_page("app.py"), main=npz(**outputs, **given))
    assert "Your features are not normalised" in text(app)
    next(button for button in app.button if button.label == "Do this").click().run()
    assert not app.exception
    assert "not normalised" not in text(app)
    assert "standardised by the training set" in text(app)
    data = app.session_state[SESSION].data
    np.testing.assert_allclose(data.train_features.std(axis=0), 1)
    np.testing.assert_allclose(data.feature_mean, given["train_features"].mean(axis=0))


def test_features_that_do_not_fit_cost_nothing_else(outputs: dict[str, np.ndarray]) -> None:
    app = upload(open_page("app.py"), main=npz(**outputs, features=np.zeros((299, 2))))
    assert not app.error and not app.exception
    assert "(299, 2) for 300 rows" in text(app)
    assert {metric.label: metric.value for metric in app.metric}["Rows"] == "300"


def test_the_array_with_the_features_is_chosen_by_hand(outputs: dict[str, np.ndarray]) -> None:
    given = inputs()
    app = upload(open_page("app.py"), main=npz(**outputs, **given, others=given["features"][:, :2] * 2))
    next(box for box in app.selectbox if box.label == "Features").select("")
    next(button for button in app.button if button.label == "Read again with these choices").click().run()
    assert not app.exception
    assert app.session_state[SESSION].data.features is None


def test_columns_of_a_table_count_as_one_choice(outputs: dict[str, np.ndarray]) -> None:
    scores = [f"p_{k}" for k in range(4)]
    table = np.c_[outputs["labels"], outputs["logits"], inputs()["features"]]
    header = ",".join(["label", *scores, *(f"x_{j}" for j in range(6))])
    lines = "\n".join([header, *(",".join(map(str, row)) for row in table)])
    app = open_page("app.py").file_uploader[0].upload("mine.csv", lines.encode()).run()
    assert "Each row carries 6 numbers" in text(app)
    box = next(box for box in app.selectbox if box.label == "Features")
    assert box.options[0] == "6 columns from x_0"
    next(button for button in app.button if button.label == "Read again with these choices").click().run()
    assert not app.exception and not app.error
    assert "Each row carries 6 numbers" in text(app)
    next(box for box in app.selectbox if box.label == "Features").select("x_2")
    next(button for button in app.button if button.label == "Read again with these choices").click().run()
    assert "Each row carries 1 number with" in text(app)
