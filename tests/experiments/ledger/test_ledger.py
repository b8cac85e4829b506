import contextlib
import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import DataError
from labelwood.experiments.ledger.entry import Entry, leading_arms
from labelwood.experiments.ledger.ledger import Ledger
from labelwood.experiments.online_fdr.procedures import PROCEDURES, online_fdr

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
                reason="closed by hand",
                policy="best_arm",
                control=0,
                epsilon=0.0,
                n_samples=(10, 0, 30),
                estimates=(0.1, None, 0.30000000000000004),
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
    ],
)
def test_verification_names_the_first_value_that_differs(number, values, field):
    ledger = ledger_of(P_VALUES)
    found = changed(ledger, number, **values).verify()
    assert not found
    assert (found.entry, found.field, found.recorded) == (number, field, values[field])
    assert str(found).startswith(f"entry {number}: {field} is recorded as {values[field]!r}, but ")


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
    leading = {"estimates": (0.5, None, 0.5), "discovery": False, "winner": None}
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


@given(st.text(), st.text())
def test_any_name_survives_a_table(name, reason):
    ledger = changed(ledger_of(P_VALUES[:2]), 2, name=name, reason=reason)
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
    assert lines[0].startswith("procedure,alpha,options,number,name,level,wealth_before,")
    assert len(lines) == 8
    assert lines[1].endswith(",10;0;30,0.1;;0.30000000000000004")


def test_an_empty_ledger_survives_json_but_cannot_be_a_table():
    assert Ledger.from_json(Ledger(0.1, "saffron").to_json()).procedure == "saffron"
    with pytest.raises(DataError, match="has no entries, so nothing tells the procedure; use JSON"):
        Ledger.from_csv(Ledger(0.1).to_csv())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "x.json is not a ledger of labelwood"),
        ({"version": 2}, "x.json has version 2, not 1"),
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
        ({"policy": "greedy"}, "policy must be one of 'best_arm', 'uniform'. Got 'greedy'"),
        ({"epsilon": math.inf}, "epsilon must be a number ≥ 0. Got inf"),
        ({"n_samples": [1, 2]}, "a value for each of at least two arms. Got 2 and 3"),
        ({"n_samples": [1, 0, -1]}, "n_samples must be an int ≥ 0. Got -1"),
        ({"n_samples": "123"}, "n_samples must be a list. Got '123'"),
        ({"estimates": [1, 2, 3]}, "arm 1 has 0 outcomes and the estimate 2"),
        ({"estimates": {"a": 1}}, "estimates must be a list"),
        ({"extra": 1}, "'extra' is unknown; an entry has number, name"),
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
        ("test 2", "test 2,more", "x.csv, line 3: 18 cells for 17 columns"),
        ("test 2,", "test 2,oops", "x.csv, line 3: level cannot be read. Got 'oops"),
        ("10;0;30", "10;;30", "x.csv, line 2: n_samples must be an int ≥ 0. Got None"),
        ("test 2", '"test 2', "x.csv, line 4: ',' expected after"),
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
