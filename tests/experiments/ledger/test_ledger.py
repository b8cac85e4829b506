import contextlib
import csv
import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm import Bernoulli, Bounded
from labelwood.experiments.ledger.entry import Entry, leading_arms
from labelwood.experiments.ledger.ledger import Ledger
from labelwood.experiments.online_fdr.procedures import PROCEDURES, online_fdr
from labelwood.experiments.sequence import ExperimentSequence

P_VALUES = (0.4, 1e-5, 0.9, 0.02, 1e-9, 1.0, 0.0)


def ledger_of(p_values, procedure="lord", **options):
    """A ledger as a sequence would write it; treatment 2 of three arms leads."""
    ledger = Ledger(0.1, procedure, options)
    running = online_fdr(procedure, 0.1, **options)
    for number, p in enumerate(p_values, start=1):
        before, level = running.wealth, running.next_level()
        discovery = running.record(p)
        ledger.append(
            Entry(
                number=number,
                name=f"test {number}",
                level=level,
                wealth_before=before,
                wealth_after=running.wealth,
                p_value=p,
                discovery=discovery,
                winner=2 if discovery else None,
                reason="stopped: closed by hand",
                policy="best_arm",
                control=0,
                epsilon=0.0,
                max_samples=None,
                reward={"name": "bernoulli"},
                n_samples=(10, 0, 30),
                totals=(1, 0, 9),
                estimates=(0.1, None, 0.3),
            )
        )
    return ledger


def changed(ledger, number, **values):
    """The same ledger with another value in one entry."""
    entries = [replace(one, **values) if one.number == number else one for one in ledger.entries]
    return Ledger(ledger.alpha, ledger.procedure, ledger.options, entries)


# Recomputing


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_a_ledger_follows_from_its_p_values(procedure):
    found = ledger_of(P_VALUES, procedure).verify()
    assert found
    assert (found.n_entries, found.entry, found.field) == (7, None, None)
    assert found.n_discoveries >= 3
    assert str(found).startswith("7 experiments, ")


@given(st.lists(st.floats(0, 1), max_size=30), st.sampled_from(sorted(PROCEDURES)))
def test_a_ledger_survives_both_formats_and_verifies(p_values, procedure):
    ledger = ledger_of(p_values, procedure)
    again = Ledger.from_json(ledger.to_json())
    assert again.to_dict() == ledger.to_dict()
    assert again.verify()
    if p_values:
        assert Ledger.from_csv(ledger.to_csv()).to_dict() == ledger.to_dict()


@pytest.mark.parametrize(
    ("number", "values", "field"),
    [
        (4, {"level": 0.05}, "level"),
        (3, {"wealth_before": 0.03}, "wealth_before"),
        (5, {"wealth_after": 0.4}, "wealth_after"),
        (5, {"wealth_after": None}, "wealth_after"),
        (1, {"discovery": True, "winner": 2}, "discovery"),
        (2, {"discovery": False, "winner": None}, "discovery"),
        (2, {"winner": None}, "winner"),
        (2, {"winner": 0}, "winner"),
        (1, {"winner": 2}, "winner"),
        (2, {"winner": 1}, "winner"),
        (1, {"reason": "stopped: winner 2"}, "reason"),
        (2, {"reason": "stopped: winner 1"}, "reason"),
        (2, {"reason": "stopped: control"}, "reason"),
        (2, {"reason": "stopped: limit reached, undecided"}, "reason"),
        (3, {"estimates": (0.1, None, 0.4)}, "estimates"),
        (3, {"n_samples": (10, 0, 31)}, "estimates"),
        (3, {"totals": (1, 0, 8)}, "estimates"),
    ],
)
def test_verification_names_the_first_value_that_differs(number, values, field):
    ledger = ledger_of(P_VALUES)
    found = changed(ledger, number, **values).verify()
    assert not found
    assert (found.entry, found.field) == (number, field)
    if field in values:
        assert found.recorded == values[field]
    assert str(found).startswith(f"entry {number}: {field} is recorded as {found.recorded!r}, but ")


