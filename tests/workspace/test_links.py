"""Links: tokens, what each leads to, and what is deleted when."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.temperature import TemperatureScaling
from calib.data import Predictions
from calib.decisions import CostMatrix, EventCut, conformal_sets
from calib.errors import CalibrationError
from calib.evaluation.studies import SIZES, SPLITS, STUDIES
from calib.jobs import FitSpec, Job, TaskSpec
from calib.workspace import (
    Configuration,
    Content,
    Damaged,
    Entry,
    Items,
    Keeper,
    KeptSpec,
    KeptStudy,
    entry_id,
    links,
    new_token,
)
from calib.workspace import content as stored_content
from calib.workspace.content import _seal_of, sealed, unsealed, write_content
from calib.workspace.files import CONTENT
from calib.workspace.links import Entries, KeptDecision, from_json, to_json
from calib.workspace.store import put_data
from calib.workspace.sweep import Sweep
from tests.conftest import wait_until

DAY = 86_400


def name(number: int) -> str:
    return f"{number:064x}"


def store(items: Items, number: int, kilobytes: int = 100, days_ago: float = 0.0) -> None:
    items.put("data", name(number), lambda file: write_content(file, {}, {"logits": np.zeros(125 * kilobytes)}))
    age(items.root / "data" / name(number), days_ago)


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def stored(items: Items) -> set[int]:
    return {int(item.name, 16) for item in items.all(*CONTENT)}


def sweep(items: Items, max_bytes: int = 10**9, share: float = 1.0) -> set[Content]:
    return Sweep(items, Entries(items), max_bytes, 30, share)()


@pytest.fixture
def entries(items: Items) -> Entries:
    return Entries(items)


def test_tokens_are_long_and_never_repeat() -> None:
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert {len(token) for token in tokens} == {43}
    assert all(entry_id(token) for token in tokens)


@given(st.one_of(st.text(), st.text(min_size=43, max_size=43), st.binary(), st.none(), st.lists(st.text())))
def test_only_what_can_be_a_token_reaches_a_path(token: object) -> None:
    found = entry_id(token)
    assert found is None or (len(token) == 43 and token.isascii() and len(found) == 64 and found.isalnum())


@pytest.mark.parametrize("token", ["a" * 42, "a" * 44, "a" * 42 + "\n", "." * 43, "a" * 21 + "/" + "a" * 21])
def test_near_tokens_are_refused(token: str) -> None:
    assert entry_id(token) is None


@pytest.mark.parametrize("bad", ["", "..", "../../x", "A" * 64, "a" * 63, "a/" * 32])
def test_paths_are_made_of_hashes_alone(items: Items, entries: Entries, bad: str) -> None:
    for call in (items.find, items.holds, items.remove):
        with pytest.raises(ValueError, match="no name"):
            call("data", bad)
    with pytest.raises(ValueError, match="no name"):
        entries.read(bad)


def test_an_entry_comes_back_as_it_was_written(entries: Entries) -> None:
    spec = FitSpec("isotonic", {"share_classes": np.bool_(False)}, "d", "Isotonic (class-wise)")
    entry = Entry(
        "v", name(1), None, "mine <b>", (("info", "understood", "text", "", ""),), {"scale": "percent"}, 0.3, 7, "k",
        (KeptSpec.from_spec(spec, Job(spec.key, spec, state="failed", message="No.")),),
        {"fit/methods": ["beta"]}, (name(8),),
    )  # fmt: skip
    entries.write(name(9), entry)
    back = entries.read(name(9))
    assert back == entry
    assert back.specs[0].spec().key == spec.key
    assert entries.read(name(5)) is None


def study(kind: str = SPLITS, n_splits: object = 10) -> TaskSpec:
    arguments = ([("I-Max (5)", "imax", {"n_bins": np.int64(5), "tol": 1e-9})], 0.3, n_splits, np.int64(7))
    return TaskSpec(STUDIES[kind].function, arguments, "d" * 64, "Repeat on 10 splits: I-Max (5)")


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_comes_back_as_the_same_study(entries: Entries, kind: str) -> None:
    spec = study(kind)
    kept = KeptStudy.from_spec(kind, spec, Job(spec.key, spec, state="failed", message="No."))
    entries.write(name(9), Entry("v", studies=(kept,)))
    (back,) = entries.read(name(9)).studies
    assert back == kept
    assert (back.state, back.message) == ("failed", "No.")
    again = back.spec()
    assert (again.key, again.function, again.data_key, again.title) == (
        spec.key, STUDIES[kind].function, spec.data_key, spec.title
    )  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{"kind": SIZES}, {"kind": "os.system"}, {"arguments": ([], 0.3, 10, 7)}, {"data_key": "e" * 64}, {"key": name(3)}],
    ids=["another kind", "no kind", "arguments", "data", "key"],
)
def test_a_study_whose_key_says_something_else_is_no_study(changes: dict[str, object]) -> None:
    kept = KeptStudy.from_spec(SPLITS, study())
    assert kept.spec() is not None
    assert replace(kept, **changes).spec() is None


def changed(entry: Entry, **fields: object) -> bytes:
    """The entry's file with other fields, sealed anew as whoever changes one would."""
    return sealed(json.loads(json.dumps({**unsealed(to_json(entry)), **fields}, default=int)))


