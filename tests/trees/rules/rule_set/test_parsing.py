"""Rules as text: the lecture's figures, what is read back, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import DataError
from labelwood.trees.rules.rule_set.conditions import Condition, Rule
from labelwood.trees.rules.rule_set.parsing import parse_conditions, parse_rules

FIGURE_1 = """\
shr → earn
div → earn
dividend → earn
payout → earn
qtr → earn
earnings & sees → earn
quarter & cts → earn
split → earn
profit → earn
OTHERWISE → ~earn
"""


def test_figure_1_of_the_lecture():
    rules = parse_rules(FIGURE_1)
    assert len(rules) == 10
    assert rules[5].features == ("earnings", "sees")
    assert rules[-1] == Rule((), "~earn")
    assert rules[0].matches({"shr": 0.2})
    assert not rules[5].matches({"earnings": 1.0})


def test_figure_2_of_the_lecture():
    first, second = parse_rules("A < 2 & B < 2 -> X\nA < 2 & 2 ≤ B < 4 -> Y")
    values = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3.999, 4)]
    assert [v for v in values if first.matches({"A": v[0], "B": v[1]})] == [(1, 1)]
    assert [v for v in values if second.matches({"A": v[0], "B": v[1]})] == [(1, 2), (1, 3.999)]
    long = parse_rules("A<2 & B>=2 & B<4 -> Y")[0]
    assert long.compact() == second


numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
conditions = st.one_of(
    st.builds(Condition, names, low=numbers),
    st.builds(Condition, names, high=numbers, missing=st.booleans()),
    st.builds(
        Condition,
        names,
        categories=st.frozensets(st.integers(0, 99), min_size=1),
        excluded=st.booleans(),
    ),
)


def test_alternatives_beside_other_conditions_are_in_parentheses():
    text = "(age <= 60 or missing) & member -> renew"
    rule = parse_rules("age <= 60 or missing & member -> renew")[0]
    assert str(rule) == text
    assert parse_rules(text) == (rule,)
    both = parse_rules("(age <= 60 or missing) & (age in {1, 2} or missing) -> renew")[0].compact()
    assert parse_rules(str(both))[0].compact() == both


@pytest.mark.parametrize("limit", ["3.4028235e+38", "-3.4028235e+38", "1e300", "1e-45", "-1e-60"])
def test_numbers_at_the_ends_of_single_precision_are_read_back(limit):
    for sign in ("<", "<=", ">", ">=", "="):
        rule = parse_rules(f"a {sign} {limit} -> b")[0]
        assert parse_rules(str(rule)) == (rule,)


@given(st.lists(conditions, min_size=1, max_size=3), names)
def test_what_is_printed_is_read_back(found, label):
    rule = Rule(tuple(found), label)
    assert parse_rules(str(rule)) == (rule,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shr", "line 1, column 4: expected '&' or '->', got the end of the line"),
        ("shr ->", "line 1, column 7: expected a label, got the end of the line"),
        ("shr -> a b", "line 1, column 10: expected the end of the line, got 'b'"),
        ("\n\nshr < x -> e", "line 3, column 7: expected a number, got 'x'"),
        ("c in 3 -> e", "line 1, column 6: expected '{', got '3'"),
        ("c in {1; 2} -> e", "line 1, column 7: expected"),
        ("c in {1.5} -> e", "expected the number of a category"),
        ("c in {inf} -> e", r"column 7: expected the number of a category \(0, 1, …\), got 'inf'"),
        ("c in {red} -> e", "column 7: expected the number of a category"),
        ("c or 3 -> e", "column 6: expected 'missing'"),
        ("(c or missing -> e", r"column 15: expected '\)', got '->'"),
        ("not c -> e", "column 1: expected '-' in place of 'not'"),
        ('"shr -> e', "line 1, column 1: expected a closing quote"),
        ("OTHERWISE & a -> b", "line 1, column 11: expected '->', got '&'"),
    ],
)
def test_what_does_not_parse_is_told_with_line_and_column(text, message):
    with pytest.raises(DataError, match=message.replace("{", r"\{")):
        parse_rules(text)


def test_conditions_alone():
    assert parse_conditions("a & -b") == (Condition("a", low=0.0), Condition("b", high=0.0))
    with pytest.raises(DataError, match="expected '&' or the end"):
        parse_conditions("a -> b")


@given(conditions, conditions, st.lists(numbers, max_size=20))
def test_logic_of_conditions_agrees_with_their_values(a, b, values):
    b = Condition("f", b.low, b.high, b.categories, b.excluded, b.missing)
    a = Condition("f", a.low, a.high, a.categories, a.excluded, a.missing)
    both, opposite = a.both(b), a.opposite()
    for value in [*values, *range(5), a.low, a.high, b.low, b.high, float("nan")]:
        if value in (float("inf"), float("-inf")):
            continue
        assert both.holds(value) == (a.holds(value) and b.holds(value))
        if opposite is not None:
            assert opposite.holds(value) != a.holds(value)
        if a.implies(b) and a.holds(value):
            assert b.holds(value)
        if both.impossible:
            assert not both.holds(value)