def test_a_p_value_changed_afterwards_shows_where_its_decision_no_longer_fits():
    ledger = ledger_of(P_VALUES)
    found = changed(ledger, 2, p_value=0.5).verify()
    assert (found.entry, found.field, found.recorded, found.expected) == (
        2,
        "discovery",
        True,
        False,
    )


def test_other_parameters_than_those_used_do_not_fit():
    ledger = ledger_of(P_VALUES)
    other = Ledger(0.1, "lord", {"initial_wealth": 0.02}, ledger.entries)
    assert (other.verify().entry, other.verify().field) == (1, "wealth_before")
    assert Ledger(0.1, "lord++", None, ledger.entries).verify().entry == 3


def test_rounding_elsewhere_is_not_a_difference():
    ledger = ledger_of(P_VALUES)
    level = ledger.entries[3].level
    assert changed(ledger, 4, level=math.nextafter(level, 1)).verify()
    assert not changed(ledger, 4, level=level * (1 + 1e-8)).verify()


def test_while_the_control_leads_it_is_not_rejected():
    ledger = Ledger(0.1, "none")
    entry = ledger_of([0.001], "none").entries[0]
    leading = {
        "totals": (5, 0, 15), "estimates": (0.5, None, 0.5), "discovery": False, "winner": None,
    }  # fmt: skip
    ledger.append(replace(entry, **leading))
    assert ledger.entries[0].compared_p_value == 1
    assert ledger.verify()
    assert not changed(ledger, 1, discovery=True, winner=2).verify()


@pytest.mark.parametrize(
    ("estimates", "control", "leaders"),
    [
        ((0.1, 0.2, 0.3), 0, (2,)),
        ((0.1, 0.3, 0.3), 0, (1, 2)),
        ((0.3, 0.3, 0.1), 0, (0,)),
        ((0.3, 0.1, 0.3), 2, (2,)),
        ((None, 0.1, None), 0, (1,)),
        ((None, None), 1, (1,)),
    ],
)
def test_ties_go_to_the_control(estimates, control, leaders):
    assert leading_arms(estimates, control) == leaders


# Files


@pytest.mark.parametrize("name", ["ledger.json", "ledger.csv", "ledger.CSV", "ledger"])
def test_a_file_is_read_as_it_was_written(tmp_path, name):
    ledger = ledger_of(P_VALUES, "lord++", decay=0.9, gamma=[0.5, 0.3])
    strange = 'a "name",\r\nwith\nlines; ≤ and =1+1'
    ledger = changed(ledger, 3, name=strange)
    ledger.write(tmp_path / name)
    again = Ledger.read(tmp_path / name)
    assert again.to_dict() == ledger.to_dict()
    assert again.entries[2].name == strange
    assert again.verify()


@given(st.text())
def test_any_name_survives_a_table(name):
    ledger = changed(ledger_of(P_VALUES[:2]), 2, name=name)
    assert Ledger.from_csv(ledger.to_csv()).entries == ledger.entries
    assert Ledger.from_json(ledger.to_json()).entries == ledger.entries


@pytest.mark.parametrize("name", ["a\rb", "\r", "a\r\n", "\n\r", "x" * 200_000])
def test_carriage_returns_and_long_names_survive_a_table(name):
    ledger = changed(ledger_of(P_VALUES[:2]), 1, name=name)
    before = csv.field_size_limit()
    assert Ledger.from_csv(ledger.to_csv()).entries == ledger.entries
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("field", ["name", "reason"])
def test_half_a_character_is_refused(field):
    with pytest.raises(DataError, match=rf"{field} has a lone surrogate.* Got 'a\\ud800'"):
        changed(ledger_of(P_VALUES), 1, **{field: "a\ud800"})


