"""The corpus of tables: what becomes of them."""

from __future__ import annotations

import pytest

from tests.data.corpus import SETS, recipes, tables
from tests.data.corpus.judge import judge
from tests.data.corpus.tables import build

QUICK = ("forty",)
DECIDING = {
    "right": {
        "eighth": "apnea_logit chest_xray click_ctr nli_logits ocr_words",
        "fifth": "arena_router em_score hf_top_label mlflow_eval one_hot_offset spss_discrim",
        "first": "detector_tp fico_heloc sas_xbeta taiwan_credit text_order",
        "fourth": "nothing_above_multi",
        "third": "spss_tree",
    },
    "asked first": {
        "eighth": "mammo_pct offset_classes",
        "first": "readmission_datarobot",
        "fifth": "augment_link bleed_or_clot decimal_book icu_apache intent_llm low_percent markdown_eval",
        "forty": "forest_votes h2o_binary numbered_animals",
        "fourth": "head_logits",
        "third": "two_logits",
    },
    "refused": {
        "eighth": "addresses",
        "fifth": "drop_first drop_last keras_onehot",
        "fourth": "court occupations",
    },
    "asked without": {
        "fifth": "modeler_c5",
        "third": "old_caret",
    },
}
"""Tables of each set by what becomes of them, where that hangs on a condition of the rules."""


@pytest.mark.parametrize("outcome", DECIDING)
def test_where_a_condition_of_the_rules_decides_it_does_so(outcome):
    for which, names in DECIDING[outcome].items():
        found = {recipe.name: recipe for recipe in recipes(which)}
        judged = {name: judge(build(found[name], SETS.index(which) + 1)) for name in names.split()}
        assert not {name: (j.outcome, j.said) for name, j in judged.items() if j.outcome != outcome}


@pytest.mark.parametrize(
    "which",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in SETS],
)
def test_none_is_misread_and_most_are_right(which):
    """What is not read is asked, with the right reading among those that are offered, or refused: a question costs a
    look, and a rule that saves it must be understood by everybody who changes the reading."""
    found = [judge(table) for table in tables(which)]
    wrong = {j.table.name: j.said for j in found if j.outcome in ("misread", "crashed")}
    assert not wrong
    readable = [j for j in found if j.table.verdict == "readable"]
    assert sum(j.outcome == "right" for j in readable) >= (0.6 if which == "forty" else 0.68) * len(
        readable
    )
    assert sum(
        j.outcome in ("right", "partly", "asked first", "asked") for j in readable
    ) >= 0.88 * len(readable)
    unclear = [j for j in found if which == "forty" and j.table.verdict == "ask"]
    assert not [j.table.name for j in unclear if j.outcome in ("right", "partly")], (
        "opened without a question"
    )
    refused = [j for j in found if j.table.verdict == "refuse"]
    assert all(j.outcome.startswith(("refused", "asked")) for j in refused)
