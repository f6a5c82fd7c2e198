"""Forty tables as programs and people export them, and a judge that asks only :func:`calib.data.inspect`.

Each was written from what a program or a field is known to write, without a look at the rules that read it, and says
what a careful person would take it for. Let nobody fit a rule to one of them. ``python -m tests.data.corpus.forty``
counts what becomes of them; ``--sets`` adds the other sets of the corpus, ``--json FILE`` writes each table's verdict.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from calib.data import inspect
from tests.data.corpus import SEEDS
from tests.data.corpus import tables as tables_of_set
from tests.data.corpus.judge import content_differs, matches
from tests.data.corpus.judge import judge as judge_of_set
from tests.data.corpus.tables import CorpusTable, Truth, softmax
from tests.data.corpus.writing import write

Made = tuple[tuple[str, bytes], tuple[Truth, ...], dict[str, str]]
"""File name and bytes, the acceptable readings, and the right role of each further column.

A role may be several words, ``group/unused``; ``unused`` stands for features, id and ignore alike.
"""

VERDICTS = (
    "right", "right but for a side role", "asked, right reading first", "asked", "refused rightly", "refused wrongly",
    "misread",
)  # fmt: skip
UNUSED = ("features", "id", "ignore")


@dataclass(frozen=True)
class Table:
    """A table, how it came about, and what a careful person would do with it.

    Attributes
    ----------
    expected : of ``open``, ``ask`` (a person could not tell either) and ``refuse``, those that are right, as
        ``ask/refuse``.
    truths : the content of each acceptable reading; probabilities are None where words stand for them.
    roles : see :data:`Made`.
    """

    name: str
    story: str
    expected: str
    filename: str
    content: bytes
    truths: tuple[Truth, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)


class Draw:
    """The generator of one table, with what most tables need."""

    def __init__(self, name: str, n: int):
        self.rng = np.random.default_rng([34, zlib.crc32(name.encode())])
        self.n = n

    def two(self, rate: float = 0.3, digits: int = 4) -> tuple[np.ndarray, np.ndarray]:
        """Whether the event happened, and its probability by an overconfident model, as it is written."""
        latent = 1.4 * np.log(rate / (1 - rate)) + 1.6 * self.rng.normal(size=self.n)
        happened = self.rng.random(self.n) < 1 / (1 + np.exp(-latent))
        p = 1 / (1 + np.exp(-1.3 * latent + 0.3 * self.rng.normal(size=self.n)))
        return happened, np.clip(p, 0.003, 0.997).round(digits)

    def many(self, n_classes: int, digits: int = 4) -> tuple[np.ndarray, np.ndarray]:
        """The true class of each row by number, and the probabilities of all, as they are written."""
        latent = 1.7 * self.rng.normal(size=(self.n, n_classes))
        labels = np.argmax(latent + self.rng.gumbel(size=latent.shape), axis=1)
        probs = np.maximum(softmax(1.2 * latent + 0.3 * self.rng.normal(size=latent.shape)), 0.002)
        return labels, (probs / probs.sum(axis=1, keepdims=True)).round(digits)

    def similar(self, p: np.ndarray, digits: int = 4) -> np.ndarray:
        """The probabilities of another model for the same rows."""
        return (p / (p + (1 - p) * np.exp(self.rng.normal(0, 0.5, self.n)))).round(digits)

    def pick(self, *names: str) -> list[str]:
        return [names[k] for k in self.rng.integers(len(names), size=self.n)]

    def whole(self, low: int, high: int) -> list[str]:
        return [str(value) for value in self.rng.integers(low, high + 1, size=self.n)]

    def numbers(self, low: float, high: float, digits: int = 2) -> list[str]:
        return text(self.rng.uniform(low, high, self.n), digits)

    def numbered(self, form: str = "{}", first: int = 0) -> list[str]:
        return [form.format(first + row) for row in range(self.n)]

    def amounts(self) -> list[str]:
        return text(np.exp(self.rng.normal(7, 1, self.n)), 2)

    def ids(self, prefix: str = "") -> list[str]:
        return [f"{prefix}{number}" for number in self.rng.choice(900_000, self.n, replace=False) + 100_000]

    def dates(self, form: str = "%Y-%m-%d") -> list[str]:
        hours = np.sort(self.rng.integers(24 * 500, size=self.n))
        return [(datetime.datetime(2023, 3, 1) + datetime.timedelta(hours=int(h))).strftime(form) for h in hours]


def text(values: Any, digits: int = 4) -> list[str]:
    return [f"{value:.{digits}f}" for value in values]


def words(happened: np.ndarray, no: str = "0", yes: str = "1") -> list[str]:
    return [yes if value else no for value in happened]


def event(happened: np.ndarray, p: np.ndarray, no: str = "0", yes: str = "1") -> Truth:
    labels = np.array(words(happened, no, yes))
    kind = "binary_probability"
    return Truth({}, kind, classes=(no, yes), event=yes, labels=labels, probs=np.stack([1 - p, p], axis=1))


def classes(labels: np.ndarray, probs: np.ndarray, names: tuple[str, ...]) -> Truth:
    probs = probs / probs.sum(axis=1, keepdims=True)
    return Truth({}, "probabilities", classes=names, labels=np.array(names)[labels], probs=probs)


def pairs(correct: np.ndarray, confidence: np.ndarray | None) -> Truth:
    probs = None if confidence is None else np.stack([1 - confidence, confidence], axis=1)
    labels = np.array(words(correct, "wrong", "correct"))
    return Truth({}, "pairs", classes=("wrong", "correct"), labels=labels, probs=probs)


def each(form: str, names: tuple[str, ...], probs: np.ndarray, digits: int = 4) -> dict[str, list[str]]:
    """A column for each class, with the class for ``{}`` in its name."""
    return {form.format(name): text(probs[:, k], digits) for k, name in enumerate(names)}


def with_header(header: list[str], rows: Any, delimiter: str = ",") -> bytes:
    """A text table whose header may name a column twice."""
    return "".join(delimiter.join(row) + "\n" for row in [header, *rows]).encode()


def json_lines(rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


ENTRIES: list[tuple[str, str, str, int, Callable[[Draw], Made]]] = []


def entry(story: str, expected: str = "open", n: int = 240) -> Callable[[Callable[[Draw], Made]], Any]:
    """Add a table by its function, whose name it has."""

    def register(make: Callable[[Draw], Made]) -> Callable[[Draw], Made]:
        ENTRIES.append((make.__name__, story, expected, n, make))
        return make

    return register


def tables() -> Iterator[Table]:
    """All forty, with the same bytes in every run."""
    for name, story, expected, n, make in ENTRIES:
        (filename, content), truths, roles = make(Draw(name, n))
        yield Table(name, story, expected, filename, content, truths, roles)


@entry("load_breast_cancer as a frame, its test rows with predict_proba beside them", n=171)
def sklearn_breast_cancer(draw: Draw) -> Made:
    y, p = draw.two(0.6, 6)
    cells = {"mean radius": draw.numbers(7, 28, 3), "mean texture": draw.numbers(9, 39), "target": words(y)}
    cells |= {"mean smoothness": draw.numbers(0.05, 0.16, 5), "worst concavity": draw.numbers(0, 1, 4)}
    cells |= {"proba_0": text(1 - p, 6), "proba_1": text(p, 6)}
    features = ("mean radius", "mean texture", "mean smoothness", "worst concavity")
    return write(cells, "pandas", "test_predictions"), (event(y, p),), dict.fromkeys(features, "unused")


@entry("a loop over StratifiedKFold that saved the decision function of a logistic regression")
def sklearn_decision_function(draw: Draw) -> Made:
    y, p = draw.two(0.4)
    score = np.log(p / (1 - p)).round(5)
    cells = {"fold": draw.whole(0, 4), "y_true": words(y), "y_pred": words(score > 0)}
    cells |= {"decision_function": text(score, 5)}
    truth = event(y, 1 / (1 + np.exp(-score)))
    return write(cells, "csv", "cv_scores"), (truth,), {"fold": "group/unused", "y_pred": "predicted"}


@entry("caret with savePredictions = 'final' and classProbs = TRUE, written by write.csv")
def r_caret(draw: Draw) -> Made:
    y, p = draw.two(0.45, 3)
    cells = {"pred": words(p > 0.5, "No", "Yes"), "obs": words(y, "No", "Yes"), "No": text(1 - p, 3)}
    cells |= {"Yes": text(p, 3), "rowIndex": [str(k + 1) for k in draw.rng.permutation(draw.n)], "mtry": ["4"] * draw.n}
    cells |= {"Resample": draw.pick("Fold01", "Fold02", "Fold03", "Fold04", "Fold05")}
    roles = {"pred": "predicted", "rowIndex": "unused", "mtry": "unused", "Resample": "group/unused"}
    return write(cells, "rnames", "rf_pred"), (event(y, p, "No", "Yes"),), roles


@entry("tidymodels: collect_predictions() of the credit data, the event is the first level")
def r_tidymodels(draw: Draw) -> Made:
    y, p = draw.two(0.3, 6)
    cells = {".pred_class": words(p > 0.5, "good", "bad"), ".pred_bad": text(p, 6), ".pred_good": text(1 - p, 6)}
    cells |= {"id": draw.pick("Fold1", "Fold2", "Fold3"), "Status": words(y, "good", "bad")}
    cells |= {".row": draw.numbered(first=1), ".config": ["Preprocessor1_Model1"] * draw.n}
    roles = {".pred_class": "predicted", "id": "group/unused", ".row": "unused", ".config": "unused"}
    return write(cells, "csv", "collected"), (event(y, p, "good", "bad"),), roles


@entry("SAS Enterprise Miner, scored HMEQ: posterior P_, into I_, from F_, unformatted U_, warnings")
def sas_hmeq(draw: Draw) -> Made:
    y, p = draw.two(0.2, 6)
    cells = {"BAD": words(y), "LOAN": draw.whole(1100, 89900), "REASON": draw.pick("DebtCon", "HomeImp")}
    cells |= {"JOB": draw.pick("Mgr", "Office", "Other", "ProfExe", "Sales"), "DEBTINC": draw.numbers(5, 70)}
    cells |= {"_WARN_": [""] * draw.n, "P_BAD1": text(p, 6), "P_BAD0": text(1 - p, 6), "F_BAD": words(y)}
    cells |= {"I_BAD": words(p > 0.5), "U_BAD": words(p > 0.5)}
    roles = {"I_BAD": "predicted", "LOAN": "unused", "DEBTINC": "unused", "_WARN_": "unused", "JOB": "group/unused"}
    return write(cells, "windows", "EMSAVE_SCORE"), (event(y, p),), roles | {"REASON": "group/unused"}


@entry("SPSS in German, logistic regression with saved PRE_1 and PGR_1, exported by Excel with decimal commas")
def spss_german(draw: Draw) -> Made:
    y, p = draw.two(0.25, 5)
    cells = {"Kundennr": draw.ids(), "Stichtag": draw.dates("%d.%m.%Y"), "Filiale": draw.pick("Mitte", "Nord", "Süd")}
    cells |= {"Umsatz": draw.amounts(), "Kündigung": words(y, "nein", "ja"), "PRE_1": text(p, 5)}
    cells |= {"PGR_1": words(p > 0.5, "nein", "ja")}
    roles = {
        "Kundennr": "unused",
        "Stichtag": "time",
        "Filiale": "group/cluster",
        "Umsatz": "unused",
        "PGR_1": "predicted",
    }
    return write(cells, "latin", "Kuendiger_2024"), (event(y, p, "nein", "ja"),), roles


@entry("Stata: logit, then predict phat, predict xb with xb, predict se with stdp; export delimited")
def stata_logit(draw: Draw) -> Made:
    y, p = draw.two(0.15, 7)
    xb = np.log(p / (1 - p)).round(6)
    cells = {"pid": draw.ids(), "died": words(y), "age": draw.whole(40, 95), "sofa": draw.whole(0, 18)}
    cells |= {"phat": text(p, 7), "xb": text(xb, 6), "stdp": draw.numbers(0.1, 0.5, 6)}
    roles = {"pid": "unused", "age": "unused", "sofa": "unused", "stdp": "unused"}
    return write(cells, "csv", "icu"), (event(y, p), event(y, 1 / (1 + np.exp(-xb)))), roles


@entry("a Kaggle submission: the target is the predicted probability, nobody outside knows the outcome", "refuse")
def kaggle_submission(draw: Draw) -> Made:
    return write({"id": draw.ids(), "target": text(draw.two()[1], 6)}, "csv", "submission"), (), {}


@entry("a Kaggle team's out-of-fold file: four models side by side", "ask", n=400)
def kaggle_oof(draw: Draw) -> Made:
    y, p = draw.two(0.2, 5)
    models = {name: draw.similar(p, 5) for name in ("lgb", "xgb", "cat", "blend")}
    cells = {"id": draw.ids(), "fold": draw.whole(0, 4), "target": words(y)}
    cells |= {f"oof_{name}": text(own, 5) for name, own in models.items()}
    return write(cells, "csv", "oof"), tuple(event(y, own) for own in models.values()), {}


@entry("XGBoost with output_margin=True for five classes, labels as numbers")
def xgboost_margins(draw: Draw) -> Made:
    y, probs = draw.many(5)
    margins = (np.log(probs) + draw.rng.normal(0, 1, (draw.n, 1))).round(5)
    cells = {"": draw.numbered(), "label": [str(k) for k in y]}
    cells |= {f"margin_{k}": text(margins[:, k], 5) for k in range(5)}
    return write(cells, "csv", "valid_margins"), (classes(y, softmax(margins), tuple("01234")),), {}


@entry("H2O: h2o.cbind of the response, the weights column and h2o.predict")
def h2o_binary(draw: Draw) -> Made:
    y, p = draw.two(0.35, 7)
    cells = {"CAPSULE": words(y), "PSA": draw.numbers(0.3, 140, 1), "GLEASON": draw.whole(0, 9)}
    cells |= {"weights": draw.numbers(0.2, 3, 3), "predict": words(p > 0.4), "p0": text(1 - p, 7), "p1": text(p, 7)}
    roles = {"predict": "predicted", "weights": "weight", "PSA": "unused", "GLEASON": "unused/group"}
    return write(cells, "quoted", "prostate_pred"), (event(y, p),), roles


@entry("Spark ML: vector_to_array of rawPrediction and probability, one column for each place", n=400)
def spark_flattened(draw: Draw) -> Made:
    y, p = draw.two(0.12, 8)
    raw = np.log(p / (1 - p))
    cells = {"customer_sk": draw.ids(), "event_ts": draw.dates("%Y-%m-%d %H:%M:%S"), "label": words(y, "0.0", "1.0")}
    cells |= {"rawPrediction_0": text(-raw, 8), "rawPrediction_1": text(raw, 8), "probability_0": text(1 - p, 8)}
    cells |= {"probability_1": text(p, 8), "prediction": words(p > 0.5, "0.0", "1.0")}
    roles = {"customer_sk": "unused", "event_ts": "time", "prediction": "predicted"}
    return write(cells, "csv", "part-00000"), (event(y, p),), roles


@entry("Azure ML Studio, Score Model on the adult data")
def azure_adult(draw: Draw) -> Made:
    y, p = draw.two(0.25, 6)
    cells = {"age": draw.whole(17, 90), "workclass": draw.pick("Private", "Self-emp", "State-gov", "Federal-gov")}
    cells |= {"hours-per-week": draw.whole(5, 80), "income": words(y, "<=50K", ">50K")}
    cells |= {"Scored Labels": words(p > 0.5, "<=50K", ">50K"), "Scored Probabilities": text(p, 6)}
    roles = {"Scored Labels": "predicted", "age": "unused", "hours-per-week": "unused", "workclass": "group/unused"}
    return write(cells, "csv", "scored_dataset"), (event(y, p, "<=50K", ">50K"),), roles


@entry("BigQuery ML: ML.PREDICT exported as JSON lines with its nested list of labels and probs")
def bigquery_ml(draw: Draw) -> Made:
    y, p = draw.two(0.3, 6)
    nested = [[{"label": "true", "prob": a}, {"label": "false", "prob": round(1 - a, 6)}] for a in p.tolist()]
    columns = (draw.ids(), words(p > 0.5, "false", "true"), nested, y.tolist(), draw.pick("EMEA", "AMER", "APAC"))
    header = ("customer_id", "predicted_churned", "predicted_churned_probs", "churned", "region")
    rows = (dict(zip(header, row, strict=True)) for row in zip(*columns, strict=True))
    roles = {"customer_id": "unused", "region": "group", "predicted_churned": "predicted"}
    return ("bq-results.json", json_lines(rows)), (event(y, p, "False", "True"),), roles


@entry("AutoGluon: predict_proba(test) is a frame named by class, joined to the test rows' label")
def autogluon_classes(draw: Draw) -> Made:
    names = ("FIRE", "FLOOD", "OTHER", "THEFT")
    y, probs = draw.many(4, 6)
    cells = {"claim_ref": draw.ids("CL-"), "peril": [names[k] for k in y], **each("{}", names, probs, 6)}
    return write(cells, "pandas", "ag_proba"), (classes(y, probs, names),), {"claim_ref": "unused"}


@entry("lm-evaluation-harness 0.4.8 with --log_samples, a task of four choices")
def lm_eval_samples(draw: Draw) -> Made:
    y, probs = draw.many(4)
    lines = (np.log(probs) - draw.rng.uniform(5, 40, (draw.n, 1))).round(4)
    rows = []
    for k in range(draw.n):
        answers = [[str(value), str(bool(value == lines[k].max()))] for value in lines[k].tolist()]
        asked = {"question": f"What follows from premise {k}?", "choices": list("ABCD"), "answer": int(y[k])}
        row = {"doc_id": k, "doc": asked, "target": str(y[k]), "resps": [[answer] for answer in answers]}
        row |= {
            "filtered_resps": answers,
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": f"{zlib.crc32(b'%d' % k):x}",
        }
        rows.append(row | {"acc": float(lines[k].argmax() == y[k])})
    return ("samples_task_2025-02-03.jsonl", json_lines(rows)), (classes(y, softmax(lines), tuple("0123")),), {}


@entry("answers of a language model that said in words how sure it is, graded by hand", "ask")
def llm_in_words(draw: Draw) -> Made:
    correct, p = draw.two(0.6)
    said = ("very unsure", "rather unsure", "rather sure", "very sure")
    cells = {
        "question": draw.numbered("What is the capital of district {}?"),
        "answer": draw.numbered("It is town {}."),
    }
    cells |= {"subject": draw.pick("geography", "history", "law"), "graded": words(correct, "incorrect", "correct")}
    cells |= {"stated_confidence": [said[int(4 * value)] for value in p]}
    return write(cells, "csv", "answers"), (pairs(correct, None),), {"subject": "group"}


@entry("a text-classification pipeline run over a test file: label and score of the best class, gold beside it")
def transformers_pipeline(draw: Draw) -> Made:
    names = ("World", "Sports", "Business", "Sci/Tech")
    y, probs = draw.many(4, 5)
    best = probs.argmax(axis=1)
    cells = {"text": draw.numbered("Shares of company {} rose, said its head."), "gold": [names[k] for k in y]}
    cells |= {"label": [names[k] for k in best], "score": text(probs.max(axis=1), 5)}
    truths = (pairs(best == y, probs.max(axis=1)),)
    return write(cells, "tab", "ag_news_out"), truths, {"text": "unused", "label": "predicted"}


@entry("a weather service's verification: chance of rain in steps of ten percent at six stations", n=360)
def weather_rain(draw: Draw) -> Made:
    y, p = draw.two(0.35, 1)
    stations = ("Aachen", "Bremen", "Chemnitz", "Dresden", "Essen", "Fulda")
    cells = {"station": draw.pick(*stations), "valid_date": draw.dates("%Y%m%d"), "lead_h": draw.pick("24", "48")}
    cells |= {"p_rain_24h": [f"{100 * value:.0f}" for value in p], "rain_observed": words(y, "no", "yes")}
    cells |= {"rain_mm": text(y * draw.rng.gamma(1.2, 4, draw.n), 1), "tmax": draw.numbers(-5, 33, 1)}
    roles = {
        "station": "group/cluster",
        "valid_date": "time",
        "lead_h": "group/unused",
        "rain_mm": "unused",
        "tmax": "unused",
    }
    return write(cells, "csv", "verification"), (event(y, p, "no", "yes"),), roles


@entry("a football model beside the season's results, as football-data writes them", n=380)
def football_results(draw: Draw) -> Made:
    y, probs = draw.many(3)
    teams = ("Ashford", "Burnham", "Corby", "Derwent", "Elstow", "Frome", "Garston", "Helmsley")
    home, away = np.where(y == 0, 2, 1), np.where(y == 2, 3, np.where(y == 1, 1, 0))
    first = draw.rng.integers(8, size=draw.n)
    second = (first + draw.rng.integers(1, 8, size=draw.n)) % 8
    cells = {"Date": draw.dates("%d/%m/%Y"), "HomeTeam": [teams[k] for k in first]}
    cells |= {"AwayTeam": [teams[k] for k in second]}
    cells |= {"FTHG": list(map(str, home)), "FTAG": list(map(str, away)), "result": ["HDA"[k] for k in y]}
    cells |= each("p_{}", ("home", "draw", "away"), probs)
    roles = {"Date": "time", "FTHG": "unused", "FTAG": "unused"}
    roles |= dict.fromkeys(("HomeTeam", "AwayTeam"), "group/cluster/unused")
    return write(cells, "csv", "season"), (classes(y, probs, ("H", "D", "A")),), roles


@entry("passengers with what happened to them, and no model yet", "refuse")
def passengers_without_model(draw: Draw) -> Made:
    survived, _ = draw.two(0.4)
    cells = {"PassengerId": draw.numbered(first=1), "Survived": words(survived), "Pclass": draw.whole(1, 3)}
    cells |= {"Name": draw.numbered("Doe, Mr. J. {}"), "Sex": draw.pick("male", "female")}
    cells |= {"Age": draw.whole(1, 80), "SibSp": draw.whole(0, 4), "Fare": draw.numbers(7, 300)}
    return write(cells, "csv", "train"), (), {}


@entry("Elo ratings of coming games, with their win probabilities; the games have not been played", "ask/refuse")
def elo_forecast(draw: Draw) -> Made:
    _, p = draw.two(0.5, 6)
    teams = ("ATL", "BOS", "CHI", "DEN", "LAL", "MIA", "NYK", "PHX")
    cells = {"date": draw.dates(), "season": ["2024"] * draw.n, "neutral": words(draw.rng.random(draw.n) < 0.1)}
    cells |= {"team1": draw.pick(*teams), "team2": draw.pick(*teams), "elo1_pre": draw.numbers(1300, 1700, 3)}
    cells |= {"elo2_pre": draw.numbers(1300, 1700, 3), "elo_prob1": text(p, 6), "elo_prob2": text(1 - p, 6)}
    return write(cells, "csv", "elo_latest"), (), {}


@entry("a bank's validation of its PD model; accounts of the last months have no outcome yet", n=400)
def credit_pd(draw: Draw) -> Made:
    y, p = draw.two(0.08, 5)
    known = np.arange(draw.n) < 350
    cells = {"AccountNo": draw.ids("AC"), "Branch": draw.whole(101, 124), "Opened": draw.dates("%d/%m/%Y")}
    cells |= {"Product": draw.pick("Card", "Loan"), "EAD": draw.amounts(), "Utilisation": draw.numbers(0, 1, 3)}
    cells |= {"PD_12M": text(p, 5), "DefaultFlag_12M": [w if k else "" for w, k in zip(words(y), known, strict=True)]}
    roles = {"AccountNo": "unused", "Branch": "group/cluster", "Opened": "time", "Product": "group"}
    roles |= {"EAD": "unused/weight", "Utilisation": "unused"}
    return write(cells, "csv", "pd_validation"), (event(y[known], p[known]),), roles


@entry("readmission in five hospitals, several stays a patient", n=320)
def clinical_readmission(draw: Draw) -> Made:
    y, p = draw.two(0.25)
    cells = {"patient_id": [f"P{k:04d}" for k in draw.rng.integers(90, size=draw.n)], "site": draw.pick(*"ABCDE")}
    cells |= {"discharged": draw.dates(), "age": draw.whole(20, 95), "sex": draw.pick("f", "m")}
    cells |= {"follow_up_days": draw.whole(30, 700), "readmission_risk": text(p)}
    cells |= {"readmitted_30d": words(y, "No", "Yes")}
    roles = {"patient_id": "cluster", "site": "group/cluster", "discharged": "time", "age": "unused", "sex": "group"}
    return write(cells, "bom", "stays"), (event(y, p, "No", "Yes"),), roles | {"follow_up_days": "unused"}


@entry("card payments scored as they came, with shares between 0 and 1 that are no output", n=400)
def fraud_payments(draw: Draw) -> Made:
    y, p = draw.two(0.06, 5)
    cells = {"transaction_id": draw.ids("tx_"), "scored_at": draw.dates("%Y-%m-%dT%H:%M:%SZ"), "amount": draw.amounts()}
    cells |= {"amount_ratio": draw.numbers(0, 1, 4), "device_trust": draw.numbers(0, 1, 3)}
    cells |= {"channel": draw.pick("app", "web", "pos"), "fraud_probability": text(p, 5)}
    cells |= {"is_fraud": words(y, "false", "true")}
    roles = {"transaction_id": "unused", "scored_at": "time", "channel": "group", "amount": "unused"}
    roles |= {"amount_ratio": "unused", "device_trust": "unused"}
    return write(cells, "csv", "payments"), (event(y, p, "false", "true"),), roles


@entry("a help desk's SELECT with a join that repeats the key")
def ticket_join(draw: Draw) -> Made:
    y, p = draw.two(0.3, 3)
    number = draw.ids()
    columns = (number, draw.dates("%Y-%m-%d %H:%M"), draw.pick("Network", "Desktop", "SAP"), number, text(p, 3))
    rows = zip(*columns, words(y, "N", "Y"), strict=True)
    header = ["ticket_id", "Opened", "Team", "ticket_id", "escalation_prob", "escalated"]
    roles = {"Opened": "time", "Team": "group"}
    return ("query_result.csv", with_header(header, rows)), (event(y, p, "N", "Y"),), roles


@entry("an ad server's daily report: clicks and impressions of each ad beside its predicted rate", "ask/refuse")
def ad_rates(draw: Draw) -> Made:
    shown = draw.rng.integers(500, 20_000, draw.n)
    rate = draw.rng.beta(2, 60, draw.n)
    cells = {"day": draw.dates(), "campaign": draw.pick("spring", "sale", "brand"), "ad_id": draw.ids()}
    cells |= {"impressions": list(map(str, shown)), "clicks": list(map(str, draw.rng.binomial(shown, rate)))}
    cells |= {"predicted_ctr": text(rate * draw.rng.uniform(0.7, 1.3, draw.n), 5)}
    return write(cells, "csv", "ads_daily"), (), {}


@entry("a French insurer's contracts, a claim is an X and no claim an empty cell", "open/ask")
def french_claims(draw: Draw) -> Made:
    y, p = draw.two(0.2)
    cells = {"n_contrat": draw.ids(), "date_effet": draw.dates("%d/%m/%Y"), "agence": draw.pick("Lille", "Lyon")}
    cells |= {"exposition": draw.numbers(0.05, 1), "prime": draw.amounts(), "probabilité_sinistre": text(p)}
    cells |= {"sinistre": words(y, "", "X")}
    roles = {"n_contrat": "unused", "date_effet": "time", "agence": "group/cluster", "prime": "unused"}
    return write(cells, "latin", "contrats"), (event(y, p, "", "X"),), roles | {"exposition": "weight/unused"}


FINDINGS = (
    "Atelectasis", "Cardiomegaly", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumonia", "Pneumothorax",
    "Consolidation", "Edema", "Emphysema", "Fibrosis", "Pleural_Thickening", "Hernia",
)  # fmt: skip


@entry("chest X-rays with fourteen findings, any number of them in an image", "ask/refuse", n=300)
def chest_findings(draw: Draw) -> Made:
    found = {name: draw.two(0.15) for name in FINDINGS}
    cells = {"Image Index": draw.numbered("{:08d}_000.png"), "Patient ID": draw.whole(1, 120)}
    cells |= {name: words(y) for name, (y, _) in found.items()}
    cells |= {f"{name}_pred": text(p) for name, (_, p) in found.items()}
    return write(cells, "csv", "nih_test"), tuple(event(y, p) for y, p in found.values()), {}


@entry("a registry's risk at five years; who left earlier without an event has NA", n=360)
def survival_five_years(draw: Draw) -> Made:
    y, p = draw.two(0.3)
    known = draw.rng.random(draw.n) > 0.25
    cells = {"study_id": draw.ids("S"), "entry": draw.dates("%d-%b-%Y"), "centre": draw.pick("Oslo", "Lund", "Turku")}
    cells |= {"followup_years": draw.numbers(0.2, 12), "risk_5y": text(p)}
    cells |= {"event_5y": [w if k else "NA" for w, k in zip(words(y), known, strict=True)]}
    roles = {"study_id": "unused", "entry": "time", "centre": "group/cluster", "followup_years": "unused"}
    return write(cells, "csv", "registry"), (event(y[known], p[known]),), roles


@entry("pivot_longer of an image model's output: a row for each image and class", "open/ask/refuse", n=90)
def melted_images(draw: Draw) -> Made:
    names = ("forest", "meadow", "water")
    y, probs = draw.many(3)
    cells: dict[str, list[str]] = {"image_id": [name for name in draw.numbered("img_{}") for _ in names]}
    cells |= {"class": list(names) * draw.n, "probability": text(probs.ravel())}
    cells |= {"true_class": [names[k] for k in y for _ in names]}
    return write(cells, "csv", "melted"), (classes(y, probs, names),), {}


@entry("three models stacked under each other, each about the same applicants", "ask", n=130)
def stacked_models(draw: Draw) -> Made:
    y, p = draw.two(0.35)
    models = {name: draw.similar(p) for name in ("glm", "gbm", "nn")}
    cells = {"model": [name for name in models for _ in range(draw.n)], "applicant": draw.ids() * 3}
    cells |= {"truth": words(y) * 3, "estimate": [cell for own in models.values() for cell in text(own)]}
    return write(cells, "csv", "all_models"), tuple(event(y, own) for own in models.values()), {}


@entry("a Japanese retailer's Excel as CSV, in Shift-JIS", "open/ask")
def japanese_shops(draw: Draw) -> Made:
    y, p = draw.two(0.4, 3)
    columns = (draw.ids(), draw.dates("%Y/%m/%d"), draw.pick("東京", "大阪", "名古屋"), text(p, 3), words(y))
    content = with_header(["顧客番号", "日付", "店舗", "予測確率", "実績"], zip(*columns, strict=True))
    roles = {"顧客番号": "unused", "日付": "time", "店舗": "group/cluster"}
    return ("予測結果.csv", content.decode().encode("cp932")), (event(y, p),), roles


@entry("a Spanish bank's list with percent signs and decimal commas")
def spanish_percent(draw: Draw) -> Made:
    y, p = draw.two(0.2, 3)
    cells = {"cliente": draw.ids(), "fecha": draw.dates("%d/%m/%Y"), "sucursal": draw.pick("Bilbao", "Cádiz", "León")}
    cells |= {"probabilidad_impago": [f"{100 * value:.1f} %" for value in p], "impago": words(y, "no", "sí")}
    roles = {"cliente": "unused", "fecha": "time", "sucursal": "group/cluster"}
    return write(cells, "bom_comma", "impagos"), (event(y, p, "no", "sí"),), roles


@entry("a survey's codes without its book: 1 may be yes, and 2 may be", "ask")
def survey_codes(draw: Draw) -> Made:
    y, p = draw.two(0.5, 3)
    cells = {"resp": draw.ids(), "region": draw.whole(1, 4), "age_grp": draw.whole(1, 6)}
    cells |= {"q17": words(y, "2", "1"), "p_hat": text(p, 3)}
    return write(cells, "csv", "survey_scored"), (event(y, p, "2", "1"), event(~y, p, "1", "2")), {}


@entry("randomForest's predict(type = 'vote', norm.votes = FALSE): trees out of 500", "open/ask")
def forest_votes(draw: Draw) -> Made:
    names = ("setosa", "versicolor", "virginica")
    y, probs = draw.many(3, 6)
    votes = np.floor(probs * 500)
    votes[:, 0] += 500 - votes.sum(axis=1)
    cells = {"Species": [names[k] for k in y], "Sepal.Length": draw.numbers(4.3, 7.9, 1), **each("{}", names, votes, 0)}
    return write(cells, "rnames", "votes"), (classes(y, votes, names),), {"Sepal.Length": "unused"}


@entry("a notebook's frame: softmax columns named by class in the order of the data set, labels by number", "open/ask")
def numbered_animals(draw: Draw) -> Made:
    names = ("plane", "car", "bird", "cat", "deer")
    y, probs = draw.many(5, 6)
    cells = {"filename": draw.numbered("test/{:05d}.jpg"), **each("{}", names, probs, 6)}
    cells |= {"label": [str(k) for k in y]}
    return write(cells, "csv", "softmax"), (classes(y, probs, names),), {"filename": "unused"}


@entry("a campaign with one score and two windows in which people may answer", "ask")
def two_windows(draw: Draw) -> Made:
    y, p = draw.two(0.2)
    later = y | (draw.rng.random(draw.n) < 0.15)
    cells = {"member": draw.ids(), "mailed": draw.dates(), "score": text(p)}
    cells |= {"responded_30d": words(y), "responded_90d": words(later)}
    return write(cells, "csv", "campaign"), (event(y, p), event(later, p)), {}


@entry("a controller's workbook: a title, an empty row, merged heads over the header", "open/ask")
def titled_workbook(draw: Draw) -> Made:
    import openpyxl

    y, p = draw.two(0.3, 3)
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    sheet.append(["Churn model, results for the second quarter"])
    sheet.append([])
    sheet.append(["Customer", None, None, "Model", None])
    sheet.append(["Number", "Region", "Contract since", "P(churn)", "Churned"])
    dates = [datetime.datetime.fromisoformat(day) for day in draw.dates()]
    columns = (draw.ids(), draw.pick("East", "West", "North"), dates, p.tolist(), words(y, "no", "yes"))
    for row in zip(*columns, strict=True):
        sheet.append(row)
    sheet.merge_cells("A1:E1")
    sheet.merge_cells("A3:C3")
    sheet.merge_cells("D3:E3")
    book.save(buffer)
    roles = {"Number": "unused", "Region": "group", "Contract since": "time"}
    return ("Q2 churn.xlsx", buffer.getvalue()), (event(y, p, "no", "yes"),), roles


@entry("an experiment on knowledge and confidence, twenty trials a subject, confidence from 50 to 100", n=300)
def psychology_trials(draw: Draw) -> Made:
    correct, p = draw.two(0.65, 2)
    confidence = (0.5 + 0.5 * p).round(2)
    cells = {"subject": [f"s{k // 20:02d}" for k in range(draw.n)], "trial": [str(k % 20) for k in range(draw.n)]}
    cells |= {"topic": draw.pick("rivers", "films", "physics"), "rt": draw.numbers(0.4, 6, 3)}
    cells |= {"confidence": [f"{100 * value:.0f}" for value in confidence], "correct": words(correct)}
    roles = {"subject": "cluster", "trial": "unused/group", "topic": "group", "rt": "unused"}
    return write(cells, "csv", "trials"), (pairs(correct, confidence),), roles


def judge(table: Table) -> tuple[str, str]:
    """One of :data:`VERDICTS`, and what differs or was said."""
    try:
        found = inspect((table.filename, table.content))
    except Exception as error:  # whatever it is, the person is left with nothing
        return "refused wrongly", f"{type(error).__name__}: {error}"
    data = found.predictions
    if data is not None:
        difference = differs(data, table)
        if difference or "open" not in table.expected:
            return "misread", difference or "opened without a question"
        wrong = side_roles(data, table)
        return ("right but for a side role" if wrong else "right"), "; ".join(wrong)
    said = " ".join(finding.message for finding in found.findings if finding.level == "error")
    offered = offers(found)
    if not offered:
        return ("refused rightly" if "refuse" in table.expected else "refused wrongly"), said
    right = [answered_right(table, offer) for offer in offered]
    return ("asked, right reading first" if right[0] else "asked"), f"{right}: {said}"


def offers(found: Any) -> list[dict[str, Any]]:
    """What each reading that is offered would be given as roles, the first one first."""
    if found.readings:
        return [dict(reading.roles) for reading in found.readings]
    errors = [finding for finding in found.findings if finding.level == "error"]
    changes = [dict(change) for finding in errors for change in finding.offers.values()]
    given = [{"outcome" if name == "labels" else name: value for name, value in change.items()} for change in changes]
    numbers = tuple(f"{word}={number or 0.5}" for word, number in (getattr(found, "words", None) or {}).items())
    return given or ([{"verbal": numbers}] if numbers else [])


def answered_right(table: Table, roles: dict[str, Any], questions: int = 3) -> bool:
    """Whether this answer opens the table as it is meant, where each further question gets its first answer."""
    try:
        found = inspect((table.filename, table.content), roles=roles)
    except Exception:
        return False
    if found.predictions is not None:
        return bool(table.truths) and not differs(found.predictions, table)
    further = offers(found)
    return bool(further and questions) and answered_right(table, {**roles, **further[0]}, questions - 1)


def differs(data: Any, table: Table) -> str:
    """How the content differs from each acceptable reading; empty where it agrees with one."""
    differences = [content_difference(data, truth) for truth in table.truths]
    return "; ".join(differences[:2]) or "it holds nothing that can be used" if all(differences) else ""


def content_difference(data: Any, truth: Truth) -> str:
    if truth.probs is not None:
        return content_differs(data, truth)
    as_meant = data.correct is not None and np.array_equal(data.correct, truth.labels == "correct")
    return "" if as_meant else "the answers differ"


def side_roles(data: Any, table: Table) -> list[str]:
    """What is wrong about the event and the columns beside outcome and outputs."""
    wrong = []
    truth = next(truth for truth in table.truths if not content_difference(data, truth))
    if truth.event is not None and data.event is not None:
        happened = data.labels == data.event.column
        if not np.array_equal(happened, truth.labels == truth.event):
            wrong.append(f"the event is {data.event.name} instead of {truth.event}")
    found = {item.column: item.role for item in data.roles}
    for column, expected in table.roles.items():
        allowed = [role for word in expected.split("/") for role in (UNUSED if word == "unused" else (word,))]
        if found.get(column, "ignore") not in allowed:
            wrong.append(f"{column} is {found.get(column, 'ignore')} instead of {expected}")
    if "time" in table.roles.values() and "time" in found.values() and data.times is None:
        wrong.append("the dates are not used")
    return wrong


def judge_set_table(table: CorpusTable) -> tuple[str, str]:
    """The same verdicts for a table of another set of the corpus, by that set's judge."""
    judged = judge_of_set(table)
    if judged.outcome == "right" and table.verdict == "refuse":
        return "misread", judged.said
    if judged.outcome.startswith("asked"):
        readings = inspect((table.filename, table.content)).readings
        first = bool(readings) and matches(readings[0].roles, table.truth)
        return ("asked, right reading first" if first else "asked"), judged.said
    if judged.outcome == "refused" and table.truth.kind is not None:
        offered = offers(inspect((table.filename, table.content)))
        if offered:  # a question that is not about columns, such as how probabilities are written
            found = inspect((table.filename, table.content), roles=offered[0]).predictions
            right = found is not None and not content_differs(found, table.truth)
            return ("asked, right reading first" if right else "asked"), judged.said
    refused = "refused rightly" if table.verdict == "refuse" or table.or_refuse else "refused wrongly"
    verdict = {"right": "right", "partly": "right but for a side role", "misread": "misread"}
    return verdict.get(judged.outcome, refused), judged.said


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.data.corpus.forty", description=__doc__)
    parser.add_argument("--sets", action="store_true", help="the other sets of the corpus too")
    parser.add_argument("--json", type=Path, help="where each table's verdict is written")
    arguments = parser.parse_args()
    verdicts: dict[str, dict[str, tuple[str, str]]] = {"forty": {table.name: judge(table) for table in tables()}}
    for which in SEEDS if arguments.sets else ():
        verdicts[which] = {table.name: judge_set_table(table) for table in tables_of_set(which)}  # type: ignore[arg-type]
    print(f"{'':28}" + "".join(f"{name:>9}" for name in verdicts))
    for verdict in VERDICTS:
        counts = [Counter(given for given, _ in judged.values())[verdict] for judged in verdicts.values()]
        print(f"{verdict:28}" + "".join(f"{count:>9}" for count in counts))
    print(f"{'tables':28}" + "".join(f"{len(judged):>9}" for judged in verdicts.values()))
    if arguments.json:
        written = {
            which: {name: {"verdict": verdict, "said": said} for name, (verdict, said) in judged.items()}
            for which, judged in verdicts.items()
        }
        arguments.json.write_text(json.dumps(written, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
