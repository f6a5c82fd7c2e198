"""What is recommended: the simplest of those that tie, the raw model only where it is one of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import calib
from calib.evaluation import evaluate, scores
from calib.evaluation.claims import Claims
from calib.evaluation.recommendation import recommend
from calib.evaluation.score_registry import average_gap, scored_on
from tests.conftest import plain_scores, simulate

ERROR = 0.002


def fitted(name, **params):
    logits, labels = simulate(n=60, n_classes=3)
    return calib.calibrator(name, **params).fit(logits, labels)


@pytest.fixture(scope="module")
def calibrators():
    names = ("identity", "temperature", "platt", "isotonic", "vector", "histogram")
    return {name: fitted(name) for name in names} | {
        "apart": fitted("isotonic", share_classes=False)
    }


def chosen(calibrators, values, close=(), n_right=800, error=ERROR, **options):
    """The recommendation by NLLs, with standard errors of 0.002, but for methods ``close`` to all others."""
    generator = np.random.default_rng(0)
    shared = error * generator.normal(size=1000) / math.sqrt(1000)
    made = {}
    for name, value in {"identity": 0.5, **values}.items():
        own = shared if name in close else error * generator.normal(size=1000) / math.sqrt(1000)
        known = {} if value is None else {"NLL": value}
        influence = {"accuracy": np.zeros(1000)} | ({} if value is None else {"NLL": own})
        made[name] = plain_scores({"accuracy": n_right / 1000, **known}, influence, 1000)
    return recommend(Claims(made, **options), calibrators)


def scored(values, influence, n=1000):
    """Methods with these NLLs, and what each of 1,000 rows adds to them."""
    return {
        name: plain_scores(
            {"accuracy": 0.8, "NLL": value},
            {"accuracy": np.zeros(1000), "NLL": influence[name]},
            n,
        )
        for name, value in values.items()
    }


def test_among_ties_the_simplest_is_taken(calibrators):
    values = {"isotonic": 0.4, "apart": 0.4003, "platt": 0.4004, "temperature": 0.45}
    answer = chosen(calibrators, values, close=tuple(values))
    assert (answer.best, answer.method) == ("isotonic", "platt") and answer.gain.low > 0
    assert set(answer.as_good) == {"isotonic", "apart"} and answer.worse == (
        "identity",
        "temperature",
    )


def test_ranks_of_few_numbers_are_their_number():
    formulas = {"temperature": 1, "platt": 2, "ensemble_temperature": 2, "beta": 3, "quadratic": 3}
    assert {name: calib.METHODS[name].complexity for name in formulas} == formulas


def test_of_two_and_three_numbers_two_are_taken_and_a_tie_is_not_called_the_simplest(calibrators):
    known = calibrators | {"beta": fitted("beta")}
    values = {"beta": 0.4, "platt": 0.4003}
    answer = chosen(known, values, close=tuple(values))
    assert answer.method == "platt"
    assert answer.sentences()[-1] == "As good: beta. platt is the simplest."
    values = {"isotonic": 0.4, "histogram": 0.4003}
    tie = chosen(known, values, close=tuple(values))
    assert tie.sentences()[-1] == "As good, and no simpler: histogram."


def test_the_gain_has_the_interval_of_the_difference_and_is_said_to_be_optimistic(calibrators):
    one = chosen(calibrators, {"temperature": 0.4})
    assert one.gain.value == pytest.approx(0.1) and one.gain.low < 0.1 < one.gain.high
    assert "optimistic" not in str(one)
    many = chosen(
        calibrators, {"temperature": 0.4, "platt": 0.401, "vector": 0.402, "histogram": 0.4}
    )
    assert many.n_candidates == 4 and "; optimistic, as the best of 4)" in str(many)
    assert many.gain.value == pytest.approx(0.1)  # the number of the table and of the strip


def test_the_raw_model_is_kept_where_it_is_equivalent(calibrators):
    answer = chosen(
        calibrators,
        {"temperature": 0.4997, "vector": 0.4995},
        close=("identity", "temperature", "vector"),
    )
    assert (answer.best, answer.method) == ("vector", "identity")
    assert "temperature" in answer.as_good and answer.gain.value == pytest.approx(0.0005)
    assert answer.sentences() == [
        "Keep the model as it is: no calibrator makes a difference that matters."
    ]


def test_the_raw_model_is_kept_where_it_is_best_or_nothing_is_shown_to_be_better(calibrators):
    assert chosen(calibrators, {"temperature": 0.6}).method == "identity"
    open_ = chosen(calibrators, {"temperature": 0.498})
    assert (open_.method, open_.best) == ("identity", "temperature")
    assert open_.gain.low < 0 < open_.gain.value == pytest.approx(0.002)
    (sentence,) = open_.sentences()
    assert sentence.startswith(
        "Keep the model as it is: no calibrator is shown to lower its NLL (temperature by 0.002"
    )
    assert (
        open_.rows_needed > 1000
        and f"about {open_.rows_needed:,.0f} test rows would decide" in sentence
    )
    exact = chosen(calibrators, {"temperature": 0.5}, relevant={"NLL": 0.0})
    assert exact.sentences() == [
        "Keep the model as it is: no calibrator makes a difference that matters."
    ]


@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_calibrated_model_is_kept_and_an_overconfident_one_is_not(n_classes):
    taken = {1.0: [], 2.0: []}
    for seed in range(4):
        for scale, methods in taken.items():
            logits, labels = simulate(n=2600, n_classes=n_classes, scale=scale, seed=seed)
            calibration, test = calib.from_outputs(logits, labels, kind="logits").split(1300)
            fits = {name: calib.calibrator(name) for name in ("temperature", "isotonic")}
            answer = calib.compare(fits, calibration, test).recommendation
            methods.append(answer.method)
            if answer.method == "identity":
                assert len(answer.sentences()) == 1 and "Keep the model as it is" in str(answer)
    assert taken[1.0].count("identity") >= 3
    assert taken[2.0] == ["temperature"] * 4


def test_an_overconfident_model_is_mended_though_few_rows_do_not_show_the_gain():
    for seed in range(4):
        logits, labels = simulate(n=1200, n_classes=3, scale=1.6, seed=seed)
        calibration, test = calib.from_outputs(logits, labels, kind="logits").split(1000)
        found = calib.compare({"temperature": calib.calibrator("temperature")}, calibration, test)
        answer, gap = found.recommendation, average_gap(found.evaluations["identity"])
        nll = found.table.set_index(["method", "score"]).loc[("temperature", "NLL")]
        assert gap.low > 0 and nll["verdict"] == "undecided" and nll["difference"] < -0.001
        assert answer.method == "temperature" and answer.off == gap
        begin = "Take temperature. Confidence minus accuracy "
        assert str(answer).startswith(begin)
        assert "A lower NLL is not shown yet: gain" in str(answer)


def test_what_is_taken_is_better_than_the_raw_model_where_the_best_is(calibrators):
    # The simplest tie alone varies much against the raw model; the best does not.
    generator = np.random.default_rng(1)
    shared, extra = generator.normal(size=(2, 1000)) / math.sqrt(1000)
    influence = {
        "identity": 0.01 * shared,
        "isotonic": 0.01 * shared + 0.0007 * extra,
        "temperature": 0.01 * shared + 0.0013 * extra,
    }
    values = {"identity": 0.5, "isotonic": 0.4971, "temperature": 0.4974}
    claims = Claims(scored(values, influence, 9999), relevant={"NLL": 0.002})
    words = [
        claims.between(*pair, "NLL").word
        for pair in (("isotonic", "identity"), ("temperature", "identity"))
    ]
    assert words == ["better", "undecided"]
    assert claims.between("temperature", "isotonic", "NLL").word == "equivalent"
    assert recommend(claims, calibrators).method == "isotonic"


def test_rows_that_rank_nothing_recommend_nothing_firmly(calibrators):
    answer = chosen(calibrators, {"temperature": 0.4}, n_right=1000)
    assert answer.too_few and answer.too_few in answer.sentences()[0]
    assert answer.method == "identity" and math.isnan(answer.rows_needed)


def test_methods_without_the_score_are_named(calibrators):
    answer = chosen(calibrators, {"temperature": 0.4, "histogram": None})
    assert answer.without == ("histogram",) and "histogram" in answer.sentences()[-1]
    made = plain_scores(
        {"gap": 0.1, "accuracy": 0.8}, {"accuracy": np.zeros(9), "gap": np.zeros(9)}, 100
    )
    assert recommend(Claims({"identity": made}), calibrators) is None


def test_where_only_confidences_are_compared_their_error_decides(calibrators):
    generator = np.random.default_rng(0)

    def of_error(ece, **nll):
        influence = {
            key: 0.001 * generator.normal(size=500) / math.sqrt(500) for key in ("ECE", *nll)
        }
        return plain_scores(
            {"ECE": ece, "accuracy": 0.8, **nll}, influence | {"accuracy": np.zeros(500)}, 1000
        )

    made = {"identity": of_error(0.2, NLL=0.5), "histogram": of_error(0.1)}
    answer = recommend(Claims(made), calibrators)
    assert (answer.score, answer.method) == ("ECE", "histogram") and answer.gain.low > 0
    assert recommend(Claims(made | {"platt": of_error(0.2, NLL=0.4)}), calibrators).score == "NLL"


def of_two(before, after, labels):
    """Claims and evaluations of a raw model and a method that changes classes."""
    made = {"identity": evaluate(before, labels), "vector": evaluate(after, labels)}
    return Claims({name: scored_on(one) for name, one in made.items()}), made


def test_what_else_changes_is_said_and_warned_of_where_it_gets_worse(calibrators, rng):
    # The method's NLL is far lower, because it is no longer certain; but it is underconfident, and exchanges classes.
    n = 3000
    labels = rng.integers(3, size=n)
    right = rng.random(n) < 0.9
    said = np.where(right, labels, (labels + 1) % 3)
    before = np.full((n, 3), 1e-9)
    before[np.arange(n), said] = 1.0 - 2e-9
    wrong = rng.random(n) < 0.12
    after = np.full((n, 3), 0.25)
    after[np.arange(n), np.where(wrong, (said + 1) % 3, said)] = 0.5
    claims, made = of_two(before, after, labels)
    answer = recommend(claims, calibrators, evaluations=made)
    assert answer.method == "vector" and answer.changes is not None
    assert answer.changes.changed.value == pytest.approx(wrong.mean())
    assert answer.changes.worse == ("accuracy", "ECE")
    assert answer.changes.after["ECE"].value == scores(made["vector"])["ECE"]
    text = " ".join(answer.sentences())
    losses = "Take vector. Significantly worse with it: Accuracy 0."
    assert text.startswith(losses)
    assert text.index("of the predicted classes change") < text.index("It lowers the NLL")
    assert recommend(claims, calibrators).changes is None
    low, high = answer.changes.gap[1:]
    still = 0.5 - scores(made["vector"])["accuracy"]
    assert answer.changes.gap.value == pytest.approx(still) and low < still < high < 0
    assert (
        f"Confidence minus accuracy is then −{-100 * still:.1f} points (" in text
        and "with " not in text[-60:]
    )


def of_event(risk, event, methods, share=0.5):
    """Recommendation for an event, by the names of methods."""
    parts = calib.from_outputs(risk, event).split(share)
    return calib.compare({name: calib.calibrator(name) for name in methods}, *parts)


@pytest.mark.parametrize("methods", [[], ["temperature"], ["temperature", "platt", "isotonic"]])
def test_a_model_that_knows_nothing_is_not_to_be_used(methods):
    """Temperature lowers its NLL by far, and was recommended."""
    rng = np.random.default_rng(0)
    found = of_event(rng.beta(2, 2, 4000), (rng.random(4000) < 0.54).astype(int), methods)
    answer = found.recommendation
    assert answer.verdict == "do not use"
    assert str(answer).startswith(
        "Do not use: no method is 2\u00a0% better than giving every row 5"
    )
    assert "Take" not in str(answer)
    assert answer.method == answer.skill.method, "the sentence and the pages name one method"


def test_a_level_that_is_off_is_named_where_the_model_ranks():
    rng = np.random.default_rng(1)
    true = expit(rng.normal(-3, 1.2, 12_000))
    event = (rng.random(12_000) < true).astype(int)
    risk = expit(3 * (np.log(true / (1 - true)) + 1.5))
    alone = of_event(risk, event, ["temperature"]).recommendation
    assert alone.verdict == "do not use"
    assert "a map with an intercept, such as Platt, may make it useful" in str(alone)
    both = of_event(risk, event, ["temperature", "platt"]).recommendation
    assert (both.verdict, both.method) == ("take", "platt")
    assert "Part of the gain is the level: the mean prediction goes from " in str(both)


def test_a_level_that_is_off_needs_an_intercept_also_where_temperature_happens_to_correct_it():
    """The odds are a power of those predicted: one temperature corrects level and slope, for these rows."""
    rng = np.random.default_rng(3)
    z = rng.normal(-3, 1.2, 12_000)
    event = (rng.random(12_000) < expit(1.5 * z)).astype(int)
    methods = ["temperature", "platt", "isotonic"]
    answer = of_event(expit(z), event, methods).recommendation
    assert (answer.verdict, answer.method) == ("take", "platt")
    assert "temperature" not in answer.worse
    right = (rng.random(12_000) < expit(1.5 * (z + 3))).astype(int)
    assert of_event(expit(z + 3), right, methods).recommendation.method == "temperature"


def test_few_rows_that_do_not_show_a_gain_over_frequencies_say_so():
    rng = np.random.default_rng(3)
    undecided = 0
    for _ in range(10):
        risk = rng.uniform(0.3, 0.7, 120)
        event = (rng.random(120) < risk).astype(int)
        answer = of_event(risk, event, ["temperature"]).recommendation
        if answer.verdict == "do not use yet":
            undecided += 1
            assert answer.skill.rows_needed > 60
            assert "Do not use yet: no method is shown to be better than" in str(answer)
    assert undecided


def test_useful_models_are_told_not_to_be_used_in_few_draws():
    """Models that know nothing are in 5 % of draws at most held for useful, models that do in 5 % not."""
    rng = np.random.default_rng(2)
    wrong = {"useless": 0, "useful": 0}
    for _ in range(30):
        noise = rng.uniform(0.2, 0.8, 1000)
        useless = of_event(noise, (rng.random(1000) < 0.5).astype(int), ["platt"]).recommendation
        wrong["useless"] += useless.verdict != "do not use"
        useful = of_event(noise, (rng.random(1000) < noise).astype(int), ["platt"]).recommendation
        wrong["useful"] += useful.verdict not in ("keep", "take")
    assert max(wrong.values()) <= 4  # 5 % of 30 in 98 of 100 draws of the test


def test_a_gap_that_is_left_is_said_with_who_leaves_none(calibrators):
    """A temperature that is a little too low, and probabilities that are right."""
    rng = np.random.default_rng(5)
    log_odds = rng.normal(size=4000)
    labels = (rng.random(4000) < expit(log_odds)).astype(int)
    scores = {"identity": 4 * log_odds, "temperature": 1.5 * log_odds, "platt": log_odds}
    made = {
        name: evaluate(np.column_stack([expit(-s), expit(s)]), labels) for name, s in scores.items()
    }
    claims = Claims({name: scored_on(one) for name, one in made.items()}, relevant={"NLL": 0.05})
    answer = recommend(claims, calibrators, evaluations=made)
    assert (answer.method, answer.changes.without_gap) == ("temperature", ("platt",))
    assert "; with platt it is not significant." in " ".join(answer.sentences())


def test_where_no_class_changes_the_accuracy_is_not_told_again(calibrators):
    """The method could change classes, but changes none here: its accuracy stood before and after, the same."""
    labels = np.tile([0, 1, 2], 200)
    said = np.where(np.arange(600) % 10, labels, (labels + 1) % 3)
    before = np.full((600, 3), 0.3)
    before[np.arange(600), said] = 0.4
    after = before**8 / (before**8).sum(axis=1, keepdims=True)
    claims, made = of_two(before, after, labels)
    answer = recommend(claims, calibrators, evaluations=made)
    assert answer.method == "vector"
    text = " ".join(answer.sentences())
    assert "No predicted class changes" in text and "Accuracy" not in text


def test_rows_that_the_raw_model_held_for_impossible_are_named_with_their_part_of_the_nll():
    # Of risks in tenths a third of the NLL came from six rows at 0 that had the event, and nothing said so.
    rng = np.random.default_rng(0)
    true = rng.uniform(0.05, 0.95, 2000)
    risk, event = np.where(true < 0.15, 0.0, true), (rng.random(2000) < true).astype(int)
    calibration, test = calib.from_outputs(risk, event).split(0.5)
    said = str(
        calib.compare(
            {"temperature": calib.calibrator("temperature")}, calibration, test
        ).recommendation
    )
    impossible = int(((np.exp(test.logits[:, 1]) < 0.05) & (test.labels == 1)).sum())
    nll = impossible * np.log(1e15) / len(test)
    assert (
        impossible > 5
        and f"Of the raw model's NLL, {nll:.3g} comes from {impossible} rows to whose outcome"
        in said
    )


def test_nothing_with_a_worse_value_than_the_raw_model_is_taken(calibrators):
    """The best is noisy and undecided; temperature is not worse than it, and significantly worse than raw."""
    generator = np.random.default_rng(0)
    own = {
        name: generator.normal(size=1000) / math.sqrt(1000)
        for name in ("identity", "temperature", "isotonic")
    }
    own["temperature"] = own["identity"] + 0.05 * own["temperature"]
    own["isotonic"] = own["identity"] + own["isotonic"]
    values = {"identity": 0.5, "temperature": 0.508, "isotonic": 0.499}
    claims = Claims(scored(values, {name: 0.05 * each for name, each in own.items()}))
    assert claims.between("temperature", "identity", "NLL").word == "worse"
    assert claims.between("isotonic", "identity", "NLL").word == "undecided"
    answer = recommend(claims, calibrators)
    assert (answer.method, answer.best) == ("identity", "isotonic") and answer.gain.value > 0


def test_who_is_as_good_could_be_taken(calibrators):
    """Temperature's NLL is not worse than the best one, but it is not shown to be better than the raw model's."""
    generator = np.random.default_rng(1)
    shared = generator.normal(size=1000) / math.sqrt(1000)
    spread = {"identity": 0.0, "temperature": 0.01, "platt": 0.0005, "isotonic": 0.0005}
    influence = {
        name: 0.01 * shared + own * generator.normal(size=1000) / 30 for name, own in spread.items()
    }
    values = {"identity": 0.5, "temperature": 0.4935, "platt": 0.494, "isotonic": 0.4939}
    answer = recommend(Claims(scored(values, influence)), calibrators)
    assert answer.method == "platt" and answer.as_good == ("isotonic",)
    assert "temperature" not in " ".join(answer.sentences())


def test_a_method_that_is_no_different_from_the_raw_model_is_not_named_as_good(calibrators):
    """A method near the raw model is worse than the best, though not significantly."""
    noise = np.random.default_rng(0).normal(size=(2, 1000)) / math.sqrt(1000)
    values = {"identity": 0.5, "platt": 0.49, "isotonic": 0.4996}
    for error in np.linspace(0.001, 0.01, 400):
        own = {name: error * noise[int(name == "platt")] for name in values}
        claims = Claims(scored(values, own))
        words = [claims.between("platt", name, "NLL").word for name in ("identity", "isotonic")]
        if words == ["better", "undecided"]:
            break
    assert words == ["better", "undecided"]
    assert claims.between("isotonic", "identity", "NLL").word == "equivalent"
    answer = recommend(claims, calibrators)
    assert answer.method == "platt" and not answer.as_good


@pytest.mark.parametrize("effect", [0.0, 0.15, 0.25, 0.4, 0.8])
def test_a_map_by_group_is_taken_where_its_one_difference_is_shown(effect):
    """The interval of the difference to the best shared map is that of paired rows."""
    rng = np.random.default_rng(3)
    x, groups = rng.normal(0.0, 1.5, 8000), rng.choice(["a", "b"], 8000)
    event = rng.random(8000) < expit(x + np.where(groups == "a", effect, -effect))
    data = replace(calib.from_outputs(expit(2.5 * x), event.astype(int)), groups=groups)
    halves = data.take(np.arange(4000)), data.take(np.arange(4000, 8000))
    shared = ("temperature", "platt", "beta", "spline")
    found = calib.compare({name: calib.calibrator(name) for name in (*shared, "by_group")}, *halves)
    nll = {name: found.evaluations[name].row_nll for name in (*shared, "by_group")}
    best = min(shared, key=lambda name: nll[name].mean())
    gain = nll[best] - nll["by_group"]
    is_shown = gain.mean() > 1.96 * gain.std() / np.sqrt(4000)
    assert (found.recommendation.method == "by_group") is bool(is_shown)
    assert not (is_shown and set(found.recommendation.as_good) & set(shared))


class Halved(calib.Calibrator):
    """Half of the shift that the raw model has too much; its impossible outcomes stay."""

    def _fit(self, logits, labels, *, progress):
        pass

    def _predict(self, logits):
        log_odds = logits[:, 1] - logits[:, 0]
        risk = expit(np.where(log_odds < -100, log_odds, log_odds - 0.3))
        return np.stack([1 - risk, risk], axis=1)


class Whole(Halved):
    """The true risk of all rows."""

    def _predict(self, logits):
        log_odds = logits[:, 1] - logits[:, 0]
        risk = expit(np.where(log_odds < -100, 0.0, log_odds - 0.6))
        return np.stack([1 - risk, risk], axis=1)


def test_where_a_method_beats_class_frequencies_one_that_does_not_is_no_reason_to_keep_the_model():
    """Three impossible outcomes make the model worse than its event rate, and the gain of the right map uncertain."""
    rng = np.random.default_rng(1)
    x = rng.normal(0.0, 1.2, 1000)
    event = (rng.random(1000) < expit(x)).astype(int)
    log_odds = x + 0.6
    log_odds[np.flatnonzero(event)[:3]] = -300.0
    data = calib.from_outputs(np.stack([np.zeros(1000), log_odds], axis=1), event, kind="logits")
    methods = {"halved": Halved().fit(data), "whole": Whole().fit(data)}
    answer = calib.compare(methods, data.take(np.arange(10)), data).recommendation
    assert answer.skill.useful == ("whole",)
    assert answer.method == "whole"


def test_where_a_map_by_group_gains_more_than_any_shared_one_it_is_said_so():
    rng = np.random.default_rng(0)
    p, groups = rng.uniform(0.05, 0.95, 6000), rng.choice(["a", "b"], 6000)
    event = (rng.random(6000) < np.where(groups == "a", p**0.5, p**2)).astype(int)
    data = replace(calib.from_outputs(p, event), groups=groups)
    halves = data.take(np.arange(3000)), data.take(np.arange(3000, 6000))
    methods = {name: calib.calibrator(name) for name in ("platt", "isotonic", "by_group")}
    answer = calib.compare(methods, *halves).recommendation
    assert answer.method == "by_group" and answer.by_group
    assert str(answer).startswith("Correct by group: take by_group.")
    same = replace(data, groups=rng.permutation(groups))
    again = same.take(np.arange(3000)), same.take(np.arange(3000, 6000))
    methods = {name: calib.calibrator(name) for name in ("platt", "isotonic", "by_group")}
    assert calib.compare(methods, *again).recommendation.method != "by_group"
    # A shared map of a higher order of complexity is as good where groups do not differ.
    methods = {name: calib.calibrator(name) for name in ("spline", "by_group")}
    assert calib.compare(methods, *again).recommendation.method == "spline"