@pytest.mark.parametrize("wrong", [[{}], [7], 7, [{**vars(KeptStudy.from_spec(SPLITS, study())), "kind": []}], None])
def test_an_entry_with_damaged_studies_is_one_sentence(wrong: object) -> None:
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        from_json(changed(Entry("v"), studies=wrong))


@pytest.mark.parametrize("wrong", [[["os", name(1)]], [[[], name(1)]], [name(1)], [["fits"]], 7])
def test_an_entry_that_led_to_what_cannot_be_stored_is_one_sentence(wrong: object) -> None:
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        from_json(changed(Entry("v"), former=wrong))


def test_every_byte_of_an_entry_counts(entries: Entries) -> None:
    entries.write(name(9), Entry("v", name(1), seed=7))
    path = entries._items.root / "links" / f"{name(9)}.json"
    whole = path.read_bytes()
    assert json.loads(whole)["seed"] == 7
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
            entries.read(name(9))


def test_an_entry_of_another_version_says_so() -> None:
    with pytest.raises(Damaged, match="another version"):
        from_json(changed(Entry("v"), format=links.FORMAT + 1))


def test_an_entry_of_before_decisions_is_read() -> None:
    fields = {**unsealed(to_json(Entry("v", seed=7))), "format": links.WITHOUT_DECISIONS}
    del fields["decisions"]
    assert from_json(sealed(fields)) == Entry("v", seed=7)


def test_decisions_come_back_with_every_number(entries: Entries) -> None:
    rng = np.random.default_rng(0)
    costs = CostMatrix(costs=rng.normal(size=(4, 4)), hand_over=0.25, chosen="by hand")
    probs, labels = rng.dirichlet(np.ones(4), 60), rng.integers(4, size=60)
    sets = conformal_sets(probs, labels, 0.02, score="lac", per_class=True)  # some quantiles are infinite
    kept = [KeptDecision.from_rules("a", costs, sets), KeptDecision.from_rules("b", EventCut(cut=0.1), None)]
    assert all(kept)
    entries.write(name(9), Entry("v", decisions=tuple(one for one in kept if one is not None)))
    back = entries.read(name(9))
    assert back is not None
    (rule, same), (cut, none) = (one.rules() for one in back.decisions)
    assert isinstance(rule, CostMatrix) and isinstance(cut, EventCut) and same is not None
    np.testing.assert_array_equal(rule.costs, costs.costs)
    assert (rule.hand_over, rule.chosen, cut.cut, none) == (0.25, "by hand", 0.1, None)
    np.testing.assert_array_equal(same.predict(probs), sets.predict(probs))


def test_a_decision_that_was_changed_on_disk_is_refused_and_a_large_one_left_out() -> None:
    kept = KeptDecision.from_rules("a", EventCut(cut=0.1), None)
    assert kept is not None
    for changes in (
        {"record": kept.record.replace("0.1", "0.2")},
        {"arrays": "AAAA"},
        {"arrays": "*"},
        {"record": "{"},
    ):
        with pytest.raises(CalibrationError):
            replace(kept, **changes).rules()
    assert (
        KeptDecision.from_rules("a", CostMatrix(costs=np.random.default_rng(0).normal(size=(500, 500))), None) is None
    )