def test_an_entry_holds_plain_numbers():
    entry = ledger_of([0.001], "none").entries[0]
    same = replace(
        entry,
        number=np.int64(1),
        level=np.float64(entry.level),
        winner=np.int8(2),
        n_samples=np.array([10, 0, 30]),
        estimates=[np.float32(0.5), None, np.float64(0.75)],
    )
    assert json.dumps(same.to_dict())
    assert same.n_samples == entry.n_samples


def test_a_file_is_left_as_it_was_when_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "ledger.json"
    ledger_of(P_VALUES).write(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("labelwood.core.io.os.replace", fail)
    with pytest.raises(DataError, match=r"ledger\.json cannot be written: No space left"):
        ledger_of(P_VALUES[:2]).write(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["ledger.csv.gz", "ledger.json.xz"])
def test_a_ledger_can_be_compressed(tmp_path, name):
    ledger_of(P_VALUES).write(tmp_path / name)
    assert Ledger.read(tmp_path / name).entries == ledger_of(P_VALUES).entries


def test_a_table_has_a_row_for_each_experiment():
    lines = ledger_of(P_VALUES).to_csv().splitlines()
    assert lines[0].startswith("procedure,alpha,options,head,number,name,level,wealth_before,")
    assert len(lines) == 8
    assert ",10;0;30,1.0;0.0;9.0,0.1;;0.3," in lines[1]


def test_an_empty_ledger_survives_json_but_cannot_be_a_table():
    assert Ledger.from_json(Ledger(0.1, "saffron").to_json()).procedure == "saffron"
    with pytest.raises(DataError, match="has no entries, so nothing tells the procedure; use JSON"):
        Ledger.from_csv(Ledger(0.1).to_csv())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "x.json is not a ledger of labelwood"),
        ({"version": 1}, "x.json has version 1, not 2"),
        ({"head": None}, "x.json: head must be text. Got None"),
        ({"entries": None}, "entries must be a list. Got None"),
        ({"entries": [7]}, "x.json, entry 1: an entry has named values. Got 7"),
        ({"procedure": "lond"}, "x.json: No procedure is called 'lond'"),
        ({"procedure": ["lord"]}, "x.json: No procedure is called"),
        ({"procedure": "none"}, "x.json: The procedure 'none' has no option 'initial_wealth'"),
        ({"alpha": 1.5}, "x.json: The 'alpha' parameter"),
        ({"alpha": None}, "x.json: The 'alpha' parameter"),
        ({"options": []}, "x.json: options must have names"),
        ({"options": {"gamma": {"kind": {}}}}, "x.json: The 'gamma' parameter"),
        ({"options": {"initial_wealth": 1}}, "x.json: The 'initial_wealth' parameter"),
    ],
)
def test_a_strange_head_is_refused(change, message):
    text = json.dumps({**ledger_of(P_VALUES).to_dict(), **change})
    with pytest.raises(DataError, match=message):
        Ledger.from_json(text, "x.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": 3}, "number is 3 where 2 comes next"),
        ({"number": True}, "number must be an int ≥ 1. Got True"),
        ({"name": 5}, "name must be text. Got 5"),
        ({"level": 1.5}, "level must be a number ≥ 0 and ≤ 1. Got 1.5"),
        ({"level": math.nan}, "level must be .* Got nan"),
        ({"level": "0.1"}, "level must be .* Got '0.1'"),
        ({"wealth_after": -0.1}, "wealth_after must be a number ≥ 0 or nothing. Got -0.1"),
        ({"p_value": None}, "p_value must be .* Got None"),
        ({"discovery": 1}, "discovery must be True or False. Got 1"),
        ({"winner": 3}, "winner 3 does not exist; there are arms 0 to 2"),
        ({"control": -1}, "control must be an int ≥ 0"),
        ({"control": 9}, "control 9 does not exist"),
        ({"policy": "greedy"}, "policy must be one of 'best_arm', 'uniform', .* Got 'greedy'"),
        ({"epsilon": math.inf}, "epsilon must be a number ≥ 0. Got inf"),
        ({"n_samples": [1, 2]}, r"a value for each of at least two arms. Got \[2, 3, 3\] values"),
        ({"n_samples": [1, 0, -1]}, "n_samples must be an int ≥ 0. Got -1"),
        ({"n_samples": "123"}, "n_samples must be a list. Got '123'"),
        ({"estimates": [1, 2, 3]}, "arm 1 has 0 outcomes and the estimate 2"),
        ({"estimates": {"a": 1}}, "estimates must be a list"),
        ({"extra": 1}, "'extra' is unknown; an entry has number, name"),
        ({"reason": "closed by hand"}, "reason must be one of 'stopped: control', .* with a treat"),
        ({"reason": "stopped: winner 0"}, "reason must be one of .* Got 'stopped: winner 0'"),
        ({"reason": "stopped: winner 3"}, "reason must be one of"),
        ({"reward": {"name": "poisson"}}, "a reward model is one of"),
        ({"reward": None}, "a reward model is one of"),
        ({"max_samples": 0}, "max_samples must be an int ≥ 1 or nothing. Got 0"),
        ({"hash": 5}, "hash must be text. Got 5"),
    ],
)
def test_a_strange_entry_is_refused_with_its_place(change, message):
    content = ledger_of(P_VALUES).to_dict()
    content["entries"][1].update(change)
    with pytest.raises(DataError, match=f"^x.json, entry 2: .*{message}"):
        Ledger.from_json(json.dumps(content), "x.json")


