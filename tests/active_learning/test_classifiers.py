"""Classifiers of the simulation: they learn in batches and repeat themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from calib.active_learning.classifiers import CLASSIFIERS, Learner, classifier


def batches(pool, size=50, n=4):
    return [
        (pool.features[i * size : (i + 1) * size], pool.labels[i * size : (i + 1) * size])
        for i in range(n)
    ]


@pytest.mark.parametrize(
    "model", [GaussianNB(), make_pipeline(GaussianNB())], ids=["online", "anew"]
)
def test_it_learns_in_batches_what_it_would_learn_at_once_and_one_class_until_there_is_another(
    pool, model
):
    learner = Learner(model, 5)
    of_two = pool.labels == 2
    learner.learn(pool.features[of_two][:20], pool.labels[of_two][:20])
    np.testing.assert_array_equal(
        learner.probabilities(pool.test_features), np.eye(5)[np.full(200, 2)]
    )
    learner.learn(pool.features[:100], pool.labels[:100])
    probs = learner.probabilities(pool.test_features)
    expected = GaussianNB().fit(
        np.concatenate([pool.features[of_two][:20], pool.features[:100]]),
        np.concatenate([pool.labels[of_two][:20], pool.labels[:100]]),
    )
    np.testing.assert_allclose(probs[:, :3], expected.predict_proba(pool.test_features), atol=1e-6)
    np.testing.assert_array_equal(probs[:, 3:], 0.0)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_learns_in_batches_and_repeats_itself(pool, name):
    if name == "mondrian":
        pytest.importorskip("river")

    def learned() -> np.ndarray:
        learner = Learner(classifier(name, seed=3), 4)
        for features, labels in batches(pool, n=2):
            learner.learn(features, labels)
        return learner.probabilities(pool.test_features)

    probs = learned()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(probs[:, 3], 0.0, atol=1e-6)
    assert (probs.argmax(axis=1) == pool.test_labels).mean() > 0.6
    np.testing.assert_array_equal(learned(), probs)
