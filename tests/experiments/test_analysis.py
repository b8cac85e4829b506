import xml.etree.ElementTree as ElementTree

import pytest

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.analysis import analyze, read_counts

DAYS = [
    ("old", 4000, 210, "Mon"),
    ("new", 4010, 260, "Mon"),
    ("old", 4100, 205, "Tue"),
    ("new", 4010, 270, "Tue"),
]


def test_a_verdict_is_a_sentence_with_rates_interval_and_p_value():
    found = analyze(DAYS, effect=0.01)
    assert found.summary.verdict.startswith(
        "new is better than old: new 6.61 % against old 5.12 % (difference at least +0.4"
    )
    assert "; two-sided +0.3" in found.summary.verdict
    assert "; at 95%), one-sided p = 0.00" in found.summary.verdict
    assert [look.n_samples for look in found.looks] == [8010, 16_120]
    assert found.looks[1].p_value <= found.looks[0].p_value
    assert found.to_dict()["better_than_control"] == ["new"]


def test_days_count_as_looks_and_totals_as_one():
    total = analyze({"old": (8100, 415), "new": (8020, 530)}, effect=0.01)
    assert len(total.looks) == 1
    assert total.summary.arms == analyze(DAYS, effect=0.01).summary.arms


def test_the_control_can_be_named_and_a_worse_treatment_is_said_to_be_worse():
    found = analyze(DAYS, control="new", effect=0.01)
    assert found.p_value == 1
    assert found.summary.verdict == "Stay with new: old is worse, after 16,120 samples."


def test_without_evidence_there_is_no_verdict_yet():
    found = analyze({"old": (100, 5), "new": (100, 6)})
    assert found.summary.verdict.startswith("No verdict yet: new 6.00 % against old 5.00 %")


CLOSE = {"o": (10_000, 500), "n": (10_000, 593)}
"""Of which the two-sided interval has 0, and the one-sided test has not."""


@pytest.mark.parametrize("evidence", ["betting", "mixture", "bounds"])
def test_a_winner_is_better_by_at_least_a_bound_that_belongs_to_the_p_value(evidence):
    counts = CLOSE if evidence != "bounds" else {"o": (10_000, 500), "n": (10_000, 680)}
    delta = analyze(counts, evidence=evidence).p_value
    found = analyze(counts, evidence=evidence, delta=delta * 1.0001)
    arm = found.summary.arms[1]
    assert found.summary.winners == [1]
    assert arm.difference.low < 0 <= arm.least < 1e-4 or evidence == "bounds"
    assert 0 <= arm.least < 1e-4
    below = analyze(counts, evidence=evidence, delta=delta * 0.9999)
    assert not below.summary.winners
    assert -1e-4 < below.summary.arms[1].least < 0


def test_a_verdict_says_what_is_one_sided_and_what_is_two_sided():
    found = analyze(CLOSE)
    assert found.summary.verdict == (
        "n is better than o: n 5.93 % against o 5.00 % (difference at least +0.01 %; two-sided "
        "-0.07 % to +1.94 %; at 95%), one-sided p = 0.046, after 20,000 samples."
    )
    assert str(found).endswith(
        "p-value 0.046 (one-sided: is an arm better?) and intervals at 95% (two-sided), valid at "
        "every look"
    )
    arm = found.to_dict()["arms"][1]
    assert 0 < arm["difference_at_least"] < 2e-4
    assert found.to_dict()["arms"][0]["difference_at_least"] is None


def test_every_winner_of_several_arms_is_better_by_a_positive_bound():
    found = analyze({"o": (10_000, 500), "a": (10_000, 620), "b": (10_000, 650), "c": (9_900, 480)})
    assert found.summary.winners == [1, 2]
    assert [arm.least > 0 for arm in found.summary.arms] == [False, True, True, False]


def test_a_p_value_of_an_earlier_look_says_so():
    days = [("o", 10_000, 500, "1"), ("n", 10_000, 593, "1")]
    days += [("o", 10_000, 550, "2"), ("n", 10_000, 540, "2")]
    verdict = analyze(days).summary.verdict
    assert verdict.startswith("No verdict yet: n 5.67 % against o 5.25 %")
    assert "one-sided p = 0.046 at an earlier look, after 40,000" in verdict