def test_a_missing_value_is_refused():
    content = ledger_of(P_VALUES).to_dict()
    del content["entries"][0]["reason"]
    with pytest.raises(DataError, match=r"^ledger, entry 1: reason is missing"):
        Ledger.from_dict(content)


@pytest.mark.parametrize(
    "text",
    ["{", '{"a": 1}', "[1]", "[" * 100_000, '{"alpha": ' + "9" * 5000 + "}", "{'a': 1}"],
    ids=["open", "other", "list", "deep", "huge", "python"],
)
def test_other_json_is_refused(text):
    with pytest.raises(DataError, match=r"^x\.json is not (JSON|a ledger)"):
        Ledger.from_json(text, "x.json")


def test_a_number_beyond_all_measure_is_refused():
    text = ledger_of(P_VALUES).to_json().replace('"number": 1,', f'"number": {"9" * 400},')
    with pytest.raises(DataError, match="is not JSON: the number 999999999999999999… is too large"):
        Ledger.from_json(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lord,0.1", "lord,0.2", "x.csv, line 3: alpha is not that of the first"),
        ("test 2", "test 2,more", "x.csv, line 3: 23 cells for 22 columns"),
        ("test 2,", "test 2,oops", "x.csv, line 3: level cannot be read. Got 'oops"),
        ("10;0;30", "10;;30", "x.csv, line 2: n_samples must be an int ≥ 0. Got None"),
        ("test 2", '"test 2', "x.csv, line 3: ',' expected after"),
        ("procedure,alpha", "alpha,procedure", "x.csv is not a ledger; its columns must be proc"),
    ],
)
def test_a_strange_table_is_refused_with_its_line(old, new, message):
    text = ledger_of(P_VALUES).to_csv().replace(old, new, 1)
    with pytest.raises(DataError, match=message):
        Ledger.from_csv(text, "x.csv")


@pytest.mark.parametrize("content", [b"", b"\n", b"hello", b"\xff\xfe\x00", b"\x00" * 10])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=r"x is (not (a ledger|text)|empty)|x, line 1: "):
        Ledger.read(tmp_path / "x")


@given(st.binary(max_size=60), st.integers(0, 3000), st.sampled_from(["json", "csv"]))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(damage, place, kind):
    ledger = ledger_of(P_VALUES)
    text = ledger.to_json() if kind == "json" else ledger.to_csv()
    raw = text.encode()
    hurt = (raw[:place] + damage + raw[place + len(damage) :]).decode("utf-8", "replace")
    read = Ledger.from_json if kind == "json" else Ledger.from_csv
    with contextlib.suppress(DataError):
        assert read(hurt).verify() is not None