def test_an_entry_that_is_too_large_is_neither_written_nor_read_whole(
    entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries.write(name(9), Entry("v"))
    path = entries._items.root / "links" / f"{name(9)}.json"
    size = path.stat().st_size
    monkeypatch.setattr(stored_content, "MAX_RECORD", size)
    assert entries.read(name(9)) == Entry("v")
    with pytest.raises(ValueError, match="MB are kept"):
        entries.write(name(9), Entry("v", name="n" * 100))
    with open(path, "r+b") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        entries.read(name(9))


def test_an_entry_nested_without_end_is_one_sentence() -> None:
    deep = sealed({"format": links.FORMAT, "choices": 0})[len(sealed({})) :].replace(b"0", b"[" * 10**6)
    with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
        from_json(_seal_of(deep) + deep)


@given(st.binary(max_size=60))
def test_a_damaged_entry_is_one_sentence(content: bytes) -> None:
    for spoiled in (content, to_json(Entry("v"))[: len(content)] + content):
        with pytest.raises(Damaged, match=r"^[^\n]+\.$"):
            from_json(spoiled)


def test_old_content_goes_and_a_link_in_use_keeps_its_own(items: Items, entries: Entries) -> None:
    store(items, 1, days_ago=31)
    store(items, 2, days_ago=31)
    store(items, 3, days_ago=29)
    entries.write(name(10), Entry("v", name(2)))
    entries.write(name(11), Entry("v", name(3)))
    age(items.root / "links" / f"{name(11)}.json", 31)
    sweep(items)
    assert stored(items) == {2, 3}
    assert entries.read(name(10)) is not None
    assert entries.read(name(11)) is None


def test_what_was_unused_for_longest_goes_when_room_is_short(items: Items, entries: Entries) -> None:
    for number, days in ((1, 3.0), (2, 5.0), (3, 1.0), (4, 4.0)):
        store(items, number, 100, days)
    entries.write(name(10), Entry("v", name(2)))  # used today
    sweep(items, 250_000)
    assert stored(items) == {2, 3}


def test_finding_counts_as_use(items: Items, entries: Entries) -> None:
    store(items, 1, days_ago=3)
    store(items, 2, days_ago=2)
    items.find("data", name(1))
    sweep(items, 150_000)
    assert stored(items) == {1}


def test_half_written_files_of_the_dead_are_cleaned_and_those_of_the_living_left(items: Items) -> None:
    store(items, 1)
    for child, hours in (("dead", 2.0), ("living", 0.5)):
        path = items.root / "making" / child
        path.write_bytes(b"half")
        age(path, hours / 24)
    assert stored(items) == {1}
    items.clean()
    assert [path.name for path in (items.root / "making").iterdir()] == ["living"]


def test_deleting_takes_what_no_other_link_leads_to(items: Items, entries: Entries) -> None:
    for number in (1, 2, 3):
        store(items, number)
    entries.write(name(10), Entry("v", name(1)))
    entries.write(name(11), Entry("v", name(2), earlier=(name(10),)))
    entries.write(name(12), Entry("w", name(2)))
    entries.delete(name(11))
    assert stored(items) == {2, 3}  # 2 is another's, 3 was nobody's before and is left to its age
    assert [entries.read(name(number)) is None for number in (10, 11, 12)] == [True, True, False]


def test_deleting_takes_what_the_link_led_to_before_unless_another_does(items: Items, entries: Entries) -> None:
    for number in (1, 2, 3):
        items.put("studies", name(number), lambda file: write_content(file, {}, {"value": np.zeros(9)}))
    studies = {number: KeptStudy(SPLITS, name(number), (), "d", "t") for number in (1, 2, 3)}
    entries.write(name(10), Entry("v", studies=(studies[1], studies[2])))
    entries.write(name(10), Entry("v", studies=(studies[2],)))
    entries.write(name(10), Entry("v", studies=(studies[3],)))
    assert stored(items) == {1, 2, 3}  # another tab with the same link may show them still
    entries.write(name(11), Entry("w", studies=(studies[2],)))
    entries.write(name(11), Entry("w"))
    entries.delete(name(10))
    assert stored(items) == {2}
    entries.delete(name(11))
    assert not stored(items)


def test_what_a_link_led_to_before_is_not_kept_for_it(items: Items, entries: Entries) -> None:
    store(items, 1, days_ago=31)
    entries.write(name(10), Entry("v", name(1)))
    entries.write(name(10), Entry("v"))
    sweep(items)
    assert not stored(items)


def predictions(n: int = 50) -> Predictions:
    generator = np.random.default_rng(n)
    return Predictions(generator.normal(size=(n, 2)), np.arange(n) % 2, ("0", "1"), sha256=name(n))


def test_what_is_deleted_while_it_is_written_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Keeper(Configuration(tmp_path))

    def slow(*args: object, **options: object) -> None:
        keeper.forget(name(1))  # the person deletes while the bytes go to the disk
        put_data(*args, **options)

    monkeypatch.setattr(sys.modules["calib.workspace.keeper"], "put_data", slow)
    data = predictions()
    keeper.keep(name(1), Entry("v", data.sha256)).result()
    wait_until(keeper.keep_data(name(1), data).done)
    keeper.keep(name(1), Entry("v", data.sha256, seed=2)).result()
    assert keeper.recall(name(1)) is None
    assert keeper.data(Entry("v", data.sha256)) is None
    keeper.close()


def test_a_damaged_copy_makes_way_for_the_same_data(keeper: Keeper) -> None:
    data = predictions()
    keeper.keep_data(name(1), data).result()
    path = keeper.configuration.root / "data" / data.sha256
    path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
    back = keeper.keep_data(name(2), data).result()
    assert back is not None
    np.testing.assert_array_equal(back.logits, data.logits)


def test_a_fit_that_ends_after_the_page_was_closed_is_kept_where_a_link_asked_for_it(keeper: Keeper) -> None:
    wanted, private = (FitSpec("temperature", {}, data_key) for data_key in ("wanted", "private"))
    entry = Entry("v", specs=(KeptSpec.from_spec(wanted),))
    keeper.keep(name(1), entry).result()
    made = TemperatureScaling().set_state({"temperature_": 1.5, "unit_": 1.0, "n_classes_": 2, "device_note_": ""})
    for spec in (wanted, private):
        keeper.keep_fit(Job(spec.key, spec, state="done", result=made))
    back = keeper.fit(entry, wanted)
    assert back is not None
    assert back.calibrator.temperature_ == 1.5
    assert keeper.fit(Entry("v", specs=(KeptSpec.from_spec(private),)), private) is None
    keeper.forget(name(1))
    keeper.keep_fit(Job(wanted.key, wanted, state="done", result=made))
    assert keeper.fit(entry, wanted) is None


def test_a_study_is_kept_where_a_link_asked_for_it_counted_and_deleted_with_it(keeper: Keeper, caplog) -> None:
    spec, private = study(), study(n_splits=20)
    entry = Entry("v", studies=(KeptStudy.from_spec(SPLITS, spec),))
    keeper.keep(name(1), entry).result()
    table = pd.DataFrame([dict.fromkeys(STUDIES[SPLITS].columns, 1.5)])
    for each in (spec, private):
        keeper.keep_fit(Job(each.key, each, state="done", result=table))
    back = keeper.study(entry, spec)
    assert back is not None
    pd.testing.assert_frame_equal(back.result, table)
    assert keeper.study(Entry("v"), spec) is None
    items = Items(keeper.configuration.root)
    assert [(item.kind, item.name) for item in items.all(*CONTENT)] == [("studies", spec.key)]
    sweep(items)
    assert keeper.study(entry, spec) is not None
    keeper.forget(name(1))
    assert not items.all()
    keeper.keep_fit(Job(spec.key, spec, state="done", result=table))
    assert not items.all()
    assert not caplog.records


def test_a_study_that_cannot_be_stored_costs_nothing_else(keeper: Keeper, caplog) -> None:
    spec = study()
    entry = Entry("v", studies=(KeptStudy.from_spec(SPLITS, spec),))
    keeper.keep(name(1), entry).result()
    keeper.keep_fit(Job(spec.key, spec, state="done", result=["no table"]))
    assert keeper.study(entry, spec) is None
    assert "something could not be stored" in caplog.text


def test_old_studies_go_as_all_else_does(items: Items, entries: Entries) -> None:
    for number in (1, 2):
        items.put("studies", name(number), lambda file: write_content(file, {}, {"value": np.zeros(9)}))
        age(items.root / "studies" / name(number), 31)
    entries.write(name(10), Entry("v", studies=(KeptStudy(SPLITS, name(2), (), "d", "t"),)))
    sweep(items)
    assert stored(items) == {2}


def test_a_fit_is_read_through_the_entry_that_names_it_alone(keeper: Keeper) -> None:
    assert keeper.fit(Entry("v"), FitSpec("temperature", {}, "other's data")) is None


def test_data_above_the_cap_are_not_kept_and_say_so(tmp_path: Path) -> None:
    keeper = Keeper(Configuration(tmp_path, max_bytes=100))
    keeper.keep_data(name(1), predictions())
    keeper.close()
    (reason,) = keeper.standing(name(1), [("data", predictions().sha256)]).reasons
    assert "GB" in reason


def test_the_environment_sets_folder_and_caps(tmp_path: Path) -> None:
    assert Configuration.from_settings({"CALIB_WORKSPACE": "off"}) is None
    assert Configuration.from_settings({"XDG_CACHE_HOME": str(tmp_path)}) == Configuration(tmp_path / "calib")
    home = Configuration.from_settings({})
    assert home is not None
    assert home.root == (Path.home() / ".cache" / "calib").resolve()
    chosen = {"CALIB_WORKSPACE": str(tmp_path), "CALIB_WORKSPACE_GB": "2.5", "CALIB_WORKSPACE_DAYS": "7"}
    assert Configuration.from_settings(chosen) == Configuration(tmp_path, 2_500_000_000, 7.0)
    for wrong in ("0", "-1", "much", "nan", "inf"):
        with pytest.raises(ValueError, match="positive number"):
            Configuration.from_settings({**chosen, "CALIB_WORKSPACE_GB": wrong})


def test_the_folder_is_its_owners_alone(items: Items, entries: Entries) -> None:
    root = items.root / "own"
    Items(root)
    entries_of_it = Entries(Items(root))
    entries_of_it.write(name(1), Entry("v"))
    assert root.stat().st_mode & 0o077 == 0
    entries.write(name(1), replace(Entry("v"), seed=3))
    assert (items.root / "links" / f"{name(1)}.json").stat().st_mode & 0o077 == 0