def test_the_plot_is_svg_with_a_line_for_each_look():
    svg = ElementTree.fromstring(analyze(DAYS).svg())
    assert len(svg.findall("{*}circle")) == 2
    assert "Mon" in [one.text for one in svg.findall("{*}text")]
    assert "<svg" in analyze(DAYS)._repr_html_()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "there are no counts"),
        ([("a", 5, 1)], "at least two arms"),
        ([("a", 5)], r"a row is \(arm, visitors, conversions\)"),
        ({"a": 5, "b": (1, 1)}, "'a' has visitors and conversions. Got 5"),
        ({"a": (5, 9), "b": (1, 1)}, "from 0 to the 5 visitors. Got 9"),
        ([("a", "5", 1, "x"), ("b", 5, 1, "x")], "visitors are a whole number ≥ 0. Got '5'"),
        ([("a", 5, 1), (" ", 5, 1)], "a row names no arm; write the name, or leave the row out"),
        ([("a", 5, 1), (float("nan"), 5, 1)], "a row names no arm"),
    ],
)
def test_counts_that_make_no_sense_are_refused(counts, message):
    with pytest.raises(DataError, match=message):
        analyze(counts)


@pytest.mark.parametrize("table", ["pandas", "arrow", "polars"])
def test_a_table_gives_the_same_as_its_rows(table):
    columns = {"Variant": ["a", "b"] * 2, "day": [1, 1, 2, 2]}
    columns |= {"users": [100, 90, 80, 120], "conversions": [9, 11, 7, 20]}
    frame = pytest.importorskip("pyarrow" if table == "arrow" else table)
    data = frame.table(columns) if table == "arrow" else frame.DataFrame(columns)
    rows = [("a", 100, 9, "1"), ("b", 90, 11, "1"), ("a", 80, 7, "2"), ("b", 120, 20, "2")]
    assert analyze(data).to_dict() == analyze(rows).to_dict()


def test_a_table_without_its_columns_is_refused():
    frame = pytest.importorskip("pandas").DataFrame({"arm": ["a"], "clicks": [3]})
    with pytest.raises(DataError, match="no column 'visitors' among arm, clicks; it must have"):
        analyze(frame)


@pytest.mark.parametrize("counts", [None, "counts.csv", 3])
def test_what_holds_no_counts_is_refused(counts):
    with pytest.raises(DataError, match=r"or a table\. Got .*read_counts\(path\) reads a file"):
        analyze(counts)


@pytest.mark.parametrize("effect", [0, 1, 5, -0.01, "1%"])
def test_an_effect_that_no_rate_can_have_is_refused(effect):
    with pytest.raises(ParameterError, match=r"must be a number > 0 and < 1: write 1% as 0.01"):
        analyze(DAYS, effect=effect)


def test_a_control_that_is_no_arm_is_refused():
    with pytest.raises(ParameterError, match="the control 'x' is none of the arms old, new"):
        analyze(DAYS, control="x")


def test_columns_may_have_usual_names_in_any_order_and_a_semicolon_between(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("\ufeffDate;Users;Variant;Conversions\nMon;10;a;1\n\nMon;12;b;3\n")
    assert read_counts(path) == [("a", 10, 1, "Mon"), ("b", 12, 3, "Mon")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,visitors\na,1\n", "no column 'conversions' among arm, visitors"),
        (
            "arm,visitors,converted\na,10,x\n",
            r"csv, line 2: column 'converted' holds 'x'; conversions are whole numbers, as 4000",
        ),
        ("arm,visitors,conversions\na,4.000,1\n", "column 'visitors' holds '4.000'"),
        ("arm,visitors,conversions\na,10,5.2%\n", "column 'conversions' holds '5.2%'"),
        ('arm,visitors,conversions\na,"4,000",1\n', "column 'visitors' holds '4,000'"),
        (
            "arm,visitors,conversions\na,4,000,1\n",
            "line 2: 4 fields, and the first line names 3; write numbers without anything",
        ),
        ("arm,visitors,conversions\na,5,1\n ,5,1\n", "csv, line 3: names no arm; write the name"),
        ("arm,visitors,conversions\na,1,2\n", r"counts.csv, line 2.*from 0 to the 1 visitors"),
        ("arm,visitors,conversions\n", "no rows of counts"),
        ("", "counts.csv is empty"),
        (
            f"arm,visitors,conversions\na,5,1\n{'x' * 140_000},5,1\n",
            r"counts\.csv, line 3: cannot be read as CSV \(field larger .*\); is it a table of co",
        ),
    ],
)
def test_a_file_that_cannot_be_read_names_the_line(tmp_path, text, message):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_counts(path)