# Tampering


@pytest.fixture(scope="module")
def played():
    """The ledger of six real experiments of all kinds of ends, one after another."""
    sequence = ExperimentSequence(0.2, "lord++", random_state=0)
    rng = np.random.default_rng(3)
    settings = [
        ((0.2, 0.2, 0.8), {"max_samples": 3000}, 3000),
        ((0.8, 0.2), {"max_samples": 3000, "reward": Bernoulli(bound="beta")}, 3000),
        ((0.3, 0.3, 0.3), {"max_samples": 300}, 300),
        ((0.2, 0.6, 0.6), {"reward": Bernoulli(bound="beta")}, 400),
        ((0.5, 0.9), {"control": 1, "epsilon": 0.1, "max_samples": 3000}, 3000),
        ((0.1, 0.9, 0.4), {"reward": Bounded(0, 1), "max_samples": 3000}, 3000),
    ]
    for number, (means, options, most) in enumerate(settings):
        experiment = sequence.open(len(means), name=f"number {number}", **options)
        while experiment.n_samples < most and not experiment.stopped:
            for arm in experiment.next_arms():
                experiment.record(arm, float(rng.random() < means[arm]))
            experiment.update()
        sequence.close()
    return sequence.ledger


OTHER_VALUES = {
    "name": ["", "other", "number 1 "],
    "level": lambda old: [old * 1.01, old / 2, 0.5],
    "wealth_before": lambda old: [old * 1.1, old / 2, None],
    "wealth_after": lambda old: [old * 1.1, old / 2, None],
    "p_value": lambda old: [old / 2, old * 0.999, min(1.0, old * 2 + 0.01), 1e-9],
    "discovery": lambda old: [not old],
    "winner": [None, 0, 1, 2],
    "reason": [
        "stopped: control", "stopped: winner 1", "stopped: winner 2", "stopped: closed by hand",
        "stopped: limit reached, undecided", "running", "by lot", "",
    ],
    "policy": ["best_arm", "uniform", "greedy"],
    "control": [0, 1, 2],
    "epsilon": [0.0, 0.05, 0.1, 0.2],
    "max_samples": [None, 10, 299, 3000, 10**6],
    "reward": [
        {"name": "bernoulli", "bound": "lil"}, {"name": "bernoulli", "bound": "beta"},
        {"name": "subgaussian", "sigma": 0.5},
        {"name": "bounded", "low": 0, "high": 1, "bound": "lil"},
    ],
    "n_samples": lambda old: [[n + 1 for n in old], [max(n - 1, 1) for n in old], old[::-1]],
    "totals": lambda old: [[t + 1 for t in old], old[::-1]],
    "estimates": lambda old: [[0.5 for _ in old], old[::-1], [one + 1e-6 for one in old]],
    "hash": ["0" * 64, ""],
}  # fmt: skip


def tamperings(content):
    """The content with one value changed, with an entry removed, or with its tail cut off."""
    for i, entry in enumerate(content["entries"]):
        for field, values in OTHER_VALUES.items():
            for value in values(entry[field]) if callable(values) else values:
                if value != entry[field]:
                    yield f"{i} {field}", {**content, "entries": _with(content, i, field, value)}
    for n in range(len(content["entries"])):
        yield f"cut to {n}", {**content, "entries": content["entries"][:n]}
        rest = [*content["entries"][:n], *content["entries"][n + 1 :]]
        renumbered = [{**one, "number": k} for k, one in enumerate(rest, start=1)]
        yield f"without {n}", {**content, "entries": renumbered}
    for field, value in (("alpha", 0.1), ("procedure", "lord"), ("head", "6:" + "0" * 64)):
        yield field, {**content, field: value}


def _with(content, i, field, value):
    entries = list(content["entries"])
    entries[i] = {**entries[i], field: value}
    return entries


def accepts(content):
    """Whether a ledger is read and verified."""
    try:
        return bool(Ledger.from_dict(content).verify())
    except DataError:
        return False


def test_all_kinds_of_ends_are_in_the_ledger_and_it_verifies(played):
    assert [entry.reason for entry in played.entries] == [
        "stopped: winner 2",
        "stopped: control",
        "stopped: limit reached, undecided",
        "stopped: closed by hand",
        "stopped: control",
        "stopped: winner 1",
    ]
    assert played.verify()
    assert played.verify(played.head)


def test_no_tampering_is_accepted(played):
    content = played.to_dict()
    assert accepts(json.loads(json.dumps(content)))
    done = list(tamperings(content))
    assert len(done) > 250
    assert [what for what, changed in done if accepts(changed)] == []


def test_a_tail_cut_off_a_table_shows(played):
    lines = played.to_csv().splitlines(keepends=True)
    for n in range(2, len(lines)):
        found = Ledger.from_csv("".join(lines[:n])).verify()
        assert (bool(found), found.entry, found.field) == (False, None, "head")
        assert str(found).startswith("the ledger: head is recorded as '6:")


def rehashed(content):
    """The content with all hashes and the head computed again, as somebody who cheats would."""
    ledger = Ledger(content["alpha"], content["procedure"], content["options"])
    for values in content["entries"]:
        ledger.append(Entry.from_dict({k: v for k, v in values.items() if k != "hash"}))
    return ledger


def test_with_a_head_that_was_noted_no_tampering_is_accepted_though_hashes_are_computed_again(
    played,
):
    content, accepted, refused = played.to_dict(), 0, 0
    for what, changed in tamperings(content):
        with contextlib.suppress(DataError, ParameterError):
            cheat = rehashed(changed)
            if cheat.head == played.head:  # the hashes or the head alone were changed
                assert "hash" in what or what == "head"
                continue
            assert not cheat.verify(played.head), what
            accepted += bool(cheat.verify())
            refused += not cheat.verify()
    assert refused > 100  # because they cannot be recomputed
    assert accepted > 0  # only the noted head shows these


def test_reasons_follow_from_the_outcomes_though_hashes_are_computed_again(played):
    content = played.to_dict()
    for i, entry in enumerate(content["entries"]):
        for value in OTHER_VALUES["reason"]:
            if value != entry["reason"]:
                with contextlib.suppress(DataError):
                    found = rehashed({**content, "entries": _with(content, i, "reason", value)})
                    assert found.verify().field == "reason"


def test_a_p_value_above_that_of_the_last_outcomes_cannot_be(played):
    content = played.to_dict()
    changed = _with(content, 0, "p_value", 0.5)
    assert rehashed({**content, "entries": changed}).verify().field == "p_value"


def test_a_ledger_goes_on_from_what_was_read(played):
    half = Ledger(played.alpha, played.procedure, played.options, played.entries[:3])
    again = Ledger.from_json(half.to_json())
    for entry in played.entries[3:]:
        again.append(entry)
    assert again.to_dict() == played.to_dict()
    assert again.head == played.head
    assert half.head != played.head


def test_the_hash_is_what_anyone_can_compute(played):
    content = played.to_dict()
    start = {name: content[name] for name in ("procedure", "alpha", "options")}
    before = hashlib.sha256(json.dumps(start, sort_keys=True, separators=(",", ":")).encode())
    last = before.hexdigest()
    for entry in content["entries"]:
        fields = {name: value for name, value in entry.items() if name != "hash"}
        text = json.dumps({"before": last, **fields}, sort_keys=True, separators=(",", ":"))
        last = hashlib.sha256(text.encode()).hexdigest()
        assert entry["hash"] == last
    assert content["head"] == f"6:{last}" == played.head
